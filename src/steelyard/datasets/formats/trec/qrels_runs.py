"""Read TREC judgements and runs: plain text, one line per document, columns separated by blanks; also .gz and .zst.

A qrels line is `query iteration document grade`, a run line is `query Q0 document rank score tag`. As in
trec_eval the rank is ignored: a list is ordered by scores and document ids. Lines that begin with `# ` are comments.
Parquet, JSON and BEIR's judgements are read, too (`named_tables`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.datasets.formats.trec.named_tables import RUN, read_named
from steelyard.datasets.tables.columns import JUDGEMENTS
from steelyard.datasets.tables.files import UTF8_MARK, file_errors, unpack
from steelyard.errors import DataError, MissingPart
from steelyard.types import Float64, Int32, Qrels, Run

if TYPE_CHECKING:
    import pyarrow as pa

QRELS_COLUMNS = ("query", "iteration", "document", "grade")
RUN_COLUMNS = ("query", "Q0", "document", "rank", "score", "tag")

_SHOWN = 100
"""Characters of a wrong line in an error."""

_LARGEST = float(np.finfo(np.float32).max)
"""Scores are compared as float32."""

OTHER_BLANKS = bytes.maketrans(b"\t\r\v\f", b"    ")


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines of a file as columns: `queries[query[i]]` and `documents[document[i]]` are the ids of line i.

    `queries` and `documents` have each id once, in the order of first appearance.
    """

    path: Path
    queries: tuple[str, ...]
    documents: tuple[str, ...]
    query: Int32
    document: Int32

    def __len__(self) -> int:
        return len(self.query)


@dataclass(frozen=True, eq=False)
class QrelsLines(Lines):
    """The judgements of a file, line by line."""

    grades: Int32


@dataclass(frozen=True, eq=False)
class RunLines(Lines):
    """The ranked documents of a file, line by line; scores as read, in double precision."""

    scores: Float64
    tag: str
    """The tag of the last line, as in trec_eval; for a table, the name of the file."""


def read_qrels(path: str | Path) -> QrelsLines:
    """Return the judgements of a TREC qrels file, or of a table; grades are integers, without repeated documents."""
    path = Path(path)
    with file_errors(path):
        content, text = _read(path), None
        if (table := read_named(path, content, JUDGEMENTS)) is None:
            text = _even(content)
            table = _table(path, text, QRELS_COLUMNS)
        grades = _whole(path, text, table)
        queries, query, documents, document = _ids(table)
    lines = QrelsLines(path, queries, documents, query, document, grades)
    _refuse_duplicates(lines, text)
    return lines


def read_run(path: str | Path) -> RunLines:
    """Return the lists of a TREC run file, or of a table; scores are finite, without repeated documents."""
    path = Path(path)
    with file_errors(path):
        return _read_run(path)


def _read_run(path: Path) -> RunLines:
    content, text = _read(path), None
    tag = path.name.removesuffix(".parquet").removesuffix(".json").removesuffix(".run")
    if (table := read_named(path, content, RUN)) is None:
        text = _even(content)
        table = _run_table(path, text)
        tag = table["tag"][-1].as_py()
    scores = _numbers(path, text, table, "score", "a number such as 12.5")
    if len(odd := np.flatnonzero(~(np.abs(scores) <= _LARGEST))):
        raise _wrong(path, text, int(odd[0]), f"the score is {scores[odd[0]]}", f"a finite number up to {_LARGEST:.2g}")
    queries, query, documents, document = _ids(table)
    lines = RunLines(path, queries, documents, query, document, scores, tag)
    _refuse_duplicates(lines, text)
    return lines


def join(qrels: QrelsLines, run: RunLines, *, all_judged: bool = False) -> tuple[tuple[str, ...], Run, Qrels]:
    """Return query ids, lists and judgements, ready to score.

    The queries are those of both files, in ascending byte order of their ids; with `all_judged` also those of the
    qrels alone, with an empty list (trec_eval's -c). Judged documents that are not in the run have row -1.
    """
    ids = sorted(set(qrels.queries) if all_judged else set(qrels.queries).intersection(run.queries))
    number = {query: i for i, query in enumerate(ids)}
    rows = row_numbers(run.documents)
    row_of = dict(zip(run.documents, rows.tolist(), strict=True))
    judged_rows = np.array([row_of.get(id_, -1) for id_ in qrels.documents], dtype=np.int32)
    query = _renumber(qrels.queries, number)[qrels.query]
    known = query >= 0
    judgements = Qrels.of(query[known], judged_rows[qrels.document[known]], qrels.grades[known], queries=len(ids))
    lists = build_run(_renumber(run.queries, number)[run.query], rows[run.document], run.scores, queries=len(ids))
    return tuple(ids), lists, judgements


def row_numbers(documents: Sequence[str]) -> Int32:
    """Return the row of each document id, numbered in descending byte order.

    >>> row_numbers(["a", "c", "b"]).tolist()
    [2, 0, 1]
    """
    order = sorted(range(len(documents)), key=documents.__getitem__, reverse=True)
    rows = np.empty(len(documents), dtype=np.int32)
    rows[order] = np.arange(len(documents), dtype=np.int32)
    return rows


