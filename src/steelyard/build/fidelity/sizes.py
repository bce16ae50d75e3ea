"""How well does a cut of n queries and m documents rank models as the full set does?

Two ways to know. *Resampled*: draw n of the queries again and again from per-query scores, and rank the models by each
draw. Costs next to nothing, and tells of fewer queries, not of fewer documents. *Cut*: really cut the source with
several seeds, and weigh the models on each cut.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from steelyard.build.fidelity.scores import Scored, Weigh
from steelyard.build.sample.recipe import Recipe
from steelyard.build.sample.sampler import cut
from steelyard.build.source.source import open_sources
from steelyard.config import Settings
from steelyard.datasets import load_task
from steelyard.errors import UsageError
from steelyard.stats.agreement import MEASURES, agreement, spread
from steelyard.types import Float64, Interval, Task

Way = Literal["resampled", "cut"]
DRAWS = 1000
BLOCK = 1 << 22
"""Scores gathered at a time, so that memory stays small."""


@dataclass(frozen=True)
class Fidelity:
    """Agreement of the rankings by cuts of one size with the ranking by the full set, by measure; 1 is the same order.

    `means` are over the draws; the `intervals` hold single draws, not their mean: they say what the next cut of that
    size may be like, with the probability that is their level.
    """

    way: Way
    queries: int
    documents: int | None
    """None: all of them."""
    draws: int
    means: Mapping[str, float]
    intervals: Mapping[str, Interval]

    @classmethod
    def of(cls, way: Way, queries: int, documents: int | None, full: Float64, figures: Float64) -> Fidelity:
        """The agreement of `figures` (draws, models) with `full` (models)."""
        told = agreement(full, figures)
        means = {name: float(told[name].mean()) for name in MEASURES}
        return cls(way, queries, documents, len(figures), means, {name: spread(told[name]) for name in MEASURES})

    def meets(self, target: float, measure: str, *, surely: bool) -> bool:
        """Whether such cuts reach the target: on average, or surely, which is down to the low end of the interval."""
        return (self.intervals[measure].low if surely else self.means[measure]) >= target

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, each measure by its name."""
        facts = asdict(self)
        means, intervals = facts.pop("means"), facts.pop("intervals")
        return {**facts, **means, "intervals": intervals}


def resample(scored: Scored, sizes: Sequence[int], *, draws: int = DRAWS, seed: int = 0) -> list[Fidelity]:
    """The fidelity of so many queries, drawn without replacement; the draws of a larger size hold those of a smaller.

    >>> scored = Scored("X/en", "ndcg_at_10", ("a", "b", "c"), np.array([[0.9, 0.7], [0.5, 0.5], [0.1, 0.4]]), {})
    >>> [one.means["pairs"] for one in resample(scored, [1, 2], draws=10)]
    [1.0, 1.0]
    """
    if draws < 1:
        raise UsageError(f"{draws} draws", hint="1 or more; 1000 is usual")
    for size in sizes:
        if not 1 <= size <= scored.queries:
            raise UsageError(f"{size:,} of {scored.queries:,} queries", hint=f"sizes from 1 to {scored.queries:,}")
    figures = np.concatenate([np.empty((0, len(sizes), len(scored.models))), *_drawn(scored, sizes, draws, seed)])
    full = scored.figures
    return [Fidelity.of("resampled", size, None, full, figures[:, at]) for at, size in enumerate(sizes)]


def _drawn(scored: Scored, sizes: Sequence[int], draws: int, seed: int) -> Iterator[Float64]:
    """Blocks of (draws, sizes, models): the figures of every draw at every size."""
    generator = np.random.default_rng(seed)
    places = np.array(sizes, dtype=np.int64) - 1
    step = max(1, BLOCK // scored.values.size)
    for start in range(0, draws, step):
        count = min(step, draws - start)
        orders = generator.permuted(np.tile(np.arange(scored.queries), (count, 1)), axis=1)
        sums = scored.values.T[orders].cumsum(axis=1)
        yield sums[:, places] / (places + 1)[:, None]


def fewest_queries(
    scored: Scored, target: float, measure: str, *, surely: bool, draws: int = DRAWS, seed: int = 0
) -> Fidelity | None:
    """The fewest queries that meet the target, by halving: fidelity grows with them. None: not even all of them do."""
    low, high = 0, scored.queries
    best: Fidelity | None = None
    while high - low > 1 or best is None:
        middle = high if best is None else (low + high) // 2
        (found,) = resample(scored, [middle], draws=draws, seed=seed)
        if found.meets(target, measure, surely=surely):
            best, high = found, middle
        elif best is None:
            return None
        else:
            low = middle
    return best


@dataclass(frozen=True)
class Impossible:
    """A size that the source cannot be cut to, and why."""

    queries: int
    documents: int
    reason: str


def recut(
    reference: str,
    scored: Scored,
    sizes: Sequence[tuple[int, int]],
    weigh: Weigh,
    *,
    recipe: Recipe,
    seeds: Sequence[int],
    settings: Settings | None = None,
    watch: Callable[[int, int, str], None] = lambda done, total, stage: None,
) -> tuple[list[Fidelity], list[Impossible]]:
    """The fidelity of real cuts of so many queries and documents, one cut with each seed.

    A cut that ends up with fewer queries or documents than were asked for (copies left out, a source too small) is no
    cut of that size: such a size, and one whose positives do not fit, comes back with the reason.
    """
    settings = settings or Settings.load()
    if (tasks := len(open_sources(reference, settings=settings))) != 1:
        raise UsageError(f"{reference} stands for {tasks} tasks", hint="name one of them")
    found: list[Fidelity] = []
    impossible: list[Impossible] = []
    total = len(sizes) * len(seeds)
    for number, (queries, documents) in enumerate(sizes):
        figures: list[Float64] = []
        for turn, seed in enumerate(seeds):
            watch(number * len(seeds) + turn, total, f"{queries:,} queries x {documents:,} documents, seed {seed}")
            try:
                task = _cut(reference, replace(recipe, queries=queries, documents=documents, seed=seed), settings)
            except UsageError as error:
                impossible.append(Impossible(queries, documents, str(error)))
                break
            figures.append(weigh(task, scored.models).figures)
        else:
            found.append(Fidelity.of("cut", queries, documents, scored.figures, np.array(figures)))
    watch(total, total, "")
    return found, impossible


def _cut(reference: str, recipe: Recipe, settings: Settings) -> Task:
    with tempfile.TemporaryDirectory(prefix="steelyard-") as folder:
        # Read as anybody would: language and category, which analysers go by, come from the finished manifest.
        task = load_task(cut(reference, Path(folder) / "cut", recipe, settings=settings).folder, settings=settings)
    if len(task.queries) < recipe.queries or len(task.corpus) < recipe.documents:
        raise UsageError(
            f"only {len(task.queries):,} queries and {len(task.corpus):,} documents were left",
            hint="ask for a smaller cut, or keep near copies with --near 0",
        )
    return task


def smallest(found: Sequence[Fidelity], target: float, measure: str, *, surely: bool) -> Fidelity | None:
    """Of the real cuts that meet the target, the one with the fewest texts to encode."""
    good = [one for one in found if one.documents is not None and one.meets(target, measure, surely=surely)]
    return min(good, key=lambda one: (one.queries + (one.documents or 0), one.queries), default=None)
