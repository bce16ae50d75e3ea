"""A full dataset to sample from: queries and judgements in memory, documents as a stream that can be read again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from steelyard.build.source.streams import Columns, stream_documents
from steelyard.config import Settings
from steelyard.datasets import load_task, task_names, validation
from steelyard.datasets.formats.clicks.log import ClickLog
from steelyard.datasets.formats.folder import locate
from steelyard.datasets.formats.task_files import TaskLocation
from steelyard.datasets.hubs.remote import RemoteLocation
from steelyard.datasets.options import LoadOptions
from steelyard.datasets.problems import Report, Validate
from steelyard.datasets.sources import FolderSource, source_of
from steelyard.datasets.tables.columns import JUDGEMENTS, QUERIES
from steelyard.datasets.tables.files import UTF8_MARK, format_of, text_lines
from steelyard.datasets.tables.tabular import Table, read_table
from steelyard.files import file_hash
from steelyard.types import Int32, Int64, Task, TaskInfo

BATCH = 1 << 14
INSTRUCTION = "instruction"


@dataclass(frozen=True, eq=False)
class Source:
    """One task of any size."""

    info: TaskInfo
    queries: pa.Table
    """`_id`, `text`, then every further column of the source's queries."""
    asked: Int64
    """For each judgement the row of its query ..."""
    judged: Int64
    """... the number of its document in `judged_ids` ..."""
    grades: Int32
    """... and its grade."""
    judged_ids: tuple[str, ...]
    documents: Callable[[bool], Iterator[Columns]]
    """The documents in batches; with False only their ids, where that is cheaper."""
    fingerprint: str
    """A hash of the content: the same for every copy of it."""
    lenient: bool = False
    """Whether repeated documents are ignored with a note, as in published sets, which the user cannot fix."""
    files: tuple[tuple[str, Callable[[bool], Iterator[Columns]]], ...] = ()
    """The files of the documents, each with its own stream; empty if the source is not read from files."""
    qrels: Table | None = None
    """The judgements as they were read, to report rows; `judged_ids` are its documents in order of appearance."""
    missing_judgements: str = "count"
    """What to do with judgements of documents that are not in the corpus."""


@runtime_checkable
class ReadInPieces(Protocol):
    """A source whose tasks can be read in parts."""

    def location(self, name: str) -> TaskLocation | None:
        """Return one task without reading it; None if it can only be loaded as a whole."""
        ...


def open_sources(reference: str, *, settings: Settings | None = None) -> dict[str, Callable[[], Source]]:
    """Return a function that opens the source, for each task that the reference means, by its own reference.

    Files on this machine and datasets of hubs are streamed, shard by shard. What can only be loaded as a whole, such
    as data of a package or a plug-in, is loaded first.
    """
    options = LoadOptions(settings=settings or Settings.load())
    if isinstance(source_of(reference, options), FolderSource):
        return {location.reference: _opener(location, options.settings) for location in locate(reference)}
    return {name: partial(_open, name, options) for name in task_names([reference], settings=options.settings)}


def _open(name: str, options: LoadOptions) -> Source:
    source: object = source_of(name, options)
    if isinstance(source, ReadInPieces) and (location := source.location(name)) is not None:
        return from_location(location, "report", options.settings)
    return from_task(load_task(name, settings=options.settings), options.settings)


def _opener(location: TaskLocation, settings: Settings) -> Callable[[], Source]:
    if isinstance(location, ClickLog) and not location.own_texts:
        return lambda: from_clicks(location, settings)
    # Other locations, such as a folder of documents, can only be read as a whole.
    return (
        (lambda: from_location(location, settings=settings))
        if type(location) is TaskLocation
        else (lambda: from_task(location.load(missing=settings.missing_judgements), settings))
    )


