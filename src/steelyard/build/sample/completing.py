"""Completing a set whose tables are written: card, `eval.yaml`, and last, once all was read again, the manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from steelyard.datasets.formats.folder import locate
from steelyard.datasets.formats.nano import card as nano_card
from steelyard.datasets.formats.nano.manifest import (
    CARD,
    EVALUATION,
    SCHEMA_VERSION,
    file_facts,
    task_counts,
    write_json,
)
from steelyard.datasets.formats.sidecar import MANIFEST, info_facts, read_json_object
from steelyard.datasets.formats.task_files import TaskFiles, TaskLocation
from steelyard.datasets.problems import OUR_FAULT, Problem, Report
from steelyard.errors import DataError
from steelyard.types import Task, TaskInfo


@dataclass(frozen=True, eq=False)
class Written:
    """One task of the finished set, read back from disk, with what the check found short of an error."""

    task: Task
    problems: Sequence[Problem]


@dataclass(frozen=True)
class CardWords:
    """What a card says that cannot be told from the tables."""

    title: str = ""
    """Empty: the name of the folder."""
    description: str = ""
    licence: str = ""
    sections: Mapping[str, str] = field(default_factory=dict)
    """Texts by heading, each in place of an older section of that heading."""


def complete(
    folder: Path, words: CardWords, *, infos: Mapping[str, TaskInfo] | None = None, new_card: bool = False
) -> list[Written]:
    """Read every task of the folder back, strictly, and write card, `eval.yaml` and manifest around them.

    A card that is there keeps its words, unless a `new_card` is wanted; its list of tables and the given sections
    are made anew. Facts of tasks come from `infos`, else from the manifest that is there. A set with an error raises
    a DataError and stays without a manifest that would vouch for it.
    """
    found = [place for place in locate(folder) if place.task]
    if not found:
        raise DataError(
            "no Nano-set", where=str(folder), hint="expected corpus/, queries/ and qrels/ with Parquet files"
        )
    told = {place.task: (infos or {}).get(place.task, place.info) for place in found}
    written = [_read_back(place, told[place.task]) for place in found]
    files = {place.task: place.files for place in found}
    if new_card:
        for name in (CARD, EVALUATION):
            (folder / name).unlink(missing_ok=True)
    _write_card(folder, words, told, files)
    old = read_json_object(folder / MANIFEST)
    manifest = {
        **old,
        "schema_version": SCHEMA_VERSION,
        "tasks": {
            name: info_facts(told[name]) | task_counts(part.task) | _checks(folder, name, part)
            for name, part in zip(told, written, strict=True)
        },
        "files": {name: file_facts(folder / name) for name in _listed(folder, files)},
    }
    write_json(folder / MANIFEST, manifest)
    return written


def metadata_path(folder: Path, task: str) -> Path:
    """Where a set keeps how a task was cut."""
    return folder / "metadata" / f"{task}.json"


def _checks(folder: Path, task: str, written: Written) -> dict[str, Any]:
    """What the checks at the end found: problems by kind, and the signs of leakage that the cut counted."""
    kinds = Counter(problem.kind for problem in written.problems)
    leakage = read_json_object(metadata_path(folder, task)).get("leakage")
    return {"validation": {"errors": 0, **dict(sorted(kinds.items()))}, **({"leakage": leakage} if leakage else {})}


def _read_back(place: TaskLocation, info: TaskInfo) -> Written:
    report = Report()
    task = place.read(report)
    report.raise_errors("strict", place.reference)
    if task is None:  # every path to None tells a fatal fault, so this is a fault of ours
        raise DataError("the data could not be put together", where=place.reference, hint=OUR_FAULT)
    return Written(replace(task, info=info), report.problems)


def _write_card(folder: Path, words: CardWords, infos: Mapping[str, TaskInfo], files: Mapping[str, TaskFiles]) -> None:
    path, title = folder / CARD, words.title or folder.resolve().name
    if path.exists():
        text = nano_card.with_configs(path.read_text(encoding="utf-8"), files)
    else:
        text = nano_card.new_card(title, words.description, infos.values(), words.licence, files)
    for heading, body in words.sections.items():
        text = nano_card.with_section(text, heading, body)
    path.write_text(text, encoding="utf-8")
    if not (folder / EVALUATION).exists():
        summary = words.description.strip().split("\n\n")[0].replace("\n", " ")
        (folder / EVALUATION).write_text(nano_card.eval_yaml(title, summary, infos), encoding="utf-8")


def _listed(folder: Path, files: Mapping[str, TaskFiles]) -> list[str]:
    tables = {name for found in files.values() for name in found.all}
    beside = {path.relative_to(folder).as_posix() for path in folder.glob("metadata/*.json")}
    return sorted(tables | beside)
