"""A click log as a task: what people searched for, what they were shown, and what they clicked.

    clicks:log.jsonl                            the log holds the documents' texts, or a corpus.* lies beside it
    clicks:log.csv,corpus.jsonl                 the documents are elsewhere
    clicks:log.parquet?signal=ctr&at=0.1,0.3&min_impressions=20&positions=ips

A row is a query and a document that was shown for it: with its id, its text or both, and, as far as the log has them,
clicks, impressions, position, time and session. `click_grades` tells how that becomes grades. Queries go by their id;
without one, those that differ in case, width and white space only are the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.datasets.assemble import Tables, assemble
from steelyard.datasets.formats.clicks.grades import Grading, grading_of
from steelyard.datasets.formats.clicks.judgements import documents_of, judge
from steelyard.datasets.formats.sidecar import SIDECAR, read_json_object, task_info
from steelyard.datasets.formats.task_files import TaskFiles, TaskLocation
from steelyard.datasets.problems import Report
from steelyard.datasets.tables.columns import CLICKS, DOCUMENTS
from steelyard.datasets.tables.files import format_of, header_line, look_at_head, read_bytes, translated
from steelyard.datasets.tables.tabular import read_table
from steelyard.errors import DataError, UsageError
from steelyard.types import Task

PREFIX = "clicks:"
TEACH = (
    "a click log has a row for each document that was shown for a query: query, doc_id or text, and as far as known "
    "clicks, impressions, position, timestamp, session_id; docs/data.md has the names"
)


@dataclass(frozen=True)
class ClickLog(TaskLocation):
    """A click log on this machine, found but not read."""

    grading: Grading = field(default_factory=Grading)
    options: str = ""

    @property
    def reference(self) -> str:
        """What names it on the command line."""
        files = dict.fromkeys([self.files.queries[0], *self.files.corpus])
        return f"{PREFIX}{','.join(files)}" + (f"?{self.options}" if self.options else "")

    @property
    def own_texts(self) -> bool:
        """Whether the documents are those of the log itself."""
        return self.files.corpus == self.files.queries

    def read(self, report: Report, candidates: Iterable[str] | None = None) -> Task | None:
        """Read the log and its documents; every fault goes into the report."""
        tables = self.tables(report)
        return None if tables is None else assemble(tables, report)

    def tables(self, report: Report, *, with_corpus: bool = True) -> Tables | None:
        """Queries and graded judgements, and unless a caller reads it in pieces the corpus."""
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
    """Whether a file looks like a click log: a query and a document a row, and something that people did.

    Judged by the names of its columns alone, so that a look at a large file costs nothing.
    """
    found = CLICKS.match(_column_names(path))
    return "query" in found and bool({"document", "text"} & set(found)) and bool({"clicks", "impressions"} & set(found))


def click_log(reference: str) -> ClickLog:
    """The task of `clicks:LOG[,CORPUS][?options]` (the prefix may be left out)."""
    paths, _, options = reference.removeprefix(PREFIX).partition("?")
    given = dict(pair.partition("=")[::2] for pair in options.split("&") if pair)
    grading = grading_of(f"{PREFIX}{paths}", given)
    files = [Path(part.strip()).expanduser().absolute() for part in paths.split(",")]
    if len(files) > 2:
        raise UsageError(f"{len(files)} files: {paths}", hint=f"one log, and at most one corpus: {PREFIX}LOG,CORPUS")
    for path in files:
        if not path.is_file():
            raise DataError("no such file", where=str(path), hint=TEACH)
    log = files[0]
    names = _column_names(log)
    found = CLICKS.match(names)
    if "query" not in found or not {"document", "text"} & set(found):
        lacks = "query" if "query" not in found else "document (doc_id, url, text ...)"
        raise DataError(f"no column for the {lacks}; found {', '.join(names) or 'none'}", where=str(log), hint=TEACH)
    corpus = files[1] if len(files) == 2 else _corpus_of(log, found)
    facts = read_json_object(log.parent / SIDECAR)
    stem = log.name.split(".")[0]
    info = task_info(facts, name=f"local/{facts.get('name') or stem}", source=paths)
    task_files = TaskFiles((str(corpus),), (str(log),), (str(log),))
    return ClickLog(log.parent, "", task_files, info, grading, options)


def _corpus_of(log: Path, found: Iterable[str]) -> Path:
    if {"text", "title"} & set(found):
        return log
    beside = [path for path in sorted(log.parent.glob("corpus.*")) if format_of(path.name) is not None]
    if len(beside) == 1:
        return beside[0]
    lying = f"{len(beside)} files corpus.* beside it" if beside else "no corpus.* beside it"
    raise DataError(
        f"documents have ids but no texts, and there is {lying}",
        where=str(log),
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
    except (ValueError, LookupError, TypeError):
        return []
    return list(first) if isinstance(first, dict) else []
