"""Check data on this machine: every task of a path, with every problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.datasets.formats.folder import incomplete, locate
from steelyard.datasets.formats.nano.manifest import changed_files
from steelyard.datasets.formats.sidecar import MANIFEST, read_json_object
from steelyard.datasets.formats.task_files import TaskLocation
from steelyard.datasets.problems import Report
from steelyard.datasets.references import local_path
from steelyard.datasets.samples.location import SampleLocation, TypedLocation, locate_samples
from steelyard.datasets.sources import typed_reference
from steelyard.types import TaskInfo
from steelyard.types.samples import AnyTask


@dataclass(frozen=True, eq=False)
class Checked:
    """One task of a path: its description, its problems, and the task itself if it could be read."""

    reference: str
    info: TaskInfo
    report: Report
    task: AnyTask | None

    @property
    def good(self) -> bool:
        """Return whether `load_any` would load it."""
        return not self.report.of("error")


def check(reference: str | Path, missing_judgements: str = "count") -> list[Checked]:
    """Read and check every task of a path; raises only if there is no such path or layout.

    A type may be in front (`sts:./pairs.csv`); it is required if the columns do not determine it. `missing_judgements`
    is what to do with judgements of documents that are not in the corpus (`Settings.missing_judgements`).
    """
    return check_first(reference, None, missing_judgements)[0]


def check_first(
    reference: str | Path, limit: int | None, missing_judgements: str = "count"
) -> tuple[list[Checked], int]:
    """Read and check the first tasks of a path (None: all); return them and the number of the others."""
    if (typed := typed_reference(str(reference))) is not None:
        samples = locate_samples(typed)
        return [_read(location, missing_judgements) for location in samples[:limit]], len(
            samples[limit:]
        ) if limit is not None else 0
    locations = locate(reference)
    first = locations[:limit]
    changed = _changed(locations[0].folder, locations) if locations else set()
    others = len(locations) - len(first)
    return [*(_check(location, changed, missing_judgements) for location in first), *_incomplete(reference)], others


def _incomplete(reference: str | Path) -> Iterator[Checked]:
    missing = incomplete(reference)
    folder = local_path(str(reference)) if missing else Path()
    for task, files in missing.items():
        report = Report()
        for file in files:
            report.add("missing-table", file, f"the file of the task {task!r} does not exist")
        yield Checked(f"{folder}::{task}", TaskInfo(f"{folder.resolve().name}/{task}"), report, None)


def _read(location: SampleLocation | TypedLocation, missing: str) -> Checked:
    report = Report(missing_judgements=missing)
    task = location.read(report)
    return Checked(location.reference, location.info if task is None else task.info, report, task)


def _check(location: TaskLocation, changed: set[str], missing: str) -> Checked:
    report = Report(missing_judgements=missing)
    task = location.read(report)
    for name in location.files.all:
        if name in changed:
            report.add("checksum", name, f"the content differs from the hash in {MANIFEST}")
    return Checked(location.reference, location.info, report, task)


def _changed(folder: Path, locations: Sequence[TaskLocation]) -> set[str]:
    names = {name for location in locations for name in location.files.all}
    return set(changed_files(folder, read_json_object(folder / MANIFEST), names))
