"""A worker: loads the models of a group once, then computes one shard after the other. It keeps no state between them.

A worker is an object in a process, in a Ray actor or in a Slurm job; what it computes does not depend on where it is.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from steelyard.engine.batch import Batch, Failed, attempt, load_models
from steelyard.engine.executors.shards import EncodeShard, EvaluateShard, Group, Outcome, Shard
from steelyard.engine.plan import Evaluation, Model, ResultLookup, SaveRuns
from steelyard.errors import UsageError
from steelyard.results import Result
from steelyard.results.keys import digest
from steelyard.retrievers.composite import for_task
from steelyard.types.protocols import Composite, Retriever, StoresEncodings


class GroupWorker:
    """The loaded models of a group."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._models = load_models(group.models, settings=group.settings)

    def run(self, shard: Shard) -> Outcome:
        """Compute a shard. An error of a model is part of the outcome."""
        outcome = attempt(lambda: self._encode(shard) if isinstance(shard, EncodeShard) else self._evaluate(shard))
        return Outcome(shard.id, failure=outcome.failure) if isinstance(outcome, Failed) else outcome

    def _encode(self, shard: EncodeShard) -> Outcome:
        retriever = self._part(shard.model)
        model: object = None if retriever is None else for_task(retriever, shard.info)
        if not isinstance(model, StoresEncodings):
            raise UsageError(f"{shard.model} does not store encodings", hint="evaluate it with --executor local")
        texts, before = sum(map(len, shard.batches)), _stored(model, shard)
        problems: list[str] = []
        for batch in shard.batches:
            problems += model.store_encodings(batch, shard.role).get("cache_problems", ())
        if _stored(model, shard) == texts:  # existence is completion; readers check the checksums
            return Outcome(shard.id, encoded=texts - before)
        reason = "; ".join(dict.fromkeys(problems)) or "the encodings are not in the store"
        return Outcome(shard.id, problem=f"{platform.node()}: {reason}")

    def _evaluate(self, shard: EvaluateShard) -> Outcome:
        models = [model for model in self._models if digest(model.settings) in shard.models]
        conditions, settings = self._group.conditions, self._group.settings
        lookup = ResultLookup(None, save_runs=shard.save_runs)
        batch = _Collected(models, [shard.task], conditions, lookup, settings=settings, forms=shard.forms)
        for _ in batch.run_tasks():
            pass
        return Outcome(shard.id, tuple(batch.collected))

    def _part(self, name: str) -> Retriever | None:
        """Return a model of the group, or a part of one, by its name."""
        return next((part for part in parts_of(self._models) if part.name == name), None)


def _stored(model: StoresEncodings, shard: EncodeShard) -> int:
    """Return how many encodings of a shard are stored."""
    return sum(int(np.count_nonzero(model.stored(batch, shard.role))) for batch in shard.batches)


def parts_of(models: Sequence[Model]) -> Iterator[Retriever]:
    """Yield all models that are not composites, and the parts of composites, each name once."""
    waiting = [model.retriever for model in models if model.retriever is not None]
    seen: set[str] = set()
    while waiting:
        retriever = waiting.pop(0)
        if isinstance(retriever, Composite):
            waiting += retriever.parts
        elif retriever.name not in seen:
            seen.add(retriever.name)
            yield retriever


@dataclass(frozen=True, eq=False)
class _Collected(Batch):
    """A batch that collects results and files instead of storing them: the driver does that."""

    forms: Mapping[str, Sequence[SaveRuns]] = field(default_factory=dict)
    collected: list[tuple[Result, Mapping[str, bytes]]] = field(default_factory=list)

    def run_forms(self, evaluation: Evaluation) -> list[SaveRuns]:
        """Return the formats that the driver asked for."""
        return list(self.forms.get(evaluation.key, ()))

    def store_result(self, result: Result, attachments: Mapping[str, bytes] | None = None) -> Result:
        """Collect a result."""
        self.collected.append((result, attachments or {}))
        return result
