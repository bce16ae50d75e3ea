"""The only place that prints: what was asked for to standard output, notes and complaints to standard error."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import sys
import traceback
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from steelyard.cli._ui.process import INTERRUPTED
from steelyard.errors import SteelyardError

Cell = str | int | float | None
BREAKS = " -/,>?&"
"""Behind these a name may be broken."""
CLEAR = "\r\x1b[K"
"""Takes away what stands on the last line of a terminal."""


@dataclass
class Output:
    """How a command speaks: for people, as JSON, or hardly at all."""

    json: bool = False
    quiet: bool = False
    verbose: bool = False
    _data_printed: bool = field(default=False, init=False)

    def data(self, value: Any) -> None:
        """Print a value as strict JSON on standard output (null, never NaN), in ASCII where that is not Unicode."""
        unicode = (sys.stdout.encoding or "").lower().startswith("utf")
        print(json.dumps(value, ensure_ascii=not unicode, indent=2, allow_nan=False))
        self._data_printed = True

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

    def error(self, error: SteelyardError) -> int:
        """Say what went wrong and what to do about it; the exit code. With --json it is data, unless there was some."""
        if self.verbose:
            traceback.print_exception(error)
        self.complain(f"steelyard: {error.message}")
        if error.hint:
            self.complain(f"  hint: {error.hint}")
        self._failed(type(error).__name__, error.message, error.hint, error.exit_code)
        return error.exit_code

    def interrupted(self) -> None:
        """Say that someone stopped the command, who knows that already with --quiet."""
        self.note("\ninterrupted")
        self._failed("Interrupted", "interrupted", None, INTERRUPTED)

    def _failed(self, kind: str, message: str, hint: str | None, exit_code: int) -> None:
        if self.json and not self._data_printed:
            self.data({"error": {"kind": kind, "message": message, "hint": hint, "exit_code": exit_code}})

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
                self.note(f"{CLEAR if can_redraw(sys.stderr) else ''}warning: {message}")  # a bar may stand there
            else:
                others(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        try:
            yield
        finally:
            warnings.showwarning = others

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, fold: bool = False) -> None:
        """Print a table: on standard output, and with --quiet, too, as it is what was asked for.

        With `fold`, one that is wider than the terminal comes in parts; a file has it whole.
        """
        print(format_table(columns, rows, room(sys.stdout) if fold else None), flush=True)


def told(error: OSError) -> SteelyardError:
    """The system's error as one of ours.

    >>> str(told(OSError(28, "No space left on device", "results")))
    'results: No space left on device (is there space, and who may write there? -v shows more)'
    """
    place = f"{error.filename}: " if error.filename else ""
    ours = SteelyardError(
        f"{place}{error.strerror or error}", hint="is there space, and who may write there? -v shows more"
    )
    ours.__cause__ = error
    return ours


def format_table(columns: Sequence[str], rows: Sequence[Sequence[Cell]], widest: int | None = None) -> str:
    """Columns padded to the width that a terminal shows; numbers to the right, four decimals.

    What is wider than the `widest` line continues below, with the first column again; words that leave no room for a
    second column are broken.

    >>> print(format_table(["task", "nDCG@10"], [["日本語", 0.5], ["en", None]]))
    task    nDCG@10
    ------  -------
    日本語   0.5000
    en            -
    >>> print(format_table(["task", "bm25", "dense"], [["en", 0.5, 0.25]], widest=15))
    task    bm25
    ----  ------
    en    0.5000
    <BLANKLINE>
    task   dense
    ----  ------
    en    0.2500
    >>> print(format_table(["task", "dense:use-multilingual-v3"], [["NanoAlmanac/en", 0.5]], widest=20))
    task      dense:use-
              multilingu
                   al-v3
    --------  ----------
    NanoAlma      0.5000
    nac/en
    """
    cells = [[_text(value) for value in row] for row in rows]
    right = [any(isinstance(row[i], int | float) for row in rows) for i in range(len(columns))]
    widths = [max(map(_width, (name, *(row[i] for row in cells)))) for i, name in enumerate(columns)]
    if widest is not None:
        widths = _narrowed(widths, widest)

    def lines(values: Sequence[str], part: Sequence[int]) -> Iterator[str]:
        broken = [broken_at(values[place], widths[place]) for place in part]
        for line in itertools.zip_longest(*broken, fillvalue=""):
            padded = (_pad(text, widths[i], to_the_right=right[i]) for i, text in zip(part, line, strict=True))
            yield "  ".join(padded).rstrip()

    whole = [columns, ["-" * w for w in widths], *cells]
    parts = _parts(widths, widest)
    return "\n\n".join("\n".join(line for row in whole for line in lines(row, part)) for part in parts)


def _narrowed(widths: Sequence[int], widest: int) -> list[int]:
    """Widths at which the first column and any other stand on one line; those that do so already stay.

    >>> _narrowed([4, 10, 30], 40), _narrowed([30, 10, 25], 40), _narrowed([30, 10], 42)
    ([4, 10, 30], [18, 10, 20], [30, 10])
    """
    first, *others = widths
    if first + 2 + max(others, default=0) <= widest:
        return list(widths)
    half = max(1, (widest - 2) // 2)
    first = min(first, max(half - 1, widest - 2 - max(others, default=0)))
    return [first, *(min(width, max(1, widest - 2 - first)) for width in others)]


def broken_at(text: str, width: int) -> list[str]:
    """The text in lines of so many cells at most, broken where a part of a name ends, if one does.

    >>> broken_at("dense:use-multilingual-v3", 14), broken_at("short", 14)
    (['dense:use-', 'multilingual-', 'v3'], ['short'])
    """
    lines = []
    while _width(text) > width:
        line = cut(text, width) or text[0]
        end = max(map(line.rfind, BREAKS)) + 1
        lines.append(line[: end or None].rstrip())
        text = text[end or len(line) :]
    return [*lines, text]


def _parts(widths: Sequence[int], widest: int | None) -> list[list[int]]:
    """The columns of each part of a table: the first one, and as many of the others as there is room for.

    >>> _parts([4, 10, 10, 30], 30), _parts([4, 10, 10, 30], None)
    ([[0, 1, 2], [0, 3]], [[0, 1, 2, 3]])
    """
    parts, room = [[0]], 0
    for place in range(1, len(widths)):
        room -= widths[place] + 2
        if room < 0 and widest is not None and len(parts[-1]) > 1:
            parts.append([0])
        if len(parts[-1]) == 1:
            room = (widest or 0) - widths[0] - widths[place] - 2
        parts[-1].append(place)
    return parts


def _pad(text: str, width: int, *, to_the_right: bool) -> str:
    blank = " " * (width - _width(text))
    return blank + text if to_the_right else text + blank


def _text(value: Cell) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else value


def room(stream: TextIO) -> int | None:
    """How wide a line may be: as wide as the terminal; in a file there is no limit."""
    return shutil.get_terminal_size().columns if stream.isatty() else None


def can_redraw(stream: TextIO) -> bool:
    """Whether a line may be drawn again: on a terminal, unless it says itself that it can do nothing."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def cut(text: str, width: int) -> str:
    """As much of the text as a terminal shows in so many cells.

    >>> cut("日本語 ja", 5), cut("short", 80)
    ('日本', 'short')
    """
    ends = itertools.accumulate(map(_width, text))
    return "".join(character for character, end in zip(text, ends, strict=True) if end <= width)


def _width(text: str) -> int:
    """Terminal cells: wide East Asian characters take two, combining marks none."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
