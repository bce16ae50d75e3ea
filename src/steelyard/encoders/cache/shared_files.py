"""The files of one encoder in a store that machines share: a folder, or any URL that fsspec opens (S3, GCS ...).

It has the same files as the store of one machine. A file is named after its keys and never changed, so any number of
machines may write. Only tables are read to find keys; a file is downloaded when one of its encodings is needed. A file
that is still being written, or is damaged, has a table or a size that does not fit, and does not count.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.encoders.cache.budget import SUFFIX
from steelyard.encoders.cache.key_index import KeyIndex, Keys
from steelyard.errors import MissingPart, UsageError
from steelyard.files import with_home, write_atomic
from steelyard.types import Int64

ReadTable = Callable[[Callable[[int, int], bytes]], npt.NDArray[np.void]]
"""Returns the table of a file from a function that reads a range of its bytes."""
Note = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class SharedFile:
    """The name and the keys of a file."""

    name: str
    table: npt.NDArray[np.void]


class SharedFiles:
    """Finds, downloads and uploads files. What fails is noted, and the run goes on with the local store."""

    def __init__(self, url: str, system: Any, root: str, read_table: ReadTable, note: Note) -> None:
        self.url = url
        self._system, self._root = system, root
        self._read_table, self._note = read_table, note
        self._files: dict[str, SharedFile] = {}
        self._index: KeyIndex[SharedFile] = KeyIndex([])

    @classmethod
    def of(cls, url: str | None, folder: str, read_table: ReadTable, note: Note) -> SharedFiles | None:
        """Return the files of an encoder's folder at a URL or path; None without one."""
        if url is None:
            return None
        fsspec: Any = importlib.import_module("fsspec")  # comes with huggingface_hub
        location = url if "://" in url else with_home(url).absolute().as_uri()
        try:
            system, root = fsspec.core.url_to_fs(location.rstrip("/"))
        except ImportError as error:
            raise MissingPart(f"the store {url} needs a package: {error}", hint="pip install s3fs") from error
        except ValueError as error:
            expected = "a folder or a URL such as s3://BUCKET/PATH"
            raise UsageError.invalid("vectors", expected=expected, found=url, option="vectors") from error
        return cls(f"{url.rstrip('/')}/{folder}", system, f"{root}/{folder}", read_table, note)

    def has(self, keys: Keys) -> npt.NDArray[np.bool_]:
        """Return which keys are stored."""
        stored = np.zeros(len(keys), dtype=bool)
        for _, places, _ in self._located(keys, np.arange(len(keys))):
            stored[places] = True
        return stored

    def files_with(self, keys: Keys, wanted: Int64) -> Iterator[tuple[str, bytes, Int64, Int64]]:
        """Yield the name and content of each file with some of the wanted keys, these keys, and their rows in it."""
        if not len(wanted):
            return
        for file, stored, rows in self._located(keys, wanted):
            content = self._try("be read", partial(self._system.cat_file, f"{self._root}/{file.name}"))
            if content is not None:
                yield file.name, content, stored, rows

    def upload(self, name: str, *parts: bytes | memoryview) -> None:
        """Write a file."""
        path = f"{self._root}/{name}"
        if "file" in _protocols(self._system):
            self._try("be written", lambda: write_atomic(Path(path), *parts))
        else:
            self._try("be written", lambda: self._system.pipe_file(path, b"".join(parts)))

    def _located(self, keys: Keys, wanted: Int64) -> list[tuple[SharedFile, Int64, Int64]]:
        """Return the files with some of the keys; lists the store again if a key is missing."""
        located = self._index.locate(keys, wanted)
        if sum(len(stored) for _, stored, _ in located) < len(wanted) and self._refresh():
            located = self._index.locate(keys, wanted)
        return located

    def _refresh(self) -> bool:
        """Read the tables of new files; return whether there are any."""
        names = self._try("be listed", self._names) or []
        fresh = [name for name in names if name not in self._files]
        for name in fresh:
            table = self._try("be read", partial(self._read_table, self._reader(name)))
            if table is not None and len(table):
                self._files[name] = SharedFile(name, table)
        if fresh:
            self._index = KeyIndex(list(self._files.values()))
        return bool(fresh)

    def _names(self) -> list[str]:
        self._system.invalidate_cache()
        try:
            paths = self._system.ls(self._root, detail=False)
        except FileNotFoundError:
            return []
        return sorted(name for path in paths if (name := path.rpartition("/")[2]).endswith(SUFFIX))

    def _reader(self, name: str) -> Callable[[int, int], bytes]:
        return lambda start, end: bytes(self._system.cat_file(f"{self._root}/{name}", start=start, end=end))

    def _try(self, what: str, work: Callable[[], Any]) -> Any:
        """Return what the work returns; None, with a note, if the store cannot be reached or is full."""
        try:
            return work()
        except _store_errors() as error:
            reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
            self._note(f"the store {self.url} cannot {what}: {reason}")
            return None


def _protocols(system: Any) -> tuple[str, ...]:
    protocol = system.protocol
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)


def _store_errors() -> tuple[type[Exception], ...]:
    """Return what a store may raise: an OSError, or an error of an S3 client if one is in use."""
    module: Any = sys.modules.get("botocore.exceptions")
    return (OSError, module.BotoCoreError, module.ClientError) if module is not None else (OSError,)
