"""What can be wrong with data, how serious it is, and what is done about it.

A reader does not stop at the first problem: it adds each one to a `Report` and continues as far as it can, so that one
reading shows everything that has to be fixed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from steelyard.errors import DataError, DataWarning, printable

if TYPE_CHECKING:
    from steelyard.types.samples import AnyTask

T = TypeVar("T", bound="AnyTask")

Severity = Literal["error", "warning", "note"]
Validate = Literal["strict", "report"]
"""`strict`: any error stops the load. `report`: what can be repaired is repaired, with one `DataWarning`."""

MissingJudgements = Literal["count", "ignore", "error"]
"""What to do with judgements of documents that are not in the corpus (`Settings.missing_judgements`)."""
MISSING_KINDS: dict[str, str] = {
    "count": "outside-document",
    "ignore": "ignored-judgement",
    "error": "unknown-document",
}
"""The kind of problem that such judgements are."""

OUR_FAULT = "no problem was found in the data, so this is a defect of Steelyard: please report it"
"""The hint for a state that only a defect of Steelyard can cause."""
NOTHING = "nothing: "
"""The beginning of advice where nothing has to be done."""
SHOWN = 5
LONGEST = 500
"""Characters of a file's name or content that a message shows."""


@dataclass(frozen=True)
class Kind:
    """One kind of problem: how serious, what to do about it, and what `validate="report"` does instead of stopping."""

    severity: Severity
    remedy: str
    repair: str | None = None
    """None: there is no sensible repair, so the load stops in any case."""


KINDS: dict[str, Kind] = {
    "unreadable": Kind("error", "download or write the file again"),
    "missing-table": Kind("error", "add the file, or remove the task's files from the other folders"),
    "aside": Kind("warning", "remove one of the two, or name the files: corpus,queries,qrels", "not read"),
    "columns": Kind("error", "rename the columns, or write them as the message describes"),
    "row": Kind("error", "write one record per line, with a value for every column"),
    "encoding": Kind("error", "save the file as UTF-8", "invalid bytes are read as U+FFFD"),
    "byte-order-mark": Kind("warning", "save the file as UTF-8 without a byte order mark", "skipped"),
    "no-header": Kind("warning", "add a header line", "columns are read by position"),
    "quoted": Kind(
        "warning",
        "rename the file to .csv, and keep the tabs, if the quotation marks are not part of the texts",
        "kept: in TSV a quotation mark is an ordinary character",
    ),
    "id-type": Kind("error", "write every id as a string", "ids are read as text"),
    "missing-id": Kind("error", "give every row an id"),
    "duplicate-id": Kind("error", "make ids unique, or remove the repeated rows", "the first row is kept"),
    "empty-document": Kind("warning", "remove the document, or keep it: no query can find it by its text", "kept"),
    "empty-query": Kind("error", "remove the query and its judgements", "kept"),
    "unknown-document": Kind(
        "error",
        "add the document to the corpus or remove the judgement, or omit `--missing-judgements error`",
        "the judgement is kept: a relevant document that cannot be found, as in trec_eval",
    ),
    "outside-document": Kind(
        "warning",
        "nothing, if the corpus is meant to be smaller than the judged pool; else add the document",
        "the judgement is kept: a relevant document that cannot be found, as in trec_eval",
    ),
    "ignored-judgement": Kind(
        "warning", "nothing, or omit `--missing-judgements ignore`", "the judgement is not part of the task"
    ),
    "unknown-query": Kind("error", "add the query or remove the judgement", "the judgement is ignored"),
    "grade": Kind("error", "write grades as whole numbers, 0 for not relevant"),
    "value": Kind("error", "write numbers as numbers, and times in ISO 8601 or as seconds since 1970"),
    "click-log": Kind("note", "nothing: docs/data.md explains how clicks become grades", "ignored"),
    "pairs": Kind("note", "nothing: docs/data.md explains how rows become questions and documents", "merged"),
    "missing-text": Kind("error", "fill in the question and its context, or remove the row", "the row is ignored"),
    "negative-is-positive": Kind("warning", "remove the negative", "the document counts as relevant"),
    "two-grades": Kind("error", "keep the intended column, and remove or rename the other"),
    "missing-grade": Kind("error", "write a grade, or remove the whole column (then each grade is 1)", "ignored"),
    "fractional-grade": Kind("error", "scale the grades to whole numbers", "rounded down, as in mteb"),
    "negative-grade": Kind("warning", "nothing, if intended: counts as not relevant, as in trec_eval", "kept"),
    "repeated-judgement": Kind("warning", "remove the repeated rows", "one is kept"),
    "contradiction": Kind("error", "keep one judgement of the pair", "the last row counts, as in mteb"),
    "unjudged-query": Kind("note", "nothing: other splits may judge them", "not part of the task"),
    "default-split": Kind("note", "nothing, or name another split: owner/dataset/SPLIT", "that split is read"),
    "no-positive": Kind("warning", "judge a document relevant, or remove the query: it scores 0", "kept"),
    "nothing-there": Kind("error", "check that the right files were given"),
    "unknown-candidate": Kind("error", "remove the id from the list, or add the document", "removed from the list"),
    "unknown-candidate-query": Kind("error", "remove the list, or add the query", "the list is ignored"),
    "repeated-candidate": Kind("warning", "remove the repetition", "the first position is kept"),
    "no-candidates": Kind("warning", "write a list for every query", "the list is empty"),
    "checksum": Kind("warning", "write manifest.json again if the change was intended", "read unchanged"),
}
"""Every kind of problem, from the file to its values; `docs/data.md` shows this table."""

