"""Write training data without the rows that leak; every other row is copied byte for byte."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from steelyard.audit.training_data import TrainingFile
from steelyard.audit.training_data.tables import LONGEST_FIELD
from steelyard.datasets.tables.files import format_of, open_bytes, packing_of
from steelyard.errors import UsageError

PART = ".part"
ROWS = 65_536
"""Rows of a Parquet file in memory at a time."""


def clean(files: Sequence[TrainingFile], leaking: Mapping[int, frozenset[int]], folder: str | Path) -> dict[str, int]:
    """Write every file into a folder without its leaking rows; return how many rows each lost.

    `leaking` holds row numbers by the number of the file, as `Findings.leaking_rows` does.
    """
    folder = Path(folder)
    targets = _targets(files, folder)
    removed = {}
    for number, (file, target) in enumerate(zip(files, targets, strict=True)):
        if file.path is None:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(target.name + PART)
        try:
            removed[str(target)] = _copy(file.path, part, leaking.get(number, frozenset()))
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    return removed


def _targets(files: Sequence[TrainingFile], folder: Path) -> list[Path]:
    targets = [folder / file.relative for file in files]
    for file, target in zip(files, targets, strict=True):
        if file.path is not None and target.exists() and target.samefile(file.path):
            raise UsageError(f"--clean must not write over the training data: {target}", hint="choose another folder")
        if targets.count(target) > 1:
            raise UsageError(f"two training files would be written to {target}", hint="clean them one by one")
    return targets


def _copy(path: Path, target: Path, leaking: frozenset[int]) -> int:
    """Copy one file without the leaking rows and return how many there were."""
    kind = format_of(path.name)
    if kind == "parquet":
        return _copy_parquet(path, target, leaking)
    with path.open("rb") as file:
        packing = packing_of(file.read(16))
    import pyarrow as pa

    with open_bytes(path) as source, pa.output_stream(str(target), compression=packing) as sink:
        if kind == "json" and not _is_lines(path):
            return _copy_array(source, sink, leaking)
        plain = path.name.lower().partition(".")[2].startswith("txt")
        rows = _records(source, kind) if kind in ("csv", "tsv") and not plain else enumerate(_lines(source), 1)
        count = 0
        for row, content in rows:
            if row in leaking:
                count += 1
            else:
                sink.write(content)
        return count


def _is_lines(path: Path) -> bool:
    """Return whether a file named .json holds one object a line."""
    with open_bytes(path) as stream:
        head = bytes(stream.read(1 << 12)).lstrip(b"\xef\xbb\xbf \t\r\n")
    return head.startswith(b"{") and b"\n{" in head


def _lines(source: Any) -> Iterator[bytes]:
    yield from io.BufferedReader(source, 1 << 20)


def _records(source: Any, kind: str) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the bytes of every record, the header as number 0; a record may have several lines."""
    csv.field_size_limit(LONGEST_FIELD)
    # In Latin-1 every byte is a character, so what is read can be written again unchanged.
    lines = io.TextIOWrapper(io.BufferedReader(source), encoding="latin-1", newline="")
    taken: list[str] = []

    def listen() -> Iterator[str]:
        for line in lines:
            taken.append(line)
            yield line

    if kind == "csv":
        reader = csv.reader(listen(), quoting=csv.QUOTE_MINIMAL)
    else:
        reader = csv.reader(listen(), delimiter="\t", quoting=csv.QUOTE_NONE)
    row = 0
    for _ in reader:
        yield row, "".join(taken).encode("latin-1")
        taken.clear()
        row += 1
    if taken:
        yield row, "".join(taken).encode("latin-1")


def _copy_parquet(path: Path, target: Path, leaking: frozenset[int]) -> int:
    import numpy as np
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        groups = file.metadata.num_row_groups
        packing = file.metadata.row_group(0).column(0).compression.lower() if groups else "snappy"
        row, count = 1, 0
        rows = np.array(sorted(leaking), dtype=np.int64)
        with parquet.ParquetWriter(target, file.schema_arrow, compression=packing) as writer:
            for batch in file.iter_batches(batch_size=ROWS):
                keep = ~np.isin(np.arange(row, row + batch.num_rows), rows)
                writer.write_batch(batch.filter(keep) if not keep.all() else batch)
                count += int((~keep).sum())
                row += batch.num_rows
        return count


def _copy_array(source: BinaryIO, sink: Any, leaking: frozenset[int]) -> int:
    records = json.loads(bytes(source.read()).decode("utf-8-sig"))
    keys = list(records) if isinstance(records, dict) else []
    inside = next((key for key in keys if isinstance(records[key], list)), None)
    listed = records if isinstance(records, list) else records[inside] if inside is not None else [records]
    keep = [record for row, record in enumerate(listed, 1) if row not in leaking]
    content = {**records, inside: keep} if inside is not None else keep
    sink.write(json.dumps(content, ensure_ascii=False).encode() + b"\n")
    return len(listed) - len(keep)
