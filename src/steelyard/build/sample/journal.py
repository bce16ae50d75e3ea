"""What a long cut has done so far, so that an interrupted one goes on where it stopped."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.build.sample.recipe import Recipe
from steelyard.build.sample.scan import Scan
from steelyard.build.source.source import Source
from steelyard.types.protocols import Tick, no_tick

UNFINISHED = ".tmp"


class Journal:
    """Arrays by step, kept in a hidden folder under a key that names source and recipe; another key starts anew."""

    def __init__(self, folder: Path, key: str) -> None:
        self.folder = folder
        if folder.exists() and self.key_of(folder) != key:
            shutil.rmtree(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "key").write_text(key, encoding="utf-8")

    @staticmethod
    def key_of(folder: Path) -> str | None:
        """The key of the journal in a folder; None where there is none."""
        path = folder / "key"
        return path.read_text(encoding="utf-8") if path.exists() else None

    @staticmethod
    def counts(folder: Path, pattern: str) -> list[int]:
        """How many documents each step had done that is noted in a folder under such a name; 0 where it counts none."""
        counts = []
        for path in sorted(folder.glob(f"{pattern}.npz")):
            if path.stem.endswith(UNFINISHED):
                continue
            with np.load(path, allow_pickle=False) as arrays:
                counts.append(int(arrays["done"]) if "done" in arrays.files else 0)
        return counts

    def recall(self, step: str) -> dict[str, Any] | None:
        """The arrays of a step that was done before."""
        path = self.folder / f"{step}.npz"
        if not path.exists():
            return None
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}

    def note(self, step: str, **arrays: Any) -> None:
        """Remember a step as done; whole or not at all."""
        unfinished = self.folder / f"{step}{UNFINISHED}.npz"
        np.savez(unfinished, **arrays)
        unfinished.replace(self.folder / f"{step}.npz")

    def close(self) -> None:
        """The work is done: forget the steps."""
        shutil.rmtree(self.folder)


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
