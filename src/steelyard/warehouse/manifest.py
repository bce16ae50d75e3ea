"""The folder of a warehouse: which Parquet files are current, who may write, what may be removed.

`warehouse.json` lists the current files. An import writes new files first and then replaces `warehouse.json` in one
step, so a reader sees the old state or the new one. A lock lets one import run at a time. Files that no manifest
lists are left over from an import that was killed; the next import removes them.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from steelyard.errors import DataError, ResultError
from steelyard.files import TEMPORARY, remove_leftovers, with_home, write_atomic
from steelyard.warehouse.tables import SCHEMA_VERSION

FILE = "warehouse.json"
TABLES = r"files|models|scores|metrics|queries|tasks|benchmarks|benchmark_subsets|mart_\w+"
OWN = re.compile(rf"({TABLES})-[0-9a-f]{{32}}\.parquet")
"""Names of files that the warehouse writes; nothing else in the folder is ever removed."""


@dataclass(frozen=True)
class Manifest:
    """The current state: the Parquet files of each table, in order, and the next free file id."""

    parts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    next_file_id: int = 1
    schema_version: int = SCHEMA_VERSION
    marts: int = 0
    """The version of the marts; 0 before they were numbered."""

    def with_part(self, table: str, name: str) -> Manifest:
        """Return the manifest with one more file of a table."""
        return replace(self, parts={**self.parts, table: (*self.parts.get(table, ()), name)})

    def with_only(self, table: str, name: str) -> Manifest:
        """Return the manifest with one file as the whole of a table."""
        return replace(self, parts={**self.parts, table: (name,)})


class WarehouseFolder:
    """A folder with a warehouse in it, or an empty one that will get one."""

    def __init__(self, path: str | Path) -> None:
        self.path = with_home(path)

    def manifest(self) -> Manifest:
        """Return the current state; an empty one where nothing was imported yet."""
        path = self.path / FILE
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            parts = {str(table): tuple(map(str, names)) for table, names in data["parts"].items()}
            versions = int(data["schema_version"]), int(data.get("marts", 0))
            manifest = Manifest(parts, int(data["next_file_id"]), *versions)
        except FileNotFoundError:
            return Manifest()
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise DataError(
                f"the file cannot be read: {error}", path=path, hint="remove the folder and import the results again"
            ) from error
        if manifest.schema_version != SCHEMA_VERSION:
            raise DataError(
                f"the schema version of the warehouse must be {SCHEMA_VERSION}, got {manifest.schema_version}",
                path=path,
                hint="remove the folder and import the results again",
            )
        return manifest

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock of the folder; a second import waits."""
        if self.path.exists() and not (self.path / FILE).exists() and any(self.path.iterdir()):
            names = [entry.name for entry in self.path.iterdir() if entry.name != ".lock"]
            strangers = [name for name in names if not OWN.fullmatch(name) and not TEMPORARY.fullmatch(name)]
            if strangers:
                raise DataError(
                    f"the folder is not empty and is not a warehouse: it contains {strangers[0]!r}",
                    path=self.path,
                    hint="choose a new folder: --warehouse DIR",
                )
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with (self.path / ".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                remove_leftovers([self.path])
                yield
        except OSError as error:
            raise ResultError(
                f"cannot write to {self.path}: {error.strerror or error}", hint="check its permissions and free space"
            ) from error

    def new_part(self, table: str) -> Path:
        """Return the path of a file that does not exist yet."""
        return self.path / f"{table}-{uuid.uuid4().hex}.parquet"

    def commit(self, manifest: Manifest) -> None:
        """Make a state the current one."""
        state = {
            "schema_version": manifest.schema_version,
            "marts": manifest.marts,
            "next_file_id": manifest.next_file_id,
            "parts": {table: list(names) for table, names in sorted(manifest.parts.items())},
        }
        write_atomic(self.path / FILE, json.dumps(state, indent=1).encode("utf-8"))

    def remove_unlisted(self, manifest: Manifest) -> None:
        """Remove files of ours that the manifest does not list. Call it with the lock held."""
        listed = {name for names in manifest.parts.values() for name in names}
        for entry in self.path.iterdir():
            if OWN.fullmatch(entry.name) and entry.name not in listed and not entry.is_symlink():
                entry.unlink(missing_ok=True)
