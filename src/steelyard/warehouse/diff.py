"""Compare two folders of result files key by key, to see whether published scores are reproduced."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.errors import DataError
from steelyard.warehouse.readers import BadFile, Score, is_result_file, read_file

Place = tuple[str, str, str]
"""Task, split and subset."""


@dataclass(frozen=True)
class Difference:
    """One metric that the two sides report differently; None: that side does not have it."""

    task: str
    split: str
    subset: str
    metric: str
    ours: float | None
    theirs: float | None

    @property
    def size(self) -> float:
        """The absolute difference; infinite where one side lacks the metric."""
        if self.ours is None or self.theirs is None:
            return math.inf
        return abs(self.ours - self.theirs)


@dataclass
class Diff:
    """The comparison of two folders."""

    compared: int = 0
    """Metrics that both sides have."""
    equal: int = 0
    differences: list[Difference] = field(default_factory=list)
    only_ours: list[Place] = field(default_factory=list)
    only_theirs: list[Place] = field(default_factory=list)
    revisions: list[tuple[str, str | None, str | None]] = field(default_factory=list)
    """Tasks whose data revisions differ, with both."""
    bad: list[tuple[str, str]] = field(default_factory=list)

    def main_scores(self) -> list[Difference]:
        """Return the differences of main scores alone."""
        return [item for item in self.differences if item.metric == "main_score"]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        names = ("task", "split", "subset", "metric", "ours", "theirs")
        return {
            "compared": self.compared,
            "equal": self.equal,
            "differences": [{name: getattr(item, name) for name in names} for item in self.differences],
            "only_ours": [list(place) for place in self.only_ours],
            "only_theirs": [list(place) for place in self.only_theirs],
            "dataset_revisions": [list(row) for row in self.revisions],
            "unreadable": [list(row) for row in self.bad],
        }


def diff_results(ours: str | Path, theirs: str | Path, *, tolerance: float = 1e-4, model: str | None = None) -> Diff:
    """Compare every metric of two folders or files of results; `model` selects one of several in a folder.

    Metrics that differ by at most `tolerance` are equal. NaN equals NaN.
    """
    result = Diff()
    left = _load(Path(ours).expanduser(), model, result)
    right = _load(Path(theirs).expanduser(), model, result)
    result.only_ours = sorted(set(left) - set(right))
    result.only_theirs = sorted(set(right) - set(left))
    for place in sorted(set(left) & set(right)):
        one, other = left[place], right[place]
        if one.dataset_revision != other.dataset_revision:
            result.revisions.append((place[0], one.dataset_revision, other.dataset_revision))
        for metric in sorted({*one.metrics, *other.metrics, "main_score"}):
            _compare(result, place, metric, (_value(one, metric), _value(other, metric)), tolerance)
    return result


def _compare(
    result: Diff, place: Place, metric: str, values: tuple[float | None, float | None], tolerance: float
) -> None:
    one, other = values
    if one is None and other is None:
        return
    if one is not None and other is not None:
        result.compared += 1
        if abs(one - other) <= tolerance or (math.isnan(one) and math.isnan(other)):
            result.equal += 1
            return
    result.differences.append(Difference(*place, metric, one, other))


def _value(score: Score, metric: str) -> float | None:
    return score.main_score if metric == "main_score" else score.metrics.get(metric)


def _load(folder: Path, model: str | None, result: Diff) -> dict[Place, Score]:
    if not folder.exists():
        raise DataError("the folder does not exist", path=folder, hint="check the path")
    scores: dict[Place, Score] = {}
    models = set()
    for path in _files(folder):
        try:
            rows = [row for _, row in read_file(path, path.read_bytes()) if isinstance(row, Score)]
        except BadFile as error:
            result.bad.append((str(path), str(error)))
            continue
        for row in rows:
            if not row.experiment and model in (None, row.model):
                models.add(row.model)
                scores[row.task.rpartition("/")[2] or row.task, row.split, row.subset] = row
    if len(models) > 1:
        names = ", ".join(sorted(models)[:5])
        raise DataError(
            f"the folder has results of {len(models)} models: {names}", path=folder, hint="choose one: --model NAME"
        )
    if not scores:
        raise DataError(
            "the folder has no results", path=folder, hint="steelyard results diff OURS THEIRS --model NAME"
        )
    return scores


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_file():
        yield folder
        return
    for inside, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(inside, name) for name in sorted(names) if is_result_file(name) and name != "model_meta.json")
