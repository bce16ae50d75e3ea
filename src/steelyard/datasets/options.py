"""How a task is to be loaded, whatever it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from steelyard import config
from steelyard.datasets.problems import Validate

Generation = Literal["v1", "v2"]
"""Which repositories of a published benchmark: `v1`, those that mteb 1.14 reads, or `v2`, those of mteb 2."""


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
    hub: str | None = None
    """Where published datasets come from: `huggingface` or `modelscope`; None: as the environment says."""
    data: Path | None = None
    """A folder of copies of published datasets, read instead of any hub; None: as the environment says."""
    generation: Generation | None = None
    """None: `v2`, unless a name says otherwise."""

    @property
    def no_network(self) -> bool:
        """Whether the network is off limits."""
        return config.offline() if self.offline is None else self.offline

    @property
    def hub_name(self) -> str:
        """Where published datasets come from, unless they are on this machine."""
        return self.hub or config.hub()

    @property
    def data_folder(self) -> Path | None:
        """The folder of copies, if any."""
        return self.data or config.data_folder()