def from_location(location: TaskLocation, validate: Validate = "strict", settings: Settings | None = None) -> Source:
    """Open a task in files; problems of queries and judgements are DataErrors, or repaired with `report`."""
    report = Report()
    settings = settings or Settings.load()

    def named(names: Sequence[str]) -> list[tuple[str, Path]]:
        return [(name, location.path(name)) for name in names]

    query_files = named(location.files.queries)
    queries = read_table(query_files, QUERIES, report)
    judgements = read_table(named(location.files.qrels), JUDGEMENTS, report)
    report.raise_errors(validate, location.reference)
    assert queries is not None and judgements is not None
    unique = validation.unique_ids(queries, report)
    judged = _judgements(judgements, unique["id"], report)
    report.raise_errors(validate, location.reference)
    report.warn_about_repairs(location.reference)
    report.notify_listener()
    extras = {} if queries.trec else _extras(query_files, len(queries))
    if len(unique) < len(queries):
        extras = {name: column.take(pa.array(unique.rows)) for name, column in extras.items()}
    columns = {"_id": unique["id"], "text": unique["text"], **extras, **_instructions(location, unique["id"])}
    return Source(
        location.info,
        pa.table(columns),
        *judged,
        _streamed(location.files.corpus, location.path),
        _fingerprint(location, settings),
        lenient=validate == "report",
        files=_files(location.files.corpus, location.path),
        qrels=judgements,
        missing_judgements=settings.missing_judgements,
    )


def from_clicks(location: ClickLog, settings: Settings) -> Source:
    """Open a click log whose documents are in a separate file, which is streamed."""
    report = Report()
    tables = location.tables(report, with_corpus=False)
    report.raise_errors("strict", location.reference)
    assert tables is not None and tables.queries is not None and tables.qrels is not None
    ids, texts = tables.queries["id"], tables.queries["text"]
    judged = _judgements(tables.qrels, ids, report)
    report.notify_listener()
    key = f"{_fingerprint(location, settings)} {location.grading}"
    return Source(
        tables.info,
        pa.table({"_id": ids, "text": texts}),
        *judged,
        _streamed(location.files.corpus, location.path),
        key,
        files=_files(location.files.corpus, location.path),
        missing_judgements="ignore",  # a log names documents that were removed since; `show` reports how many
    )


def _streamed(names: Sequence[str], path: Callable[[str], Path]) -> Callable[[bool], Iterator[Columns]]:
    """Return the documents of these files as a stream; each file is located when it is read."""

    def documents(texts: bool) -> Iterator[Columns]:
        for _, read in _files(names, path):
            yield from read(texts)

    return documents


def _files(
    names: Sequence[str], path: Callable[[str], Path]
) -> tuple[tuple[str, Callable[[bool], Iterator[Columns]]], ...]:
    """Return a stream for each file."""

    def stream(name: str) -> Callable[[bool], Iterator[Columns]]:
        return lambda texts: stream_documents(path(name), name, texts=texts)

    return tuple((name, stream(name)) for name in names)


def from_task(task: Task, settings: Settings | None = None) -> Source:
    """Open a task in memory. Its judgements outside the corpus have no ids, so they are left out; loading warned."""
    rows = task.qrels.rows
    inside = np.flatnonzero(rows >= 0)
    distinct, numbers = np.unique(rows[inside], return_inverse=True)
    owner = np.repeat(np.arange(len(task.queries)), task.qrels.counts)

    def documents(texts: bool) -> Iterator[Columns]:
        corpus = task.corpus
        for start in range(0, len(corpus), BATCH):
            part = slice(start, start + BATCH)
            columns: Columns = {"id": pa.array(corpus.ids[part], pa.large_string())}
            if texts:
                columns["text"] = pa.array(corpus.bodies[part], pa.large_string())
                if corpus.titles is not None:
                    columns["title"] = pa.array(corpus.titles[part], pa.large_string())
            yield columns

    return Source(
        task.info,
        pa.table(
            {
                "_id": pa.array(task.queries.ids, pa.large_string()),
                "text": pa.array(task.queries.texts, pa.large_string()),
            }
        ),
        owner[inside],
        numbers.astype(np.int64),
        task.qrels.grades[inside],
        tuple(task.corpus.ids[row] for row in distinct),
        documents,
        task.content_hash,
        missing_judgements=(settings or Settings.load()).missing_judgements,
    )


