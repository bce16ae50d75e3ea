"""Read tables of a role from files of any format: Parquet, JSON Lines, CSV, TSV; gz, zst; whole or in shards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from steelyard.datasets.formats.trec.collection import TrecKind, read_trec, trec_kind
from steelyard.datasets.problems import Report
from steelyard.datasets.tables import convert, values
from steelyard.datasets.tables.columns import Role, report_ambiguous_columns
from steelyard.datasets.tables.convert import TEXT, is_number, whole
from steelyard.datasets.tables.files import FORMATS, format_of, translated
from steelyard.types import Int64

CONVERTERS = {**convert.CONVERTERS, **values.CONVERTERS}
"""By the kind of a field."""

Named = tuple[str, Path | pa.Table]
"""The name of a file in messages (relative to the set) and its path; or a table in memory."""


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of one role, by field, and the files that the rows came from."""

    role: Role
    columns: dict[str, Any]
    names: tuple[str, ...]
    starts: tuple[int, ...]
    """The first row of each file."""
    rows: Int64 | None = None
    """The original number of each row after some were removed; None if none were."""
    trec: bool = False
    """Whether the rows come from a TREC file, whose judgements may name documents outside the corpus."""

    def take(self, rows: Int64) -> Table:
        """Return some of the rows; problems still refer to the rows of the files."""
        indices = pa.array(rows)
        columns = {field: column.take(indices) for field, column in self.columns.items()}
        return Table(
            self.role, columns, self.names, self.starts, rows if self.rows is None else self.rows[rows], self.trec
        )

    def __getitem__(self, field: str) -> Any:
        return self.columns[field]

    def __contains__(self, field: str) -> bool:
        return field in self.columns

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def name(self) -> str:
        """Return the name of the file, or of the first of several."""
        return self.names[0]

    def add_problem(self, report: Report, kind: str, found: str, rows: Iterable[int]) -> None:
        """Report a problem of these rows (numbered from 0 over all files) with the names of their files."""
        numbers = np.asarray(list(rows), dtype=np.int64)
        if not len(numbers):
            report.add(kind, self.name, found)
            return
        numbers = numbers if self.rows is None else self.rows[numbers]
        owner = np.searchsorted(self.starts, numbers, side="right") - 1
        for file in np.unique(owner):
            report.add(kind, self.names[file], found, numbers[owner == file] - self.starts[file] + 1)


def read_table(files: Sequence[Named], role: Role, report: Report) -> Table | None:
    """Return the table of all files together; None, with problems in the report, if one of them cannot be read."""
    parts: list[dict[str, Any]] = []
    starts, total, is_trec = [], 0, False
    for name, path in files:
        columns = None
        with translated(report, name):
            form = trec_kind(name, path) if isinstance(path, Path) else None
            is_trec |= form is not None
            columns = _read_file(path, name, role, form, report)
        if columns is None:
            continue
        parts.append(columns)
        starts.append(total)
        total += len(next(iter(columns.values())))
    if len(parts) < len(files) or not parts:
        return None
    fields = [field.name for field in role.fields if any(field.name in part for part in parts)]
    joined = {field: _join([part.get(field) for part in parts], parts) for field in fields}
    if odd := [field for field, column in joined.items() if column is None]:
        report.add("columns", files[0][0], f"{', '.join(odd)}: lists in one file, single values in another")
        return None
    return Table(role, joined, tuple(name for name, _ in files), tuple(starts), trec=is_trec)


def _read_file(
    path: Path | pa.Table, name: str, role: Role, form: TrecKind | None, report: Report
) -> dict[str, Any] | None:
    kind = format_of(name)
    if isinstance(path, pa.Table):
        raw = _select(path.schema, path.select, name, role, report)
    elif form is not None:
        raw = read_trec(path, name, role, form, report)
    elif kind is None:
        report.add(
            "unreadable",
            name,
            "the suffix of the file must name its format",
            remedy=f"rename it to {', '.join(FORMATS)}, or one of these with .gz or .zst",
        )
        return None
    elif kind == "parquet":
        raw = _read_parquet(path, name, role, report)
    elif kind == "arrow":
        raw = _read_arrow(path, name, role, report)
    elif kind in ("jsonl", "json"):
        from steelyard.datasets.tables.jsonlines import read_json

        raw = read_json(path, name, role, report)
    else:
        from steelyard.datasets.tables.delimited import read_delimited

        raw = read_delimited(path, name, role, report, comma=kind == "csv")
    if raw is None:
        return None

    columns = {
        field: CONVERTERS[role.field(field).kind](array, _adder(report, name, field)) for field, array in raw.items()
    }
    return None if any(column is None for column in columns.values()) else columns


