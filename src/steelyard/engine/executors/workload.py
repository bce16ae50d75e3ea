"""The work of a batch before anything starts: models, tasks, texts, batches, time, memory, disk and price.

Counts are exact for the data and the store as they are now. Time is measured on a small sample of the texts that are to
be encoded; what cannot be known is None, never a guess.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from steelyard.encoders.cache.vector_file import ENTRY
from steelyard.engine.batch import Batch, Failed, attempt
from steelyard.engine.events import Loading
from steelyard.engine.executors.ray_actors import cards_of
from steelyard.engine.executors.shards import API
from steelyard.engine.executors.task_shards import Texts, encode_shards, task_texts
from steelyard.engine.plan import Model
from steelyard.results.display.text_table import text_table
from steelyard.retrievers.model_names import result_name
from steelyard.spec import ModelSpec
from steelyard.types import Role, Task
from steelyard.types.samples import AnyTask

SAMPLE_TEXTS = 16
"""Texts that are encoded to measure the time."""
CHARACTERS_PER_TOKEN = 4
"""For prices of services: an estimate for English; other languages have more tokens."""
FLOAT_BYTES = 4
COLUMNS = (
    *("encoder", "texts", "stored", "to encode", "batches", "shards"),
    *("time (s)", "memory (MB)", "disk (MB)", "price"),
)


@dataclass(frozen=True)
class Encoding:
    """The work of one encoder, for all tasks."""

    model: str
    texts: int = 0
    """Distinct texts of each task and role, added up."""
    stored: int = 0
    batches: int = 0
    """Batches with a text whose encoding is not stored; all of their composition is fixed."""
    shards: int = 0
    characters: int = 0
    """Of the texts that are not stored."""
    seconds: float | None = None
    """Estimated time of one worker; None if it was not measured."""
    disk_bytes: int | None = None
    memory_bytes: int | None = None
    """The vectors of the largest corpus, and the weights if the model's card has their number."""
    price: float | None = None
    """Of a service with a price in its name, for about four characters per token."""

    @property
    def to_encode(self) -> int:
        """Texts that are not stored."""
        return self.texts - self.stored


