"""Which files hold which split of a dataset, told from their names: as `datasets` pushes them, or as people write them.

data/test-00000-of-00001-0a1b2c3d4e5f6071.parquet    default/test/0000.parquet    test.jsonl.gz    sts/test.csv
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from steelyard.datasets.tables.files import missing_shards
from steelyard.errors import DataError

FILE = re.compile(
    r"(?:(?P<folder>.+?)/)?(?P<split>[^/]+?)"
    r"(?:-\d{5}-of-\d{5}(?:-[0-9a-f]{16,})?|/\d{4,})?"
    r"\.(?:parquet|jsonl|ndjson|json|csv|tsv)(?:\.gz|\.zst|\.bz2)?",
    re.IGNORECASE,
)
NO_DATA = {"task", "manifest", "dataset_infos", "dataset_info", "dataset_dict", "state", "config"}
"""Files beside the data."""
USUAL = ("", "data", "default", "data/default")
"""Folders of the only configuration, in the order in which they are looked into."""
SYNONYMS = (("test", "testing"), ("validation", "valid", "val", "dev", "eval"), ("train", "training"))
"""Names of the same split; what an evaluation prefers comes first."""


def find_splits(names: Iterable[str], config: str = "") -> dict[str, tuple[str, ...]]:
    """The files of each split, in the order of their shards. A DataError where shards are missing.

    >>> find_splits(["README.md", "data/test-00000-of-00001-0123456789abcdef.parquet", "data/train.jsonl"])
    {'test': ('data/test-00000-of-00001-0123456789abcdef.parquet',), 'train': ('data/train.jsonl',)}
    """
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name in sorted(names):
        match = FILE.fullmatch(name)
        if match is None or match["split"].lower() in NO_DATA or name.startswith("."):
            continue
        folder, split = match["folder"] or "", match["split"].lower()
        found[split][folder].append(name)
    chosen = {split: _choose(split, folders, config) for split, folders in found.items()}
    for split, folder in chosen.items():
        if folder is not None and (missing := missing_shards(found[split][folder])):
            raise DataError(
                f"the split {split!r} has no {', '.join(missing)}",
                where=f"{folder}/{split}".lstrip("/"),
                hint="fetch the missing files, or remove a leftover of an earlier version",
            )
    return {split: tuple(found[split][folder]) for split, folder in chosen.items() if folder is not None}


def matching_split(split: str, known: Iterable[str]) -> str | None:
    """The split of that name, or one that goes by another name of it.

    >>> matching_split("dev", ["train", "validation"]), matching_split("test", ["train"])
    ('validation', None)
    """
    listed = list(known)
    if split in listed:
        return split
    names = next((names for names in SYNONYMS if split in names), ())
    return next((name for name in names if name in listed), None)


def evaluation_split(known: Iterable[str]) -> str | None:
    """The split that stands for a dataset: test, else validation, else the only one that is not for training."""
    listed = list(known)
    for wanted in ("test", "validation"):
        if (found := matching_split(wanted, listed)) is not None:
            return found
    others = [split for split in listed if split not in SYNONYMS[2]]
    return others[0] if len(others) == 1 else listed[0] if len(listed) == 1 else None


def _choose(split: str, folders: Mapping[str, list[str]], config: str) -> str | None:
    if config:
        return next((folder for folder in folders if folder.rpartition("/")[2] == config), None)
    usual = next((folder for folder in USUAL if folder in folders), None)
    return usual if usual is not None else next(iter(folders)) if len(folders) == 1 else None
