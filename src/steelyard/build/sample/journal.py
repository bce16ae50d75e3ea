"""What a long sampling run has done so far, so that an interrupted one continues; and what each step of it needs."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.build.sample.recipe import Recipe
from steelyard.build.sample.scan import Scan
from steelyard.build.source.source import Source
from steelyard.types.protocols import Tick, no_tick

UNFINISHED = ".tmp"
KEY = "key"
DAMAGED = (
    OSError,
    ValueError,
    EOFError,
    KeyError,
    TypeError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    MemoryError,
)
"""What numpy and zipfile raise for a file that is not, or not completely, an archive of arrays."""

Progress = Callable[[str], Tick]
"""Called with the name of a stage; returns a function that is called with the documents read since the last call."""


def no_progress(stage: str) -> Tick:
    """Ignore the progress of a stage."""
    return no_tick


class Journal:
    """Arrays by step, in a hidden folder under a key of source and recipe; another key starts again.

    A damaged step counts as not done, and is done again.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self.folder = folder
        if folder.exists() and self.key_of(folder) != key:
            _remove(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / KEY).write_text(key, encoding="utf-8")

    @staticmethod
    def key_of(folder: Path) -> str | None:
        """Return the key of the journal in a folder; None if there is none."""
        try:
            return (folder / KEY).read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None

    @staticmethod
    def counts(folder: Path, pattern: str) -> list[int]:
        """Return how many documents each matching step in a folder had finished; 0 if it does not count any."""
        steps = (_load(path) for path in sorted(folder.glob(f"{pattern}.npz")) if not path.stem.endswith(UNFINISHED))
        return [_count(arrays) for arrays in steps if arrays is not None]

    def recall(self, step: str) -> dict[str, Any] | None:
        """Return the arrays of a step that was done before; None if it was not, or its file is damaged."""
        return _load(self.folder / f"{step}.npz")

    def note(self, step: str, **arrays: Any) -> None:
        """Store a step as done; its file is written whole or not at all."""
        unfinished = self.folder / f"{step}{UNFINISHED}.npz"
        np.savez(unfinished, **arrays)
        unfinished.replace(self.folder / f"{step}.npz")

    def close(self) -> None:
        """Remove the steps: the work is done."""
        _remove(self.folder)


def _count(arrays: dict[str, Any]) -> int:
    done = arrays.get("done")
    return int(done) if done is not None and done.shape == () and done.dtype.kind in "iu" else 0


def _load(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (*DAMAGED, zipfile.BadZipFile, zlib.error, struct.error):
        return None


def _remove(folder: Path) -> None:
    """Remove the files of a journal, and the folder if nothing else is in it."""
    for path in (folder / KEY, *folder.glob("*.npz")):
        path.unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


@dataclass(frozen=True, eq=False)
class SamplingContext:
    """What every step of sampling one task needs: source, recipe, scan, journal and progress."""

    source: Source
    recipe: Recipe
    scanned: Scan
    journal: Journal
    progress: Progress = no_progress
