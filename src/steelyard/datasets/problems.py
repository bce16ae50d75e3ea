"""What can be wrong with data, how bad it is, and what is done about it.

A reader never stops at the first fault: it adds each one to a `Report` and goes on as far as it can, so that one
look shows everything there is to mend.
"""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from steelyard.errors import DataError

if TYPE_CHECKING:
    from steelyard.types.samples import AnyTask

T = TypeVar("T", bound="AnyTask")

Severity = Literal["error", "warning", "note"]
Validate = Literal["strict", "report"]
"""`strict`: any error stops the load. `report`: what has a repair is repaired, with one `DataWarning`."""

OURS = "no fault was found in it, so this one is ours: please report it"
"""What to do where only Steelyard itself can be wrong."""
SHOWN = 5


class DataWarning(UserWarning):
    """Data was loaded with repairs; the message says which."""


@dataclass(frozen=True)
class Kind:
    """One sort of fault: how bad, what to do about it, and what `validate="report"` does instead of stopping."""

    severity: Severity
    remedy: str
    repair: str | None = None
    """None: nothing sensible can be done, the load stops in any case."""


KINDS: dict[str, Kind] = {
    "unreadable": Kind("error", "fetch or write the file again"),
    "missing-table": Kind("error", "add the file, or remove those of the task from the other folders"),
    "aside": Kind("warning", "remove one of the two, or name the files: corpus,queries,qrels", "left aside"),
    "columns": Kind("error", "rename the columns, or write them as the message says"),
    "row": Kind("error", "write one record a line, with a value for every column"),
    "encoding": Kind("error", "save the file as UTF-8", "bad bytes are read as U+FFFD"),
    "byte-order-mark": Kind("warning", "save the file as UTF-8 without a byte order mark", "skipped"),
    "no-header": Kind("warning", "add a header line", "columns are taken by position"),
    "quoted": Kind(
        "warning",
        "name the file .csv, with tabs as they are, if the marks are no part of the texts",
        "kept: in TSV a quotation mark is a character like any other",
    ),
    "id-type": Kind("error", "write every id as a string", "ids are read as text"),
    "missing-id": Kind("error", "give every row an id"),
    "duplicate-id": Kind("error", "make ids unique, or remove the repeated rows", "the first row is kept"),
    "empty-document": Kind("warning", "remove the document, or leave it: no query can find it by its text", "kept"),
    "empty-query": Kind("error", "remove the query and its judgements", "kept"),
    "unknown-document": Kind(
        "error",
        "add the document to the corpus or remove the judgement",
        "the judgement is kept: a relevant document that cannot be found, as in trec_eval",
    ),
    "outside-document": Kind(
        "warning",
        "nothing, if the corpus is meant to be smaller than what TREC judged",
        "the judgement is kept: a relevant document that cannot be found, as in trec_eval",
    ),
    "unknown-query": Kind("error", "add the query or remove the judgement", "the judgement is left out"),
    "grade": Kind("error", "write grades as whole numbers, 0 for not relevant"),
    "value": Kind("error", "write numbers as numbers, and times in ISO 8601 or as seconds since 1970"),
    "click-log": Kind("note", "nothing: docs/data.md tells how clicks become grades", "left out"),
    "two-grades": Kind("error", "keep the column that is meant, and remove or rename the other"),
    "missing-grade": Kind("error", "write a grade, or leave the whole column out (then each is 1)", "left out"),
    "fractional-grade": Kind("error", "scale the grades to whole numbers", "rounded down, as mteb does"),
    "negative-grade": Kind("warning", "nothing, if meant: counts as not relevant, as in trec_eval", "kept"),
    "repeated-judgement": Kind("warning", "remove the repeated rows", "one is kept"),
    "contradiction": Kind("error", "keep one judgement of the pair", "the last row counts, as in mteb"),
    "unjudged-query": Kind("note", "nothing: other splits may judge them", "left out of the task"),
    "default-split": Kind(
        "note", "nothing, or name another behind the dataset: owner/dataset/SPLIT", "that one is read"
    ),
    "no-positive": Kind("warning", "judge a document relevant, or remove the query: it scores 0", "kept"),
    "nothing-there": Kind("error", "check that the right files were given"),
    "unknown-candidate": Kind("error", "remove the id from the list, or add the document", "left out of the list"),
    "unknown-candidate-query": Kind("error", "remove the list, or add the query", "the list is left out"),
    "repeated-candidate": Kind("warning", "remove the repetition", "the first place is kept"),
    "no-candidates": Kind("warning", "write a list for every query", "the list is empty"),
    "checksum": Kind("warning", "write manifest.json anew if the change was meant", "read as it is"),
}
"""Every kind of fault, from the file inwards; `docs/data.md` shows this table."""

SAMPLE_KINDS: dict[str, Kind] = {
    "ragged": Kind("error", "make the lists of a row equally long"),
    "score": Kind("error", "write scores as numbers"),
    "missing-score": Kind("error", "write a score in every row, or remove the row", "the pair is left out"),
    "score-range": Kind("warning", "check min_score and max_score: no figure depends on them", "kept"),
    "constant-score": Kind("warning", "score some pairs otherwise: no correlation is defined", "kept"),
    "pair-label": Kind("error", "write 1 for a pair that matches and 0 for one that does not"),
    "missing-label": Kind("error", "label every row, or remove it", "the row is left out"),
    "label-type": Kind("error", "write every label as a number, or every label as text", "labels are read as text"),
    "one-label": Kind("error", "give texts of at least two labels: one alone cannot be told apart"),
    "untrained-label": Kind("warning", "add training texts of the label: no classifier can ever predict it", "kept"),
    "few-samples": Kind("note", "nothing: all that there are of the label are drawn", "kept"),
    "split-here": Kind("note", "name two files, train and test, or add a column `split`", "split by a seed"),
    "empty-text": Kind("warning", "remove the row, or leave it: its vector is that of nothing", "kept"),
    "one-sided": Kind("note", "nothing: mteb leaves them out, too", "left out"),
    "list-query": Kind("note", "nothing: the parts of the query are joined by '; ', as mteb 2 does", "joined"),
}
"""Faults of tasks without a corpus, and of rows of a query with its positives and negatives."""