def _judgements(table: Table, ids: Any, report: Report) -> tuple[Int64, Int64, Int32, tuple[str, ...]]:
    query = validation.rows_of(table, "query", ids)
    usable = validation.known(table, "query", query, "unknown-query", ids, "queries", report)
    grades, graded = validation.whole_grades(table, report)
    encoded = table["document"].dictionary_encode()
    numbers = np.asarray(encoded.indices, dtype=np.int64)
    stay = validation.one_per_pair(table, query, numbers, grades, usable & graded, report)
    return query[stay], numbers[stay], grades[stay], tuple(encoded.dictionary.to_pylist())


def _fingerprint(location: TaskLocation, settings: Settings) -> str:
    if isinstance(location, RemoteLocation) and location.dataset.snapshot.commit:
        return location.fingerprint
    digest = hashlib.blake2b(digest_size=16)
    for name in dict.fromkeys([*location.files.corpus, *location.files.queries, *location.files.qrels]):
        path = location.path(name)
        # The name determines the format; folder and time of change do not matter.
        digest.update(
            f"{Path(name).name}\x1f{file_hash(path, settings.home).hex()}\x1e".encode("utf-8", "surrogateescape")
        )
    return digest.hexdigest()


def _extras(files: Sequence[tuple[str, Path]], rows: int) -> dict[str, Any]:
    """Return further columns of the queries (language, instruction, source ...); none if the rows do not match."""
    parts = [_other_columns(name, path) for name, path in files]
    names = dict.fromkeys(name for part in parts for name in part)
    columns: dict[str, Any] = {}
    for name in names:
        values = [value for part in parts for value in part.get(name, [None] * (len(next(iter(part.values()), []))))]
        if len(values) == rows:
            columns[name] = _array(values)
    return columns


def _other_columns(name: str, path: Path) -> dict[str, list[Any]]:
    kind = format_of(name)
    columns: dict[str, list[Any]]
    if kind == "parquet":
        import pyarrow.parquet as pq

        columns = pq.read_table(str(path)).to_pydict()
    elif kind in ("jsonl", "json"):
        records = _records(path, lines=kind == "jsonl")
        columns = {key: [record.get(key) for record in records] for key in dict.fromkeys(k for r in records for k in r)}
    else:
        import csv

        with text_lines(path) as stream:
            lines = (line.decode().removeprefix("\ufeff") for line in stream)
            rows = [
                row
                for row in (csv.reader(lines) if kind == "csv" else (x.rstrip("\r\n").split("\t") for x in lines))
                if row
            ]
        header, *body = rows
        if QUERIES.missing(QUERIES.match(header)):
            return {}
        columns = {name: [row[at] for row in body] for at, name in enumerate(header)}
    taken = set(QUERIES.match(columns).values())
    return {key: values for key, values in columns.items() if key not in taken | {"_id", "text"}}


def _records(path: Path, *, lines: bool) -> list[dict[str, Any]]:
    with text_lines(path) as stream:
        if not lines:
            listed: list[dict[str, Any]] = json.loads(stream.read())
            return listed
        return [json.loads(line.removeprefix(UTF8_MARK)) for line in stream if line.strip()]


def _array(values: list[Any]) -> Any:
    """Return a column of one type; values of several types are written as JSON."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else json.dumps(value, ensure_ascii=False) for value in values])


def _instructions(location: TaskLocation, ids: Any) -> dict[str, Any]:
    """Return the instruction of each query, if the set has them in a separate table, as mteb's sets do."""
    for folder in (INSTRUCTION, f"{INSTRUCTION}s"):
        path = location.optional_path(f"{folder}/{location.task}.parquet")
        if path is not None:
            import pyarrow.parquet as pq

            table = pq.read_table(str(path))
            if {"query-id", INSTRUCTION} <= set(table.column_names):
                known = table["query-id"].cast(pa.large_string()).combine_chunks()
                return {INSTRUCTION: table[INSTRUCTION].take(pc.index_in(ids, value_set=known))}
    return {}
