"""Write tasks as a Nano-set: Parquet files, a dataset card for hubs, and `manifest.json` with hashes.

Documents are written in row order, so the order of a file does not reveal which are relevant.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from steelyard.datasets.formats.nano.card import new_card
from steelyard.datasets.formats.nano.discovery import FILE, NOT_CANDIDATES, TABLES
from steelyard.datasets.formats.nano.manifest import (
    CARD,
    SCHEMA_VERSION,
    candidate_table,
    file_facts,
    refuse_foreign_files,
    task_counts,
    write_json,
    write_table,
)
from steelyard.datasets.formats.sidecar import MANIFEST, info_facts
from steelyard.datasets.formats.task_files import TaskFiles
from steelyard.errors import DataError
from steelyard.files import write_atomic
from steelyard.types import Task


def write_nano_set(
    folder: str | Path,
    tasks: Sequence[Task],
    *,
    title: str = "",
    description: str = "",
    licence: str = "",
    keep_other_tables: bool = False,
    overwrite: bool = False,
) -> Path:
    """Write the tasks into a folder, which is created, and return it; the manifest is written last.

    A task is stored under the last part of its name, which must be unique within the set. What could not be read again
    is a DataError before anything is written; so is a folder with other tables, unless `keep_other_tables` is set. A
    card or manifest that Steelyard did not write is a UsageError, unless `overwrite` is set.
    """
    folder = Path(folder)
    _check_names(folder, tasks)
    refuse_foreign_files(folder, overwrite=overwrite)
    if not keep_other_tables:
        _check_folder(folder, tasks)
    titled = any(task.corpus.titles is not None for task in tasks)  # hubs need the same columns in all of a config
    files = {task.info.task: _write(folder, task, titled) for task in tasks}
    infos = [task.info for task in tasks]
    card = new_card(title or folder.name, f"{description}\n\n{_overview(tasks)}".strip(), infos, [licence], files)
    write_atomic(folder / CARD, card.encode())
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "tasks": {task.info.task: info_facts(task.info) | task_counts(task) for task in tasks},
        "files": {name: file_facts(folder / name) for name in sorted(n for own in files.values() for n in own.all)},
    }
    write_json(folder / MANIFEST, manifest)
    return folder


def _check_names(folder: Path, tasks: Sequence[Task]) -> None:
    """Raise a DataError unless every table gets a separate file, under a name that the reader recognises."""
    names = [task.info.task for task in tasks]
    if not names:
        raise DataError("the set must have at least one task, got none", path=folder, hint="give one or more tasks")
    if len(set(names)) < len(names):
        raise DataError(f"names of tasks must be unique, got {', '.join(names)}", path=folder, hint="rename one")
    for task in tasks:
        for config in task.candidates:
            if config in (*TABLES, *NOT_CANDIDATES) or not _is_found("corpus", config):
                raise DataError(
                    f"the name of candidate lists must be a word, and not reserved, got {config!r}",
                    where=task.name,
                    found=config,
                    hint="use a word such as 'bm25'",
                )
        if not _is_found("corpus", task.info.task):
            raise DataError(
                f"the name of a task must also be a file name, got {task.info.task!r}",
                where=task.name,
                found=task.info.task,
                hint="rename the task",
            )


def _is_found(folder: str, name: str) -> bool:
    match = FILE.fullmatch(f"{folder}/{name}.parquet")
    return match is not None and match["split"] == name


def _check_folder(folder: Path, tasks: Sequence[Task]) -> None:
    """Raise a DataError if the folder has other tables: they would be read as part of this set."""
    own = {f"{config}/{task.info.task}.parquet" for task in tasks for config in (*TABLES, *task.candidates)}
    names = (path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.parquet")))
    if others := [name for name in names if FILE.fullmatch(name) and name not in own]:
        raise DataError(
            f"the folder already has {others[0]}{f' and {len(others) - 1} more' if len(others) > 1 else ''}",
            path=folder / others[0],
            hint="remove it, or write to another folder",
        )


def _write(folder: Path, task: Task, titled: bool) -> TaskFiles:
    written = {
        config: (write_table(folder, config, task.info.task, table).relative_to(folder).as_posix(),)
        for config, table in _tables(task, titled).items()
    }
    corpus, queries, qrels = (written.pop(config) for config in ("corpus", "queries", "qrels"))
    return TaskFiles(corpus, queries, qrels, written)


def _tables(task: Task, titled: bool) -> dict[str, Any]:
    import numpy as np
    import pyarrow as pa

    corpus: dict[str, Any] = {"_id": task.corpus.ids, "text": task.corpus.bodies}
    if titled:
        corpus["title"] = task.corpus.titles or ("",) * len(task.corpus)
    if (task.qrels.rows < 0).any():
        raise DataError(
            "judged documents must be in the corpus, because their ids are written",
            where=task.name,
            hint="add the document, or remove the judgement",
        )
    owner = np.repeat(np.arange(len(task.queries)), task.qrels.counts)
    return {
        "corpus": pa.table(corpus),
        "queries": pa.table({"_id": task.queries.ids, "text": task.queries.texts}),
        "qrels": pa.table(
            {
                "query-id": pa.array(task.queries.ids, pa.string()).take(pa.array(owner)),
                "corpus-id": pa.array(task.corpus.ids, pa.string()).take(pa.array(task.qrels.rows)),
                "score": pa.array(task.qrels.grades, pa.int32()),
            }
        ),
        **{name: candidate_table(task, lists) for name, lists in task.candidates.items()},
    }


def _overview(tasks: Sequence[Task]) -> str:
    """Return a table of the tasks, for the card."""
    lines = ["| task | language | queries | documents | positives |", "|---|---|---|---|---|"]
    for task in tasks:
        positives = int(task.qrels.positives.sum())
        cells = (task.info.task, task.info.language, len(task.queries), len(task.corpus), positives)
        lines.append("| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells) + " |")
    return "\n".join(lines)
