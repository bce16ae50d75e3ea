"""What the readers of training data return: batches of texts with their rows, and the rows that could not be read."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steelyard.errors import DataError
from steelyard.types import Int64

PROBLEMS = {
    "invalid-json": "the row is not valid JSON",
    "not-an-object": "the row is not a JSON object",
    "missing-column": "a text column is missing or null",
    "wrong-type": "a text column holds something that is not text",
    "encoding": "bytes that are not UTF-8 were replaced; the rest of the row was audited",
    "huge-text": "only the first part of a very long text was audited",
    "huge-row": "the row is longer than the reader accepts and was not audited",
    "damaged": "the file ends early or cannot be decompressed from here on",
}
"""Kinds of rows that were not, or not fully, audited."""
READ_ERRORS = (DataError, OSError, EOFError, ValueError, NotImplementedError, csv.Error)
"""What readers raise on a damaged file; Arrow's errors are among them."""
LISTED = 20
"""Rows that are listed for each file and kind; all are counted."""
LONGEST_TEXT = 1_000_000
"""Characters of one text that are audited."""


@dataclass(frozen=True)
class RowProblem:
    """A row that was not audited, or not fully."""

    row: int
    kind: str
    detail: str = ""


@dataclass(eq=False)
class Batch:
    """Texts of consecutive rows of a file. One row may have several texts, and every text has a field."""

    rows_read: int = 0
    texts: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    """The row of each text, from 1."""
    fields: list[str] = field(default_factory=list)
    """The column of each text."""
    problems: list[RowProblem] = field(default_factory=list)

    def add(self, row: int, column: str, text: str) -> None:
        """Add one text; one that is too long is truncated and listed."""
        if len(text) > LONGEST_TEXT:
            self.problems.append(RowProblem(row, "huge-text", f"{column}: {len(text):,} characters"))
            text = text[:LONGEST_TEXT]
        self.texts.append(text)
        self.rows.append(row)
        self.fields.append(column)

    def extend(self, rows: Sequence[int], column: str, texts: Sequence[str | None]) -> None:
        """Add the texts of a column; None is no text."""
        if None in texts or (texts and max(map(_length, texts)) > LONGEST_TEXT):
            for row, text in zip(rows, texts, strict=True):
                if text is not None:
                    self.add(row, column, text)
            return
        self.texts.extend(texts)  # type: ignore[arg-type]
        self.rows.extend(rows)
        self.fields.extend([column] * len(rows))

    @property
    def row_array(self) -> Int64:
        """The rows as an array."""
        return np.array(self.rows, dtype=np.int64)


def unreadable(error: BaseException) -> DataError:
    """Return the error of a reader as one of ours, in one line."""
    if isinstance(error, DataError):
        return error
    reason = str(error).partition("\n")[0] or type(error).__name__
    return DataError(
        f"the file cannot be read: {reason}", hint="check that it is complete and in the format of its suffix"
    )


def _length(text: str | None) -> int:
    return len(text) if text is not None else 0


@dataclass(frozen=True, eq=False)
class Block:
    """A piece of a file that is read but not parsed: parsing happens in worker threads."""

    parse: Callable[[], Batch]
    size: int = 0
    """Bytes of the file, for progress; 0 where nobody knows."""


@dataclass(eq=False)
class ProblemLog:
    """All problems of an audit: every one counted, the first ones listed."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    """By file and kind."""
    listed: dict[str, dict[str, list[RowProblem]]] = field(default_factory=dict)

    def add(self, file: str, problems: Iterable[RowProblem]) -> None:
        """Count problems of a file."""
        for problem in problems:
            kinds = self.counts.setdefault(file, {})
            kinds[problem.kind] = kinds.get(problem.kind, 0) + 1
            rows = self.listed.setdefault(file, {}).setdefault(problem.kind, [])
            if len(rows) < LISTED:
                rows.append(problem)

    @property
    def total(self) -> int:
        """The number of problems of all files."""
        return sum(sum(kinds.values()) for kinds in self.counts.values())

    def to_dict(self) -> list[dict[str, Any]]:
        """Return one entry for each file and kind."""
        return [
            {
                "file": file,
                "kind": kind,
                "meaning": PROBLEMS[kind],
                "count": count,
                "rows": [[problem.row, problem.detail] for problem in self.listed[file][kind]],
            }
            for file, kinds in self.counts.items()
            for kind, count in kinds.items()
        ]

    @classmethod
    def from_dict(cls, entries: Iterable[dict[str, Any]]) -> ProblemLog:
        """Read what `to_dict` returned."""
        log = cls()
        for entry in entries:
            rows = [RowProblem(int(row), entry["kind"], str(detail)) for row, detail in entry["rows"]]
            log.counts.setdefault(entry["file"], {})[entry["kind"]] = int(entry["count"])
            log.listed.setdefault(entry["file"], {})[entry["kind"]] = rows
        return log
