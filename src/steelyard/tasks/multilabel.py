"""Classification with several labels per text: the five nearest training texts vote on each label."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError
from steelyard.results import QueryScores
from steelyard.tasks.fitting import SEED, fitted_by, one_thread, sklearn
from steelyard.tasks.resampling import described, mean_intervals
from steelyard.tasks.sample_scores import SampleScores, main_metric
from steelyard.types import Float32, Float64
from steelyard.types.samples import Label, LabelTask, Levels, distinct

NEIGHBOURS = 5
Indicators = npt.NDArray[np.int64]
"""One row per text and one column per label, 0 or 1."""


def training_rows(task: LabelTask) -> list[list[int]]:
    """Return the training texts of each experiment: in a shuffled order, those with a label that is still needed.

    >>> from steelyard.types import TaskInfo
    >>> labels = (("a",), ("a", "b"), ("b",), ("a",))
    >>> info = TaskInfo("X/y", type="multilabel_classification")
    >>> task = LabelTask(info, ("1", "2", "3", "4"), labels, (), (), samples_per_label=1, experiments=3)
    >>> training_rows(task)
    [[3, 2], [3, 2], [0, 2]]
    """
    draw = np.random.default_rng(SEED)
    labels = [_several(label) for label in task.train_labels]
    samples = []
    for _ in range(task.experiments):
        order = list(range(len(labels)))
        draw.shuffle(order)
        counts: dict[Label, int] = defaultdict(int)
        rows = []
        for row in order:
            if any(counts[label] < task.samples_per_label for label in labels[row]):
                rows.append(row)
                for label in labels[row]:
                    counts[label] += 1
        samples.append(rows)
    return samples


def multilabel_texts(task: LabelTask) -> list[str]:
    """Return the test texts, and the training texts that some experiment uses."""
    rows = sorted({row for sample in training_rows(task) for row in sample})
    return distinct([task.train_texts[row] for row in rows], task.texts)


def score_multilabel(task: LabelTask, texts: Sequence[str], vectors: Float32) -> SampleScores:
    """Return the means of the experiments, and the scores of each."""
    if not len(task) or not task.train_texts:
        raise DataError("training and test texts must not be empty", where=task.name, hint="add labelled texts")
    row_of = {text: row for row, text in enumerate(texts)}
    tests = vectors[[row_of[text] for text in task.texts]]
    train, gold = _indicators(task)
    experiments, exact, predictions = [], [], []
    for rows in training_rows(task):
        training = vectors[[row_of[task.train_texts[row]] for row in rows]]
        predicted = _predict(training, train[rows], tests)
        experiments.append(_scores(gold, predicted))
        predictions.append(predicted.tolist())
        exact.append((predicted == gold).all(axis=1))
    metrics = {name: float(np.mean([scores[name] for scores in experiments])) for name in experiments[0]}
    accuracy: Float64 = np.mean(exact, axis=0)
    return SampleScores(
        main_metric(task.info, "accuracy", metrics),
        metrics,
        {"scores_per_experiment": experiments, **metrics},
        mean_intervals({"accuracy": accuracy}, metrics),
        described(len(task), "test texts"),
        QueryScores(tuple(map(str, range(len(task)))), None, {"accuracy": accuracy}),
        fitted_by(),
        predictions,
    )


def _several(label: Label | Levels) -> Levels:
    return label if isinstance(label, tuple) else (label,)


def _indicators(task: LabelTask) -> tuple[Indicators, Indicators]:
    """Return the labels of training and test texts; as in mteb, labels that no test text has are left out."""
    sklearn()
    from sklearn.preprocessing import MultiLabelBinarizer

    binarizer = MultiLabelBinarizer()
    gold = binarizer.fit_transform([_several(label) for label in task.labels])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # labels that no test text has
        train = binarizer.transform([_several(label) for label in task.train_labels])
    return np.asarray(train, dtype=np.int64), np.asarray(gold, dtype=np.int64)


def _predict(training: Float32, labels: Indicators, tests: Float32) -> Indicators:
    from sklearn.neighbors import KNeighborsClassifier

    model: Any = KNeighborsClassifier(n_neighbors=NEIGHBOURS)
    with one_thread():
        model.fit(training, labels)
        predicted = model.predict(tests)
    return np.asarray(predicted, dtype=np.int64).reshape(len(tests), -1)


def _scores(gold: Indicators, predicted: Indicators) -> dict[str, float]:
    """Return the share of texts with exactly the right labels, LRAP of the predictions, macro F1, Hamming score."""
    from sklearn.metrics import f1_score, label_ranking_average_precision_score

    union = (gold | predicted).sum(axis=1)
    hamming = np.divide((gold & predicted).sum(axis=1), union, out=np.ones(len(gold)), where=union > 0)
    return {
        "accuracy": float((gold == predicted).all(axis=1).mean()),
        "lrap": float(label_ranking_average_precision_score(gold, predicted)),
        "f1": float(f1_score(gold, predicted, average="macro", zero_division=0.0)),
        "hamming": float(hamming.mean()),
    }
