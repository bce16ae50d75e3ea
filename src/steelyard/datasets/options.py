"""Options of loading a task, for every source."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from steelyard.config import Settings
from steelyard.datasets.problems import Validate

Generation = Literal["v1", "v2"]
"""Which repositories of a published benchmark: `v1`, those that mteb 1.14 reads, or `v2`, those of mteb 2."""


@dataclass(frozen=True)
class LoadOptions:
    """Every option that a source may use."""

    revision: str | None = None
    """A commit, tag or branch of a hub dataset."""
    validate: Validate | None = None
    """None: `strict` for your own files, `report` for published sets, which you cannot fix."""
    candidates: tuple[str, ...] | None = None
    """The candidate lists to load, by name; None: all."""
    generation: Generation | None = None
    """None: `v2`, unless the name has another."""
    settings: Settings = field(default_factory=Settings.load)
    """Network, hub, folder of copies and cache folder."""
