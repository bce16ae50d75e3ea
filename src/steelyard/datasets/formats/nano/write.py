"""Write tasks as a Nano-set: Parquet files, a dataset card that hubs understand, and `manifest.json` with hashes.

Documents are written in row order, so a file says nothing of relevance.
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
    beside: bool = False,
) -> Path:
    """Write the tasks into a folder (made if need be) and return it; the manifest, written last, completes the set.

    A task goes under the last part of its name, which must be unique within the set. What could not be read again is a
    DataError before anything is written; so is a folder with other tables in it, unless they may stay `beside` these.
    """
    folder = Path(folder)
    _check_names(folder, tasks)
    if not beside:
        _check_folder(folder, tasks)
    titled = any(task.corpus.titles is not None for task in tasks)  # hubs want the same columns in all of a config
    files = {task.info.task: _write(folder, task, titled) for task in tasks}
    infos = [task.info for task in tasks]
    card = new_card(title or folder.name, f"{description}\n\n{_overview(tasks)}".strip(), infos, licence, files)
    write_atomic(folder / CARD, card.encode())
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "tasks": {task.info.task: info_facts(task.info) | task_counts(task) for task in tasks},
        "files": {name: file_facts(folder / name) for name in sorted(n for found in files.values() for n in found.all)},
    }
    write_json(folder / MANIFEST, manifest)
    return folder


def _check_names(folder: Path, tasks: Sequence[Task]) -> None:
    """Whether every table gets a file of its own, under a name by which it is found again."""
    names = [task.info.task for task in tasks]
    if not names:
        raise DataError("there is no task to write", where=str(folder), hint="give one or more")
    if len(set(names)) < len(names):
        raise DataError(f"two tasks of one name among {', '.join(names)}", where=str(folder), hint="rename one")
    for task in tasks:
        for config in task.candidates:
            if config in (*TABLES, *NOT_CANDIDATES) or not _is_found("corpus", config):
                raise DataError(
                    f"candidate lists cannot be called {config!r}",
                    where=task.name,
                    hint="a word such as 'bm25' will do",
                )
        if not _is_found("corpus", task.info.task):
            raise DataError(
                f"a file {task.info.task}.parquet would not be read as that task",
                where=task.name,
                hint="rename the task",
            )


def _is_found(folder: str, name: str) -> bool:
    found = FILE.fullmatch(f"{folder}/{name}.parquet")
    return found is not None and found["split"] == name


def _check_folder(folder: Path, tasks: Sequence[Task]) -> None:
    """Whether the folder holds no other tables: they would be read as tasks, or as candidate lists, of this set."""
    meant = {f"{config}/{task.info.task}.parquet" for task in tasks for config in (*TABLES, *task.candidates)}
    there = (path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.parquet")))
    if left := [name for name in there if FILE.fullmatch(name) and name not in meant]:
        raise DataError(
            f"{left[0]}{f' and {len(left) - 1} more' if len(left) > 1 else ''} would be left beside what is written",
            where=str(folder),
            hint="remove what is there, or write to another folder",
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
            "a judged document is not in the corpus, so its id is not known",
            where=task.name,
            hint="add the document or remove the judgement before writing",
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
    """A table of the tasks, for the card."""
    lines = ["| task | language | queries | documents | positives |", "|---|---|---|---|---|"]
    for task in tasks:
        positives = int(task.qrels.positives.sum())
        cells = (task.info.task, task.info.language, len(task.queries), len(task.corpus), positives)
        lines.append("| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells) + " |")
    return "\n".join(lines)
