"""Judgements and runs that are no TREC files, as `steelyard score` takes them.

Parquet with named columns, as `--save-runs` and Nano-sets write it; JSON, as pytrec_eval, mteb and ranx hand it around;
and judgements under a heading that tabs or commas part, as BEIR's:

    {"q1": {"d7": 2}}

    query-id    corpus-id    score
    q1          d7           2
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.datasets.problems import Report
from steelyard.datasets.tables.columns import DOCUMENT_ID, JUDGEMENTS, QUERY_ID, Field, Role
from steelyard.datasets.tables.files import first_line
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
MTEB = "mteb_model_meta"
"""What mteb's files of predictions begin with."""


def read_named(path: Path, data: bytes, role: Role) -> pa.Table | None:
    """Query, document and number (of a role: its last field) of each row; None where the file is none of these.

    Ids are text, numbers are doubles; judgements without grades have 1 everywhere. What is wrong is a DataError.
    """
    if data.startswith(PARQUET):
        columns: dict[str, Any] | None = _parquet(path, data)
    elif data[:64].lstrip().startswith(b"{"):
        columns = _nested(path, data)
    else:
        columns = _under_heading(path, data, role)
    return None if columns is None else _of_role(path, columns, role)


def _of_role(path: Path, columns: dict[str, Any], role: Role) -> pa.Table:
    import pyarrow as pa

    from steelyard.datasets.tables.ambiguous_columns import report_ambiguous_columns
    from steelyard.datasets.tables.convert import as_grades, as_ids, whole

    candidates = role.candidates(columns)
    found = {field: names[0] for field, names in candidates.items()}
    if missing := role.missing(found):
        wanted = "; ".join(map(str, missing))
        hint = "rename the columns, or give a TREC file"
        raise DataError(f"no column for {wanted}; found {', '.join(columns)}", where=str(path), hint=hint)
    query, document, number = (field.name for field in role.fields)
    if not len(columns[found[query]]):
        raise DataError("the file is empty", where=str(path), hint="there are columns, but no rows")

    report = Report()
    several = {field: names for field, names in candidates.items() if names[1:]}
    rivals = {field: {name: whole(columns[name]) for name in names} for field, names in several.items()}
    report_ambiguous_columns(rivals, role, str(path), report)
    report.raise_errors("strict")
    report.notify_listener()

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
        raise DataError(
            f"the file is damaged or truncated ({first_line(error)})", path=path, hint="download or write it again"
        ) from error
    return dict(zip(table.column_names, table.columns, strict=True))


def _nested(path: Path, data: bytes) -> dict[str, Any] | None:
    """The columns of JSON: queries, documents below them, and their numbers; None where it is no JSON."""
    import pyarrow as pa

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            again = next(name for place, name in enumerate(names) if name in names[:place])
            raise DataError(
                f"{again!r} stands twice", where=str(path), hint="each query, and each document of it, once"
            )
        return found

    try:
        queries = json.loads(data, object_pairs_hook=once)
    except (ValueError, RecursionError):
        return None
    if not isinstance(queries, dict):
        return None
    if MTEB in queries:
        queries = _only_part(path, queries)
    rows = []
    for query, documents in queries.items():
        for document, number in documents.items() if isinstance(documents, dict) else ((None, None),):
            if not isinstance(number, int | float):
                hint = 'expected numbers by document by query: {"q1": {"d7": 2}}'
                raise DataError(f"no number in {str(documents)[:60]!r}", where=f"{path}, {query!r}", hint=hint)
            if abs(number) > 2**1023:
                raise DataError(
                    "a number must fit into a float", where=f"{path}, {query!r}", path=path, found=str(number)[:40]
                )
            rows.append((query, document, float(number)))
    names = (QUERY_ID[0], DOCUMENT_ID[0], "score")
    for name in (str(name) for row in rows for name in row[:2]):
        if not _is_unicode(name):
            raise DataError(f"an id must be valid Unicode, got {name!a}", path=path, found=ascii(name))
    return {name: pa.chunked_array([pa.array([row[place] for row in rows])]) for place, name in enumerate(names)}


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _only_part(path: Path, predictions: dict[str, Any]) -> dict[str, Any]:
    """The lists of mteb's file of predictions, which has them by subset and split; one of each is all that is read."""
    parts = {
        f"{subset}/{split}": lists
        for subset, splits in predictions.items()
        if subset != MTEB and isinstance(splits, dict)
        for split, lists in splits.items()
    }
    if len(parts) != 1:
        found = f"predictions of {len(parts)} parts: {', '.join(parts)}"
        raise DataError(found, where=str(path), hint="keep one subset and one split in the file")
    ((name, lists),) = parts.items()
    if not isinstance(lists, dict):
        raise DataError(f"no ranked lists in {name}", where=str(path), hint="give the predictions of a retrieval task")
    return lists


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
