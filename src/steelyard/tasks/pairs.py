"""Pairs of texts: STS, pair classification and bitext mining, with numpy only.

Sums of single precision are added in the order in which torch adds, so that the last bit is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError
from steelyard.results import QueryScores
from steelyard.tasks.confusion import Confusion
from steelyard.tasks.correlation import correlations
from steelyard.tasks.resampling import described, mean_intervals
from steelyard.tasks.sample_scores import Profile, SampleScores, main_metric
from steelyard.tasks.separation import separations
from steelyard.types import Float32, Float64, Int64
from steelyard.types.samples import PairTask
from steelyard.vectors.topk import normalised, top_k

BLOCK = 512
"""Pairs compared at a time: their vectors stay in the processor's cache."""
TILE = 64
"""Vectors transposed at a time."""
Scores = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Sides:
    """Vectors of pairs, and intermediate values that several similarities share."""

    first: Float32
    second: Float32

    @cached_property
    def difference(self) -> Float32:
        """Return the difference of the vectors."""
        return np.asarray(self.first - self.second)


Compare = Callable[[Sides], Scores]


def cosine(sides: Sides) -> Scores:
    """Return 1 minus half the squared distance of the vectors at length 1, with the rounding of scikit-learn.

    >>> cosine(Sides(np.float32([[1, 0], [3, 4]]), np.float32([[0, 2], [3, 4]]))).tolist()
    [0.0, 1.0]
    """
    first, second = _unit(sides.first), _unit(sides.second)
    difference = np.subtract(first, second, out=first)
    return np.asarray(1 - np.float32(0.5) * np.einsum("ij,ij->i", difference, difference))


def _unit(vectors: Float32) -> Float32:
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    lengths[lengths < 10 * np.finfo(np.float32).eps] = 1
    return np.asarray(vectors / lengths[:, None])


def _manhattan(sides: Sides) -> Scores:
    return np.asarray(-np.abs(sides.difference).sum(axis=-1))


def _euclidean(sides: Sides) -> Scores:
    return np.asarray(-np.sqrt(np.einsum("ij,ij->i", sides.difference, sides.difference)))


def _dot(sides: Sides) -> Scores:
    return np.asarray(np.vecdot(sides.first, sides.second))


def _own_cosine(sides: Sides) -> Scores:
    return cosines(sides.first, sides.second)


def _own_dot(sides: Sides) -> Scores:
    return dots(sides.first, sides.second)


_COMPARED: dict[str, Compare] = {
    "cosine": cosine,
    "manhattan": _manhattan,
    "euclidean": _euclidean,
    "dot": _dot,
}
_OWN: dict[Profile, dict[str, Compare]] = {
    "mteb-2.26": {**_COMPARED, "cosine": _own_cosine, "dot": _own_dot},
    "mteb-1.14": _COMPARED,
}
"""The model's own similarity: since mteb 2, torch computes it, and its last bits differ from `cosine` and `dot`."""


def compare(task: PairTask, texts: Sequence[str], vectors: Float32, compared: Sequence[Compare]) -> list[Float64]:
    """Return the scores of all pairs by every similarity; higher is more similar."""
    row_of = {text: row for row, text in enumerate(texts)}
    first, second = (np.array([row_of[text] for text in side]) for side in (task.first, task.second))
    scores = [np.empty(len(task)) for _ in compared]
    for start in range(0, len(task), BLOCK):
        part = slice(start, start + BLOCK)
        sides = Sides(_rows(vectors, first[part]), _rows(vectors, second[part]))
        for out, way in zip(scores, compared, strict=True):
            out[part] = way(sides)
    return scores


def _rows(vectors: Float32, rows: Int64) -> Float32:
    """Return rows of the vectors, without a copy if they follow each other."""
    if (np.diff(rows) == 1).all():
        return vectors[rows[0] : rows[0] + len(rows)]
    return vectors[rows]


def score_pairs(
    task: PairTask, texts: Sequence[str], vectors: Float32, similarity: str, profile: Profile = "mteb-2.26"
) -> SampleScores:
    """Score STS or pair classification, by the type of the task."""
    if not len(task):
        raise DataError("a task of pairs must have pairs", where=task.name, hint="add pairs of texts")
    ways = {"similarity": _OWN[profile][similarity], **_COMPARED}
    if task.info.type == "sts":
        del ways["dot"]
    scores = dict(zip(ways, compare(task, texts, vectors, list(ways.values())), strict=True))
    samples = QueryScores(tuple(map(str, range(len(task)))), None, {"gold": task.gold, **scores})
    metrics: dict[str, float | None]
    if task.info.type == "sts":
        metrics, intervals = correlations(task.gold, scores, similarity)
        # The model's own similarity has no prefix, as in mteb.
        metrics = {name.removeprefix("similarity_"): value for name, value in metrics.items()}
        intervals = {name.removeprefix("similarity_"): value for name, value in intervals.items()}
        mteb: dict[str, Any] = dict(metrics)
    else:
        _check_labels(task)
        separated, intervals = separations(task.gold, scores, split_ties=profile == "mteb-1.14", own=similarity)
        metrics = {name: value for name, value in separated.items() if not name.endswith("_threshold")}
        mteb = dict(metrics) if profile == "mteb-2.26" else _with_thresholds(separated)
    main = main_metric(task.info, {"sts": "cosine_spearman"}.get(task.info.type, "max_ap"), metrics)
    return SampleScores(main, metrics, mteb, intervals, described(len(task), "pairs"), samples)


