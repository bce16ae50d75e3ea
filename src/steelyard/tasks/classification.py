"""Classification: a logistic regression is fitted to a few vectors of each label and predicts the others."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError
from steelyard.results import QueryScores
from steelyard.tasks.confusion import Confusion, average_precision_of_labels, label_codes
from steelyard.tasks.fitting import SEED, fitted_by, one_thread, sklearn
from steelyard.tasks.resampling import described, interval_of, resampled_counts
from steelyard.tasks.sample_scores import Profile, SampleScores, main_metric
from steelyard.types import Float32, Float64, Int64, Interval
from steelyard.types.samples import LabelTask, distinct

MAX_ITERATIONS = 100
KEYS_2 = ("accuracy", "f1", "f1_weighted", "precision", "precision_weighted", "recall", "recall_weighted")
KEYS_1 = KEYS_2[:3]


def training_samples(task: LabelTask) -> list[Int64]:
    """Return the rows of the training texts of each experiment, in the order in which mteb samples them.

    Every experiment shuffles the order of the one before, always with the same seed, and takes the first rows of each
    label.

    >>> from steelyard.types import TaskInfo
    >>> task = LabelTask(TaskInfo("X/y"), ("a", "b", "c", "d"), (0, 0, 1, 1), (), (), samples_per_label=1)
    >>> [rows.tolist() for rows in training_samples(task)[:2]]
    [[1, 3], [3, 1]]
    """
    codes = label_codes(task.train_labels)[0]
    shuffle = np.arange(len(codes))
    np.random.RandomState(SEED).shuffle(shuffle)
    order, samples = np.arange(len(codes)), []
    for _ in range(task.experiments):
        order = order[shuffle]
        samples.append(order[_place_in_group(codes[order]) < task.samples_per_label])
    return samples


def _place_in_group(groups: Int64) -> Int64:
    """Return how many elements of the same group precede each element.

    >>> _place_in_group(np.array([5, 3, 5, 5, 3])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(groups) else np.empty(0, np.int64)
    sizes = np.diff(np.append(starts, len(groups)))
    places = np.empty(len(groups), dtype=np.int64)
    places[order] = np.arange(len(groups)) - np.repeat(starts, sizes)
    return places


def label_texts(task: LabelTask) -> list[str]:
    """Return the test texts, and the training texts that some experiment uses."""
    rows = np.unique(np.concatenate(training_samples(task))) if task.experiments else np.empty(0, dtype=np.int64)
    return distinct([task.train_texts[row] for row in rows.tolist()], task.texts)


def score_labels(
    task: LabelTask, texts: Sequence[str], vectors: Float32, profile: Profile = "mteb-2.26"
) -> SampleScores:
    """Return the means of the experiments, and the scores of each."""
    _check(task)
    row_of = {text: row for row, text in enumerate(texts)}
    tests = vectors[[row_of[text] for text in task.texts]]
    codes, names = label_codes((*task.train_labels, *task.labels))
    train, gold = codes[: len(task.train_labels)], codes[len(task.train_labels) :]
    predicted, not_converged = [], 0
    for rows in training_samples(task):
        training = vectors[[row_of[task.train_texts[row]] for row in rows.tolist()]]
        labels, converged = _predict(training, train[rows], tests)
        predicted.append(labels)
        not_converged += not converged
    confusions = [Confusion.of(gold, labels, len(names)) for labels in predicted]
    experiments = [
        _experiment(confusion, gold, labels, names) for confusion, labels in zip(confusions, predicted, strict=True)
    ]
    metrics = {name: _mean([scores[name] for scores in experiments]) for name in experiments[0]}
    correct = np.mean([labels == gold for labels in predicted], axis=0)
    notes: dict[str, Any] = dict(fitted_by())
    if not_converged:
        notes["fits_not_converged"] = not_converged
    return SampleScores(
        main_metric(task.info, "accuracy", metrics),
        metrics,
        _mteb(experiments, metrics, profile),
        _intervals(gold, predicted, len(names), metrics),
        described(len(task), "test texts"),
        QueryScores(tuple(map(str, range(len(task)))), None, {"accuracy": correct}),
        notes,
        [names[labels].tolist() for labels in predicted],
    )


def _check(task: LabelTask) -> None:
    if not len(task):
        raise DataError("the evaluation split must not be empty", where=task.name, hint="add test texts")
    if len(set(task.train_labels)) < 2:
        raise DataError(
            f"the {len(task.train_labels):,} training texts must have at least two labels, "
            f"got {len(set(task.train_labels))}",
            where=task.name,
            hint="add training texts of another label",
            expected="at least two labels",
            found=len(set(task.train_labels)),
        )


def _predict(training: Float32, labels: Int64, tests: Float32) -> tuple[Int64, bool]:
    """Return the labels of the tests, and whether the fit converged."""
    sklearn()
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=MAX_ITERATIONS, random_state=SEED)
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore", ConvergenceWarning)  # noted in the result
        model.fit(training, labels)
        predicted = model.predict(tests)
    return np.asarray(predicted, dtype=np.int64), bool(np.max(model.n_iter_) < MAX_ITERATIONS)


def _experiment(
    confusion: Confusion, gold: Int64, predicted: Int64, names: npt.NDArray[Any]
) -> dict[str, float | None]:
    """Return the scores of one experiment; average precision, of the labels themselves, if there are two labels."""
    scores: dict[str, float | None] = {name: float(value) for name, value in confusion.scores().items()}
    precision = average_precision_of_labels(gold, predicted, names)
    return {**scores, "ap": precision, "ap_weighted": precision}


def _mean(values: list[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined else None


def _mteb(
    experiments: list[dict[str, float | None]], metrics: dict[str, float | None], profile: Profile
) -> dict[str, Any]:
    """Return mteb's keys: 2.26 has all for every task; 1.14 has fewer, and average precision only for two labels."""
    if profile == "mteb-2.26":
        return {"scores_per_experiment": experiments, **metrics}
    keys = [*KEYS_1, *(name for name in ("ap", "ap_weighted") if metrics[name] is not None)]
    selected = [{name: scores[name] for name in keys} for scores in experiments]
    return {**{name: metrics[name] for name in keys}, "scores_per_experiment": selected}


def _intervals(
    gold: Int64, predicted: list[Int64], labels: int, metrics: dict[str, float | None]
) -> dict[str, Interval]:
    """Return intervals over resampled test texts; the fitted classifiers stay the same."""
    if len(gold) < 2:
        return {}
    blocks: dict[str, list[Float64]] = {name: [] for name in KEYS_2}
    for counts in resampled_counts(len(gold)):
        experiments = [Confusion.resampled(counts, gold, codes, labels).scores() for codes in predicted]
        for name, parts in blocks.items():
            parts.append(np.mean([scores[name] for scores in experiments], axis=0))
    columns = {name: interval_of(np.concatenate(parts), metrics[name]) for name, parts in blocks.items()}
    return {name: interval for name, interval in columns.items() if interval is not None}
