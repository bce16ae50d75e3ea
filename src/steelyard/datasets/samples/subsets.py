"""The subsets of a dataset in one folder, as its card lists them: `configs:` in the front matter of README.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from steelyard.datasets.samples.splits import find_splits
from steelyard.files import parse_yaml, path_inside

TABLES = {"corpus", "queries", "qrels", "top_ranked"}
"""Configurations that are the tables of a retrieval task, and not subsets of it."""
CARD = "README.md"

Splits = Mapping[str, tuple[str, ...]]
"""Files by split, relative to the folder."""


def card_subsets(folder: Path) -> dict[str, Splits]:
    """Return the files of each subset of a folder by split; none if its card does not list several subsets."""
    listed: dict[str, Splits] = {}
    for config in _configs(folder / CARD):
        splits: dict[str, tuple[str, ...]] = {}
        for split, patterns in _patterns(config.get("data_files")):
            for pattern in patterns:
                path_inside(folder, pattern, CARD)
            paths = sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})
            names = [path.relative_to(folder).as_posix() for path in paths]
            splits |= {split: tuple(names)} if split and names else find_splits(names) if names else {}
        if splits:
            listed[str(config.get("config_name"))] = splits
    return {} if len(listed) < 2 or not TABLES.isdisjoint(listed) else listed


def _configs(card: Path) -> list[dict[str, Any]]:
    if not card.is_file():
        return []
    text = card.read_text(encoding="utf-8", errors="replace")
    if not text.startswith("---\n"):
        return []
    try:
        front = parse_yaml(text[4:].partition("\n---")[0])
    except ValueError:
        return []
    listed = front.get("configs") if isinstance(front, dict) else None
    return [config for config in listed if isinstance(config, dict)] if isinstance(listed, list) else []


def _patterns(files: object) -> Iterator[tuple[str, list[str]]]:
    """Yield splits with the patterns of their files: a pattern, a list of them, or a list of splits with theirs."""
    for entry in files if isinstance(files, list) else [files]:
        split, paths = (entry.get("split"), entry.get("path")) if isinstance(entry, dict) else (None, entry)
        patterns = [str(path) for path in (paths if isinstance(paths, list) else [paths]) if path]
        yield str(split or ""), [pattern for pattern in patterns if not pattern.startswith("/")]
