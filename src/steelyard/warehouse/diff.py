"""Compare two folders of result files key by key, to see whether published scores are reproduced."""

from __future__ import annotations

import math
import os
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from steelyard.errors import DataError
from steelyard.files import with_home
from steelyard.warehouse.readers import BadFile, Score, is_result_file, read_file

ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.xz")
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
    def place(self) -> Place:
        """Task, split and subset."""
        return self.task, self.split, self.subset

    @property
    def size(self) -> float:
        """The absolute difference; infinite where one side lacks the metric."""
        if self.ours is None or self.theirs is None:
            return math.inf
        return abs(self.ours - self.theirs)


@dataclass(frozen=True)
class Side:
    """The results of one side."""

    path: str
    model: str
    revision: str
    versions: tuple[str, ...]
    """Versions of mteb in the files."""


@dataclass(frozen=True)
class MainScore:
    """The main scores of a task on both sides, and how many of its metrics are equal."""

    task: str
    split: str
    subset: str
    ours: float | None
    theirs: float | None
    equal: int
    compared: int
    same: bool
    """Whether the main scores are equal within the tolerance."""


@dataclass
class Diff:
    """The comparison of two folders."""

    ours: Side
    theirs: Side
    compared: int = 0
    """Metrics that both sides have."""
    equal: int = 0
    scores: list[MainScore] = field(default_factory=list)
    """One for each task, split and subset that both sides have."""
    differences: list[Difference] = field(default_factory=list)
    only_ours: list[Place] = field(default_factory=list)
    only_theirs: list[Place] = field(default_factory=list)
    revisions: list[tuple[str, str | None, str | None]] = field(default_factory=list)
    """Tasks whose data revisions differ, with both."""
    partial: list[Place] = field(default_factory=list)
    """Results of a sample, on either side: their scores are not those of the whole task."""
    bad: list[tuple[str, str]] = field(default_factory=list)

    def main_scores(self) -> list[Difference]:
        """Return the differences of main scores alone."""
        return [item for item in self.differences if item.metric == "main_score"]

    def changed(self) -> list[Difference]:
        """Return the metrics that both sides have with other values, main scores first, then the largest."""
        both = [item for item in self.differences if item.ours is not None and item.theirs is not None]
        return sorted(both, key=lambda item: (item.metric != "main_score", -item.size, item.task, item.metric))

    def one_sided(self) -> dict[str, list[str]]:
        """Return the names of metrics that only one side has: `ours` and `theirs`."""
        missing = [item for item in self.differences if item.ours is None or item.theirs is None]
        return {
            "ours": sorted({item.metric for item in missing if item.theirs is None}),
            "theirs": sorted({item.metric for item in missing if item.ours is None}),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "ours": asdict(self.ours),
            "theirs": asdict(self.theirs),
            "compared": self.compared,
            "equal": self.equal,
            "main_scores": [asdict(item) for item in self.scores],
            "differences": [asdict(item) for item in self.differences],
            "metrics_of_one_side": self.one_sided(),
            "only_ours": [list(place) for place in self.only_ours],
            "only_theirs": [list(place) for place in self.only_theirs],
            "dataset_revisions": [list(row) for row in self.revisions],
            "partial": [list(place) for place in self.partial],
            "unreadable": [list(row) for row in self.bad],
        }


