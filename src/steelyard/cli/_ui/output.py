"""The only place that prints: data to standard output, notes and errors to standard error.

Everything printed goes through `printable`: no name, description or answer of a service can control the terminal.
"""

from __future__ import annotations

import errno
import itertools
import json
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TextIO

from steelyard.cli._ui.signals import interrupt_code
from steelyard.errors import SteelyardError
from steelyard.text.display import broken_at, display_width, is_plain, plain

Cell = str | int | float | None
CLEAR = "\r\x1b[K"
"""Clears the last line of a terminal."""
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Control characters, line separators and overrides of the writing direction; not tab and line feed."""


def printable(text: str, *, one_line: bool = False) -> str:
    r"""Return the text with U+FFFD in place of every control character; with `one_line`, of tabs and line feeds, too.

    >>> printable("\x1b[31mred\n"), printable("a\tb\n", one_line=True)
    ('�[31mred\n', 'a�b�')
    """
    text = CONTROL.sub("\ufffd", text)
    return text.replace("\t", "\ufffd").replace("\n", "\ufffd") if one_line else text


LONGEST_NAME, LONGEST_LABEL = 40, 60
"""Cells of a name above a column, and of the first column; longer ones are broken."""


def _shown(text: str, stream: TextIO) -> str:
    return plain(printable(text)) if is_plain(stream) else printable(text)


class Findings(Protocol):
    """What can be printed as JSON, or as a table and sentences."""

    def to_dict(self) -> Any:
        """Return it ready for JSON."""
        ...

    def table(self) -> tuple[Sequence[str], Sequence[Sequence[Cell]]]:
        """Return columns and rows."""
        ...

    def sentences(self) -> Sequence[str]:
        """Return what the table means."""
        ...


@dataclass
class Output:
    """How a command prints: for people, as JSON, or data and errors only."""

    json: bool = False
    quiet: bool = False
    verbose: bool = False
    _data_printed: bool = field(default=False, init=False)

    def data(self, value: Any) -> None:
        """Print a value as strict JSON on standard output: null instead of NaN, ASCII where the encoding is not UTF."""
        utf = (sys.stdout.encoding or "").lower().startswith("utf")
        text = json.dumps(value, ensure_ascii=not utf, indent=2, allow_nan=False)
        print(CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text))
        self._data_printed = True

    def line(self, text: str) -> None:
        """Print a line of data on standard output."""
        print(_shown(text, sys.stdout))

    def note(self, text: str) -> None:
        """Print a note on standard error; nothing with --quiet."""
        if not self.quiet:
            print(_shown(text, sys.stderr), file=sys.stderr, flush=True)

    def detail(self, text: str) -> None:
        """Print a note only with --verbose."""
        if self.verbose:
            self.note(text)

    def failure(self, text: str) -> None:
        """Print a failure on standard error, also with --quiet."""
        print(_shown(text, sys.stderr), file=sys.stderr, flush=True)

    def ask(self, question: str) -> str | None:
        """Ask a question on the terminal and return the answer; None where nobody can answer."""
        if sys.stdin is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
            return None
        print(printable(question), end=" ", file=sys.stderr, flush=True)
        return sys.stdin.readline().strip()

    def error(self, error: SteelyardError) -> int:
        """Print the error and its hint and return its exit code; with --json, as data unless some was printed."""
        if self.verbose:
            import traceback

            traceback.print_exception(error)
        self.failure(f"steelyard: {error.message}")
        if error.hint:
            self.failure(f"  hint: {error.hint}")
        self._print_error(type(error).__name__, error.message, error.hint, error.exit_code)
        return error.exit_code

    def interrupted(self) -> None:
        """Print that the command was interrupted."""
        self.note("\ninterrupted")
        self._print_error("Interrupted", "interrupted", None, interrupt_code())

    def _print_error(self, kind: str, message: str, hint: str | None, exit_code: int) -> None:
        if self.json and not self._data_printed:
            self.data({"error": {"kind": kind, "message": message, "hint": hint, "exit_code": exit_code}})

    @contextmanager
    def own_warnings(self) -> Iterator[None]:
        """While entered, print Steelyard's own warnings as notes, without the line of code that raised them."""
        others, package = warnings.showwarning, str(Path(__file__).parents[2])

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if not filename.startswith(package):
                others(message, category, filename, lineno, file, line)
                return
            if can_redraw(sys.stderr) and not self.quiet:  # remove the progress bar
                print(CLEAR, end="", file=sys.stderr)
            self.note(f"warning: {message}")

        warnings.showwarning = show
        try:
            yield
        finally:
            warnings.showwarning = others

    def findings(self, result: Findings) -> None:
        """Print what a verb found: as JSON, or as a table and sentences."""
        if self.json:
            self.data(result.to_dict())
            return
        self.table(*result.table(), fold=True)
        for line in result.sentences():
            self.line(line)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, fold: bool = False) -> None:
        """Print a table on standard output, also with --quiet.

        With `fold`, a table that is wider than the terminal is printed in parts; in a file it is not.
        """
        if is_plain(sys.stdout):
            columns = [plain(name) for name in columns]
            rows = [[plain(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
        print(format_table(columns, rows, line_width(sys.stdout) if fold else None), flush=True)


def system_error(error: OSError) -> SteelyardError:
    """Return an error of the operating system as one of ours.

    >>> str(system_error(OSError(28, "No space left on device", "results")))
    'results: No space left on device (free space on that disk, or choose another folder)'
    >>> str(system_error(PermissionError(13, "Permission denied", "results")))
    'results: Permission denied (check the permissions of that path, or choose another)'
    """
    place = f"{error.filename}: " if error.filename else ""
    hint = HINTS.get(error.errno or 0, "add -v to see where it happened")
    ours = SteelyardError(f"{place}{error.strerror or error}", hint=hint, path=error.filename)
    ours.__cause__ = error
    return ours


HINTS = {
    errno.ENOSPC: "free space on that disk, or choose another folder",
    errno.EDQUOT: "free space within your quota, or choose another folder",
    errno.EACCES: "check the permissions of that path, or choose another",
    errno.EPERM: "check the permissions of that path, or choose another",
    errno.EROFS: "choose a folder that can be written",
    errno.ENAMETOOLONG: "use a shorter name",
    errno.ENOTDIR: "choose a path without a file where a folder is needed",
    errno.EISDIR: "name a file, not a folder",
    errno.ENOENT: "check the path",
}
"""What to do about an error of the operating system, by its number."""


def format_table(columns: Sequence[str], rows: Sequence[Sequence[Cell]], max_width: int | None = None) -> str:
    """Return a table with columns padded to their width on a terminal, numbers to the right with four decimals.

    Columns beyond `max_width` continue below, after a copy of the first column. Words that leave no space for a second
    column are broken.

    >>> print(format_table(["task", "nDCG@10"], [["日本語", 0.5], ["en", None]]))
    task    nDCG@10
    ------  -------
    日本語   0.5000
    en            -
    >>> print(format_table(["task", "bm25", "dense"], [["en", 0.5, 0.25]], max_width=15))
    task    bm25
    ----  ------
    en    0.5000
    <BLANKLINE>
    task   dense
    ----  ------
    en    0.2500
    >>> print(format_table(["task", "dense:use-multilingual-v3"], [["NanoAlmanac/en", 0.5]], max_width=20))
    task      dense:use-
              multilingu
                   al-v3
    --------  ----------
    NanoAlma      0.5000
    nac/en
    """
    cells = [[_text(value) for value in row] for row in rows]
    right = [any(isinstance(row[i], int | float) for row in rows) for i in range(len(columns))]
    widths = [_column_width(name, [row[i] for row in cells], first=not i) for i, name in enumerate(columns)]
    if max_width is not None:
        widths = _narrowed(widths, max_width)

    def lines(values: Sequence[str], part: Sequence[int]) -> Iterator[str]:
        broken = [broken_at(values[place], widths[place]) for place in part]
        for line in itertools.zip_longest(*broken, fillvalue=""):
            padded = (_pad(text, widths[i], to_the_right=right[i]) for i, text in zip(part, line, strict=True))
            yield "  ".join(padded).rstrip()

    whole = [columns, ["-" * w for w in widths], *cells]
    parts = _parts(widths, max_width)
    return "\n\n".join("\n".join(line for row in whole for line in lines(row, part)) for part in parts)


def _column_width(name: str, cells: Sequence[str], *, first: bool) -> int:
    """Return the width of a column; a longer name above it, or in the first column, is broken."""
    body = max(map(display_width, cells), default=0)
    if first:
        return min(max(display_width(name), body), LONGEST_LABEL)
    return max(body, min(display_width(name), LONGEST_NAME))


def _narrowed(widths: Sequence[int], max_width: int) -> list[int]:
    """Return widths at which the first column and any other fit on one line.

    >>> _narrowed([4, 10, 30], 40), _narrowed([30, 10, 25], 40), _narrowed([30, 10], 42)
    ([4, 10, 30], [18, 10, 20], [30, 10])
    """
    first, *others = widths
    if first + 2 + max(others, default=0) <= max_width:
        return list(widths)
    half = max(1, (max_width - 2) // 2)
    first = min(first, max(half - 1, max_width - 2 - max(others, default=0)))
    return [first, *(min(width, max(1, max_width - 2 - first)) for width in others)]


def _parts(widths: Sequence[int], max_width: int | None) -> list[list[int]]:
    """Return the columns of each part of a table: the first one, and as many others as fit.

    >>> _parts([4, 10, 10, 30], 30), _parts([4, 10, 10, 30], None)
    ([[0, 1, 2], [0, 3]], [[0, 1, 2, 3]])
    """
    parts, free = [[0]], 0
    for place in range(1, len(widths)):
        free -= widths[place] + 2
        if free < 0 and max_width is not None and len(parts[-1]) > 1:
            parts.append([0])
        if len(parts[-1]) == 1:
            free = (max_width or 0) - widths[0] - widths[place] - 2
        parts[-1].append(place)
    return parts


def _pad(text: str, width: int, *, to_the_right: bool) -> str:
    blank = " " * (width - display_width(text))
    return blank + text if to_the_right else text + blank


def _text(value: Cell) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else printable(value, one_line=True)


def line_width(stream: TextIO) -> int | None:
    """Return the width of the terminal; None for a file."""
    if not stream.isatty():
        return None
    import shutil  # imports compression libraries

    return shutil.get_terminal_size().columns


def can_redraw(stream: TextIO) -> bool:
    """Return whether a line can be drawn again: on a terminal that is not dumb."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"
