"""Which files hold which split of a dataset, by their names: as `datasets` writes them, or as people do.

    data/test-00000-of-00001-0a1b2c3d4e5f6071.parquet    default/test/0000.parquet    test.jsonl.gz    sts/test.csv
    test/data-00000-of-00001.arrow

The subsets of a folder are those that its card lists: `configs:` in the front matter of README.md.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from steelyard.datasets.formats.saved_dataset import arrow_split
from steelyard.datasets.tables.files import missing_shards
from steelyard.errors import DataError
from steelyard.files import parse_yaml, path_inside

FILE = re.compile(
    r"(?:(?P<folder>.+?)/)?(?P<split>[^/]+?)"
    r"(?:-\d{5}-of-\d{5}(?:-[0-9a-f]{16,})?|/\d{4,})?"
    r"\.(?:parquet|arrow|jsonl|ndjson|json|csv|tsv)(?:\.gz|\.zst|\.bz2)?",
    re.IGNORECASE,
)
NO_DATA = {"task", "manifest", "dataset_infos", "dataset_info", "dataset_dict", "state", "config"}
"""Files that are not data."""
USUAL = ("", "data", "default", "data/default")
"""Folders of the only configuration, in order of preference."""
SYNONYMS = (("test", "testing"), ("validation", "valid", "val", "dev", "eval"), ("train", "training"))
"""Names of the same split; the preferred split for evaluation comes first."""


def find_splits(names: Iterable[str], config: str = "") -> dict[str, tuple[str, ...]]:
    """Return the files of each split, in the order of their shards. A DataError if shards are missing.

    >>> find_splits(["README.md", "data/test-00000-of-00001-0123456789abcdef.parquet", "data/train.jsonl"])
    {'test': ('data/test-00000-of-00001-0123456789abcdef.parquet',), 'train': ('data/train.jsonl',)}
    """
    files_by_split: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name in sorted(names):
        match = FILE.fullmatch(name)
        if match is None or match["split"].lower() in NO_DATA or name.startswith("."):
            continue
        folder, split = arrow_split(name) or (match["folder"] or "", match["split"].lower())
        files_by_split[split][folder].append(name)
    chosen = {split: _choose(split, folders, config) for split, folders in files_by_split.items()}
    for split, folder in chosen.items():
        if folder is not None and (missing := missing_shards(files_by_split[split][folder])):
            raise DataError(
                f"the split {split!r} lacks {', '.join(missing)}",
                where=f"{folder}/{split}".lstrip("/"),
                hint="download the missing files, or remove those of an older version",
            )
    return {split: tuple(files_by_split[split][folder]) for split, folder in chosen.items() if folder is not None}


def matching_split(split: str, known: Iterable[str]) -> str | None:
    """Return the split of that name, or of a synonym; None if there is none.

    >>> matching_split("dev", ["train", "validation"]), matching_split("test", ["train"])
    ('validation', None)
    """
    listed = list(known)
    if split in listed:
        return split
    names = next((names for names in SYNONYMS if split in names), ())
    return next((name for name in names if name in listed), None)


def evaluation_split(known: Iterable[str]) -> str | None:
    """Return the split to evaluate: test, else validation, else the only one that is not for training."""
    listed = list(known)
    for preferred in ("test", "validation"):
        if (match := matching_split(preferred, listed)) is not None:
            return match
    others = [split for split in listed if split not in SYNONYMS[2]]
    return others[0] if len(others) == 1 else listed[0] if len(listed) == 1 else None


def _choose(split: str, folders: Mapping[str, list[str]], config: str) -> str | None:
    if config:
        return next((folder for folder in folders if folder.rpartition("/")[2] == config), None)
    usual = next((folder for folder in USUAL if folder in folders), None)
    return usual if usual is not None else next(iter(folders)) if len(folders) == 1 else None


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
