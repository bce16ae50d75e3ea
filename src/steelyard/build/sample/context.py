"""One task while it is being cut: what every step of the work needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from steelyard.build.sample.journal import Journal
from steelyard.build.sample.recipe import Recipe
from steelyard.build.sample.scan import Scan
from steelyard.build.source.source import Source
from steelyard.types.protocols import Tick, no_tick

Watch = Callable[[str], Tick]
"""Called with the name of a stage; what it returns is called with the documents read since the last call."""


def unwatched(stage: str) -> Tick:
    """The watch of someone who does not look."""
    return no_tick


@dataclass(frozen=True, eq=False)
class Cutting:
    """Where the task comes from and what it is to become; the journal keeps what is done, the watch is told of it."""

    source: Source
    recipe: Recipe
    scanned: Scan
    journal: Journal
    watch: Watch = unwatched
