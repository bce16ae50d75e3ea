"""The files of a Nano-set one by one: tables, JSON, and what its manifest says of them.

The same content gives the same bytes, and a file is there whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard.files import write_atomic
from steelyard.types import Ragged, Task

CARD, EVALUATION = "README.md", "eval.yaml"
SCHEMA_VERSION = 1
"""Of the manifest."""


def write_table(folder: Path, config: str, task: str, table: Any) -> Path:
    """Write one table of a task, as `config/task.parquet`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / config / f"{task}.parquet"
    content = pa.BufferOutputStream()
    # Ids come again and again in judgements and lists, texts and their ids do not.
    pq.write_table(table, content, compression="zstd", use_dictionary=config not in ("corpus", "queries"))
    write_atomic(path, content.getvalue())
    return path


def candidate_table(task: Task, lists: Ragged) -> Any:
    """Candidate lists as the published sets write them: `query-id`, `corpus-ids`, best first."""
    import pyarrow as pa

    documents = pa.array(task.corpus.ids, pa.string()).take(pa.array(lists.rows))
    ids = pa.ListArray.from_arrays(pa.array(lists.offsets, pa.int32()), documents)
    return pa.table({"query-id": pa.array(task.queries.ids, pa.string()), "corpus-ids": ids})


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file, strict and readable."""
    write_atomic(path, (json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode())


def task_counts(task: Task) -> dict[str, Any]:
    """What the manifest counts of a task, and the hash of its content."""
    return {
        "documents": len(task.corpus),
        "queries": len(task.queries),
        "judgements": len(task.qrels.rows),
        "positives": int(task.qrels.positives.sum()),
        "content_hash": task.content_hash,
    }


def file_facts(path: Path) -> dict[str, Any]:
    """What the manifest says of a file, by which `changed_files` knows it again."""
    content = path.read_bytes()
    facts: dict[str, Any] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        facts = {"rows": pq.read_metadata(str(path)).num_rows, **facts}
    return facts


def changed_files(folder: Path, manifest: Mapping[str, Any]) -> list[str]:
    """The files that are not, byte for byte, what the manifest says."""
    listed = manifest.get("files")
    if not isinstance(listed, dict):
        return []
    changed = []
    for name, facts in listed.items():
        path = folder / name
        wanted = facts.get("sha256") if isinstance(facts, dict) else None
        if wanted and (not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != wanted):
            changed.append(name)
    return changed
