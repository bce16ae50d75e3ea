"""How a task is to be loaded, whatever it comes from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from steelyard.config import Settings
from steelyard.datasets.problems import Validate

Generation = Literal["v1", "v2"]
"""Which repositories of a published benchmark: `v1`, those that mteb 1.14 reads, or `v2`, those of mteb 2."""


@dataclass(frozen=True)
class LoadOptions:
    """Every choice that a source may heed."""

    revision: str | None = None
    """A commit, tag or branch of a hub dataset."""
    validate: Validate | None = None
    """None: `strict` for files of one's own, `report` for published sets, which nobody here can mend."""
    candidates: tuple[str, ...] | None = None
    """The candidate lists to load, by name; None: all."""
    generation: Generation | None = None
    """None: `v2`, unless a name says otherwise."""
    settings: Settings = field(default_factory=Settings.load)
    """Network, hub, folder of copies and cache folder."""