SAMPLE_KINDS: dict[str, Kind] = {
    "ragged": Kind("error", "make the lists of a row equally long"),
    "score": Kind("error", "write scores as numbers"),
    "missing-score": Kind("error", "write a score in every row, or remove the row", "the pair is ignored"),
    "score-range": Kind("warning", "check min_score and max_score: no metric depends on them", "kept"),
    "constant-score": Kind("warning", "give some pairs other scores: no correlation is defined", "kept"),
    "pair-label": Kind("error", "write 1 for a pair that matches and 0 for one that does not"),
    "missing-label": Kind("error", "label every row, or remove it", "the row is ignored"),
    "label-type": Kind("error", "write every label as a number, or every label as text", "labels are read as text"),
    "one-label": Kind("error", "give texts of at least two labels"),
    "untrained-label": Kind("warning", "add training texts of the label: no classifier can predict it", "kept"),
    "few-samples": Kind("note", "nothing: all texts of the label are drawn", "kept"),
    "split-here": Kind("note", "name two files, train and test, or add a column `split`", "split by a seed"),
    "empty-text": Kind("warning", "remove the row, or keep it: its vector is that of an empty text", "kept"),
    "one-sided": Kind("note", "nothing: mteb ignores them, too", "ignored"),
    "list-query": Kind("note", "nothing: the parts of the query are joined by '; ', as in mteb 2", "joined"),
}
"""Problems of tasks without a corpus, and of rows of a query with its positives and negatives."""

KINDS |= SAMPLE_KINDS