def build_run(query: Int32, row: Int32, score: Float64, *, queries: int) -> Run:
    """Return a run from lines in any order; lines of query -1 are ignored.

    >>> build_run(np.array([1, 0, 1]), np.array([4, 2, 3]), np.array([0.5, 1.0, 0.5]), queries=2).rows.tolist()
    [[2, -1], [3, 4]]
    """
    if not _in_order(query, row, score):
        known = np.flatnonzero(query >= 0)
        order = known[np.lexsort((row[known], -score[known].astype(np.float32), query[known]))]
        query, row, score = query[order], row[order], score[order]
    counts = np.bincount(query, minlength=queries)
    real = np.arange(int(counts.max(initial=0))) < counts[:, None]
    rows, scores = np.full(real.shape, -1, dtype=np.int32), np.full(real.shape, -np.inf)
    rows[real], scores[real] = row, score
    return Run(rows, scores)


def _in_order(query: Int32, row: Int32, score: Float64) -> bool:
    """Return whether the lines are ranked already, as in a run that we stored: a tenth of the cost of sorting."""
    if not len(query) or query[0] < 0:
        return False
    single = score.astype(np.float32)
    later = query[1:] > query[:-1]
    same = query[1:] == query[:-1]
    lower, alike = single[1:] < single[:-1], single[1:] == single[:-1]
    return bool((later | (same & (lower | (alike & (row[1:] > row[:-1]))))).all())


def write_run(path: str | Path, run: Run, queries: Sequence[str], documents: Sequence[str], tag: str) -> None:
    """Write a run as a TREC file, compressed if the name ends in .gz or .zst. `documents[row]` is the id of a row."""
    import pyarrow as pa
    from pyarrow import csv

    path = Path(path)
    for kind, ids in (("query id", queries), ("document id", documents), ("tag", [tag])):
        broken = next((id_ for id_ in ids if id_.split() != [id_]), None)
        if broken is not None:
            message = f"the {kind} of a TREC file must be a word without blanks, got {broken!r}"
            raise DataError(message, hint="save runs as Parquet")
    query, rank = np.nonzero(run.rows >= 0)
    lines = pa.table(
        {
            "query": pa.array(queries, pa.string()).take(pa.array(query)),
            "Q0": pa.repeat("Q0", len(query)),
            "document": pa.array(documents, pa.string()).take(pa.array(run.rows[query, rank])),
            "rank": rank + 1,
            "score": run.scores[query, rank],
            "tag": pa.repeat(tag, len(query)),
        }
    )
    unfinished = path.with_name(f"{path.name}.part")
    plain = csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
    with pa.output_stream(str(unfinished), compression=_compression(path)) as stream:
        csv.write_csv(lines, stream, plain)
    unfinished.replace(path)


def _compression(path: Path) -> str | None:
    return {".gz": "gzip", ".zst": "zstd"}.get(path.suffix)


def _read(path: Path) -> bytes:
    """Return the content of the file, decompressed."""
    try:
        data = unpack(path.read_bytes())  # once, from the beginning to the end: it may be a pipe
    except FileNotFoundError as error:
        raise MissingPart(f"the file does not exist: {path}", path=path, hint="check the path") from error
    return data.removeprefix(UTF8_MARK)


def _even(data: bytes) -> bytes:
    r"""Return the text with one space between columns, stripped lines, and empty lines for comments.

    >>> _even(b"# of 1999\nq1\t0  d1 1 \n")
    b'\nq1 0 d1 1\n'
    """
    if any(blank in data for blank in (b"\t", b"\r", b"\v", b"\f")):
        data = data.translate(OTHER_BLANKS)
    if b"  " in data or b" \n" in data or b"\n " in data or data.startswith(b" ") or data.endswith(b" "):
        data = re.sub(rb" {2,}", b" ", data)
        data = re.sub(rb" ?\n ?", b"\n", data).strip(b" ")
    if data.startswith(b"#") or b"\n#" in data:
        data = re.sub(rb"^#(?: [^\n]*)?$", b"", data, flags=re.MULTILINE)
    return data


def _table(path: Path, data: bytes, columns: tuple[str, ...]) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    if not data.strip():
        raise DataError("the file is empty", path=path, hint=f"expected lines of {' '.join(columns)}")
    used = [column for column in columns if column not in ("iteration", "Q0", "rank")]
    try:
        return csv.read_csv(
            pa.BufferReader(data),
            csv.ReadOptions(column_names=list(columns)),
            csv.ParseOptions(delimiter=" ", quote_char=False),
            csv.ConvertOptions(column_types=dict.fromkeys(columns, pa.string()), include_columns=used),
        )
    except pa.ArrowInvalid as error:
        raise _first_malformed(path, data, columns) or DataError(
            str(error), where=str(path), hint=f"expected lines of {' '.join(columns)}"
        ) from error


