"""How well a sample of n queries and m documents ranks models as the full task does.

The scores of models on the full task come from stored results, query by query.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from steelyard.build.sample.recipe import Recipe
from steelyard.build.sample.sampler import sample_set
from steelyard.build.source.source import open_sources
from steelyard.config import Settings
from steelyard.datasets import load_task
from steelyard.errors import DataError, UnknownName, UsageError
from steelyard.results import Result, ResultStore
from steelyard.results.store import Report, warn
from steelyard.stats.agreement import MEASURES, agreement, spread
from steelyard.types import Float64, Interval, Task

Way = Literal["resampled", "cut"]
DRAWS = 1000
BLOCK = 1 << 22
"""Scores in memory at a time."""


@dataclass(frozen=True)
class Fidelity:
    """Agreement of the rankings by samples of one size with the ranking by the full task, by measure; 1: same order.

    `means` are over the draws. The `intervals` are of single draws, not of their mean: the next sample of that size
    is in them with the probability `level`.
    """

    way: Way
    queries: int
    documents: int | None
    """None: all of them."""
    draws: int
    means: Mapping[str, float]
    intervals: Mapping[str, Interval]

    @classmethod
    def of(cls, way: Way, queries: int, documents: int | None, full: Float64, means: Float64) -> Fidelity:
        """Return the agreement of `means` (draws, models) with `full` (models)."""
        agreed = agreement(full, means)
        average = {name: float(agreed[name].mean()) for name in MEASURES}
        return cls(way, queries, documents, len(means), average, {name: spread(agreed[name]) for name in MEASURES})

    def meets(self, target: float, measure: str, *, lower_bound: bool) -> bool:
        """Return whether such samples reach the target on average, or with `lower_bound` at the interval's low end."""
        return (self.intervals[measure].low if lower_bound else self.means[measure]) >= target

    def to_dict(self) -> dict[str, Any]:
        """Return the fidelity, JSON-ready, each measure by its name."""
        facts = asdict(self)
        means, intervals = facts.pop("means"), facts.pop("intervals")
        return {**facts, **means, "intervals": intervals}


def resample(scored: ModelScores, sizes: Sequence[int], *, draws: int = DRAWS, seed: int = 0) -> list[Fidelity]:
    """Return the fidelity of so many queries, drawn without replacement; larger draws contain the smaller ones.

    >>> scored = ModelScores("X/en", "ndcg_at_10", ("a", "b", "c"), np.array([[0.9, 0.7], [0.5, 0.5], [0.1, 0.4]]), {})
    >>> [one.means["pairs"] for one in resample(scored, [1, 2], draws=10)]
    [1.0, 1.0]
    """
    if draws < 1:
        raise UsageError.invalid("the number of draws", expected="at least 1", found=draws, option="--draws")
    for size in sizes:
        if not 1 <= size <= scored.queries:
            raise UsageError.invalid(
                "a size", expected=f"1 to {scored.queries:,} queries", found=size, option="--sizes"
            )
    means = np.concatenate([np.empty((0, len(sizes), len(scored.models))), *_drawn(scored, sizes, draws, seed)])
    full = scored.means
    return [Fidelity.of("resampled", size, None, full, means[:, at]) for at, size in enumerate(sizes)]


