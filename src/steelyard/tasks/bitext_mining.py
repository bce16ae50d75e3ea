"""Bitext mining: the nearest of all second texts must be the translation of the first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.errors import DataError
from steelyard.results import QueryScores
from steelyard.tasks.confusion import Confusion
from steelyard.tasks.resampling import described, mean_intervals
from steelyard.tasks.sample_scores import SampleScores, main_metric
from steelyard.types import Float32
from steelyard.types.samples import PairTask
from steelyard.vectors.topk import normalised, top_k


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
