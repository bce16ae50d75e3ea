"""Complete a set whose tables are written: card, `eval.yaml`, and last, after reading everything back, the manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from steelyard.build.sample import set_card
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
    write_table,
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
    """The texts of a card that do not follow from the set."""

    title: str = ""
    """Empty: that of the card, or the name of the folder."""
    introduction: str = ""
    """A paragraph after the title of a new card; later it is hand-written text, and kept."""
    sections: Mapping[str, str] = field(default_factory=dict)
    """Further texts by heading, each in place of an older section of that heading."""


def complete(
    folder: Path,
    texts: CardTexts | None = None,
    *,
    infos: Mapping[str, TaskInfo] | None = None,
    overwrite: bool = False,
) -> list[Written]:
    """Read every task of the folder back, strictly, and write card, `eval.yaml` and manifest.

    The generated parts of the card describe all tasks of the folder, whenever they were sampled; the rest of it is
    kept. Descriptions of tasks come from `infos`, else from the existing manifest. A set with an error raises a
    DataError and does not get a manifest.
    """
    locations = [location for location in locate(folder) if location.task]
    if not locations:
        raise DataError(
            "the folder does not contain a Nano-set",
            path=folder,
            hint="expected corpus/, queries/ and qrels/ with Parquet files",
        )
    _same_columns(folder, locations)
    described = {location.task: (infos or {}).get(location.task, location.info) for location in locations}
    written = [_read_back(folder, location, described[location.task]) for location in locations]
    files = {location.task: location.files for location in locations}
    card = _write_card(folder, texts or CardTexts(), described, files)
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
        "card_regions": set_card.region_hashes(card),
    }
    write_json(manifest_path, manifest)
    return written


def _same_columns(folder: Path, locations: Sequence[TaskLocation]) -> None:
    """Give the tables of all sampled tasks the same columns: the `datasets` library reads a config with one schema.

    A task without titles gets empty ones, further columns of queries are null where a source does not have them, and a
    column of several types becomes text.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    sampled = [location for location in locations if metadata_path(folder, location.task).is_file()]
    for config in ("corpus", "queries"):
        paths = {location.task: folder / config / f"{location.task}.parquet" for location in sampled}
        schemas = {task: pq.read_schema(str(path)) for task, path in paths.items() if path.is_file()}
        types: dict[str, Any] = {}
        for column in (one for schema in schemas.values() for one in schema):
            known = types.get(column.name, column.type)
            if pa.types.is_null(known) or known == column.type:
                types[column.name] = column.type
            elif not pa.types.is_null(column.type):
                types[column.name] = pa.string()
        common = pa.schema(list(types.items()))
        for task in (task for task, schema in schemas.items() if not schema.remove_metadata().equals(common)):
            table = pq.read_table(str(paths[task]))
            columns = {name: _column(table, name, kind) for name, kind in types.items()}
            write_table(folder, config, task, pa.table(columns))


def _column(table: Any, name: str, kind: Any) -> Any:
    """Return a column of that type; empty titles, or nulls, if the table does not have it."""
    import pyarrow as pa

    if name not in table.column_names:
        return pa.array(["" if name == "title" else None] * table.num_rows, kind)
    column = table[name]
    if column.type == kind or pa.types.is_null(column.type):
        return column.cast(kind)
    return pa.array([None if value is None else str(value) for value in column.to_pylist()], kind)


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


def _write_card(folder: Path, texts: CardTexts, infos: Mapping[str, TaskInfo], files: Mapping[str, TaskFiles]) -> str:
    """Write the card and `eval.yaml`, and return the card."""
    path = folder / CARD
    sampled = {name: facts for name in infos if (facts := read_json_object(metadata_path(folder, name)))}
    summary = set_card.description(sampled) if sampled else ""
    licences = [info.licence or "" for info in infos.values()]
    if not path.exists():
        title = texts.title or folder.resolve().name
        card = nano_card.new_card(title, summary, infos.values(), licences, files)
        if texts.introduction:
            card = card.replace(f"# {title}\n\n", f"# {title}\n\n{texts.introduction.strip()}\n\n", 1)
    else:
        card = nano_card.with_front(_existing(path), nano_card.front_blocks(infos.values(), licences, files))
        card = nano_card.with_title(card, texts.title) if texts.title else card
        card = (nano_card.with_region(card, set_card.DESCRIPTION, summary) if sampled else None) or card
    sections = dict(texts.sections)
    if sampled:
        sections[set_card.SAMPLED] = set_card.sampled_section(sampled)
        sections[set_card.SOURCES] = set_card.sources_section(infos, sampled)
    if citation := set_card.citation_section(infos):
        sections[set_card.CITATION] = citation
    for heading, body in sections.items():
        card = nano_card.with_section(card, heading, body)
    write_atomic(path, card.encode())
    evaluation = folder / EVALUATION
    if not evaluation.exists() or is_generated(evaluation):
        shown = (summary or texts.introduction or nano_card.title_of(card)).strip().split("\n\n")[0].replace("\n", " ")
        title = nano_card.title_of(card) or folder.resolve().name
        write_atomic(evaluation, nano_card.eval_yaml(title, shown, infos).encode())
    return card


def _existing(path: Path) -> str:
    try:
        old = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError("the card must be UTF-8", path=path, hint="save it as UTF-8") from error
    for before, now in set_card.OLD_HEADINGS.items():
        old = old.replace(f"\n## {before}\n", f"\n## {now}\n")
    return old


def _listed(folder: Path, files: Mapping[str, TaskFiles]) -> list[str]:
    tables = {name for own in files.values() for name in own.all}
    metadata = {path.relative_to(folder).as_posix() for path in folder.glob("metadata/*.json")}
    return sorted(tables | metadata)