def _adder(report: Report, name: str, field: str) -> Callable[[str, str, Iterable[int]], None]:
    def add_problem(kind: str, found: str, rows: Iterable[int]) -> None:
        message = f"{field}: {found}" if kind == "columns" else found
        report.add(kind, name, message, (row + 1 for row in rows))

    return add_problem


def _read_parquet(path: Path, name: str, role: Role, report: Report) -> dict[str, Any] | None:
    import pyarrow.parquet as pq

    with pq.ParquetFile(str(path), memory_map=True) as file:
        return _select(file.schema_arrow, lambda columns: file.read(columns=columns), name, role, report)


def _read_arrow(path: Path, name: str, role: Role, report: Report) -> dict[str, Any] | None:
    """Read the Arrow file of `datasets`, a stream, or one with a footer."""
    with pa.memory_map(str(path)) as source:
        head = bytes(source.read(6))
        source.seek(0)
        table = (pa.ipc.open_file if head == b"ARROW1" else pa.ipc.open_stream)(source).read_all()
        for column in table.columns:
            column.validate(full=pa.types.is_nested(column.type))  # texts are validated when they are converted
        return _select(table.schema, table.select, name, role, report)


def _select(
    schema: Any, read: Callable[[list[str]], Any], name: str, role: Role, report: Report
) -> dict[str, Any] | None:
    """Return the columns of a role, of a table with types; `read` returns some of its columns."""
    numbers = {column.name for column in schema if is_number(column.type)}
    candidates = role.candidates(schema.names, numbers)
    chosen = {field: names[0] for field, names in candidates.items()}
    if missing := role.missing(chosen):
        problem = f"no column for {'; '.join(map(str, missing))}; the columns are {', '.join(schema.names)}"
        report.add("columns", name, problem, remedy=role.mapping_hint(name, schema.names))
        return None
    table = read(sorted({column for names in candidates.values() for column in names}))
    for column in sorted(set(chosen.values())):
        if table.column_names.count(column) > 1:
            message = f"two columns have the name {column!r}: the first one is read"
            report.add("aside", name, message, remedy="remove one of the two, or rename it")

    def column_of(column: str) -> Any:
        return whole(table[table.column_names.index(column)])

    ambiguous = {field: {name: column_of(name) for name in names} for field, names in candidates.items() if names[1:]}
    report_ambiguous_columns(ambiguous, role, name, report)
    columns = {field: column_of(column) for field, column in chosen.items()}
    document = columns.get("document")
    if document is not None and (pa.types.is_list(document.type) or pa.types.is_large_list(document.type)):
        return _unfold(columns)
    return columns


def _unfold(columns: dict[str, Any]) -> dict[str, Any]:
    """Return judgements with a list of documents per row as one document per row."""
    import pyarrow.compute as pc

    parents = pc.list_parent_indices(columns["document"])
    return {
        field: pc.list_flatten(column) if field == "document" else column.take(parents)
        for field, column in columns.items()
    }


def _join(arrays: Sequence[Any], parts: Sequence[dict[str, Any]]) -> Any:
    """Return the parts joined; a part that lacks the column counts as empty. None if their types do not fit."""
    present = [array for array in arrays if array is not None]
    kinds = {array.type for array in present if len(array)} or {present[0].type}
    if len(kinds) > 1:  # labels that are numbers in one file and words in another are words
        if any(pa.types.is_nested(kind) for kind in kinds):
            return None
        kinds = {TEXT}
    (kind,) = kinds
    filled = [
        array.cast(kind) if array is not None and len(array) else pa.nulls(len(next(iter(part.values()))), kind)
        for array, part in zip(arrays, parts, strict=True)
    ]
    return filled[0] if len(filled) == 1 else pa.concat_arrays(filled)
