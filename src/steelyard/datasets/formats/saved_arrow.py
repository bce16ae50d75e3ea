"""Folders that `datasets` wrote with `save_to_disk`: Arrow files by split, with JSON files about them."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from steelyard.config import Settings

FILE = re.compile(r"(?:(?P<home>.+)/)?(?:data-\d{5}-of-\d{5}|dataset)\.arrow")
"""`test/data-00000-of-00001.arrow`; older versions wrote `test/dataset.arrow`."""
MARKS = ("dataset_dict.json", "state.json")
"""Files that are in every such folder, or in the folders of its splits."""


def arrow_split(name: str) -> tuple[str, str] | None:
    """Return the folder and the split of a file of `save_to_disk`; None for any other file.

    >>> arrow_split("ko-ko/test/data-00000-of-00001.arrow"), arrow_split("data-00000-of-00001.arrow")
    (('ko-ko', 'test'), ('', ''))
    >>> arrow_split("test.arrow") is None
    True
    """
    match = FILE.fullmatch(name)
    if match is None:
        return None
    folder, _, split = (match["home"] or "").rpartition("/")
    return folder, split


def arrow_view(folder: Path, settings: Settings) -> Path | None:
    """Return a folder of links to the Arrow files alone, which `datasets.load_dataset` reads; None if there are none.

    `load_dataset` refuses a folder of `save_to_disk`, and takes the JSON files in it for data.
    """
    files = sorted(path for path in folder.rglob("*.arrow") if arrow_split(path.relative_to(folder).as_posix()))
    if not files or not any(next(folder.rglob(mark), None) for mark in MARKS):
        return None
    stamps = [f"{path.absolute()} {path.stat().st_mtime_ns} {path.stat().st_size}" for path in files]
    view = settings.home / "arrow" / hashlib.sha256("\n".join(stamps).encode()).hexdigest()[:16] / folder.name
    configs: dict[str, dict[str, str]] = {}
    for path in files:
        home, split = arrow_split(path.relative_to(folder).as_posix()) or ("", "")
        config, split = home.replace("/", "-") or "default", split or "test"
        link = view / config / split / path.name
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.exists():
            link.symlink_to(path.absolute())
        configs.setdefault(config, {})[split] = f"{config}/{split}/*.arrow"
    lines = ["---", "configs:"]
    for config, splits in configs.items():
        lines += [f'- config_name: "{config}"', "  data_files:"]
        lines += [line for split, path in splits.items() for line in (f"  - split: {split}", f'    path: "{path}"')]
    (view / "README.md").write_text("\n".join([*lines, "---", ""]), encoding="utf-8")
    return view
