"""`race`: evaluate parts of tasks round by round, and drop the models that cannot be the best any more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from steelyard.config import Settings
from steelyard.engine import AnyModel, as_list, evaluate, expand
from steelyard.engine.batch import load_models
from steelyard.engine.events import Listener, silent
from steelyard.engine.limit import with_documents, with_queries
from steelyard.errors import DataError, ModelError, UsageError
from steelyard.racing.elimination import Elimination
from steelyard.racing.outcome import Dropped, Race
from steelyard.results import Results
from steelyard.retrievers.chunking.retriever import chunked_models
from steelyard.retrievers.objects.entrants import Passages, passage_lengths
from steelyard.types import Float64, Int64, Task
from steelyard.types.protocols import Retriever
from steelyard.types.samples import AnyTask

PARTS = 10
EXTRA = 0.5
"""Parts of a round beyond one for each task, as a share of the tasks; they go to the most informative tasks."""
Report = Callable[[str], None]


def race(
    models: Iterable[AnyModel],
    tasks: str | Path | Task | Iterable[str | Path | Task] = "builtin",
    *,
    best: int = 1,
    alpha: float = 0.05,
    parts: int = PARTS,
    seed: int = 0,
    metric: str | None = None,
    chunk: Passages = (),
    overlap: int = 0,
    results: str | Path | None = None,
    progress: Listener = silent,
    report: Report = lambda line: None,
    settings: Settings | None = None,
) -> Race:
    """Find the `best` models with as little encoding as possible, dropping the others on the way.

    Every task is divided into parts: batches of queries with their documents. A round evaluates one part of each task,
    and further parts of the tasks that separate the models best for their size. After each round, models that are
    worse than `best` others beyond doubt are dropped; with a probability of at least 1 - `alpha` none of the best is
    among them. `chunk` makes a model of each length of passages, as in `evaluate`. With `results`, what is
    evaluated is stored, and an interrupted race goes on from there.
    """
    settings = settings or Settings.load()
    named = chunked_models(as_list(models), passage_lengths(chunk), overlap)
    loaded = load_models(named, listen=progress, settings=settings)
    if failed := [model for model in loaded if model.retriever is None]:
        raise ModelError(f"{failed[0].name} could not be loaded: {failed[0].failure}", hint="leave it out of the race")
    names = [model.name for model in loaded]
    if len(names) < 2:
        raise UsageError("a race needs at least two models", hint="name another one, such as bm25")
    if parts < 1:
        raise UsageError.invalid("--parts", expected="at least 1", found=parts, option="--parts")
    elimination = Elimination(len(names), keep=best, alpha=alpha)
    plan = _Plan([divide(task, parts, seed) for task in _tasks(expand(as_list(tasks), settings=settings), settings)])
    retrievers = [model.retriever for model in loaded if model.retriever is not None]
    track = _Track(names, retrievers, metric, results, progress, settings)
    while not elimination.finished and (chosen := plan.next_round(track.informative)):
        track.run(plan, chosen, elimination.active.tolist())
        for drop in elimination.observe(track.round_scores):
            beaten = ", ".join(names[other] for other in drop.beaten_by)
            report(f"round {drop.round}: {names[drop.model]} is dropped, beaten by {beaten}")
        report(f"round {elimination.rounds}: {len(elimination.active)} of {len(names)} models are left")
    return _outcome(names, elimination, plan, track, seed)


def _tasks(references: Sequence[str | AnyTask], settings: Settings) -> list[Task]:
    from steelyard.datasets import load_any

    loaded = [load_any(task, settings=settings) if isinstance(task, str) else task for task in references]
    searched = [task for task in loaded if isinstance(task, Task) and len(task.queries)]
    if len(searched) < len(loaded):
        other = next(task.name for task in loaded if task not in searched)
        raise UsageError(f"a race needs tasks with queries, got {other}", hint="leave it out; steelyard list tasks")
    return searched


@dataclass(eq=False)
class _Plan:
    """Which parts of each task have been used."""

    tasks: Sequence[Parts]
    used: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.used = [0] * len(self.tasks)

    @property
    def rounds(self) -> int:
        """Rounds that are possible with one part of every task in each."""
        return min(map(len, self.tasks))

    def next_round(self, informative: Callable[[int], float]) -> list[tuple[int, int]]:
        """Return (task, part) of the next round; none once a task has no parts left, as all must be in every round.

        The most informative tasks give a second part, as long as they keep enough for the rounds to come.
        """
        left = [len(parts) - used for parts, used in zip(self.tasks, self.used, strict=True)]
        if min(left) < 1:
            return []
        chosen = [(task, self.used[task]) for task in range(len(self.tasks))]
        spare = [task for task in range(len(self.tasks)) if left[task] > min(left)]
        ranked = sorted(spare, key=lambda task: (-informative(task), task))
        chosen += [(task, self.used[task] + 1) for task in ranked[: int(EXTRA * len(self.tasks))]]
        for task, _ in chosen:
            self.used[task] += 1
        return sorted(chosen, key=lambda pair: (-informative(pair[0]), pair))


@dataclass(eq=False)
class _Track:
    """The models on their way: evaluates parts, keeps scores, and counts what was encoded."""

    names: Sequence[str]
    retrievers: Sequence[Retriever]
    metric: str | None
    results: str | Path | None
    progress: Listener
    settings: Settings
    scores: dict[int, list[Float64]] = field(default_factory=dict)
    """For each task, a (models, queries) matrix of every part; NaN for models that were dropped before."""
    round_scores: dict[str, Float64] = field(default_factory=dict)
    encoded: dict[int, dict[int, set[int]]] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)

    def run(self, plan: _Plan, chosen: Sequence[tuple[int, int]], active: Sequence[int]) -> None:
        """Evaluate the active models on these parts."""
        tables: dict[int, list[Float64]] = {}
        for task, number in chosen:
            parts = plan.tasks[task]
            results = evaluate(
                [self.retrievers[model] for model in active],
                parts.part(number),
                warn=False,
                metrics=self.metric or (),
                results=self.results,
                progress=self.progress,
                settings=self.settings,
            )
            table = self._table(results, active)
            tables.setdefault(task, []).append(table)
            self.scores.setdefault(task, []).append(table)
            self.sizes[task] = self.sizes.get(task, 0) + len(parts.documents[number])
            for model in active:
                rows = parts.documents[number].tolist()
                self.encoded.setdefault(model, {}).setdefault(task, set()).update(rows)
        self.round_scores = {plan.tasks[task].task.name: np.hstack(parts) for task, parts in tables.items()}

    def _table(self, results: Results, active: Sequence[int]) -> Float64:
        if results.failures:
            failure = results.failures[0]
            raise ModelError(
                f"{failure.model} failed on {failure.task}: {failure.error}", hint="leave the model out of the race"
            )
        columns = results.query_columns(results.labels[0], self.metric)
        if len(columns) < len(active):
            raise DataError(
                f"{results.tasks[0]} has no per-query scores to race by",
                hint="choose another --metric, such as nDCG@10",
            )
        count = len(next(iter(columns.values())).values)
        table = np.full((len(self.names), count), np.nan)
        for model in active:
            table[model] = columns[self.names[model]].values
        return table

    def informative(self, task: int) -> float:
        """Return how well a task separates the models for its size: spread of their means / documents encoded.

        It uses earlier rounds only; a task that has not been seen is the most informative.
        """
        if task not in self.scores:
            return float("inf")
        table = np.hstack(self.scores[task])
        means = np.array([np.nanmean(row) for row in table if np.isfinite(row).any()])
        return float(means.std()) / max(self.sizes[task], 1)


def _outcome(names: Sequence[str], elimination: Elimination, plan: _Plan, track: _Track, seed: int) -> Race:
    means: dict[str, float] = {}
    for place, name in enumerate(names):
        rows = [np.hstack(tables)[place] for tables in track.scores.values()]
        means[name] = float(np.mean([np.nanmean(row) for row in rows]))
    encoded = {name: sum(map(len, track.encoded.get(place, {}).values())) for place, name in enumerate(names)}
    remaining = sorted((names[place] for place in elimination.active), key=lambda name: -means[name])
    return Race(
        tuple(names),
        tuple(remaining),
        elimination.keep,
        elimination.alpha,
        elimination.rounds,
        max(plan.rounds, elimination.rounds),
        tuple(
            Dropped(names[drop.model], drop.round, tuple(names[other] for other in drop.beaten_by))
            for drop in elimination.drops
        ),
        means,
        encoded,
        sum(len(parts.task.corpus) for parts in plan.tasks),
        seed,
    )


FEWEST_QUERIES = 5
FEWEST_DOCUMENTS = 1_000
"""Documents that a part has at least, if the corpus has as many: among a few, every model finds everything."""


@dataclass(frozen=True, eq=False)
class Parts:
    """A task and the queries and documents of each of its parts."""

    task: Task
    queries: tuple[Int64, ...]
    documents: tuple[Int64, ...]

    def __len__(self) -> int:
        return len(self.queries)

    def part(self, number: int) -> Task:
        """Return one part as a task of its own."""
        if len(self) == 1:
            return self.task
        info = replace(self.task.info, name=f"{self.task.name}#{number + 1}-of-{len(self)}")
        smaller = with_documents(with_queries(self.task, self.queries[number]), self.documents[number])
        return replace(smaller, info=info)


def divide(task: Task, parts: int, seed: int = 0) -> Parts:
    """Divide a task into at most so many parts of at least 5 queries, drawn by the seed.

    A part has every document that is judged or a candidate for one of its queries, and a share of the others: each
    document is in one part, or in several where parts would have fewer than 1,000.
    """
    count = max(1, min(parts, len(task.queries) // FEWEST_QUERIES))
    generator = np.random.default_rng([seed, 3])
    queries = [np.sort(part) for part in np.array_split(generator.permutation(len(task.queries)), count)]
    order = generator.permutation(len(task.corpus))
    size = max(-(-len(order) // count), min(FEWEST_DOCUMENTS, len(order)))
    documents = []
    for number, own in enumerate(queries):
        start = number * len(order) // count
        share = order[np.arange(start, start + size) % len(order)]
        chosen = np.zeros(len(task.corpus), dtype=bool)
        chosen[share] = True
        for lists in (task.qrels, *task.candidates.values()):
            for query in own.tolist():
                rows = lists.rows_of(query)
                chosen[rows[rows >= 0]] = True
        documents.append(np.flatnonzero(chosen))
    return Parts(task, tuple(queries), tuple(documents))