def diff_results(ours: str | Path, theirs: str | Path, *, tolerance: float = 1e-4, model: str | None = None) -> Diff:
    """Compare every metric of two folders, files or archives (`.tar.gz`) of results.

    `model` selects one of several; a side with one model needs no choice. Metrics that differ by at most `tolerance`
    are equal. NaN equals NaN. Files without a task in common are a DataError.
    """
    bad: list[tuple[str, str]] = []
    (first, left), (second, right) = (_load(with_home(side), model, bad) for side in (ours, theirs))
    result = Diff(first, second, bad=bad)
    result.only_ours = sorted(set(left) - set(right))
    result.only_theirs = sorted(set(right) - set(left))
    common = sorted(set(left) & set(right))
    if not common:
        raise DataError(
            f"{ours} and {theirs} must have a task and split in common, got "
            f"{_few(place[0] for place in left)} and {_few(place[0] for place in right)}",
            path=ours,
            hint="compare results of the same tasks: steelyard run MODEL -t TASK --mteb-files OURS",
        )
    for place in common:
        one, other = left[place], right[place]
        if one.dataset_revision != other.dataset_revision:
            result.revisions.append((place[0], one.dataset_revision, other.dataset_revision))
        if one.limit is not None or other.limit is not None:
            result.partial.append(place)
        before = (result.equal, result.compared)
        for metric in sorted({*one.metrics, *other.metrics, "main_score"}):
            _compare(result, place, metric, (_value(one, metric), _value(other, metric)), tolerance)
        equal, compared = result.equal - before[0], result.compared - before[1]
        same = not any(item.metric == "main_score" and item.place == place for item in result.differences)
        result.scores.append(MainScore(*place, one.main_score, other.main_score, equal, compared, same))
    return result


def _few(names: Iterable[str], most: int = 4) -> str:
    distinct = list(dict.fromkeys(names))
    return ", ".join(distinct[:most]) + (f" and {len(distinct) - most} more" if len(distinct) > most else "")


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


def _load(folder: Path, model: str | None, bad: list[tuple[str, str]]) -> tuple[Side, dict[Place, Score]]:
    """Return the results of one model on one side."""
    if not folder.exists():
        raise DataError("the folder does not exist", path=folder, hint="check the path")
    rows: dict[tuple[str, str], list[Score]] = {}
    for path, content in _files(folder, model):
        try:
            file_rows = [row for _, row in read_file(path, content) if isinstance(row, Score)]
        except BadFile as error:
            bad.append((str(path), str(error)))
            continue
        for row in file_rows:
            if not row.experiment:
                rows.setdefault((row.model, row.revision), []).append(row)
    models = sorted({name for name, _ in rows})
    chosen = model if model in models else models[0] if len(models) == 1 else None
    if not rows:
        first = f"; {bad[0][0]}: {bad[0][1]}" if bad else ""
        raise DataError(f"the folder has no results{first}", path=folder, hint="name a folder of mteb or of Steelyard")
    if chosen is None:
        names = ", ".join(models[:5])
        raise DataError(
            f"the folder has results of {len(models)} models: {names}", path=folder, hint="choose one: --model NAME"
        )
    # Of several revisions, the one with the most results.
    revision = max((key[1] for key in rows if key[0] == chosen), key=lambda name: len(rows[chosen, name]))
    listed = rows[chosen, revision]
    versions = tuple(sorted({row.version for row in listed if row.version}))
    scores = {(row.task.rpartition("/")[2] or row.task, row.split, row.subset): row for row in listed}
    return Side(str(folder), chosen, revision, versions), scores


def _files(folder: Path, model: str | None) -> Iterator[tuple[Path, bytes]]:
    """Yield the result files and their content; of an archive, only those of the model if it has any."""
    if folder.is_file() and folder.name.endswith(ARCHIVES):
        yield from _archived(folder, model)
        return
    if folder.is_file():
        yield folder, folder.read_bytes()
        return
    for inside, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if is_result_file(name) and name != "model_meta.json":
                yield Path(inside, name), Path(inside, name).read_bytes()


def _archived(archive: Path, model: str | None) -> Iterator[tuple[Path, bytes]]:
    part = None if model is None else model.replace("/", "__")
    try:
        with tarfile.open(archive) as files:
            for member in files:
                path = Path(member.name)
                if not member.isfile() or not is_result_file(path.name) or path.name == "model_meta.json":
                    continue
                if part in (None, *path.parts) and (stream := files.extractfile(member)) is not None:
                    yield path, stream.read()
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise DataError(f"the archive cannot be read: {error}", path=archive, hint="download it again") from error
