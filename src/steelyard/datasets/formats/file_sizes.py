"""About how large a task in files is, from their sizes and first rows: for the time left, before anything is loaded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.datasets.formats.beir import CANDIDATES, CORPUS, QRELS, QUERIES
from steelyard.files import with_home

SAMPLE = 1 << 18
"""Bytes of a file that are read."""
TABLES = (".jsonl", ".csv", ".tsv")
TEXTS = (".txt", ".md", ".markdown", ".rst", ".html", ".htm")
JUDGED = (*QRELS, *CANDIDATES, "task", "readme", "manifest")
"""Beginnings of the names of files without texts."""


@dataclass(frozen=True)
class FileSizes:
    """Estimates of a task."""

    documents: int
    """Documents, or samples of a task without a corpus."""
    queries: int
    length: float
    """Bytes of a document or sample."""


def estimate_size(reference: str) -> FileSizes | None:
    r"""Return about how large a task in files is; None if the reference does not name files, or they are compressed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "corpus.jsonl").write_text('{"_id": "a", "text": "ten bytes."}\n' * 30)
    ...     _ = Path(folder, "queries.jsonl").write_text('{"_id": "q", "text": "why?"}\n' * 7)
    ...     estimate_size(folder)
    FileSizes(documents=30, queries=7, length=10.0)
    """
    documents = queries = 0
    size = 0.0
    try:
        for path in _files(reference):
            stem = path.name.lower().partition(".")[0]
            if path.suffix in TEXTS and not stem.startswith("readme"):
                documents, size = documents + 1, size + path.stat().st_size
            elif not stem.startswith(JUDGED) and (table := _rows(path)) is not None:
                rows, length = table
                if stem in QUERIES:
                    queries += rows
                else:  # a corpus, or samples
                    documents, size = documents + rows, size + rows * length
            elif stem in (*CORPUS, *QUERIES):
                return None
    except (OSError, ValueError):  # the loader reports what is wrong
        return None
    return FileSizes(documents, queries, size / documents) if documents and size else None


def _files(reference: str) -> Iterator[Path]:
    for part in reference.partition("?")[0].split(","):
        path = with_home(part)
        if path.is_file():
            yield path
        elif path.is_dir():
            yield from sorted(one for one in path.rglob("*") if one.is_file())


def _rows(path: Path) -> tuple[int, float] | None:
    """Return the number of rows of a table and the mean bytes of their texts; None for other files."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        metadata = pq.read_metadata(path)
        size = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
        return metadata.num_rows, size / max(1, metadata.num_rows)
    if path.suffix not in TABLES:
        return None
    whole = path.stat().st_size
    with path.open("rb") as file:
        content = file.read(SAMPLE)
    lines = content.splitlines() if len(content) == whole else content.splitlines()[:-1]
    lines = [line for line in lines if line.strip()]
    if not lines:
        return (0, 0.0) if not whole else None
    read = len(content) if len(content) == whole else sum(len(line) + 1 for line in lines)
    header = int(path.suffix != ".jsonl")
    rows = max(1, round(whole / read * len(lines)) - header)
    texts = [_text_bytes(json.loads(line)) for line in lines] if path.suffix == ".jsonl" else [len(x) for x in lines]
    return rows, sum(texts) / len(texts)


def _text_bytes(row: Any) -> int:
    """Return the bytes of the texts of a row; its ids are not encoded."""
    fields = row.items() if isinstance(row, dict) else ()
    return sum(
        len(value.encode("utf-8", "surrogatepass"))
        for name, value in fields
        if isinstance(value, str) and not name.lower().endswith("id")
    )