def _run_table(path: Path, data: bytes) -> pa.Table:
    try:
        return _table(path, data, RUN_COLUMNS)
    except DataError:
        return _table(path, _first_columns(data), RUN_COLUMNS)


def _first_columns(data: bytes) -> bytes:
    r"""Return lines of a run without what follows the tag, which trec_eval ignores, too.

    >>> _first_columns(b"q1 Q0 d1 1 0.5 my run\nq1 Q0 d2 2 0.4 my\n")
    b'q1 Q0 d1 1 0.5 my\nq1 Q0 d2 2 0.4 my\n'
    """
    before_tag = len(RUN_COLUMNS) - 1
    return re.sub(rb"^((?:[^ \n]+ ){%d}[^ \n]+) [^\n]*" % before_tag, rb"\1", data, flags=re.MULTILINE)


def _first_malformed(path: Path, data: bytes, columns: tuple[str, ...]) -> DataError | None:
    expected = f"expected {len(columns)}: {' '.join(columns)}"
    for number, line in enumerate(data.split(b"\n"), start=1):
        where = f"{path} line {number}"
        try:
            fields = line.decode().split(" ")
        except UnicodeDecodeError as error:
            return DataError(
                f"the line must be UTF-8: {error.reason} at byte {error.start}", where=where, hint="save it as UTF-8"
            )
        if line and len(fields) != len(columns):
            if {len(fields), len(columns)} == {len(QRELS_COLUMNS), len(RUN_COLUMNS)}:
                expected += "; check the order of judgements and run"
            elif number == 1 and columns == QRELS_COLUMNS and len(fields) == len(columns) - 1:
                expected += "; or three, separated by tabs, with a header: query-id corpus-id score"
            text = line.decode()
            shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
            return DataError(
                f"a line must have {len(columns)} columns, got {len(fields)} in {shown!r}", where=where, hint=expected
            )
    return None


def _numbers(path: Path, data: bytes | None, table: pa.Table, column: str, expected: str) -> Float64:
    import pyarrow as pa

    try:
        return np.asarray(table[column].cast("float64").to_numpy())
    except pa.ArrowInvalid as error:
        for row, text in enumerate(table[column].to_pylist()):
            try:
                pa.scalar(text).cast("float64")
            except pa.ArrowInvalid:
                raise _wrong(path, data, row, f"the {column} is {text!r}", expected) from error
        raise


def _whole(path: Path, data: bytes | None, table: pa.Table) -> Int32:
    """Return the grades; 1.0 and +1 are integers, too."""
    import pyarrow as pa

    expected = "a whole number such as 0, 1 or 2"
    with suppress(pa.ArrowInvalid):
        return np.asarray(table["grade"].cast("int32").to_numpy())
    grades = _numbers(path, data, table, "grade", expected)
    limit = np.iinfo(np.int32)
    good = (grades >= limit.min) & (grades <= limit.max) & (np.trunc(grades) == grades)
    if len(odd := np.flatnonzero(~good)):
        row = int(odd[0])
        raise _wrong(path, data, row, f"the grade is {str(table['grade'][row].as_py())!r}", expected)
    return grades.astype(np.int32)


def _ids(table: pa.Table) -> tuple[tuple[str, ...], Int32, tuple[str, ...], Int32]:
    parts: list[Any] = []
    for column in ("query", "document"):
        coded = table[column].dictionary_encode().combine_chunks()
        if hasattr(coded, "chunks"):  # an empty or single-chunk column may stay chunked
            coded = coded.unify_dictionaries().chunk(0)
        parts += [tuple(coded.dictionary.to_pylist()), coded.indices.to_numpy()]
    return parts[0], parts[1], parts[2], parts[3]


def _refuse_duplicates(lines: Lines, data: bytes | None) -> None:
    key = lines.query.astype(np.int64) * max(len(lines.documents), 1) + lines.document
    order = np.argsort(key, kind="stable")
    again = order[1:][np.diff(key[order]) == 0]
    if len(again):
        row = int(again.min())
        query, document = lines.queries[lines.query[row]], lines.documents[lines.document[row]]
        message = f"the document {document!r} is repeated for the query {query!r}"
        raise _wrong(lines.path, data, row, message, "each document at most once per query")


def _wrong(path: Path, data: bytes | None, row: int, message: str, expected: str) -> DataError:
    """Return the error for a row of a table, or of a text (`data`), whose blank lines are not rows."""
    if data is None:
        return DataError(message, path=path, row=row + 1, expected=expected, hint=f"expected {expected}")
    filled = (number for number, line in enumerate(data.split(b"\n"), start=1) if line)
    number = next(number for place, number in enumerate(filled) if place == row)
    where = f"{path} line {number}"
    return DataError(message, where=where, path=path, row=number, expected=expected, hint=f"expected {expected}")


def _renumber(ids: Sequence[str], number: dict[str, int]) -> Int32:
    return np.array([number.get(id_, -1) for id_ in ids], dtype=np.int32)
