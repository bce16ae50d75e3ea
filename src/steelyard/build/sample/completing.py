"""Complete a set whose tables are written: card, `eval.yaml`, and last, after reading everything back, the manifest."""

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
    is_generated,
    task_counts,
    write_json,
)
from steelyard.datasets.formats.sidecar import MANIFEST, info_facts, read_json_object
from steelyard.datasets.formats.task_files import TaskFiles, TaskLocation
from steelyard.datasets.problems import OUR_FAULT, Problem, Report
from steelyard.errors import DataError
from steelyard.files import write_atomic
from steelyard.types import Task, TaskInfo


@dataclass(frozen=True, eq=False)
class Written:
    """One task of the finished set, read back from disk, with its warnings and notes."""

    task: Task
    problems: Sequence[Problem]


@dataclass(frozen=True)
class CardTexts:
    """The texts of a card that do not follow from the tables."""

    title: str = ""
    """Empty: the name of the folder."""
    description: str = ""
    licence: str = ""
    sections: Mapping[str, str] = field(default_factory=dict)
    """Texts by heading, each in place of an older section of that heading."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Headings of older cards, and what they are now."""


def complete(
    folder: Path,
    texts: CardTexts,
    *,
    infos: Mapping[str, TaskInfo] | None = None,
    new_card: bool = False,
    overwrite: bool = False,
) -> list[Written]:
    """Read every task of the folder back, strictly, and write card, `eval.yaml` and manifest.

    An existing card keeps its text; its list of tables and its generated regions are replaced, with `new_card` also
    the front matter. Descriptions of tasks come from `infos`, else from the existing manifest. A set with an error
    raises a DataError and does not get a manifest.
    """
    locations = [location for location in locate(folder) if location.task]
    if not locations:
        raise DataError(
            "the folder does not contain a Nano-set",
            path=folder,
            hint="expected corpus/, queries/ and qrels/ with Parquet files",
        )
    described = {location.task: (infos or {}).get(location.task, location.info) for location in locations}
    written = [_read_back(folder, location, described[location.task]) for location in locations]
    files = {location.task: location.files for location in locations}
    _write_card(folder, texts, described, files, new=new_card)
    manifest_path = folder / MANIFEST
    old = {} if overwrite and not is_generated(manifest_path) else read_json_object(manifest_path)
    manifest = {
        **old,
        "schema_version": SCHEMA_VERSION,
        "tasks": {
            name: info_facts(described[name]) | task_counts(part.task) | _checks(folder, name, part)
            for name, part in zip(described, written, strict=True)
        },
        "files": {name: file_facts(folder / name) for name in _listed(folder, files)},
    }
    write_json(manifest_path, manifest)
    return written


def metadata_path(folder: Path, task: str) -> Path:
    """Return where a set documents how a task was sampled."""
    return folder / "metadata" / f"{task}.json"


def _checks(folder: Path, task: str, written: Written) -> dict[str, Any]:
    """Return the results of the final checks: problems by kind, and the signs of leakage."""
    kinds = Counter(problem.kind for problem in written.problems)
    leakage = read_json_object(metadata_path(folder, task)).get("leakage")
    return {"validation": {"errors": 0, **dict(sorted(kinds.items()))}, **({"leakage": leakage} if leakage else {})}


def _read_back(folder: Path, location: TaskLocation, info: TaskInfo) -> Written:
    """Return the task on disk; judgements outside the corpus must be those that were written on purpose."""
    sampled = read_json_object(metadata_path(folder, location.task)).get("judgements")
    outside = sampled.get("outside_corpus_written", 0) if isinstance(sampled, dict) else None
    report = Report(missing_judgements="error" if outside == 0 else "count")
    task = location.read(report)
    report.raise_errors("strict", location.reference)
    if task is None:  # every way to None adds a fatal problem
        raise DataError("the data could not be assembled", where=location.reference, hint=OUR_FAULT)
    return Written(replace(task, info=info), report.problems)


def _write_card(
    folder: Path, texts: CardTexts, infos: Mapping[str, TaskInfo], files: Mapping[str, TaskFiles], *, new: bool
) -> None:
    path, title = folder / CARD, texts.title or folder.resolve().name
    card = nano_card.new_card(title, texts.description, infos.values(), texts.licence, files)
    if path.exists():
        card = _updated_card(path, card, texts, files, new=new)
    for heading, body in texts.sections.items():
        card = nano_card.with_section(card, heading, body)
    write_atomic(path, card.encode())
    evaluation = folder / EVALUATION
    if not evaluation.exists() or (new and is_generated(evaluation)):
        summary = texts.description.strip().split("\n\n")[0].replace("\n", " ")
        write_atomic(evaluation, nano_card.eval_yaml(title, summary, infos).encode())


def _updated_card(path: Path, card: str, texts: CardTexts, files: Mapping[str, TaskFiles], *, new: bool) -> str:
    """Return the existing card with new generated parts; the rest of it is kept."""
    try:
        old = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError("the card must be UTF-8", path=path, hint="save it as UTF-8") from error
    for before, now in texts.renamed.items():
        old = old.replace(f"\n## {before}\n", f"\n## {now}\n")
    if not new:
        return nano_card.with_configs(old, files)
    if not is_generated(path):
        return nano_card.with_configs(old, files)
    updated = nano_card.with_region(old, "description", texts.description)
    if updated is None:  # a card without marked regions: everything in it was generated, except other sections
        return card
    return nano_card.with_front_of(updated, card)


def _listed(folder: Path, files: Mapping[str, TaskFiles]) -> list[str]:
    tables = {name for own in files.values() for name in own.all}
    metadata = {path.relative_to(folder).as_posix() for path in folder.glob("metadata/*.json")}
    return sorted(tables | metadata)