def _drawn(scored: ModelScores, sizes: Sequence[int], draws: int, seed: int) -> Iterator[Float64]:
    """Yield blocks of (draws, sizes, models): the mean scores of every draw at every size."""
    generator = np.random.default_rng(seed)
    places = np.array(sizes, dtype=np.int64) - 1
    step = max(1, BLOCK // scored.values.size)
    for start in range(0, draws, step):
        count = min(step, draws - start)
        orders = generator.permuted(np.tile(np.arange(scored.queries), (count, 1)), axis=1)
        sums = scored.values.T[orders].cumsum(axis=1)
        yield sums[:, places] / (places + 1)[:, None]


def fewest_queries(
    scored: ModelScores, target: float, measure: str, *, lower_bound: bool, draws: int = DRAWS, seed: int = 0
) -> Fidelity | None:
    """Return the fewest queries that reach the target, by bisection; None if not even all queries do."""
    low, high = 0, scored.queries
    best: Fidelity | None = None
    while high - low > 1 or best is None:
        middle = high if best is None else (low + high) // 2
        (tried,) = resample(scored, [middle], draws=draws, seed=seed)
        if tried.meets(target, measure, lower_bound=lower_bound):
            best, high = tried, middle
        elif best is None:
            return None
        else:
            low = middle
    return best


@dataclass(frozen=True)
class UnreachableSize:
    """A size that the source cannot be sampled to, and why."""

    queries: int
    documents: int
    reason: str


def sample_fidelity(
    reference: str,
    scored: ModelScores,
    sizes: Sequence[tuple[int, int]],
    evaluate: Evaluate,
    *,
    recipe: Recipe,
    seeds: Sequence[int],
    settings: Settings | None = None,
    progress: Callable[[int, int, str], None] = lambda done, total, stage: None,
) -> tuple[list[Fidelity], list[UnreachableSize]]:
    """Return the fidelity of real samples of so many queries and documents, one sample with each seed.

    A sample that ends up with fewer queries or documents than requested (duplicates removed, a source too small), and
    one whose positives do not fit, is returned as unreachable with the reason.
    """
    settings = settings or Settings.load()
    if (tasks := len(open_sources(reference, settings=settings))) != 1:
        raise UsageError.invalid(reference, expected="one task", found=tasks, hint="name one of them")
    reached: list[Fidelity] = []
    unreachable: list[UnreachableSize] = []
    total = len(sizes) * len(seeds)
    for number, (queries, documents) in enumerate(sizes):
        means: list[Float64] = []
        for turn, seed in enumerate(seeds):
            progress(number * len(seeds) + turn, total, f"{queries:,} queries x {documents:,} documents, seed {seed}")
            try:
                task = _sample(reference, replace(recipe, queries=queries, documents=documents, seed=seed), settings)
            except UsageError as error:
                unreachable.append(UnreachableSize(queries, documents, str(error)))
                break
            means.append(evaluate(task, scored.models).means)
        else:
            reached.append(Fidelity.of("cut", queries, documents, scored.means, np.array(means)))
    progress(total, total, "")
    return reached, unreachable


def _sample(reference: str, recipe: Recipe, settings: Settings) -> Task:
    with tempfile.TemporaryDirectory(prefix="steelyard-") as folder:
        # Read from disk: language and category, which choose the analyser, come from the finished manifest.
        task = load_task(
            sample_set(reference, Path(folder) / "cut", recipe, settings=settings).folder, settings=settings
        )
    if len(task.queries) < recipe.queries or len(task.corpus) < recipe.documents:
        raise UsageError(
            f"the sample must have {recipe.queries:,} queries and {recipe.documents:,} documents, "
            f"got {len(task.queries):,} and {len(task.corpus):,}",
            hint="ask for a smaller sample, or keep near duplicates with --near 0",
        )
    return task


def smallest(tried: Sequence[Fidelity], target: float, measure: str, *, lower_bound: bool) -> Fidelity | None:
    """Return the real sample with the fewest texts that reaches the target; None if none does."""
    good = [one for one in tried if one.documents is not None and one.meets(target, measure, lower_bound=lower_bound)]
    return min(good, key=lambda one: (one.queries + (one.documents or 0), one.queries), default=None)


FEWEST = 3
"""The fewest models: two have only one pair, so a ranking is either right or wrong."""

GRID = (
    "bm25",
    "bm25?b=0.4&k1=0.9",
    "bm25?b=0",
    "bm25?k1=3",
    "bm25?form=bm25l&delta=0.5",
    "dense",
    "dense?truncate_dim=256",
    "dense?truncate_dim=64",
    "dense?precision=binary",
    "[bm25, dense]",
    "[bm25, dense]?weights=3,1",
    "[bm25, dense]?method=zscore",
)
"""Models that need only the light core, from very different to nearly equal."""

Evaluate = Callable[[Task, Sequence[str]], "ModelScores"]
"""Evaluates models on a task."""


@dataclass(frozen=True, eq=False)
class ModelScores:
    """One metric of several models on the same queries of one task: `values` is (models, queries)."""

    task: str
    metric: str
    models: tuple[str, ...]
    values: Float64
    skipped: Mapping[str, str]
    """Stored results that cannot be compared with these, with the reason."""

    def __post_init__(self) -> None:
        if self.values.shape[0] != len(self.models):
            raise DataError.invalid(
                "the rows of scores",
                expected=f"{len(self.models)}, one for each model",
                found=self.values.shape[0],
                where=self.task,
            )
        if len(self.models) < FEWEST:
            raise UsageError.invalid(
                f"the number of models on {self.task}",
                expected=f"at least {FEWEST}",
                found=len(self.models),
                hint="evaluate more: steelyard run MODEL MODEL MODEL -t TASK, or name them with -m",
            )

    @property
    def means(self) -> Float64:
        """Return the mean score of each model, which ranks them on the full task."""
        return np.asarray(self.values.mean(axis=1))

    @property
    def queries(self) -> int:
        """Return how many queries the full task has."""
        return int(self.values.shape[1])


def stored_scores(
    folder: Path, task: str, metric: str, models: Sequence[str] = (), report: Report = warn
) -> ModelScores:
    """Return the scores of all models (or of the named ones) in a folder of results.

    Only complete results on the same data are compared: of several versions of the data, the one with most models; of
    several results of a model, the newest. `skipped` lists the others.
    """
    store = ResultStore(folder)
    results = [result for result in store.find(task=task, report=report) if not models or result.model in models]
    if not results:
        known = sorted({result.task for result in store.all(report) if result.done})
        listed = f"{folder} has {', '.join(known) or 'no results'}"
        hint = f"evaluate three or more models: steelyard run MODEL MODEL MODEL -t TASK; {listed}"
        raise UnknownName("task with results", task, known, hint=hint)
    usable, skipped = _usable(results, metric)
    ids = sorted(next(iter(usable.values())).per_query.ids) if usable else []
    rows = []
    for result in usable.values():
        queries = result.per_query
        order = sorted(range(len(queries)), key=queries.ids.__getitem__)
        if [queries.ids[at] for at in order] != ids:  # one data hash, so somebody changed a file
            raise DataError(
                "the queries must be those of the other results",
                where=str(result.path),
                hint="evaluate the model again: steelyard run --overwrite-strategy always",
            )
        rows.append(queries[metric][order])
    values = np.array(rows, dtype=np.float64).reshape(len(rows), len(ids))
    return ModelScores(task, metric, tuple(usable), values, skipped)


def _usable(results: Sequence[Result], metric: str) -> tuple[dict[str, Result], dict[str, str]]:
    """Return by model the newest complete result on the data that most models were evaluated on."""
    skipped: dict[str, str] = {}
    by_data: dict[str | None, dict[str, Result]] = {}
    for result in sorted(results, key=lambda result: result.created):
        name = f"{result.model} ({result.key[:8]})"
        if not result.done:
            skipped[name] = "failed"
        elif result.partial:
            skipped[name] = f"only {result.facts.queries} of {result.facts.queries_in_full} queries"
        elif metric not in result.per_query:
            skipped[name] = f"does not have {metric} by query"
        else:
            before = by_data.setdefault(result.facts.data_hash, {}).get(result.model)
            if before is not None:
                skipped[f"{before.model} ({before.key[:8]})"] = "older than another result"
            by_data[result.facts.data_hash][result.model] = result
    best = max(by_data.values(), key=len, default={})
    for others in by_data.values():
        if others is not best:
            skipped |= {f"{one.model} ({one.key[:8]})": "other data" for one in others.values()}
    return dict(sorted(best.items())), skipped
