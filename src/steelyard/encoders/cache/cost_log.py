"""What encoding has cost, kept with the vectors: a run that reads them from the store shows what they took to make."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard.files import read_cached, write_cached

NAME = "costs.json"
TASKS = "tasks"


def record_cost(folder: Path, role: str, texts: int, seconds: float) -> None:
    """Add the seconds of encoding so many texts, or of scoring so many pairs, to the log of a store."""
    if texts < 1:
        return
    log = read_cached(folder / NAME)
    before = log.get(role) if isinstance(log.get(role), dict) else {}
    known = {name: value for name, value in (before or {}).items() if isinstance(value, int | float)}
    log[role] = {"texts": known.get("texts", 0) + texts, "seconds": known.get("seconds", 0.0) + seconds}
    write_cached(folder / NAME, log)


def record_task(folder: Path, key: str) -> None:
    """Keep with the vectors of a store that it has all those of a task; the key names the task and its texts."""
    log = read_cached(folder / NAME)
    if folder.is_dir() and key not in (tasks := _tasks(log)):
        write_cached(folder / NAME, {**log, TASKS: [*tasks, key]})


def recorded_tasks(folder: Path) -> frozenset[str]:
    """Return the keys of the tasks whose vectors a store has had; some of them may have been trimmed since.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     record_task(Path(name), "NanoX/en")
    ...     record_cost(Path(name), "query", 1, 1.0)
    ...     sorted(recorded_tasks(Path(name)))
    ['NanoX/en']
    """
    return frozenset(_tasks(read_cached(folder / NAME)))


def _tasks(log: Mapping[str, Any]) -> list[str]:
    tasks = log.get(TASKS)
    return [str(task) for task in tasks] if isinstance(tasks, list) else []


def stored_seconds(folder: Path, role: str, texts: int) -> float | None:
    """Return what so many texts of the store took to encode, by the mean of all of them; None if it is not known.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     record_cost(Path(name), "document", 100, 5.0)
    ...     stored_seconds(Path(name), "document", 20), stored_seconds(Path(name), "query", 20)
    (1.0, None)
    """
    log = read_cached(folder / NAME).get(role)
    if not isinstance(log, dict) or not log.get("texts") or not isinstance(log.get("seconds"), int | float):
        return None
    return float(log["seconds"]) / int(log["texts"]) * texts
