"""An audit as a value and as files: `audit.json`, and a record next to each evaluation set for its page and card."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from steelyard.audit.findings import Match, PartFindings, TaskFindings, rate_dict
from steelyard.audit.verdict import Rate
from steelyard.datasets.formats.folder import locate
from steelyard.datasets.formats.nano.card import with_section
from steelyard.datasets.options import LoadOptions
from steelyard.datasets.sources import FolderSource, source_of
from steelyard.errors import DataError, UnknownName
from steelyard.files import write_atomic

SCHEMA_VERSION = 1
FILE = "audit.json"
MATCHES = "matches.jsonl"
EXAMPLES = 50
"""Matches of each task that are in `audit.json`; `matches.jsonl` has all."""


@dataclass(frozen=True, eq=False)
class Audit:
    """Evaluation sets against training data: what was read, what was found, what it means."""

    created: str
    """UTC, ISO 8601."""
    version: str
    """The version of Steelyard."""
    settings: Mapping[str, Any]
    training: Mapping[str, Any]
    """References, rows, texts, files with their columns, problems."""
    tasks: tuple[TaskFindings, ...]
    matches: tuple[Match, ...] = ()
    scores: tuple[Mapping[str, Any], ...] = ()
    """Stored results with and without the contaminated queries."""
    written: Mapping[str, Any] = field(default_factory=dict)
    """What was written: `clean` (rows removed from each file), `drop` (references of the sets), `report`."""

    def task(self, name: str) -> TaskFindings:
        """Return the findings of one task."""
        for task in self.tasks:
            if task.task == name:
                return task
        raise UnknownName("audited task", name, [task.task for task in self.tasks])

    @property
    def complete(self) -> bool:
        """Whether every training file was read to its end."""
        return not any(file["error"] for file in self.training["files"])

    def page_record(self, name: str) -> dict[str, Any]:
        """Return what "Training and Leakage Metadata" of a task page needs (`metadata/<task>.audit.json`)."""
        task = self.task(name)
        documents = sum(part.rates["any"].count for part in task.parts if part.part in ("positives", "documents"))
        levels = ", ".join(self.settings["levels"])
        return {
            "training_data": ", ".join(self.training["references"]),
            "queries_found": len(task.contaminated),
            "documents_found": documents,
            "pairs_found": task.pairs.count,
            "rate": task.rate.to_dict(),
            "verdict": task.verdict,
            "method": f"{levels}; {self.training['rows']:,} training rows",
            "date": self.created[:10],
            "data_hash": task.data_hash,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as JSON-ready values; docs/audit.md describes them."""
        examples = [match for task in self.tasks for match in self.matches_of(task.task)[:EXAMPLES]]
        return {
            "schema_version": SCHEMA_VERSION,
            "kind": "leakage",
            "created": self.created,
            "steelyard": self.version,
            "settings": dict(self.settings),
            "training": dict(self.training),
            "tasks": [_task_dict(task) | {"page": self.page_record(task.task)} for task in self.tasks],
            "matches": len(self.matches),
            "examples": [asdict(match) for match in examples],
            "scores": [dict(score) for score in self.scores],
            "written": dict(self.written),
        }

    def matches_of(self, task: str) -> list[Match]:
        """Return the matches of a task: those that count first, then by level and score."""
        matches = [match for match in self.matches if match.task == task]
        return sorted(matches, key=lambda match: (match.kept_apart is not None, -match.score))

    def save(self, folder: str | Path) -> Path:
        """Write `audit.json` and `matches.jsonl` into a folder and return the path of the first."""
        folder = Path(folder)
        lines = (json.dumps(asdict(match), ensure_ascii=False) for match in self.matches)
        write_atomic(folder / MATCHES, "".join(f"{line}\n" for line in lines).encode(errors="replace"))
        content = json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)
        write_atomic(folder / FILE, content.encode(errors="replace") + b"\n")
        return folder / FILE

    def __str__(self) -> str:
        lines = [f"{task.task}: {task.verdict}; {task.reason}" for task in self.tasks]
        return "\n".join([*lines, f"{self.training['rows']:,} training rows of {len(self.training['files'])} files"])


