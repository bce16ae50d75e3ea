"""How far a build is: a line once in a while, and after an interrupt what was kept and how to go on."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steelyard.cli._ui.output import Output
    from steelyard.datasets.problems import Problem

STILL_ALIVE = 5.0
"""Seconds between two lines that say how far the work is."""
COUNTS_ALL = "reading ids"
"""The stage after which it is known how many documents there are."""


class Stages:
    """The stages of a build, each of which counts documents; a short one says nothing."""

    def __init__(self, output: Output) -> None:
        self.output = output
        self._stage, self._done, self._all = "", 0, 0
        self._told: set[Problem] = set()

    def warn(self, problems: Sequence[Problem]) -> None:
        """Print what is to be known of the source, each once: a corpus is read more than once."""
        for problem in problems:
            if problem.severity == "warning" and problem not in self._told:
                self._told.add(problem)
                self.output.note(str(problem))

    def begin(self, stage: str) -> Callable[[int], None]:
        """A stage begins; what is returned is called with the documents that were done since the last call."""
        if self._stage == COUNTS_ALL:
            self._all = self._done
        self._stage, self._done = stage, 0
        told = time.monotonic()

        def tick(done: int) -> None:
            nonlocal told
            self._done += done
            if time.monotonic() - told > STILL_ALIVE:
                told = time.monotonic()
                self.output.note(str(self))

        return tick

    def __str__(self) -> str:
        of = f" of {self._all:,}" if self._done <= self._all else ""
        return f"{self._stage}: {self._done:,}{of} documents" if self._done else self._stage

    def tell_interrupt(self, folder: Path) -> None:
        """Say where a cut was interrupted, what of it is kept in the folder, and how to go on."""
        from steelyard.build.sample.sampler import kept

        self.output.note(f"\ninterrupted while {self}" if self._stage else "\ninterrupted")
        lines = [f"{task}: {', '.join(done)}" for task, done in kept(folder).items()]
        if lines:
            self.output.note(f"kept in {folder}: " + "; ".join(lines))
            self.output.note("the same command goes on from there")
        else:
            self.output.note("nothing was done yet that could be kept; the same command starts anew")
