"""The only place that prints: tables and notes to standard error, data to standard output."""

from __future__ import annotations

import json
import sys
import traceback
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from steelyard.errors import SteelyardError

Cell = str | int | float | None


@dataclass(frozen=True)
class Output:
    """How a command speaks: for people, as JSON, or hardly at all."""

    json: bool = False
    quiet: bool = False
    verbose: bool = False

    def data(self, value: Any) -> None:
        """Print a value as strict JSON on standard output (null, never NaN)."""
        print(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))

    def line(self, text: str) -> None:
        """Print a line of data on standard output."""
        print(text)

    def note(self, text: str) -> None:
        """Tell a person something, on standard error; silent with --quiet."""
        if not self.quiet:
            print(text, file=sys.stderr, flush=True)

    def detail(self, text: str) -> None:
        """A note for those who asked for more with --verbose."""
        if self.verbose:
            self.note(text)

    def complain(self, text: str) -> None:
        """Tell of something that failed, on standard error; also with --quiet."""
        print(text, file=sys.stderr, flush=True)

    def error(self, error: SteelyardError) -> None:
        """Say what went wrong and what to do about it."""
        if self.verbose:
            traceback.print_exception(error)
        print(f"steelyard: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"  hint: {error.hint}", file=sys.stderr)

    @contextmanager
    def own_warnings(self) -> Iterator[None]:
        """While entered, warnings that Steelyard gives are notes, without the line of code they come from."""
        others, home = warnings.showwarning, str(Path(__file__).parents[1])

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if filename.startswith(home):
                self.note(f"warning: {message}")
            else:
                others(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        try:
            yield
        finally:
            warnings.showwarning = others

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        """Print a table: on standard output, as it is what was asked for."""
        if not self.quiet:
            print(format_table(columns, rows), flush=True)


def format_table(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Columns padded to the width that a terminal shows; numbers to the right, four decimals.

    >>> print(format_table(["task", "nDCG@10"], [["日本語", 0.5], ["en", None]]))
    task    nDCG@10
    ------  -------
    日本語   0.5000
    en            -
    """
    cells = [[_text(value) for value in row] for row in rows]
    right = [any(isinstance(row[i], int | float) for row in rows) for i in range(len(columns))]
    widths = [max(map(_width, (name, *(row[i] for row in cells)))) for i, name in enumerate(columns)]

    def line(values: Sequence[str]) -> str:
        padded = (
            " " * (w - _width(v)) + v if r else v + " " * (w - _width(v))
            for v, w, r in zip(values, widths, right, strict=True)
        )
        return "  ".join(padded).rstrip()

    return "\n".join([line(columns), "  ".join("-" * w for w in widths), *map(line, cells)])


def _text(value: Cell) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else value


def _width(text: str) -> int:
    """Terminal cells: wide East Asian characters take two, combining marks none."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