KINDS |= SAMPLE_KINDS


@dataclass(frozen=True)
class Problem:
    """A fault at a place.

    >>> print(Problem("duplicate-id", "corpus.jsonl", "the id 'd1' again", rows=(7, 9)))
    error: corpus.jsonl rows 7, 9: the id 'd1' again [duplicate-id] -> make ids unique, or remove the repeated rows
    """

    kind: str
    file: str
    found: str
    rows: tuple[int, ...] = ()
    """Record numbers in the file, from 1; blank lines and the header do not count."""
    remedy: str = ""

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return KINDS[self.kind].severity

    @property
    def where(self) -> str:
        """File and rows, for people."""
        if not self.rows:
            return self.file
        shown = ", ".join(map(str, self.rows[:SHOWN]))
        more = f" and {len(self.rows) - SHOWN:,} more" if len(self.rows) > SHOWN else ""
        return f"{self.file} row{'s' if len(self.rows) > 1 else ''} {shown}{more}"

    @property
    def advice(self) -> str:
        """What to do about it."""
        return self.remedy or KINDS[self.kind].remedy

    @property
    def done(self) -> str:
        """What was done about it to go on."""
        return KINDS[self.kind].repair or "nothing"

    def __str__(self) -> str:
        return f"{self.severity}: {self.where}: {self.found} [{self.kind}] -> {self.advice}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, with every row."""
        return {
            "severity": self.severity,
            "kind": self.kind,
            "file": self.file,
            "rows": list(self.rows),
            "found": self.found,
            "remedy": self.advice,
        }


@dataclass
class Report:
    """All faults that were found in one task's data.

    >>> report = Report()
    >>> report.add("empty-document", "corpus.jsonl", "an empty text", [3])
    >>> report.stop_if_bad("strict")
    >>> report.add("duplicate-id", "corpus.jsonl", "the id 'd1' again", [7])
    >>> report.stop_if_bad("strict")
    Traceback (most recent call last):
    steelyard.errors.DataError: corpus.jsonl row 7: the id 'd1' again (make ids unique, or remove the repeated rows)
    """

    problems: list[Problem] = field(default_factory=list)

    def add(self, kind: str, file: str, found: str, rows: Iterable[int] = (), *, remedy: str = "") -> None:
        """Note a fault; the kind decides how bad it is."""
        if kind not in KINDS:
            raise KeyError(kind)
        self.problems.append(Problem(kind, file, found, tuple(int(row) for row in rows), remedy))

    def of(self, severity: Severity) -> Sequence[Problem]:
        """The problems of one severity, in the order found."""
        return [problem for problem in self.problems if problem.severity == severity]

    @property
    def fatal(self) -> Sequence[Problem]:
        """The errors that nothing can repair."""
        return [problem for problem in self.of("error") if KINDS[problem.kind].repair is None]

    def stop_if_bad(self, validate: Validate, reference: str = "") -> None:
        """Raise the first error that stops a load of this strictness, and tell of the others.

        `reference` is what `steelyard show` lists them by; without one, they are told here.
        """
        stopping = self.of("error") if validate == "strict" else self.fatal
        if not stopping:
            return
        first, others = stopping[0], stopping[1:]
        tail = ""
        if others and reference:
            tail = f", and {len(others)} more: `steelyard show {shlex.quote(reference)}` lists them"
        elif others:
            shown = "; ".join(f"{problem.where}: {problem.found}" for problem in others[:SHOWN])
            tail = f", and {len(others)} more: {shown}{' ...' if len(others) > SHOWN else ''}"
        raise DataError(first.found, where=first.where, hint=first.advice + tail)

    def settle(self, built: T | None, validate: Validate, reference: str, *, at_hand: bool = True) -> T:
        """What was built of the data, unless a fault stops it; repairs are warned of, the rest told who listens.

        Data that is not `at_hand` was brought here from elsewhere: no path leads to it for `steelyard show` to read.
        """
        self.stop_if_bad(validate, reference if at_hand else "")
        if built is None:  # every path to None tells a fatal fault, so this is a fault of ours
            raise DataError("the data could not be put together", where=reference, hint=OURS)
        self.warn_of_repairs(reference)
        self.tell_the_rest()
        return built

    def tell_the_rest(self) -> None:
        """Tell who listens the warnings and notes."""
        if told := [problem for problem in self.problems if problem.severity != "error"]:
            _listener.get()(told)

    def warn_of_repairs(self, reference: str) -> None:
        """One `DataWarning` that names every repair that was made to load the data."""
        if errors := self.of("error"):
            lines = "; ".join(f"{problem.where}: {problem.found} ({problem.done})" for problem in errors)
            warnings.warn(f"{reference} was loaded with repairs: {lines}", DataWarning, stacklevel=5)


Listener = Callable[[Sequence[Problem]], None]


def _nobody(problems: Sequence[Problem]) -> None:
    pass


_listener: ContextVar[Listener] = ContextVar("listener", default=_nobody)


@contextmanager
def telling(listener: Listener) -> Iterator[None]:
    """Within this context the listener is told the warnings and notes of data that is loaded all the same."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
