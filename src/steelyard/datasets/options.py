"""How a task is to be loaded, whatever it comes from."""

from __future__ import annotations

from dataclasses import dataclass

from steelyard import config
from steelyard.datasets.problems import Validate


@dataclass(frozen=True)
class LoadOptions:
    """Every choice that a source may heed."""

    revision: str | None = None
    """A commit, tag or branch of a hub dataset."""
    offline: bool | None = None
    """True: never reach for the network; None: as the environment says."""
    validate: Validate | None = None
    """None: `strict` for files of one's own, `report` for published sets, which nobody here can mend."""
    candidates: tuple[str, ...] | None = None
    """The candidate lists to load, by name; None: all."""

    @property
    def no_network(self) -> bool:
        """Whether the network is off limits."""
        return config.offline() if self.offline is None else self.offline
