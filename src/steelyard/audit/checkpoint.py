"""The state of a scan on disk, so that an interrupted audit continues where it stopped."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.audit.match_log import MATCH, Matches
from steelyard.files import write_atomic

if TYPE_CHECKING:
    from steelyard.audit.scan import Scan
    from steelyard.audit.semantic import SemanticIndex

STATE = "state.json"
INTERVAL = 10.0
"""Seconds between two saved states."""


class Checkpoint:
    """A folder with `state.json`: facts of the files, problems, evidence and matches, under a key.

    The key hashes the evaluation side, the settings and the training files: another audit starts anew.
    """

    def __init__(
        self, folder: Path, key: str, *, interval: float = INTERVAL, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.folder, self.key, self.interval, self._clock = folder, key, interval, clock
        self._saved = clock()

    def save_if_due(self, scan: Scan, semantic: SemanticIndex | None = None) -> None:
        """Save the state if the last one is old enough."""
        if self._clock() - self._saved >= self.interval:
            self.save(scan, semantic)

    def save(self, scan: Scan, semantic: SemanticIndex | None = None) -> None:
        """Write the state, whole or not at all."""
        buffer = io.BytesIO()
        np.save(buffer, scan.log.table)
        name = f"matches-{len(scan.log)}-{scan.rows}.npy"
        write_atomic(self.folder / name, buffer.getvalue())
        state = {
            "key": self.key,
            "files": [facts.to_dict() for facts in scan.files],
            "problems": scan.problems.to_dict(),
            "log": scan.log.to_state(),
            "semantic": None if semantic is None else semantic.to_state(),
            "matches": name,
        }
        write_atomic(self.folder / STATE, json.dumps(state).encode())
        for old in self.folder.glob("matches-*.npy"):
            if old.name != name:
                old.unlink(missing_ok=True)
        self._saved = self._clock()

    def load(self) -> tuple[dict[str, Any], Matches] | None:
        """Return the saved state and the matches; None where there are none of this audit."""
        try:
            state = json.loads((self.folder / STATE).read_text(encoding="utf-8"))
            if state["key"] != self.key:
                return None
            table = np.load(self.folder / state["matches"], allow_pickle=False)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):  # a damaged state is as good as none
            return None
        return (state, table) if table.dtype == MATCH else None

    def remove(self) -> None:
        """Remove the state: the audit is complete."""
        for path in (self.folder / STATE, *self.folder.glob("matches-*.npy")):
            path.unlink(missing_ok=True)