def _task_dict(task: TaskFindings) -> dict[str, Any]:
    return {
        "task": task.task,
        "data_hash": task.data_hash,
        "verdict": task.verdict,
        "reason": task.reason,
        "contaminated": task.rate.to_dict() | {"ids": list(task.contaminated)},
        "pairs": task.pairs.to_dict() | {"ids": [list(ids) for ids in task.pair_ids]},
        "parts": [
            {
                "part": part.part,
                "items": part.items,
                "levels": rate_dict(part.rates),
                "touched": part.touched,
                "kept_apart": dict(part.kept_apart),
                "ids": {level: list(ids) for level, ids in part.ids.items()},
            }
            for part in task.parts
        ],
    }


def load_audit(path: str | Path) -> Audit:
    """Read `audit.json`, given its path or its folder. `matches` then holds the examples in the file."""
    path = Path(path)
    path = path / FILE if path.is_dir() else path
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(
            f"the audit cannot be read: {error.strerror}", where=str(path), hint="check the path"
        ) from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"the file is not valid JSON: {error}", where=str(path), hint="run the audit again") from error
    if not isinstance(facts, dict) or facts.get("kind") != "leakage" or facts.get("schema_version") != SCHEMA_VERSION:
        expected = f"kind 'leakage' of schema version {SCHEMA_VERSION}"
        raise DataError(f"the file must be an audit, {expected}", where=str(path), hint="run the audit again")
    try:
        return Audit(
            facts["created"],
            facts["steelyard"],
            facts["settings"],
            facts["training"],
            tuple(map(_read_task, facts["tasks"])),
            tuple(Match(**match) for match in facts["examples"]),
            tuple(facts["scores"]),
            facts["written"],
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"a field of the file is missing or invalid: {error}", where=str(path), hint="run the audit again"
        ) from error


def _read_task(facts: Mapping[str, Any]) -> TaskFindings:
    return TaskFindings(
        facts["task"],
        facts["data_hash"],
        tuple(map(_read_part, facts["parts"])),
        _read_rate(facts["pairs"]),
        _read_pairs(facts["pairs"]["ids"]),
        facts["verdict"],
        facts["reason"],
    )


def _read_part(facts: Mapping[str, Any]) -> PartFindings:
    rates = {level: _read_rate(rate) for level, rate in facts["levels"].items()}
    ids = {level: tuple(names) for level, names in facts["ids"].items()}
    return PartFindings(facts["part"], facts["items"], rates, facts["touched"], facts["kept_apart"], ids)


def _read_rate(facts: Mapping[str, Any]) -> Rate:
    return Rate(facts["count"], facts["total"])


def _read_pairs(ids: Sequence[Sequence[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((first, second) for first, second in ids)


CARD = "README.md"
SECTION = "Leakage audit"
HEADER = "| task | verdict | queries found | documents found | pairs found | training data | date |"


def record(audit: Audit, references: Mapping[str, str]) -> dict[str, str]:
    """Write `metadata/<task>.audit.json` into the folder of every task that is on this machine; return the paths.

    `references` maps the names of tasks to what they were loaded by. Built-in sets and sets of hubs have no folder.
    The card of a set, if it has one, lists all its recorded audits in a generated section.
    """
    written, folders = {}, set()
    for name, reference in references.items():
        if "," in reference or not isinstance(source_of(reference, LoadOptions()), FolderSource):
            continue
        place = locate(reference)[0]
        path = Path(place.folder) / "metadata" / f"{place.task or 'task'}.audit.json"
        write_atomic(path, json.dumps(audit.page_record(name), ensure_ascii=False, indent=2).encode() + b"\n")
        written[name] = str(path)
        folders.add(path.parents[1])
    for folder in folders:
        _update_card(folder)
    return written


def _update_card(folder: Path) -> None:
    """Write the section of audits into the card; text outside of it stays as it is."""
    path = folder / CARD
    if not path.is_file():
        return
    card = path.read_text(encoding="utf-8")
    rows = [HEADER, "|---|" + "---|" * (HEADER.count("|") - 2)]
    for file in sorted((folder / "metadata").glob("*.audit.json")):
        try:
            facts = json.loads(file.read_text(encoding="utf-8"))
            counts = f"{facts['queries_found']} | {facts['documents_found']} | {facts['pairs_found']}"
            row = f"{facts['verdict']} | {counts} | {facts['training_data']} | {facts['date']}"
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise DataError("the record of an audit cannot be read", path=file, hint="remove the file") from error
        rows.append(f"| {file.name.removesuffix('.audit.json')} | {row} |")
    updated = with_section(card, SECTION, "\n".join(rows))
    if updated != card:
        write_atomic(path, updated.encode())
