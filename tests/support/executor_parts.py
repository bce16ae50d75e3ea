"""Results as executors must agree on them: without timings, provenance and how vectors were obtained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TIMINGS = {"evaluation_time", "created", "timings", "peak_memory_bytes", "provenance", "search_seconds"}
TIMINGS |= {"encode_seconds", "encode_seconds_stored", "open_seconds"}
OBTAINED = {
    "texts_encoded",
    "texts_from_cache",
    "cache_problems",
    "encode_seconds",
    "encode_seconds_stored",
    "open_seconds",
    "rerank_seconds",
    "rerank_seconds_stored",
}


def comparable(path: Path) -> dict[str, Any]:
    """Return the content of a result file without what may differ."""
    return _without(json.loads(path.read_text()))


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without(item) for name, item in value.items() if name not in TIMINGS | OBTAINED}
    return [_without(item) for item in value] if isinstance(value, list) else value


def stored_results(folder: Path) -> dict[str, Any]:
    """Return every result of a folder, and the bytes of the scores by query and of the runs."""
    files = sorted(folder.rglob("*.json"))
    assert files
    contents: dict[str, Any] = {str(path.relative_to(folder)): comparable(path) for path in files}
    for path in folder.rglob("*.parquet"):
        contents[str(path.relative_to(folder))] = path.read_bytes()
    return contents
