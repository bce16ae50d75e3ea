"""Judgements and runs that are not TREC files, for `steelyard score`.

Parquet with named columns, as `--save-runs` and Nano-sets write it; JSON, as pytrec_eval, mteb and ranx use it; and
judgements with a header, separated by tabs or commas, as in BEIR:

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
from steelyard.datasets.tables.files import first_line, header_line
from steelyard.errors import DataError
from steelyard.files import read_parquet

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
"""The first key of mteb's files of predictions."""


def read_named(path: Path, data: bytes, role: Role) -> pa.Table | None:
    """Return query, document and number (the last field of the role) of each row; None for other files.

    Ids are text, numbers are doubles; judgements without grades have the grade 1. Problems are DataErrors.
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

    from steelyard.datasets.tables.columns import report_ambiguous_columns
    from steelyard.datasets.tables.convert import as_grades, as_ids, whole

    candidates = role.candidates(columns)
    chosen = {field: names[0] for field, names in candidates.items()}
    if missing := role.missing(chosen):
        fields = "; ".join(map(str, missing))
        hint = "rename the columns, or give a TREC file"
        raise DataError(f"no column for {fields}; the columns are {', '.join(columns)}", path=path, hint=hint)
    query, document, number = (field.name for field in role.fields)
    if not len(columns[chosen[query]]):
        raise DataError("the file has columns, but no rows", path=path, hint="write the file again")

    report = Report()
    several = {field: names for field, names in candidates.items() if names[1:]}
    ambiguous = {field: {name: whole(columns[name]) for name in names} for field, names in several.items()}
    report_ambiguous_columns(ambiguous, role, str(path), report)
    report.raise_errors("strict")
    report.notify_listener()

    def add_problem(kind: str, text: str, rows: Iterable[int]) -> None:
        raise _wrong(path, text, next(iter(rows), None))

    read: dict[str, Any] = {field: as_ids(whole(columns[chosen[field]]), add_problem) for field in (query, document)}
    if number in chosen:
        numbers = as_grades(whole(columns[chosen[number]]), add_problem)
        if len(absent := np.flatnonzero(numbers.is_null().to_numpy(zero_copy_only=False))):
            raise _wrong(path, f"the {number} must be a number", int(absent[0]))
    else:
        numbers = pa.repeat(1.0, len(read[query]))
    return pa.table({**read, number: numbers})


def _wrong(path: Path, message: str, row: int | None) -> DataError:
    return DataError(message, path=path, row=None if row is None else row + 1, hint="fix the file, or write it again")


def _parquet(path: Path, data: bytes) -> dict[str, Any]:
    import pyarrow as pa

    try:
        table = read_parquet(pa.BufferReader(data))
    except (OSError, pa.ArrowException) as error:
        raise DataError(
            f"the file is damaged or truncated ({first_line(error)})", path=path, hint="download or write it again"
        ) from error
    return dict(zip(table.column_names, table.columns, strict=True))


def _nested(path: Path, data: bytes) -> dict[str, Any] | None:
    """Return the columns of JSON: queries, documents below them, and their numbers; None if it is not JSON."""
    import pyarrow as pa

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        unique = dict(pairs)
        if len(unique) < len(pairs):
            names = [name for name, _ in pairs]
            again = next(name for place, name in enumerate(names) if name in names[:place])
            raise DataError(
                f"{again!r} is repeated", path=path, hint="write each query, and each of its documents, once"
            )
        return unique

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
                raise DataError(
                    f"a score must be a number, got {str(documents)[:60]!r}",
                    where=f"{path}, {query!r}",
                    path=path,
                    hint=hint,
                )
            if abs(number) > 2**1023:
                raise DataError(
                    "a number must fit into a float",
                    where=f"{path}, {query!r}",
                    path=path,
                    found=str(number)[:40],
                    expected="a float",
                )
            rows.append((query, document, float(number)))
    names = (QUERY_ID[0], DOCUMENT_ID[0], "score")
    for name in (str(name) for row in rows for name in row[:2]):
        if not _is_unicode(name):
            raise DataError(
                f"an id must be valid Unicode, got {name!a}", path=path, found=ascii(name), expected="valid Unicode"
            )
    return {name: pa.chunked_array([pa.array([row[place] for row in rows])]) for place, name in enumerate(names)}


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _only_part(path: Path, predictions: dict[str, Any]) -> dict[str, Any]:
    """Return the lists of mteb's file of predictions, which must have one subset and one split."""
    parts = {
        f"{subset}/{split}": lists
        for subset, splits in predictions.items()
        if subset != MTEB and isinstance(splits, dict)
        for split, lists in splits.items()
    }
    if len(parts) != 1:
        message = f"the predictions must have one part, got {len(parts)}: {', '.join(parts)}"
        raise DataError(message, path=path, hint="keep one subset and one split in the file")
    ((name, lists),) = parts.items()
    if not isinstance(lists, dict):
        raise DataError(f"{name} has no ranked lists", path=path, hint="give the predictions of a retrieval task")
    return lists


def _under_heading(path: Path, data: bytes, role: Role) -> dict[str, Any] | None:
    """Return the columns of a text with a header of query and document; runs have no such form."""
    if role is not JUDGEMENTS:
        return None
    import pyarrow as pa
    from pyarrow import csv as arrow

    line = header_line(data.lstrip(b"\n").partition(b"\n")[0])
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
        hint = f"expected {len(names)} columns in UTF-8, as in the header: {', '.join(names)}"
        raise DataError(first_line(error), path=path, hint=hint) from error
    return dict(zip(names, table.columns, strict=True))
