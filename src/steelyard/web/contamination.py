"""Flags for models whose training data has queries of a task, from stored audits (`steelyard audit`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.errors import DataError
from steelyard.web.board import CONTAMINATED, Board

if TYPE_CHECKING:
    from steelyard.audit import Audit, TaskFindings

FLAGGED = ("contaminated", "severe")
"""Verdicts that flag a score."""


@dataclass(frozen=True, eq=False)
class ModelAudit:
    """An audit, and the model that was trained on the audited data; None if that is not known."""

    audit: Audit
    model: str | None = None

    @classmethod
    def read(cls, reference: str) -> ModelAudit:
        """Read `audit.json` or its folder; `MODEL=PATH` names the model that was trained on the data.

        A model name may have `=` inside: the path is after the last one that leaves a path that exists.
        """
        from steelyard.audit import load_audit

        if Path(reference).exists():
            return cls(load_audit(reference))
        model, equals, path = reference.rpartition("=")
        if not equals or not model:
            raise DataError("the audit does not exist", path=reference, hint="steelyard audit -o DIR writes one")
        return cls(load_audit(path), model)

    def concerns(self, model: str, training: Iterable[str]) -> bool:
        """Return whether the model was trained on the data: it is named, or it declares a set of that name."""
        if self.model is not None:
            return model == self.model
        references = {_last(reference) for reference in self.audit.training["references"]}
        return any(_last(name) in references for name in training)


def _last(reference: Any) -> str:
    return str(reference).rstrip("/").rpartition("/")[2].lower()


def with_audits(board: Board, audits: Sequence[ModelAudit], training: dict[str, Sequence[str]]) -> Board:
    """Return the board with a flag on every score of a task that the audit found in the model's training data.

    `training` are the sets that models declare. Every audit that has a task of the board is listed on it.
    """
    entries: list[dict[str, Any]] = []
    flagged: set[tuple[int, int]] = set()
    for audited in audits:
        tasks = {
            place: findings
            for place, task in enumerate(board.tasks)
            if (findings := _findings(audited.audit, task.name))
        }
        models = [
            place
            for place, model in enumerate(board.models)
            if audited.concerns(model.name, training.get(model.name, ()))
        ]
        worse = [place for place, findings in tasks.items() if findings.verdict in FLAGGED]
        flagged |= {(model, task) for model in models for task in worse}
        if tasks:
            entries.append(
                {
                    "training": ", ".join(map(str, audited.audit.training["references"])) or "records",
                    "date": audited.audit.created[:10],
                    "models": models,
                    "tasks": {place: _entry(findings) for place, findings in tasks.items()},
                }
            )
    cells = [
        cell._replace(flags=cell.flags | CONTAMINATED) if (cell.model, cell.task) in flagged else cell
        for cell in board.cells
    ]
    return replace(board, cells=cells, audits=entries) if entries else board


def _findings(audit: Audit, name: str) -> TaskFindings | None:
    """Return the findings of a task of the board; data of another hash has `@hash` in its name."""
    return next((task for task in audit.tasks if name in (task.task, task.task.rpartition("/")[2])), None)


def _entry(findings: TaskFindings) -> dict[str, Any]:
    return {
        "verdict": findings.verdict,
        "reason": findings.reason,
        "found": findings.rate.count,
        "of": findings.rate.total,
    }