def _check_labels(task: PairTask) -> None:
    odd = np.flatnonzero(~np.isin(task.gold, (0, 1)))
    if len(odd):
        raise DataError(
            f"the label of pair {odd[0]} must be 0 (no match) or 1 (match), got {task.gold[odd[0]]:g}",
            where=task.name,
            hint="set the type to sts for other values",
            row=int(odd[0]),
            expected="0 or 1",
            found=float(task.gold[odd[0]]),
        )


def _with_thresholds(metrics: dict[str, float]) -> dict[str, Any]:
    """Return thresholds on distances as distances, as mteb 1.14 wrote them."""
    distances = ("manhattan_", "euclidean_")
    return {
        name: -value if name.endswith("_threshold") and name.startswith(distances) else value
        for name, value in metrics.items()
    }


LANES, ACCUMULATORS, ROUNDS = 8, 4, 16
SMALLEST = np.float32(1e-12)
"""The smallest divisor of a vector."""


def dots(first: Float32, second: Float32) -> npt.NDArray[np.float32]:
    """Return the scalar product of each row with its partner.

    >>> dots(np.float32([[1, 2]]), np.float32([[3, 4]])).tolist()
    [11.0]
    """
    columns = _columns(first)
    columns *= _columns(second)
    return _sums(columns)


def cosines(first: Float32, second: Float32) -> npt.NDArray[np.float32]:
    """Return the cosine of each row with its partner; 0 if one is 0.

    >>> cosines(np.float32([[3, 4], [0, 0]]), np.float32([[3, 4], [1, 0]])).tolist()
    [1.0, 0.0]
    """
    columns = _units(_columns(first))
    columns *= _units(_columns(second))
    return _sums(columns)


def _columns(vectors: Float32) -> Float32:
    """Return a copy with one vector per column, made in tiles that stay in the processor's first cache."""
    columns = np.empty(vectors.shape[::-1], dtype=np.float32)
    for start in range(0, len(vectors), TILE):
        columns[:, start : start + TILE] = vectors[start : start + TILE].T
    return columns


def _units(columns: Float32) -> Float32:
    """Scale the columns to length 1, in place."""
    squares = columns * columns
    whole = len(squares) // LANES * LANES
    lengths = _in_order([*_rounds(squares[:whole], LANES).sum(axis=0), *squares[whole:]])
    return np.divide(columns, np.maximum(np.sqrt(lengths), SMALLEST), out=columns)


def _sums(values: Float32) -> npt.NDArray[np.float32]:
    """Return the sum of each column."""
    wide = LANES * ACCUMULATORS
    whole, lanes = len(values) // wide * wide, len(values) // LANES * LANES
    rounds = _rounds(values[:whole], wide)
    full = len(rounds) // ROUNDS * ROUNDS
    # Every 16 rounds are added separately; the remaining rounds come first.
    total = rounds[full:].sum(axis=0)
    if full:
        total = total + rounds[:full].reshape(-1, ROUNDS, *rounds.shape[1:]).sum(axis=1).sum(axis=0)
    first, *others = total.reshape(ACCUMULATORS, LANES, -1)
    by_lane = _in_order([first, *_rounds(values[whole:lanes], LANES), *others])
    return _in_order([*values[lanes:], *by_lane])


def _rounds(values: Float32, width: int) -> Float32:
    return values.reshape(-1, width, values.shape[1])


def _in_order(parts: list[Float32]) -> Float32:
    """Add one after the other."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def score_bitext(task: PairTask, texts: Sequence[str], vectors: Float32, similarity: str) -> SampleScores:
    """Return mteb's four scores; precision, recall and F1 are weighted means over the sentences as classes."""
    if not len(task):
        raise DataError("a task of translations must have pairs", where=task.name, hint="add pairs of texts")
    row_of = {text: row for row, text in enumerate(texts)}
    first, second = (vectors[[row_of[text] for text in side]] for side in (task.first, task.second))
    if similarity == "cosine":
        first, second, similarity = normalised(first), normalised(second), "dot"
    nearest = top_k(first, second, 1, similarity=similarity)
    predicted = nearest.rows[:, 0].astype(np.int64)
    gold = np.arange(len(task))
    correct = (predicted == gold).astype(np.float64)
    scores = Confusion.of(gold, predicted, len(task)).scores()
    metrics = {name: float(scores[f"{name}_weighted"]) for name in ("precision", "recall", "f1")}
    metrics["accuracy"] = float(scores["accuracy"])
    chosen = np.bincount(predicted, minlength=len(task))
    values = {
        "precision": correct / np.maximum(chosen, 1),
        "recall": correct,
        "f1": 2 * correct / (1 + chosen),
        "accuracy": correct,
    }
    return SampleScores(
        main_metric(task.info, "f1", metrics),
        metrics,
        dict(metrics),
        mean_intervals(values, metrics),
        described(len(task), "pairs"),
        QueryScores(tuple(map(str, range(len(task)))), None, {"accuracy": correct, "f1": values["f1"]}),
        predictions={
            "-".join(task.columns): [
                {"corpus_id": row, "score": score}
                for row, score in zip(predicted.tolist(), nearest.scores[:, 0].tolist(), strict=True)
            ]
        },
    )
