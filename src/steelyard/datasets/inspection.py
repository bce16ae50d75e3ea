"""A look at data on this machine that stops at nothing: every task of a path, with every fault."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from steelyard.datasets.folder import Place, places
from steelyard.datasets.nano_write import changed_files
from steelyard.datasets.problems import Report
from steelyard.datasets.sidecar import MANIFEST, read_json_object
from steelyard.types import Task, TaskInfo


@dataclass(frozen=True, eq=False)
class Checked:
    """One task of a path: what it is, what is wrong with it, and, where that much could be read, the task."""

    reference: str
    info: TaskInfo
    report: Report
    task: Task | None

    @property
    def good(self) -> bool:
        """Whether `load_task` would load it."""
        return not self.report.of("error")


def check(reference: str | Path) -> list[Checked]:
    """Every task that a path stands for, read and checked; raises only where there is no such path or layout."""
    found = places(reference)
    changed = _changed(found[0].folder) if found else []
    return [_check(place, changed) for place in found]


def _check(place: Place, changed: list[str]) -> Checked:
    report = Report()
    task = place.read(report)
    for name in changed:
        if name in place.files.all:
            report.add("checksum", name, f"not the file that {MANIFEST} tells of")
    return Checked(place.reference, place.info, report, task)


def _changed(folder: Path) -> list[str]:
    return changed_files(folder, read_json_object(folder / MANIFEST))
