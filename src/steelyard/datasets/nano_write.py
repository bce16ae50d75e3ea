"""Write tasks as a Nano-set: Parquet files, `manifest.json` with hashes, and a dataset card that hubs understand.

The same tasks give the same bytes. Documents are written in row order, so a file says nothing of relevance.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard.datasets.sidecar import MANIFEST, info_facts
from steelyard.errors import DataError
from steelyard.types import Ragged, Task

SCHEMA_VERSION = 1


def write_nano_set(
    folder: Path, tasks: Sequence[Task], *, title: str = "", description: str = "", licence: str = ""
) -> Path:
    """Write the tasks into a folder (made if need be) and return it; the manifest, written last, completes the set.

    A task goes under the last part of its name, which must be unique within the set.
    """
    names = [task.info.task for task in tasks]
    if len(set(names)) < len(names):
        raise DataError(f"two tasks of one name among {', '.join(names)}", where=str(folder), hint="rename one")
    files: dict[str, dict[str, Any]] = {}
    titled = any(task.corpus.titles is not None for task in tasks)  # hubs want the same columns in all of a config
    for task in tasks:
        for config, table in _tables(task, titled).items():
            path = f"{config}/{task.info.task}.parquet"
            files[path] = _write(folder / path, table)
    card = _card(tasks, sorted(files), title or folder.name, description, licence)
    (folder / "README.md").write_text(card, encoding="utf-8")
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "tasks": {task.info.task: info_facts(task.info) | _counts(task) for task in tasks},
        "files": dict(sorted(files.items())),
    }
    text = json.dumps(manifest, ensure_ascii=False, indent=1, allow_nan=False)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")
    return folder


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
    document_ids = pa.array(task.corpus.ids, pa.string())
    query_ids = pa.array(task.queries.ids, pa.string())
    tables = {
        "corpus": pa.table(corpus),
        "queries": pa.table({"_id": task.queries.ids, "text": task.queries.texts}),
        "qrels": pa.table(
            {
                "query-id": query_ids.take(pa.array(owner)),
                "corpus-id": document_ids.take(pa.array(task.qrels.rows)),
                "score": pa.array(task.qrels.grades, pa.int32()),
            }
        ),
    }
    for name, lists in task.candidates.items():
        tables[name] = pa.table({"query-id": query_ids, "corpus-ids": _lists(lists, document_ids)})
    return tables


def _lists(lists: Ragged, document_ids: Any) -> Any:
    import pyarrow as pa

    return pa.ListArray.from_arrays(pa.array(lists.offsets, pa.int32()), document_ids.take(pa.array(lists.rows)))


def _write(path: Path, table: Any) -> dict[str, Any]:
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    # Ids come again and again in judgements and lists, texts and their ids do not.
    repeats = path.parent.name not in ("corpus", "queries")
    pq.write_table(table, str(path), compression="zstd", use_dictionary=repeats)
    content = path.read_bytes()
    return {"rows": table.num_rows, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _counts(task: Task) -> dict[str, Any]:
    return {
        "documents": len(task.corpus),
        "queries": len(task.queries),
        "judgements": len(task.qrels.rows),
        "positives": int(task.qrels.positives.sum()),
        "content_hash": task.content_hash,
    }


def _card(tasks: Sequence[Task], files: Sequence[str], title: str, description: str, licence: str) -> str:
    """README.md with the YAML block that makes `datasets.load_dataset(folder, "corpus")` work."""
    languages = sorted({code for task in tasks for code in task.info.languages})
    lines = ["---"]
    if languages:
        lines += ["language:", *(f"- {_quoted(code)}" for code in languages)]
    if licence:
        lines.append(f"license: {_quoted(licence)}")
    lines += ["task_categories:", "- text-retrieval", "tags:", "- steelyard", "configs:"]
    for config in dict.fromkeys(file.split("/")[0] for file in files):
        lines.append(f"- config_name: {config}")
        if config == "queries":
            lines.append("  default: true")
        lines.append("  data_files:")
        for file in files:
            if file.startswith(f"{config}/"):
                # The `datasets` library takes no hyphen in the name of a split.
                split = re.sub(r"\W", "_", Path(file).stem)
                lines += [f"  - split: {_quoted(split)}", f"    path: {_quoted(file)}"]
    lines += ["---", "", f"# {title}", ""]
    if description:
        lines += [description, ""]
    lines += ["| task | language | queries | documents | positives |", "|---|---|---|---|---|"]
    for task in tasks:
        positives = int(task.qrels.positives.sum())
        cells = (task.info.task, task.info.language, len(task.queries), len(task.corpus), positives)
        lines.append("| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """A YAML string; quoted, since `no` would be a truth value."""
    return json.dumps(text, ensure_ascii=False)
