"""What is stored of each encoder, read from the files."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from steelyard.encoders.cache import blob_store, budget
from steelyard.encoders.cache import vector_file as segments
from steelyard.encoders.cache.vector_store import DESCRIPTION_FILE
from steelyard.types.protocols import ModelSettings

COUNT_FIELDS = {segments.MARK: (segments.HEADER, 2), blob_store.MARK: (blob_store.HEADER, 1)}
"""The header of each file format, and the field with the number of encodings."""


@dataclass(frozen=True)
class StoredEncoder:
    """The stored encodings of one encoder with one choice of settings."""

    folder: Path
    encoder: str
    """The encoder's name; empty if it is not known."""
    settings: ModelSettings
    files: int
    bytes: int
    encodings: int
    """Vectors, sparse vectors, token vectors or scores; one that is in two files counts twice."""


def inventory(home: Path) -> list[StoredEncoder]:
    """Return everything that is stored, by folder."""
    folder = home / budget.FOLDER
    return [_read_folder(path) for path in sorted(folder.iterdir()) if path.is_dir()] if folder.is_dir() else []


def _read_folder(folder: Path) -> StoredEncoder:
    description: dict[str, object] = {}
    with suppress(OSError, ValueError, RecursionError):
        content = json.loads((folder / DESCRIPTION_FILE).read_text(encoding="utf-8"))
        description = content if isinstance(content, dict) else {}
    files = size = encodings = 0
    for entry in budget.entries(folder):
        if entry.name.endswith(budget.SUFFIX):
            with suppress(FileNotFoundError):  # trimmed or merged meanwhile
                size += entry.stat().st_size
                encodings += _count(Path(entry.path))
                files += 1
    settings = description.get("settings")
    name = str(description.get("name", ""))
    return StoredEncoder(folder, name, settings if isinstance(settings, dict) else {}, files, size, encodings)


def _count(path: Path) -> int:
    with path.open("rb") as file:
        head = file.read(64)
    header, field = COUNT_FIELDS.get(head[:8], (None, 0))
    return int(header.unpack(head[: header.size])[field]) if header and len(head) >= header.size else 0
