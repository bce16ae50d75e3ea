"""Judgements and runs with named columns, as `steelyard score` takes them beside TREC files.

Parquet, as `--save-runs` and Nano-sets write it, and judgements under a heading that tabs or commas part, as BEIR's:

    query-id    corpus-id    score
    q1          d7           2
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.datasets.columns import DOCUMENT_ID, JUDGEMENTS, QUERY_ID, Field, Role
from steelyard.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

RUN = Role(
    "run",
    (
        Field("query", "id", QUERY_ID),
        Field("document", "id", DOCUMENT_ID),
        Field("score", "grade", ("score", "similarity", "sim")),
    ),
)
PARQUET = b"PAR1"


def read_named(path: Path, data: bytes, role: Role) -> pa.Table | None:
    """Query, document and number (of a role: its last field) of each row; None where the file has no named columns.

    Ids are text, numbers are doubles; judgements without grades have 1 everywhere. What is wrong is a DataError.
    """
    import pyarrow as pa

    from steelyard.datasets.convert import as_grades, as_ids, whole

    columns = _parquet(path, data) if data.startswith(PARQUET) else _under_heading(path, data, role)
    if columns is None:
        return None
    found = role.match(columns)
    if missing := role.missing(found):
        wanted = "; ".join(f"{field.name}: {' | '.join(field.aliases[:5])}" for field in missing)
        hint = "rename the columns, or give a TREC file"
        raise DataError(f"no column for {wanted}; found {', '.join(columns)}", where=str(path), hint=hint)
    query, document, number = (field.name for field in role.fields)

    def tell(kind: str, text: str, rows: Iterable[int]) -> None:
        raise _wrong(path, text, next(iter(rows), None))

    read: dict[str, Any] = {field: as_ids(whole(columns[found[field]]), tell) for field in (query, document)}
    if number in found:
        numbers = as_grades(whole(columns[found[number]]), tell)
        if len(absent := np.flatnonzero(numbers.is_null().to_numpy(zero_copy_only=False))):
            raise _wrong(path, f"no {number}, or none that is a number", int(absent[0]))
    else:
        numbers = pa.repeat(1.0, len(read[query]))
    return pa.table({**read, number: numbers})


def _wrong(path: Path, found: str, row: int | None) -> DataError:
    where = str(path) if row is None else f"{path} row {row + 1}"
    return DataError(found, where=where, hint="mend the file, or write it anew")


def _parquet(path: Path, data: bytes) -> dict[str, Any]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(pa.BufferReader(data))
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"cannot be read: {error}", where=str(path), hint="is it whole?") from error
    return dict(zip(table.column_names, table.columns, strict=True))


def _under_heading(path: Path, data: bytes, role: Role) -> dict[str, Any] | None:
    """The columns of a text whose first line names a query and a document; runs have no such form."""
    if role is not JUDGEMENTS:
        return None
    import pyarrow as pa
    from pyarrow import csv as arrow

    line = data.lstrip(b"\n").partition(b"\n")[0].decode(errors="replace").rstrip("\r")
    mark = "\t" if "\t" in line else ","
    names = next(csv.reader([line], delimiter=mark), [])
    if role.missing(role.match(names)):
        return None
    quote = '"' if mark == "," else False
    try:
        table = arrow.read_csv(
            pa.BufferReader(data),
            parse_options=arrow.ParseOptions(delimiter=mark, quote_char=quote),
            convert_options=arrow.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
    except pa.ArrowInvalid as error:
        hint = f"expected {len(names)} columns in UTF-8, as the heading has: {', '.join(names)}"
        raise DataError(str(error), where=str(path), hint=hint) from error
    return dict(zip(names, table.columns, strict=True))
