"""Progress of a scan: rows, rows per second and matches so far, on standard error."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from steelyard.cli._ui.output import CLEAR, can_redraw

if TYPE_CHECKING:
    from steelyard.cli._ui.output import Output

SOON = 2.0
"""Seconds before the first line."""
PLAIN = 15.0
"""Seconds between two lines where a line cannot be drawn again."""
REDRAW = 0.2


class ScanProgress:
    """Prints how far a scan is: one line that is drawn again on a terminal, a line now and then elsewhere."""

    def __init__(self, output: Output) -> None:
        self.output, self.terminal = output, can_redraw(sys.stderr)
        self._began = time.monotonic()
        self._next = self._began + SOON
        self._drawn = False

    def __enter__(self) -> ScanProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn and self.terminal:
            sys.stderr.write(CLEAR)

    def __call__(self, file: str, rows: int, size: int, matches: int) -> None:
        """Report the state of the scan if the last report is old enough."""
        now = time.monotonic()
        if self.output.quiet or now < self._next:
            return
        rate = rows / max(now - self._began, 1e-9)
        line = f"{file}: {rows:,} rows, {size / 1e6:,.0f} MB, {rate:,.0f} rows/s, {matches:,} matches"
        sys.stderr.write(f"{CLEAR}{line}" if self.terminal else f"{line}\n")
        sys.stderr.flush()
        self._drawn = True
        self._next = now + (REDRAW if self.terminal else PLAIN)
