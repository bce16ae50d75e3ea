"""A click log as a task: queries, the documents that were shown for them, and what was clicked.

    clicks:log.jsonl                            the log has the documents' texts, or a corpus.* is next to it
    clicks:log.csv,corpus.jsonl                 the documents are in another file
    clicks:log.parquet?signal=ctr&at=0.1,0.3&min_impressions=20&positions=ips

A row is a query and a document that was shown for it: with its id, its text or both, and, if the log has them, clicks,
impressions, position, time and session. `grades` turns them into grades. Queries are identified by their id; without
one, queries that differ only in case, width and white space are the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.datasets.assemble import Tables, assemble
from steelyard.datasets.formats.clicks.grades import Grading, grading_of
from steelyard.datasets.formats.clicks.judgements import documents_of, judge
from steelyard.datasets.formats.sidecar import read_sidecar, task_info
from steelyard.datasets.formats.task_files import TaskFiles, TaskLocation
from steelyard.datasets.problems import Report
from steelyard.datasets.references import local_path
from steelyard.datasets.tables.columns import CLICKS, DOCUMENTS
from steelyard.datasets.tables.files import format_of, header_line, look_at_head, read_bytes, translated
from steelyard.datasets.tables.tabular import read_table
from steelyard.errors import DataError, UsageError, printable
from steelyard.types import Task

PREFIX = "clicks:"
EXPECTED = (
    "a click log has a row for each document that was shown for a query: query, doc_id or text, and optionally "
    "clicks, impressions, position, timestamp, session_id; docs/data.md lists the names"
)


@dataclass(frozen=True)
class ClickLog(TaskLocation):
    """A click log on this machine, located but not read."""

    grading: Grading = field(default_factory=Grading)
    options: str = ""

    @property
    def reference(self) -> str:
        """Return what names the task on the command line."""
        files = dict.fromkeys([self.files.queries[0], *self.files.corpus])
        return f"{PREFIX}{','.join(files)}" + (f"?{self.options}" if self.options else "")

    @property
    def own_texts(self) -> bool:
        """Return whether the documents are those of the log itself."""
        return self.files.corpus == self.files.queries

    def read(self, report: Report, candidates: Iterable[str] | None = None) -> Task | None:
        """Read the log and its documents; every problem goes into the report."""
        tables = self.tables(report)
        return None if tables is None else assemble(tables, report)

    def tables(self, report: Report, *, with_corpus: bool = True) -> Tables | None:
        """Return queries, graded judgements and, unless the caller streams it, the corpus."""
        name = self.files.queries[0]
        log = read_table([(name, Path(name))], CLICKS, report)
        if log is None:
            return None
        corpus = documents_of(log, report) if self.own_texts else None
        if not self.own_texts and with_corpus:
            corpus = read_table([(file, Path(file)) for file in self.files.corpus], DOCUMENTS, report)
            if corpus is None:
                return None
        return judge(log, self.grading, corpus, self.info, report)


def is_click_log(path: Path) -> bool:
    """Return whether a file looks like a click log: a query, a document, and clicks or impressions per row.

    Only the names of its columns are read, so a large file costs nothing.
    """
    fields = set(CLICKS.match(_column_names(path)))
    return "query" in fields and bool({"document", "text"} & fields) and bool({"clicks", "impressions"} & fields)


def click_log(reference: str) -> ClickLog:
    """Return the task of `clicks:LOG[,CORPUS][?options]` (the prefix is optional)."""
    paths, _, options = reference.removeprefix(PREFIX).partition("?")
    raw_options = dict(pair.partition("=")[::2] for pair in options.split("&") if pair)
    grading = grading_of(f"{PREFIX}{paths}", raw_options)
    files = [local_path(part.strip()).absolute() for part in paths.split(",")]
    if len(files) > 2:
        raise UsageError.invalid(
            "the number of files", expected="1 or 2", found=len(files), hint=f"write {PREFIX}LOG or {PREFIX}LOG,CORPUS"
        )
    for path in files:
        if not path.is_file():
            raise DataError("the file does not exist", path=path, hint=EXPECTED)
    log = files[0]
    names = _column_names(log)
    fields = CLICKS.match(names)
    if "query" not in fields or not {"document", "text"} & set(fields):
        missing = "query" if "query" not in fields else "document (doc_id, url, text ...)"
        shown = printable(", ".join(names) or "none")
        raise DataError(f"no column for the {missing}; the columns are {shown}", path=log, hint=EXPECTED)
    corpus = files[1] if len(files) == 2 else _corpus_of(log, fields)
    facts = read_sidecar(log.parent)
    stem = log.name.split(".")[0]
    info = task_info(facts, name=f"local/{facts.get('name') or stem}", source=paths)
    task_files = TaskFiles((str(corpus),), (str(log),), (str(log),))
    return ClickLog(log.parent, "", task_files, info, grading, options)


def _corpus_of(log: Path, fields: Iterable[str]) -> Path:
    if {"text", "title"} & set(fields):
        return log
    paths = [path for path in sorted(log.parent.glob("corpus.*")) if format_of(path.name) is not None]
    if len(paths) == 1:
        return paths[0]
    count = f"{len(paths)} files corpus.*" if paths else "no file corpus.*"
    raise DataError(
        f"the log has ids of documents but no texts, and there is {count} next to it",
        path=log,
        hint=f"name the documents: {PREFIX}{log.name},corpus.jsonl; or add a column text to the log",
    )


def _column_names(path: Path) -> list[str]:
    kind = format_of(path.name)
    if kind == "parquet":
        import pyarrow.parquet as pq

        names: list[str] = []
        with translated(report := Report(), path.name):
            names = list(pq.read_schema(str(path)).names)
        report.raise_errors("strict", path.name)
        return names
    head = look_at_head(path, path.name, Report()) if kind is not None else None
    if head is None:
        return []
    line = header_line(head)
    if kind in ("csv", "tsv"):
        import csv

        return next(csv.reader([line], delimiter="," if kind == "csv" else "\t"), [])
    import json

    try:
        first = json.loads(line) if kind == "jsonl" else json.loads(read_bytes(path))[0]
    except (ValueError, LookupError, TypeError, RecursionError):
        return []
    return list(first) if isinstance(first, dict) else []
