"""Compile `sources.json.gz` of the catalogue from the records of HAKARI-Bench, a line per task.

python tests/support/catalogue_sources.py RECORDS.jsonl
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard.datasets import catalogue


def task_name(record: Mapping[str, Any]) -> str:
    """Return the name of the record's task in the catalogue."""
    entry = catalogue.find(f"{record['hub_dataset']}/{record['task']}")
    assert entry is not None, record["task"]
    return entry.name


def packed(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the content of the file: every reference once, every list of references once, a row per task."""
    references: dict[tuple[Any, ...], int] = {}
    lists: dict[tuple[int, ...], int] = {}
    tasks = {}
    for record in records:
        own = tuple(references.setdefault(_row(one), len(references)) for one in record["references"])
        facts = ("original_train_split", "evaluation_split_origin", "train_eval_overlap_audit")
        tasks[task_name(record)] = [lists.setdefault(own, len(lists)), *(record[fact] or "" for fact in facts)]
    return {
        "references": [list(row) for row in references],
        "lists": [list(numbers) for numbers in lists],
        "tasks": tasks,
    }


def _row(one: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        *(one["title"], one.get("year"), int(one["is_paper"])),
        *(one["url"], one.get("doi") or "", one["source_confidence"]),
    )


def compressed(content: Mapping[str, Any]) -> bytes:
    """Return the bytes of the file, the same for the same content."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return gzip.compress(text.encode(), 9, mtime=0)


if __name__ == "__main__":
    records = [json.loads(line) for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
    assert catalogue.__file__
    target = Path(catalogue.__file__).parent / catalogue.SOURCES
    target.write_bytes(compressed(packed(records)))
    print(f"{target.name}: {target.stat().st_size:,} bytes")