@dataclass(frozen=True)
class Workload:
    """What a batch will do. Printing it shows a table."""

    models: int
    tasks: int
    evaluations: int
    stored: int
    """Evaluations whose results are stored and used."""
    failed: int
    """Evaluations of models or tasks that cannot be loaded."""
    executor: str
    workers: int
    encodings: tuple[Encoding, ...] = ()
    problems: tuple[str, ...] = field(default=())

    @property
    def seconds(self) -> float | None:
        """Estimated encoding time of all workers together; None if a part is not known."""
        parts = [one.seconds for one in self.encodings if one.to_encode]
        return None if None in parts else sum(part for part in parts if part is not None) / max(1, self.workers)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-ready."""
        encodings = [asdict(one) | {"to_encode": one.to_encode} for one in self.encodings]
        return asdict(self) | {"encodings": encodings, "problems": list(self.problems), "seconds": self.seconds}

    def rows(self) -> list[list[str]]:
        """Return a row for each encoder, parallel to `COLUMNS`."""
        return [
            [
                one.model,
                *(f"{count:,}" for count in (one.texts, one.stored, one.to_encode, one.batches, one.shards)),
                _number(one.seconds if one.to_encode else 0.0),
                _number(None if one.memory_bytes is None else one.memory_bytes / 1e6),
                _number(None if one.disk_bytes is None else one.disk_bytes / 1e6),
                _number(one.price, "-"),
            ]
            for one in self.encodings
        ]

    def summary(self) -> list[str]:
        """Return the lines above the table."""
        workers = _counted(self.workers, "worker")
        lines = [
            f"{_counted(self.evaluations, 'evaluation')}: {_counted(self.models, 'model')} x "
            f"{_counted(self.tasks, 'task')}, "
            f"{self.stored:,} stored, {self.evaluations - self.stored - self.failed:,} to do"
            + (f", {self.failed:,} cannot be done" if self.failed else ""),
            f"executor {self.executor}, {workers}; encoding takes about "
            + ("an unknown time" if self.seconds is None else f"{_number(self.seconds)} seconds"),
        ]
        return [*lines, *self.problems]

    def __str__(self) -> str:
        table = [text_table(COLUMNS, self.rows())] if self.encodings else []
        return "\n".join([*self.summary(), *table])


def workload_of(batch: Batch, executor: str = "local", workers: int = 1, *, measure: bool = True) -> Workload:
    """Return the work of a batch. Tasks are loaded; with `measure`, every model encodes a few texts."""
    collected = _Collected(batch, measure)
    for reference in batch.tasks:
        collected.add(reference)
    return Workload(
        models=len(batch.models),
        tasks=len(batch.tasks),
        evaluations=len(batch.models) * len(batch.tasks),
        stored=collected.stored,
        failed=collected.failed,
        executor=executor,
        workers=workers,
        encodings=tuple(collected.encodings.values()),
        problems=tuple(dict.fromkeys(collected.problems)),
    )


class _Collected:
    """The counts of tasks so far."""

    def __init__(self, batch: Batch, measure: bool) -> None:
        self._batch, self._measure = batch, measure
        self.stored = self.failed = 0
        self.encodings: dict[str, Encoding] = {}
        self.problems = [f"{model.name} cannot be loaded: {model.failure}" for model in batch.models if model.failure]
        self._rates: dict[tuple[str, Role], float | None] = {}

    def add(self, reference: str | AnyTask) -> None:
        """Count one task."""
        batch = self._batch
        name = reference if isinstance(reference, str) else reference.name
        batch.listen(Loading(name))
        loaded = attempt(lambda: batch.load_task(name, reference))
        if isinstance(loaded, Failed):
            self.failed += len(batch.models)
            self.problems.append(f"{name} cannot be loaded: {loaded.failure}")
            return
        task, facts = loaded
        missing: list[Model] = []
        for model in batch.models:
            evaluation = batch.lookup.evaluation(model.on(task.info), task.name, facts, batch.conditions)
            if evaluation.stored is not None:
                self.stored += 1
            elif model.failure is not None:
                self.failed += 1
            else:
                missing.append(model)
        for texts in task_texts(task, missing, batch.conditions.profile):
            self._add_texts(texts, task)

    def _add_texts(self, texts: Texts, task: AnyTask) -> None:
        spec = next(iter(_named(self._batch.models, texts.model)), None)
        known = self.encodings.get(texts.store) or Encoding(texts.model, disk_bytes=0, seconds=0.0)
        seconds = self._seconds(texts)
        width = _width(texts)
        characters, disk = sum(map(len, texts.to_encode)), len(texts.to_encode)
        documents = len(task.corpus) if isinstance(task, Task) else len(texts.texts)
        memory = None if width is None else documents * width + _weights(spec)
        self.encodings[texts.store] = replace(
            known,
            texts=known.texts + len(texts.texts),
            stored=known.stored + len(texts.texts) - len(texts.to_encode),
            batches=known.batches + len(texts.missing),
            shards=known.shards + sum(1 for _ in encode_shards(texts, task, 0)),
            characters=known.characters + characters,
            seconds=None if seconds is None or known.seconds is None else known.seconds + seconds,
            disk_bytes=_sum(known.disk_bytes, None if width is None else disk * (width + ENTRY.itemsize)),
            memory_bytes=memory if known.memory_bytes is None else max(known.memory_bytes, memory or 0),
            price=_sum(known.price or 0.0, price) if (price := _price(spec, characters)) is not None else known.price,
        )

    def _seconds(self, texts: Texts) -> float | None:
        """Return the estimated time of the texts that are not stored; None if it is not measured."""
        if not texts.to_encode:
            return 0.0
        key = texts.store, texts.role
        if key not in self._rates:
            service = any(spec.id.startswith(API) for spec in _named(self._batch.models, texts.model))
            self._rates[key] = _seconds_per_text(texts) if self._measure and not service else None
        rate = self._rates[key]
        return None if rate is None else rate * len(texts.to_encode)


def _seconds_per_text(texts: Texts) -> float | None:
    """Return the time of one text, from a sample over all lengths; a model that fails is not measured."""
    encoder = getattr(texts.retriever, "encoder", None)
    if encoder is None:
        return None
    encode: Callable[[Sequence[str], Role], Any] = encoder.encode
    ordered = sorted(texts.to_encode, key=len)
    step = max(1, len(ordered) // SAMPLE_TEXTS)
    sample = ordered[step // 2 :: step][:SAMPLE_TEXTS]

    def timed() -> float:
        encode(sample[:1], texts.role)  # loads what is loaded late
        start = time.perf_counter()
        encode(sample, texts.role)
        return (time.perf_counter() - start) / len(sample)

    seconds = attempt(timed)
    return None if isinstance(seconds, Failed) else seconds


def _named(models: Sequence[Model], name: str) -> Iterator[ModelSpec]:
    """Yield the specs of a model, or of a part of one, with that name."""
    waiting = [model.spec for model in models if model.spec is not None]
    while waiting:
        spec = waiting.pop()
        waiting += spec.parts
        if result_name(spec) == name:
            yield spec


def _width(texts: Texts) -> int | None:
    """Return the bytes of a vector; None for encodings of variable length."""
    dimension = getattr(getattr(texts.retriever, "encoder", None), "dimension", None)
    return None if dimension is None else int(dimension) * FLOAT_BYTES


def _weights(spec: ModelSpec | None) -> int:
    return sum(known.parameters or 0 for known in cards_of(spec)) * FLOAT_BYTES if spec is not None else 0


def _price(spec: ModelSpec | None, characters: int) -> float | None:
    if spec is None or (price := spec.options.get("price_per_million_tokens")) is None:
        return None
    return float(price) * characters / CHARACTERS_PER_TOKEN / 1e6


def _sum(first: Any, second: Any) -> Any:
    return None if first is None or second is None else first + second


def _number(value: float | None, unknown: str = "unknown") -> str:
    return unknown if value is None else f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
