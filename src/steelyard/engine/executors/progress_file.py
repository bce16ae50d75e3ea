"""`progress.jsonl` in the folder of results: how far a batch is, for the live leaderboard and other readers.

It has one line, is written at most once a second, and only for batches that take longer than two. `updated` and `pid`
show whether the batch is still running.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard.engine.batch import Batch
from steelyard.engine.events import Distributed, Event, Finished, Listener, Loading, Planned, Started
from steelyard.files import write_atomic

FILE = "progress.jsonl"
INTERVAL = 1.0
PATIENCE = 2.0
"""Seconds before the first file is written."""


class ProgressFile:
    """A listener that writes the state of a batch to a file, then passes events on."""

    def __init__(
        self, path: Path, executor: str, listen: Listener, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._path, self._listen, self._clock = path, listen, clock
        self._began = self._written = clock()
        self._exists = False
        self.state: dict[str, Any] = {
            "executor": executor,
            "state": "running",
            "pid": os.getpid(),
            "host": platform.node(),
            "started": _now(),
            **dict.fromkeys(("evaluations", "finished", "stored", "failed"), 0),
            "activity": "",
            "workers": None,
        }

    def __call__(self, event: Event) -> None:
        """Take one event."""
        self._listen(event)
        state = self.state
        match event:
            case Planned():
                state["evaluations"] = event.evaluations
            case Loading(task):
                state["activity"] = f"reading {task}"
            case Started(model, task, _):
                state["activity"] = f"{model} on {task}"
            case Finished(result, stored):
                state["finished"] += 1
                state["stored"] += stored
                state["failed"] += not result.done
            case Distributed():
                counts = {"texts": event.texts, "shards": event.shards, "retries": event.retries}
                state["workers"] = {"ready": event.workers, **counts}
        done = state["finished"] >= state["evaluations"] > 0
        state["state"] = "done" if done else "running"
        now = self._clock()
        if now - self._began >= PATIENCE and (now - self._written >= INTERVAL or (done and self._exists)):
            self._write(now)

    def _write(self, now: float) -> None:
        self._written, self._exists = now, True
        seconds = round(now - self._began, 1)
        content = {**self.state, "updated": _now(), "seconds": seconds}
        with contextlib.suppress(OSError):  # the results themselves report a folder that cannot be written
            write_atomic(self._path, json.dumps(content, ensure_ascii=False).encode() + b"\n")


def with_progress_file(batch: Batch, executor: str) -> Batch:
    """Return the batch with a listener that also writes the progress file, if results are stored in a folder."""
    store = batch.lookup.store
    if store is None:
        return batch
    return replace(batch, listen=ProgressFile(store.folder / FILE, executor, batch.listen))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
