"""Summarization: similarity of a machine-made summary to the nearest human one, correlated with scores by people."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from steelyard.errors import DataError, MissingPart
from steelyard.results import QueryScores
from steelyard.tasks.correlation import average_ranks, correlation
from steelyard.tasks.resampling import described, mean_intervals
from steelyard.tasks.sample_scores import SampleScores, main_metric
from steelyard.types import Float32, Float64
from steelyard.types.samples import SummaryTask, distinct
from steelyard.vectors.topk import normalised

Compare = Callable[[Float32, Float32], Float32]
"""The similarity of every row of one matrix with every row of the other."""


def summary_texts(task: SummaryTask) -> list[str]:
    """Return all summaries; the summarised texts are not encoded."""
    return distinct(list(chain.from_iterable(task.human)), list(chain.from_iterable(task.machine)))


def _dot(first: Float32, second: Float32) -> Float32:
    # Each product by itself: equal summaries get equal scores, wherever they are in the matrix.
    return np.asarray(np.einsum("ik,jk->ij", first, second), dtype=np.float32)


def _cosine(first: Float32, second: Float32) -> Float32:
    return _dot(normalised(first), normalised(second))


def _euclidean(first: Float32, second: Float32) -> Float32:
    return np.asarray(-np.sqrt(((first[:, None] - second[None]) ** 2).sum(axis=-1)), dtype=np.float32)


def _manhattan(first: Float32, second: Float32) -> Float32:
    return np.asarray(-np.abs(first[:, None] - second[None]).sum(axis=-1), dtype=np.float32)


PREDICTED = ("cosine_scores", "dot_scores", "similarity_scores", "human_scores")
"""mteb's names of the outputs by text: each machine-made summary's similarities, and its score from 0 to 1."""
COMPARED: dict[str, Compare] = {"cosine": _cosine, "dot": _dot, "euclidean": _euclidean, "manhattan": _manhattan}


def score_summaries(task: SummaryTask, texts: Sequence[str], vectors: Float32, similarity: str) -> SampleScores:
    """Return the means over texts; a text whose summaries all have the same score is left out, as in mteb."""
    row_of = {text: row for row, text in enumerate(texts)}
    ways = {"": COMPARED[similarity], "cosine_": _cosine, "dot_": _dot}
    values: dict[str, list[float]] = {f"{name}{kind}": [] for name in ways for kind in ("pearson", "spearman")}
    used = []
    predictions: dict[str, list[list[float]]] = {name: [] for name in PREDICTED}
    lowest, highest = task.scale
    for number, (human, machine, gold) in enumerate(zip(task.human, task.machine, task.gold, strict=True)):
        people, machine_vectors = (vectors[[row_of[text] for text in side]] for side in (human, machine))
        scores = {name: way(machine_vectors, people).max(axis=1).astype(np.float64) for name, way in ways.items()}
        if any(len(set(column)) == 1 for column in (gold, scores["cosine_"].tolist(), scores["dot_"].tolist())):
            continue
        used.append(number)
        scaled = (np.array(gold) - lowest) / (highest - lowest)
        for name, column in zip(PREDICTED, (scores["cosine_"], scores["dot_"], scores[""], scaled), strict=True):
            predictions[name].append(column.tolist())
        for name, column in scores.items():
            pearson, spearman = _correlations(np.array(gold, dtype=np.float64), column, task.with_p_values)
            values[f"{name}pearson"].append(pearson)
            values[f"{name}spearman"].append(spearman)
    if not used:
        raise DataError(
            "at least one text must have summaries with different human scores, got none",
            where=task.name,
            hint="give the summaries of a text different scores, or leave out the task",
        )
    columns = {name: np.array(column) for name, column in values.items()}
    metrics: dict[str, float | None] = {
        name: float(column.mean()) if np.isfinite(column).all() else None for name, column in columns.items()
    }
    order = ("pearson", "spearman", "cosine_spearman", "cosine_pearson", "dot_pearson", "dot_spearman")
    return SampleScores(
        main_metric(task.info, "cosine_spearman", metrics),
        metrics,
        {name: metrics[name] for name in order},
        mean_intervals(columns, metrics, (-1.0, 1.0)),
        described(len(used), "texts"),
        QueryScores(tuple(map(str, used)), None, columns),
        {"texts_left_out": len(task) - len(used)} if len(used) < len(task) else {},
        predictions,
    )


def _correlations(gold: Float64, scores: Float64, with_p_values: bool) -> tuple[float, float]:
    """Return Pearson's and Spearman's correlation, NaN if undefined; or the mean of each with its p-value."""
    if not with_p_values:
        pairs = (gold, scores), (average_ranks(gold), average_ranks(scores))
        pearson, spearman = (correlation(*pair) for pair in pairs)
        return tuple(np.nan if value is None else value for value in (pearson, spearman))  # type: ignore[return-value]
    stats = _scipy_stats()
    return float(np.mean(stats.pearsonr(gold, scores))), float(np.mean(stats.spearmanr(gold, scores)))


def _scipy_stats() -> Any:
    try:
        return importlib.import_module("scipy.stats")
    except ImportError as error:
        raise MissingPart.extra("scipy", "tasks") from error
