"""A look at data on this machine that stops at nothing: every task of a path, with every fault."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.datasets.formats.folder import Place, incomplete, places
from steelyard.datasets.formats.nano.manifest import changed_files
from steelyard.datasets.formats.sidecar import MANIFEST, read_json_object
from steelyard.datasets.problems import Report
from steelyard.datasets.sources import typed_reference
from steelyard.types import TaskInfo
from steelyard.types.samples import AnyTask

if TYPE_CHECKING:
    from steelyard.datasets.samples.location import SamplePlace, TypedPlace


@dataclass(frozen=True, eq=False)
class Checked:
    """One task of a path: what it is, what is wrong with it, and, where that much could be read, the task."""

    reference: str
    info: TaskInfo
    report: Report
    task: AnyTask | None

    @property
    def good(self) -> bool:
        """Whether `load_any` would load it."""
        return not self.report.of("error")


def check(reference: str | Path) -> list[Checked]:
    """Every task that a path stands for, read and checked; raises only where there is no such path or layout.

    A type may stand in front (`sts:./pairs.csv`), and must where the columns do not tell it.
    """
    if (typed := typed_reference(str(reference))) is not None:
        from steelyard.datasets.samples.location import find

        return [_read(place) for place in find(typed)]
    found = places(reference)
    changed = _changed(found[0].folder) if found else []
    return [*(_check(place, changed) for place in found), *_incomplete(reference)]


def _incomplete(reference: str | Path) -> Iterator[Checked]:
    folder = Path(reference).expanduser()
    for task, files in incomplete(reference).items():
        report = Report()
        for file in files:
            report.add("missing-table", file, f"there is no such file for the task {task!r}")
        yield Checked(f"{folder}::{task}", TaskInfo(f"{folder.resolve().name}/{task}"), report, None)


def _read(place: SamplePlace | TypedPlace) -> Checked:
    report = Report()
    task = place.read(report)
    return Checked(place.reference, place.info if task is None else task.info, report, task)


def _check(place: Place, changed: list[str]) -> Checked:
    report = Report()
    task = place.read(report)
    for name in changed:
        if name in place.files.all:
            report.add("checksum", name, f"not the file that {MANIFEST} tells of")
    return Checked(place.reference, place.info, report, task)


def _changed(folder: Path) -> list[str]:
    return changed_files(folder, read_json_object(folder / MANIFEST))
