"""The splits that data on this machine has: by its files, or by a column of its only one."""

from __future__ import annotations

from pathlib import Path

from steelyard.datasets.formats.folder import listing
from steelyard.datasets.formats.layout import find_tasks
from steelyard.datasets.problems import Report
from steelyard.datasets.samples.build import divided
from steelyard.datasets.samples.location import find
from steelyard.datasets.samples.roles import ROLES
from steelyard.datasets.tables.tabular import read_table


def own_splits(path: str, type: str = "retrieval") -> list[str]:
    """The names that may stand behind `path::`; none where the data is one whole."""
    folder = Path(path).expanduser()
    if folder.is_dir() and (found := find_tasks(listing(folder))):
        return [split for split in found if split]
    if type not in ROLES:
        return []
    files = getattr(find(f"{type}:{path}")[0], "files", {})  # none, where a type was named of three files
    if "" not in files:
        return list(files)
    table = read_table(files[""], ROLES[type], Report())
    return [] if table is None else [split for split in divided(table, "")[0] if split]
