"""Classification: a logistic regression learns from a few vectors of each label, and labels the others."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError
from steelyard.results import QueryScores
from steelyard.tasks.confusion import Confusion, average_precision_of_labels, label_codes
from steelyard.tasks.fitting import SEED, fitted_by, sklearn
from steelyard.tasks.resampling import described, interval_of, resampled_counts
from steelyard.tasks.scored import Profile, Weighed, main_metric
from steelyard.types import Float32, Float64, Int64, Interval
from steelyard.types.samples import LabelTask, distinct

MOST_STEPS = 100
KEYS_2 = ("accuracy", "f1", "f1_weighted", "precision", "precision_weighted", "recall", "recall_weighted")
KEYS_1 = KEYS_2[:3]


def drawn(task: LabelTask) -> list[Int64]:
    """The rows of the training texts that each experiment learns from, in the order drawn, as mteb draws them.

    Every experiment shuffles what the one before left, always by the same seed, and takes the first of each label.

    >>> from steelyard.types import TaskInfo
    >>> task = LabelTask(TaskInfo("X/y"), ("a", "b", "c", "d"), (0, 0, 1, 1), (), (), samples_per_label=1)
    >>> [rows.tolist() for rows in drawn(task)[:2]]
    [[1, 3], [3, 1]]
    """
    codes = label_codes(task.train_labels)[0]
    shuffle = np.arange(len(codes))
    np.random.RandomState(SEED).shuffle(shuffle)
    order, found = np.arange(len(codes)), []
    for _ in range(task.experiments):
        order = order[shuffle]
        found.append(order[_place_in_group(codes[order]) < task.samples_per_label])
    return found


def _place_in_group(groups: Int64) -> Int64:
    """How many of the same group stand before each.

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
    """The texts to label, and of the training texts those that some experiment learns from."""
    rows = np.unique(np.concatenate(drawn(task))) if task.experiments else np.empty(0, dtype=np.int64)
    return distinct([task.train_texts[row] for row in rows.tolist()], task.texts)


def weigh_labels(task: LabelTask, texts: Sequence[str], vectors: Float32, profile: Profile = "mteb-2.26") -> Weighed:
    """The means of the experiments, and each of them."""
    _check(task)
    row_of = {text: row for row, text in enumerate(texts)}
    tests = vectors[[row_of[text] for text in task.texts]]
    codes, names = label_codes((*task.train_labels, *task.labels))
    train, gold = codes[: len(task.train_labels)], codes[len(task.train_labels) :]
    predicted, unfinished = [], 0
    for rows in drawn(task):
        learned = vectors[[row_of[task.train_texts[row]] for row in rows.tolist()]]
        labels, ended = _predicted(learned, train[rows], tests)
        predicted.append(labels)
        unfinished += not ended
    confusions = [Confusion.of(gold, labels, len(names)) for labels in predicted]
    rounds = [_round(found, gold, labels, names) for found, labels in zip(confusions, predicted, strict=True)]
    found = {name: _mean([one[name] for one in rounds]) for name in rounds[0]}
    right = np.mean([labels == gold for labels in predicted], axis=0)
    notes: dict[str, Any] = dict(fitted_by())
    if unfinished:
        notes["fits_not_converged"] = unfinished
    return Weighed(
        main_metric(task.info, "accuracy", found),
        found,
        _mteb(rounds, found, profile),
        _intervals(gold, predicted, len(names), found),
        described(len(task), "test texts"),
        QueryScores(tuple(map(str, range(len(task)))), None, {"accuracy": right}),
        notes,
    )


def _check(task: LabelTask) -> None:
    if not len(task):
        raise DataError("no texts to label", where=task.name, hint="its evaluation split is empty")
    if len(set(task.train_labels)) < 2:
        raise DataError(
            f"its {len(task.train_labels):,} training texts have {len(set(task.train_labels))} label",
            where=task.name,
            hint="a classifier needs texts of two labels to learn from",
        )


def _predicted(learned: Float32, labels: Int64, tests: Float32) -> tuple[Int64, bool]:
    """The labels of the tests, and whether the fit came to its end."""
    sklearn()
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=MOST_STEPS, random_state=SEED)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the result says so
        model.fit(learned, labels)
    return np.asarray(model.predict(tests), dtype=np.int64), bool(np.max(model.n_iter_) < MOST_STEPS)


def _round(confusion: Confusion, gold: Int64, predicted: Int64, names: npt.NDArray[Any]) -> dict[str, float | None]:
    """The figures of one experiment; average precision, of the labels themselves, where there are two."""
    found: dict[str, float | None] = {name: float(value) for name, value in confusion.figures().items()}
    precision = average_precision_of_labels(gold, predicted, names)
    return {**found, "ap": precision, "ap_weighted": precision}


def _mean(values: list[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined else None


def _mteb(rounds: list[dict[str, float | None]], found: dict[str, float | None], profile: Profile) -> dict[str, Any]:
    """2 has every key for every task; 1.14 fewer, and average precision only where there are two labels."""
    if profile == "mteb-2.26":
        return {"scores_per_experiment": rounds, **found}
    keys = [*KEYS_1, *(name for name in ("ap", "ap_weighted") if found[name] is not None)]
    experiments = [{name: one[name] for name in keys} for one in rounds]
    return {**{name: found[name] for name in keys}, "scores_per_experiment": experiments}


def _intervals(gold: Int64, predicted: list[Int64], labels: int, found: dict[str, float | None]) -> dict[str, Interval]:
    """Over the test texts; what was learned stays as it is."""
    if len(gold) < 2:
        return {}
    blocks: dict[str, list[Float64]] = {name: [] for name in KEYS_2}
    for counts in resampled_counts(len(gold)):
        rounds = [Confusion.resampled(counts, gold, one, labels).figures() for one in predicted]
        for name, parts in blocks.items():
            parts.append(np.mean([one[name] for one in rounds], axis=0))
    columns = {name: interval_of(np.concatenate(parts), found[name]) for name, parts in blocks.items()}
    return {name: interval for name, interval in columns.items() if interval is not None}
