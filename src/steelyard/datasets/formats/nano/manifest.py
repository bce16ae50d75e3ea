"""The files of a Nano-set: tables, JSON, and the entries of its manifest.

The same content gives the same bytes, and a file is written whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from steelyard.errors import UsageError
from steelyard.files import path_inside, write_atomic
from steelyard.types import Ragged, Task

CARD, EVALUATION, MANIFEST = "README.md", "eval.yaml", "manifest.json"
GENERATED = "<!-- steelyard: begin"
"""How a generated region of a card begins."""
TAG = "\n- steelyard\n"
"""A line in the front matter of every generated card."""
SCHEMA_VERSION = 1
"""The version of the manifest."""


def write_table(folder: Path, config: str, task: str, table: Any) -> Path:
    """Write one table of a task, as `config/task.parquet`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / config / f"{task}.parquet"
    content = pa.BufferOutputStream()
    # Ids repeat in judgements and lists; texts and their ids do not.
    pq.write_table(table, content, compression="zstd", use_dictionary=config not in ("corpus", "queries"))
    write_atomic(path, content.getvalue())
    return path


def candidate_table(task: Task, lists: Ragged) -> Any:
    """Return candidate lists as the published sets write them: `query-id`, `corpus-ids`, best first."""
    import pyarrow as pa

    documents = pa.array(task.corpus.ids, pa.string()).take(pa.array(lists.rows))
    ids = pa.ListArray.from_arrays(pa.array(lists.offsets, pa.int32()), documents)
    return pa.table({"query-id": pa.array(task.queries.ids, pa.string()), "corpus-ids": ids})


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file: strict, indented."""
    write_atomic(path, (json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode())


def task_counts(task: Task) -> dict[str, Any]:
    """Return the counts of a task in the manifest, and the hash of its content."""
    return {
        "documents": len(task.corpus),
        "queries": len(task.queries),
        "judgements": len(task.qrels.rows),
        "positives": int(task.qrels.positives.sum()),
        "content_hash": task.content_hash,
    }


def file_facts(path: Path) -> dict[str, Any]:
    """Return the manifest's entry of a file, which `changed_files` compares."""
    content = path.read_bytes()
    facts: dict[str, Any] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        facts = {"rows": pq.read_metadata(str(path)).num_rows, **facts}
    return facts


def changed_files(folder: Path, manifest: Mapping[str, Any], only: Collection[str] | None = None) -> list[str]:
    """Return the files whose bytes differ from the manifest; with `only`, just these files are read."""
    listed = manifest.get("files")
    if not isinstance(listed, dict):
        return []
    changed = []
    for name, facts in listed.items():
        if only is not None and name not in only:
            continue
        expected = facts.get("sha256") if isinstance(facts, dict) else None
        if expected and _hash(path_inside(folder, name, MANIFEST)) != expected:
            changed.append(name)
    return changed


def _hash(path: Path) -> str | None:
    """Return the SHA-256 of a file; None if there is no such file, or no file can have that name."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
    except (OSError, ValueError):
        return None


def is_generated(path: Path) -> bool:
    """Return whether Steelyard wrote a card, an `eval.yaml` or a manifest."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.name == CARD:
            return GENERATED in text or TAG in text
        if path.name == EVALUATION:
            return "evaluation_framework: steelyard" in text
        manifest = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(manifest, dict) and {"schema_version", "tasks", "files"} <= manifest.keys()


def refuse_foreign_files(folder: Path, *, overwrite: bool = False) -> None:
    """Raise a UsageError if the folder has a card, an `eval.yaml` or a manifest that Steelyard did not write."""
    for name in () if overwrite else (CARD, MANIFEST, EVALUATION):
        path = folder / name
        if path.exists() and not is_generated(path):
            raise UsageError(
                f"{path} was not written by Steelyard, and would be changed",
                path=path,
                hint="choose another folder, or allow it with --overwrite: text outside generated regions is kept",
            )