@dataclass(frozen=True)
class Problem:
    """A problem at a place.

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
        """Return how serious it is."""
        return KINDS[self.kind].severity

    @property
    def where(self) -> str:
        """Return file and rows, for people."""
        if not self.rows:
            return self.file
        shown = ", ".join(map(str, self.rows[:SHOWN]))
        more = f" and {len(self.rows) - SHOWN:,} more" if len(self.rows) > SHOWN else ""
        return f"{self.file} row{'s' if len(self.rows) > 1 else ''} {shown}{more}"

    @property
    def advice(self) -> str:
        """Return what to do about it."""
        return self.remedy or KINDS[self.kind].remedy

    @property
    def done(self) -> str:
        """Return what was done to continue."""
        return KINDS[self.kind].repair or "nothing"

    def __str__(self) -> str:
        what = f"{self.severity}: {self.where}: {self.found} [{self.kind}]"
        if self.advice.startswith(NOTHING):  # there is nothing to do: it is an explanation
            return f"{what}; {self.advice.removeprefix(NOTHING)}"
        return f"{what} -> {self.advice}"

    def to_dict(self) -> dict[str, Any]:
        """Return the problem, JSON-ready, with every row."""
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
    """All problems in the data of one task.

    >>> report = Report()
    >>> report.add("empty-document", "corpus.jsonl", "an empty text", [3])
    >>> report.raise_errors("strict")
    >>> report.add("duplicate-id", "corpus.jsonl", "the id 'd1' again", [7])
    >>> report.raise_errors("strict")
    Traceback (most recent call last):
    steelyard.errors.DataError: corpus.jsonl row 7: the id 'd1' again (make ids unique, or remove the repeated rows)
    """

    problems: list[Problem] = field(default_factory=list)
    missing_judgements: str = "count"
    """What the reader does with judgements of documents that are not in the corpus."""

    def add(self, kind: str, file: str, found: str, rows: Iterable[int] = (), *, remedy: str = "") -> None:
        """Add a problem; the kind determines how serious it is. What comes from files is made printable."""
        if kind not in KINDS:
            raise KeyError(kind)
        numbers = tuple(int(row) for row in rows)
        self.problems.append(Problem(kind, printable(file, LONGEST), printable(found, LONGEST), numbers, remedy))

    def of(self, severity: Severity) -> Sequence[Problem]:
        """Return the problems of one severity, in the order in which they were added."""
        return [problem for problem in self.problems if problem.severity == severity]

    @property
    def fatal(self) -> Sequence[Problem]:
        """Return the errors that cannot be repaired."""
        return [problem for problem in self.of("error") if KINDS[problem.kind].repair is None]

    def raise_errors(self, validate: Validate, reference: str = "") -> None:
        """Raise the first error that stops a load of this strictness, and mention the others.

        `reference` is what `steelyard show` lists them by; without one they are part of the message.
        """
        stopping = self.of("error") if validate == "strict" else self.fatal
        if not stopping:
            return
        first, others = stopping[0], stopping[1:]
        tail = ""
        if others and reference:
            import shlex

            tail = f", and {len(others)} more: `steelyard show {shlex.quote(reference)}` lists them"
        elif others:
            shown = "; ".join(f"{problem.where}: {problem.found}" for problem in others[:SHOWN])
            import shlex

            tail = f", and {len(others)} more: {shown}{' ...' if len(others) > SHOWN else ''}"
        raise DataError(
            first.found,
            where=first.where,
            hint=first.advice + tail,
            path=first.file,
            row=first.rows[0] if first.rows else None,
            field=first.kind,
            found=first.found,
        )

    def finish(self, task: T | None, validate: Validate, reference: str, *, local: bool = True) -> T:
        """Return the task unless a problem stops it; warn about repairs and notify the listener of the rest.

        Data that is not `local` was downloaded: there is no path to it that `steelyard show` could read.
        """
        self.raise_errors(validate, reference if local else "")
        if task is None:  # every way to None adds a fatal problem
            raise DataError("the data could not be assembled", where=reference, hint=OUR_FAULT)
        self.warn_about_repairs(reference)
        self.notify_listener()
        return task

    def notify_listener(self) -> None:
        """Pass the warnings and notes to the listener."""
        if problems := [problem for problem in self.problems if problem.severity != "error"]:
            _listener.get()(problems)

    def warn_about_repairs(self, reference: str) -> None:
        """Issue a `DataWarning` that lists every repair, and one for judgements of documents outside the corpus."""
        if errors := self.of("error"):
            lines = "; ".join(f"{problem.where}: {problem.found} ({problem.done})" for problem in errors)
            warnings.warn(f"{reference} was loaded with repairs: {lines}", DataWarning, stacklevel=5)
        kinds = [MISSING_KINDS[choice] for choice in ("count", "ignore")]
        missing = [problem for problem in self.problems if problem.kind in kinds]
        if missing and _listener.get() is _ignore:  # a listener gets them with the other warnings
            lines = "; ".join(f"{problem.where}: {problem.found} ({problem.done})" for problem in missing)
            warnings.warn(f"{reference}: {lines}", DataWarning, stacklevel=5)


Listener = Callable[[Sequence[Problem]], None]


def _ignore(problems: Sequence[Problem]) -> None:
    pass


_listener: ContextVar[Listener] = ContextVar("listener", default=_ignore)


@contextmanager
def problem_listener(listener: Listener) -> Iterator[None]:
    """Within this context the listener receives the warnings and notes of data that is loaded."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
