"""The progress of a run as a small file in its results folder, so that the served leaderboard can show it."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from steelyard.engine.events import Event, Finished, Listener, Planned, Started
from steelyard.errors import ResultError
from steelyard.files import write_output

FILE = ".steelyard-progress.json"
INTERVAL = 1.0
"""Seconds between two writes."""
STALE = 120.0
"""A file that was not written for so many seconds is that of a run that was killed."""


class ProgressFile:
    """Follows the events of a batch and writes how far it is."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._state: dict[str, Any] = {"done": 0, "failed": 0, "total": 0, "model": "", "task": ""}
        self._written = 0.0

    def following(self, listen: Listener) -> Listener:
        """Return a listener that also keeps the file up to date."""

        def both(event: Event) -> None:
            listen(event)
            self._take(event)

        return both

    def __enter__(self) -> ProgressFile:
        return self

    def __exit__(self, *reason: object) -> None:
        """Remove the file."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _take(self, event: Event) -> None:
        if isinstance(event, Planned):
            self._state["total"] = event.evaluations
        elif isinstance(event, Started):
            self._state |= {"model": event.model, "task": event.task}
        elif isinstance(event, Finished):
            self._state["done"] += 1
            self._state["failed"] += not event.result.done
        now = time.monotonic()
        if now - self._written >= INTERVAL and self._path.parent.is_dir():
            self._written = now
            with suppress(ResultError):  # the results themselves report what is wrong with the folder
                write_output(self._path, json.dumps(self._state).encode())


def read_progress(folder: Path) -> dict[str, Any] | None:
    """Return how far the run into this folder is; None if there is none."""
    path = folder / FILE
    try:
        if time.time() - path.stat().st_mtime > STALE:
            return None
        state = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return state if isinstance(state, dict) else None
