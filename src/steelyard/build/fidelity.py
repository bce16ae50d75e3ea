"""How well a cut ranks models as the full set does.

Two ways. Resampling: draw n of the queries again and again from stored per-query scores, and rank the models by each
draw; costs nothing, but knows only fewer queries, not fewer documents. Cutting: really cut the source with several
seeds, and weigh the models on each cut.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.build.cut import cut
from steelyard.build.recipe import Recipe
from steelyard.datasets import load_task
from steelyard.errors import UsageError
from steelyard.metrics import score
from steelyard.retrievers import load_retriever
from steelyard.types import Float64, Interval, Task

MEASURES = ("spearman", "kendall", "pairs")
LEVEL = 0.95
TOP_K = 1000


@dataclass(frozen=True)
class Fidelity:
    """Agreement of rankings by cuts of one size with the ranking by the full set; 1 is the same order.

    `spearman` and `kendall` (tau-b) are rank correlations; `pairs` is the share of pairs of models that come out in
    the same order, a tie counting half. The intervals hold 95 of 100 draws.
    """

    queries: int
    documents: int | None
    """None: all; only queries were drawn."""
    draws: int
    spearman: float
    kendall: float
    pairs: float
    intervals: Mapping[str, Interval]

    @property
    def way(self) -> str:
        """`resampled` or `cut`."""
        return "resampled" if self.documents is None else "cut"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {"way": self.way, **asdict(self)}


def agreement(full: Float64, cuts: Float64) -> dict[str, Float64]:
    """Agreement of each row of `cuts` (draws, models) with `full` (models,).

    >>> told = agreement(np.array([0.9, 0.5, 0.1]), np.array([[0.8, 0.4, 0.2], [0.4, 0.8, 0.2]]))
    >>> {name: values.round(4).tolist() for name, values in told.items()}
    {'spearman': [1.0, 0.5], 'kendall': [1.0, 0.3333], 'pairs': [1.0, 0.6667]}
    """
    order = np.sign(full[:, None] - full[None, :])
    orders = np.sign(cuts[:, :, None] - cuts[:, None, :])
    # The sum of a row of signs is, but for scale and origin, the average rank of that model.
    rank, ranks = order.sum(axis=1), orders.sum(axis=2)
    concord = (orders * order).sum(axis=(1, 2))
    strict, stricts = np.abs(order).sum(), np.abs(orders).sum(axis=(1, 2))
    return {
        "spearman": _ratio((ranks * rank).sum(axis=1), np.sqrt((rank**2).sum() * (ranks**2).sum(axis=1))),
        "kendall": _ratio(concord, np.sqrt(strict * stricts)),
        "pairs": (concord / strict + 1) / 2,
    }


def _ratio(above: Float64, below: Float64) -> Float64:
    """0 where all models tie: such a cut tells nothing."""
    return np.asarray(np.divide(above, below, out=np.zeros_like(above), where=below > 0))


def resample(scores: Float64, sizes: Sequence[int], *, draws: int = 1000, seed: int = 0) -> list[Fidelity]:
    """The fidelity of `sizes` queries, drawn without replacement from `scores` (models, queries)."""
    models, queries = scores.shape
    _refuse_too_few(models, scores.mean(axis=1))
    found = []
    for size in sizes:
        if not 1 <= size <= queries:
            raise UsageError(
                f"{size:,} of {queries:,} queries cannot be drawn", hint=f"give sizes from 1 to {queries:,}"
            )
        generator = np.random.default_rng([seed, size])
        means = np.empty((draws, models))
        for number in range(draws):
            means[number] = scores[:, generator.permutation(queries)[:size]].mean(axis=1)
        found.append(_summed(agreement(scores.mean(axis=1), means), size, None, draws))
    return found


def recut(
    reference: str,
    models: Sequence[str],
    sizes: Sequence[tuple[int, int]],
    *,
    seeds: Sequence[int],
    recipe: Recipe,
    metric: str = "ndcg_at_10",
    full: Float64 | None = None,
    watch: Callable[[str], None] = lambda stage: None,
) -> list[Fidelity]:
    """The fidelity of real cuts of so many queries and documents, one with each seed.

    `full` are the figures of the models on the full set; without them the models are weighed on it first.
    """
    from dataclasses import replace

    if full is None:
        watch(f"weighing {len(models)} models on the full set")
        full = weigh(load_task(reference), models, metric)
    _refuse_too_few(len(models), full)
    found = []
    for queries, documents in sizes:
        figures = []
        for seed in seeds:
            watch(f"{queries:,} queries x {documents:,} documents, seed {seed}")
            with tempfile.TemporaryDirectory() as folder:
                chosen = replace(recipe, queries=queries, documents=documents, seed=seed)
                made = cut(reference, Path(folder) / "cut", chosen)
                (written,) = made.tasks.values()
                figures.append(weigh(written.task, models, metric))
        found.append(_summed(agreement(full, np.array(figures)), queries, documents, len(seeds)))
    return found


def weigh(task: Task, models: Sequence[str], metric: str) -> Float64:
    """The figure of each model on the task."""
    figures = []
    for model in models:
        run = load_retriever(model).index(task.corpus, task.info).search(task.queries, TOP_K)
        figures.append(score(run, task.qrels, [metric]).means[metric])
    return np.array(figures)


def smallest(found: Sequence[Fidelity], target: float, measure: str = "pairs") -> Fidelity | None:
    """The smallest cut whose interval lies at or above the target; None where none does."""
    good = [one for one in found if one.intervals[measure].low >= target]
    return min(good, key=lambda one: (one.queries, one.documents or 0), default=None)


def _summed(told: Mapping[str, Float64], queries: int, documents: int | None, draws: int) -> Fidelity:
    tail = (1 - LEVEL) / 2
    ranges = {}
    for name, values in told.items():
        low, high = np.quantile(values, [tail, 1 - tail])
        ranges[name] = Interval(float(low), float(high), LEVEL)
    means = {name: float(values.mean()) for name, values in told.items()}
    return Fidelity(queries, documents, draws, means["spearman"], means["kendall"], means["pairs"], ranges)


def _refuse_too_few(models: int, full: Float64) -> None:
    if models < 3 or len(np.unique(full)) < 2:
        raise UsageError(
            f"{models} models, {len(np.unique(full))} of them different, make no ranking to compare with",
            hint="weigh three models or more on the full set first: steelyard run MODEL MODEL MODEL -t TASK",
        )
