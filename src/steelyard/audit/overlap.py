"""Evaluation sets without training data: each by itself, and all against each other."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard import __version__
from steelyard.audit.between import BetweenAudit, between
from steelyard.audit.leakage import Evaluation, load_tasks
from steelyard.audit.lexical.matcher import Thresholds
from steelyard.audit.within import WithinAudit, within
from steelyard.files import write_atomic

FILE = "overlap.json"
REPORT = "overlap.html"
SCHEMA_VERSION = 1


@dataclass(frozen=True, eq=False)
class OverlapAudit:
    """What evaluation sets repeat of themselves and of each other."""

    created: str
    jaccard: float
    within: tuple[WithinAudit, ...]
    between: BetweenAudit | None
    """None for a single set."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON-ready values."""
        return {
            "schema_version": SCHEMA_VERSION,
            "kind": "overlap",
            "created": self.created,
            "steelyard": __version__,
            "settings": {"jaccard": self.jaccard},
            "within": [one.to_dict() for one in self.within],
            "between": None if self.between is None else self.between.to_dict(),
        }

    def save(self, folder: str | Path) -> Path:
        """Write `overlap.json` and `overlap.html` into a folder and return the path of the first."""
        from steelyard.audit.report import write_overlap_report

        write_overlap_report(self.created, self.within, self.between, Path(folder) / REPORT)
        path = Path(folder) / FILE
        write_atomic(path, json.dumps(self.to_dict(), ensure_ascii=False, indent=2).encode(errors="replace") + b"\n")
        return path


def overlap(
    evaluation: Evaluation | Sequence[Evaluation],
    *,
    jaccard: float = Thresholds.jaccard,
    output: str | Path | None = None,
    offline: bool | None = None,
    progress: Callable[[str], None] = lambda name: None,
) -> OverlapAudit:
    """Audit each set by itself and, where there are several, all against each other.

    `progress` is called with the name of each task before it is audited.
    """
    Thresholds(jaccard=jaccard)
    tasks = [task for _, task in load_tasks(evaluation, offline=offline)]
    alone = []
    for task in tasks:
        progress(task.name)
        alone.append(within(task, jaccard=jaccard))
    pairs = None
    if len(tasks) > 1:
        progress(f"{len(tasks)} sets against each other")
        pairs = between(tasks, jaccard=jaccard)
    result = OverlapAudit(datetime.now(UTC).isoformat(timespec="seconds"), jaccard, tuple(alone), pairs)
    if output is not None:
        result.save(output)
    return result
