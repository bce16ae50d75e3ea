"""Detect the type of task of a path that does not name one: by `task.json`, by the card, or by the columns."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from steelyard.datasets.formats.folder import scan
from steelyard.datasets.formats.saved_dataset import saved_splits
from steelyard.datasets.formats.sidecar import SIDECAR, read_json_object
from steelyard.datasets.references import local_path, path_exists
from steelyard.datasets.samples.location import is_table, tables_in
from steelyard.datasets.samples.roles import CLASSIFIED, CLUSTERED, MATCH, RANKED, ROLES, STS, SUMMARISED
from steelyard.datasets.samples.splits import card_subsets, evaluation_split, find_splits, matching_split
from steelyard.datasets.tables.files import file_errors, format_of, open_bytes, text_lines
from steelyard.errors import UsageError

CARD = re.compile(r"^type:\s*['\"]?([a-z_]+)['\"]?\s*$", re.MULTILINE)


def detect_type(text: str) -> str | None:
    """Return the type of a task without a corpus, or of reranking rows; None if the path holds something else.

    Texts with labels in one file may be for classification or for clustering: a UsageError asks which.
    """
    path_text, _, _ = text.partition("::")
    paths = [local_path(part.strip()) for part in path_text.split(",")]
    with file_errors(path_text):
        if not path_exists(path_text.split(",")[0].strip()) or len(paths) > 2:
            return None
        if paths[0].is_file():
            return _by_columns(paths[0], text, trains=len(paths) == 2) if is_table(paths[0].name) else None
        if len(paths) > 1 or scan(paths[0]).tasks:
            return None
        type = read_json_object(paths[0] / SIDECAR).get("type") or _card_type(paths[0])
        if isinstance(type, str) and type in ROLES:
            return type
        subsets = card_subsets(paths[0])
        splits = next(iter(subsets.values()), None) or saved_splits(paths[0]) or find_splits(tables_in(paths[0]))
        split = evaluation_split(splits) if splits else None
        if split is None:
            return None
        trains = matching_split("train", splits) not in (None, split)
        return _by_columns(paths[0] / splits[split][0], text, trains=trains)


def _card_type(folder: Path) -> str | None:
    """Return the value of `type: ...` in the front matter of README.md."""
    card = folder / "README.md"
    if not card.is_file():
        return None
    text = card.read_text(encoding="utf-8", errors="replace")
    head = text[4:].partition("\n---")[0] if text.startswith("---\n") else ""
    match = CARD.search(head)
    return match[1] if match else None


def _by_columns(path: Path, text: str, *, trains: bool) -> str | None:
    row = first_row(path, path.name)
    if row is None or "file" in row or "filename" in row:  # a table of questions about files
        return None
    ranked = RANKED.match(row)
    if not RANKED.missing(ranked) and isinstance(row[ranked["positive"]], list):
        return "reranking"  # a single positive and negative are a triplet: questions with contexts
    if not SUMMARISED.missing(SUMMARISED.match(row)):
        return "summarization"
    pairs = STS.match(row)
    if not STS.missing(pairs):
        return "pair_classification" if pairs["value"].strip().lower() in MATCH[:4] else "sts"
    clusters = CLUSTERED.match(row)
    if CLUSTERED.missing(clusters) or len(row) > 8:
        return None
    if isinstance(row[clusters["text"]], list) or isinstance(row[clusters["label"]], list):
        return "clustering"
    if trains or "split" in CLASSIFIED.match(row):
        return "classification"
    raise UsageError(
        f"the type of {text} must be named: texts with labels are for classification or for clustering",
        hint=f"write classification:{text} or clustering:{text} (or --type)",
    )


def first_row(path: Path, name: str) -> dict[str, Any] | None:
    """Return the columns of a table, with their first values if those are cheap to read; None if it is not a table."""
    kind = format_of(name)
    if kind in ("parquet", "arrow"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        from steelyard.datasets.tables.convert import is_number

        try:
            schema = pq.read_schema(str(path)) if kind == "parquet" else pa.ipc.open_stream(str(path)).schema
        except (OSError, pa.ArrowException):
            return None
        return {
            field.name: [] if pa.types.is_nested(field.type) else 0 if is_number(field.type) else "" for field in schema
        }
    if kind == "jsonl":
        with text_lines(path) as lines:
            line = next((line for line in lines if line.strip()), b"")
        try:
            row = json.loads(line.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            return None
        return row if isinstance(row, dict) else None
    if kind in ("csv", "tsv"):
        with open_bytes(path) as stream:
            head = bytes(stream.read(1 << 12)).decode("utf-8-sig", errors="replace").splitlines()
        return dict.fromkeys(head[0].split("," if kind == "csv" else "\t"), "") if head else None
    return None
