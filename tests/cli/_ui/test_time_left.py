"""The time left of simulated runs: models of different speeds, tasks of different sizes, stored results in between."""

from __future__ import annotations

import io
import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from steelyard import evaluate
from steelyard.cli._ui.progress import Progress
from steelyard.cli._ui.time_left import LEAST_LENGTH, MODELS, SIZES, VECTORS, Pace, Size, Spent, TimeLeft, spent_on
from steelyard.config import Settings
from steelyard.engine.events import Advanced, Event, Finished, Loading, Planned, Started
from steelyard.results import Result, TaskFacts
from steelyard.retrievers.pipeline import pipeline
from steelyard.retrievers.rerank.load import from_function
from steelyard.types import Task


@dataclass
class Simulated:
    """A model: seconds for a document, a query and a task, and for being opened once."""

    name: str
    document: float
    query: float
    task: float = 0.05
    opening: float = 0.0
    from_store: frozenset[int] = frozenset()
    """Places of the tasks whose vectors are stored."""


@dataclass
class Simulation:
    """A run whose events and times are made here; records after each evaluation what is estimated and what is true."""

    models: Sequence[Simulated]
    sizes: Sequence[Size]
    unknown: frozenset[int] = frozenset()
    stored: frozenset[tuple[str, int]] = frozenset()
    encoded: frozenset[tuple[str, int]] = frozenset()
    """The evaluations whose vectors are known to be stored before the run."""
    reading: float = 0.0005
    now: float = 0.0
    times: list[tuple[float, float | None, bool]] = field(default_factory=list)
    """After each evaluation: the time, the estimate, and whether every model was measured."""

    def run(self) -> str:
        stream, noise, measured = io.StringIO(), random.Random(7), set()
        progress = Progress(stream, terminal=False, clock=lambda: self.now)
        sizes = [None if place in self.unknown else size for place, size in enumerate(self.sizes)]
        names = [model.name for model in self.models]
        stored = len(self.stored)
        progress(
            Planned(
                len(names), len(sizes), stored, names=names, sizes=sizes, stored_at=self.stored, encoded_at=self.encoded
            )
        )
        for place, (documents, queries) in enumerate(self.sizes):
            progress(Loading(f"T/{place}"))
            self.now += self.reading * (documents + queries)
            for model in self.models:
                facts = TaskFacts(documents=documents, queries=queries)
                result = Result(f"T/{place}", model.name, {}, "k", metrics={"ndcg_at_10": 0.5}, facts=facts)
                if (model.name, place) in self.stored:
                    progress(Finished(result, True))
                    continue
                progress(Started(model.name, f"T/{place}", documents))
                opening = 0.0 if model.name in measured else model.opening
                self.now += opening
                share = 0.01 if place in model.from_store else 1.0
                batches, start = max(1, documents // 32), self.now
                for _ in range(batches):
                    self.now += model.document * documents / batches * share * noise.uniform(0.7, 1.3)
                    progress(Advanced(documents // batches))
                index, search = self.now - start + opening, model.query * queries * noise.uniform(0.7, 1.3) * share
                self.now += search + model.task
                texts = documents + queries
                notes: dict[str, dict[str, float]] = {
                    "documents": {"texts_encoded": 0 if share < 1 else texts, "texts_from_cache": texts}
                }
                if share == 1:
                    notes["documents"]["texts_from_cache"] = 0
                if self.encoded:  # as encoders and rerankers report it
                    spent = {"encode_seconds": 0.0, "encode_seconds_stored": model.document * documents}
                    counts = {"pairs_scored": 0, "pairs_from_cache": texts}
                    pairs = {"rerank_seconds": 0.0, "rerank_seconds_stored": model.query * queries, **counts}
                    if share == 1:
                        spent = {"encode_seconds": 0.99 * (index - opening), "encode_seconds_stored": 0.0}
                        pairs |= {"rerank_seconds": 0.99 * search, "rerank_seconds_stored": 0.0}
                        pairs |= {"pairs_scored": texts, "pairs_from_cache": 0}
                    notes = {"documents": {**notes["documents"], **spent}, "rerank": pairs}
                if opening and model.document > model.query:  # an encoder; of a reranker the batches show it
                    notes["documents"]["open_seconds"] = opening
                fields = {"timings": {"index": index, "search": search}, "notes": notes, "facts": facts}
                progress(Finished(Result(f"T/{place}", model.name, {}, "k", metrics={}, **fields), False))  # type: ignore[arg-type]
                measured.add(model.name)
                self.times.append((self.now, progress.seconds_left, len(measured) == len(self.models)))
        return stream.getvalue()

    def worst(self, least: float = 1.0) -> float:
        """Return the worst ratio of estimate and truth, both ways, once every model was measured."""
        checked = [
            max(left, least) / max(self.now - at, least)
            for at, left, ready in self.times
            if ready and left is not None and self.now - at > least
        ]
        assert len(checked) > 3
        return max(max(ratio, 1 / ratio) for ratio in checked)


SIZES_OF_TASKS = [(300, 50), (10_000, 200), (50, 400), (2_000, 50), (8_000, 30), (120, 1_000), (4_000, 100), (900, 9)]
MODELS_OF_RUN = [
    Simulated("bm25", 0.0002, 0.001),
    Simulated("dense:large", 0.08, 0.02, opening=9.0),
    Simulated("bm25 > rerank", 0.0002, 1.5, opening=5.0),
]


@pytest.mark.parametrize("turn", range(len(SIZES_OF_TASKS)))
def test_after_the_first_task_of_every_model_the_estimate_is_within_a_factor_of_two(turn: int) -> None:
    sizes = [*SIZES_OF_TASKS[turn:], *SIZES_OF_TASKS[:turn]]
    simulation = Simulation(MODELS_OF_RUN, sizes)
    simulation.run()
    assert simulation.worst() < 2


@pytest.mark.parametrize("seed", range(8))
def test_stored_results_in_between_take_no_time(seed: int) -> None:
    pairs = list(itertools.product([model.name for model in MODELS_OF_RUN], range(len(SIZES_OF_TASKS))))
    stored = frozenset(random.Random(seed).sample(pairs, 10))
    simulation = Simulation(MODELS_OF_RUN, SIZES_OF_TASKS, stored=stored)
    simulation.run()
    assert simulation.worst() < 2


def test_tasks_of_unknown_size_are_the_mean_of_the_others_and_that_is_printed() -> None:
    simulation = Simulation(MODELS_OF_RUN, [(2_000, 50), (1_500, 80), (3_000, 40), (1_800, 60)], frozenset({2, 3}))
    printed = simulation.run()
    assert simulation.worst() < 2
    assert sum(SIZES in line for line in printed.splitlines()) == 1 and MODELS in printed


def test_stored_vectors_count_next_to_nothing_and_that_is_printed() -> None:
    model = Simulated("dense", 0.08, 0.02, from_store=frozenset(range(8)))
    simulation = Simulation([model, MODELS_OF_RUN[2]], SIZES_OF_TASKS)
    printed = simulation.run()
    assert simulation.worst() < 2 and VECTORS in printed


@pytest.mark.parametrize("seed", range(12))
def test_vectors_that_are_stored_before_the_run_are_known(seed: int) -> None:
    chosen, places = random.Random(seed), range(len(SIZES_OF_TASKS))
    models = [
        Simulated("bm25", 0.0002, 0.001),
        Simulated("dense", 0.08, 0.02, 0.01, 9.0, frozenset(chosen.sample(places, chosen.randrange(1, 8)))),
        Simulated("[bm25, dense] > rerank", 0.0002, 1.5, 0.01, 0.0, frozenset(chosen.sample(places, 4))),
    ]
    encoded = frozenset((model.name, place) for model in models for place in model.from_store)
    simulation = Simulation(models, SIZES_OF_TASKS, encoded=encoded)
    printed = simulation.run()
    assert simulation.worst() < 2 and VECTORS not in printed


def test_a_model_that_was_not_measured_takes_as_long_as_the_mean() -> None:
    left = TimeLeft([(100, 10), (200, 10)])
    left.add("a", Spent(documents=10.0, size=(100, 10)))
    assert left.left(["a", "b"]) == (pytest.approx(20 + 10 + 20), [MODELS])
    left.add("b", Spent(documents=1.0, size=(100, 10)))
    assert left.left(["a", "b"]) == (pytest.approx(20 + 2), [])


def test_the_reused_first_stage_is_not_paid_again() -> None:
    timings = {"index": 10.0, "search": 7.0, "reused": 12.0, "score": 0.0}
    assert spent_on(timings, {}, (100, 10), 5.0) == Spent(0.0, 5.0, 0.0, (100, 10), 1.0)


def test_samples_have_no_queries() -> None:
    assert spent_on({"encode": 4.0, "score": 1.0}, {}, (100, 0), 5.5) == Spent(5.0, 0.0, 0.5, (100, 0), 1.0)


def test_a_model_that_fails_takes_what_its_failures_took() -> None:
    left = TimeLeft([(100, 10), (9_000, 10)])
    left.add("a", spent_on({}, {}, (100, 10), 0.5))
    assert left.left(["a"])[0] == pytest.approx(0.5)


def test_long_documents_take_more_time_than_short_ones() -> None:
    left = TimeLeft([(100, 10), (1_000, 10)], lengths=[500.0, 10.0])
    left.add("a", Spent(documents=10.0, size=(100, 10)), (100, 10))
    expected = 10 * 1_000 * (10 + LEAST_LENGTH) / (100 * (500 + LEAST_LENGTH))
    assert left.left(["a"])[0] == pytest.approx(expected, rel=0.05)


@pytest.mark.slow
def test_the_plan_lists_the_evaluations_whose_vectors_are_stored(tmp_path: Path) -> None:
    settings = Settings.load(home=tmp_path)
    longer = from_function(lambda query, texts: [float(len(text)) for text in texts], "longer", version="1")
    documents = {"d1": "The old bridge crosses the river.", "d2": "Bread is baked for forty minutes.", "d3": "Salt."}
    tasks = [
        Task.of(
            name,
            {id_: f"{text} {name}" for id_, text in documents.items()},
            {f"q{number}": f"{name}, number {number}" for number in range(4)},
            {f"q{number}": {"d1": 1} for number in range(4)},
            language="en",
        )
        for name in ("Small/a", "Small/b")
    ]

    def planned(tasks: list[Task], **options: Any) -> frozenset[tuple[str, int]]:
        events: list[Event] = []
        models = ["bm25", "dense", "dense?chunk=64", pipeline("bm25", longer, depth=3, settings=settings)]
        evaluate(models, tasks, limit=2, settings=settings, progress=events.append, **options)
        return next(event.encoded_at for event in events if isinstance(event, Planned))

    assert planned(tasks[:1]) == frozenset()
    names = ("dense:use-multilingual-v3", "dense:use-multilingual-v3?chunk=64", "bm25 > rerank:longer?depth=3")
    assert planned(tasks) == {(name, 0) for name in names}
    assert planned(tasks[::-1]) == {(name, place) for name in names for place in (0, 1)}
    assert planned(tasks, seed=1) == frozenset(), "a sample of other queries"


@pytest.mark.parametrize("seed", range(6))
def test_the_sum_of_all_waiting_evaluations_is_kept(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)
    sizes = [None if draw.random() < 0.3 else (draw.randint(1, 500), draw.randint(0, 20)) for _ in range(12)]
    models = ["a", "b", "c"]
    every = [(model, place) for model in models for place in range(12)]
    stored = frozenset(one for one in every if draw.random() < 0.2)
    encoded = frozenset(one for one in every if draw.random() < 0.3)
    lengths = [None if draw.random() < 0.3 else draw.uniform(10, 900) for _ in range(12)]
    left, seconds, calls = TimeLeft(sizes, stored, encoded, lengths), Pace.seconds, 0

    def counted(self: Pace, *arguments: Any, **options: Any) -> float:
        nonlocal calls
        calls += 1
        return seconds(self, *arguments, **options)

    for place in range(12):
        left.add_reading(0.25)
        for model in models:
            found, fresh = (draw.randint(1, 500), draw.randint(0, 20)), draw.random()
            spent = Spent(draw.random(), draw.random(), draw.random(), found, fresh, (draw.random(), draw.random()))
            left.add(model, None if (model, place) in stored else spent, found)
            waiting = [(m, p) for m, p in every if p >= left.places.get(m, 0) and (m, p) not in stored]
            texts = [(sum(left._size(p) or (0, 0)), 0) for p in {p for _, p in waiting if p > place}]
            if not left.paces:
                continue
            expected = sum(map(left.reading.seconds, texts)) + sum(left.of(m, p) for m, p in waiting)
            calls = 0
            with monkeypatch.context() as patch:
                patch.setattr(Pace, "seconds", counted)
                assert left.left(models)[0] == pytest.approx(expected if waiting else 0.0, rel=1e-9, abs=1e-9)
            assert calls <= 4 * len(models) ** 2 + 2  # however many tasks there are
