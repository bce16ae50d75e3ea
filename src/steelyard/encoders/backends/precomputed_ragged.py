"""Encodings that were computed elsewhere: a folder with `documents.*` and `queries.*`, by id or by text.

.npz       arrays: `ids` (or `texts`), and those of the kind; a matrix saved by scipy has its ids beside it in
           `documents.ids.txt`, one a line
.parquet   columns: `id` (or `_id`, or `text`), and those of the kind
.jsonl     one object a line with the same fields as the columns
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic

import numpy as np

from steelyard.encoders.batching import refuse_bad
from steelyard.encoders.cache.cached_ragged import B
from steelyard.errors import DataError, MissingPart
from steelyard.types import Role
from steelyard.types.protocols import ModelSettings, Tick, no_tick

STEMS = {"document": "documents", "query": "queries"}
SUFFIXES = (".npz", ".parquet", ".jsonl")
NAMES = ("id", "_id", "ids", "text", "texts")


@dataclass(frozen=True)
class Columns:
    """A file: names of its rows, and its other columns; ragged ones as (offsets, values)."""

    path: Path
    by: str
    """What the names are: `id` or `text`."""
    names: list[str]
    columns: dict[str, Any]

    def get(self, name: str) -> Any:
        """A column; one that is missing is an error that says which there are."""
        if name not in self.columns:
            found = ", ".join(sorted(self.columns)) or "none"
            raise DataError(f"no column {name!r}", where=str(self.path), hint=f"found: {found}")
        return self.columns[name]


class FileEncoder(Generic[B]):
    """Looks encodings up in files; `read` makes a bundle of a file's columns."""

    storable = False

    def __init__(self, folder: Path, read: Callable[[Columns], B], *, kind: str, similarity: str) -> None:
        self.name = str(folder)
        self.similarity = similarity
        self._kind = kind
        self._read = read
        self._paths = {role: _find(folder, stem) for role, stem in STEMS.items()}
        self._loaded: dict[str, tuple[Columns, dict[str, int], B]] = {}

    @cached_property
    def settings(self) -> ModelSettings:
        """The contents of the files, by a hash."""
        import hashlib

        files = dict(self._paths)
        files |= {f"{role}_ids": ids for role, path in self._paths.items() if (ids := _ids_beside(path)) is not None}
        hashes = {}
        for role, path in files.items():
            with path.open("rb") as file:
                hashes[role] = hashlib.file_digest(file, "blake2b").hexdigest()[:32]
        return {"encoder": "files", "kind": self._kind, **hashes}

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> B:
        """The encodings of texts; only files that go by text can give them."""
        found = self.look_up(texts, texts, role)
        tick(len(texts))
        return found

    def look_up(self, ids: Sequence[str], texts: Sequence[str], role: Role) -> B:
        """The encoding of each, by what the file goes by."""
        if role not in self._loaded:
            columns = read_columns(self._paths[role])
            self._loaded[role] = columns, {name: row for row, name in enumerate(columns.names)}, self._read(columns)
        columns, row_of, bundle = self._loaded[role]
        wanted = ids if columns.by == "id" else texts
        missing = [name for name in wanted if name not in row_of]
        if missing:
            raise DataError(
                f"{len(missing)} of {len(wanted)} {STEMS[role]} are not in the file, such as {missing[0][:60]!r}",
                where=str(columns.path),
                hint=f"the file goes by {columns.by}",
            )
        found = bundle.take(np.array([row_of[name] for name in wanted], dtype=np.int64))
        refuse_bad(np.flatnonzero(~found.finite), texts, role, self.name)
        return found


def has_files(folder: Path) -> bool:
    """Whether a folder holds encodings."""
    return folder.is_dir() and any((folder / (STEMS["document"] + suffix)).is_file() for suffix in SUFFIXES)


def _find(folder: Path, stem: str) -> Path:
    for suffix in SUFFIXES:
        if (path := folder / (stem + suffix)).is_file():
            return path
    raise MissingPart(f"no {stem}.npz, {stem}.parquet or {stem}.jsonl in {folder}", hint="name the folder that has one")


def read_columns(path: Path) -> Columns:
    """The columns of a file, whichever of the three forms it has."""
    reader = {".npz": _npz, ".parquet": _parquet, ".jsonl": _jsonl}[path.suffix]
    columns = reader(path)
    name = next((name for name in NAMES if name in columns), None)
    if name is None:
        raise DataError("nothing says which row is whose", where=str(path), hint=f"one of {', '.join(NAMES)}")
    names = [str(value) for value in columns.pop(name)]
    if len(set(names)) < len(names):
        twice = next(value for value in names if names.count(value) > 1)
        raise DataError(f"the {name} {twice[:60]!r} is there twice", where=str(path), hint="remove one of the rows")
    return Columns(path, "text" if name.startswith("text") else "id", names, columns)


def _npz(path: Path) -> dict[str, Any]:
    try:
        with np.load(path, allow_pickle=False) as stored:
            columns = {name: stored[name] for name in stored.files}
    except (ValueError, OSError) as error:
        raise DataError(f"not an npz file: {error}", where=str(path), hint="no pickled objects in it") from error
    beside = _ids_beside(path)
    if beside is not None:
        columns["ids"] = beside.read_text(encoding="utf-8-sig").splitlines()
    return columns


def _ids_beside(path: Path) -> Path | None:
    """The file that names the rows of an npz file, where there is one."""
    beside = path.with_suffix(".ids.txt")
    return beside if path.suffix == ".npz" and beside.is_file() else None


def _parquet(path: Path) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"not a Parquet file: {error}", where=str(path), hint="is it whole?") from error
    return {name: table[name].to_pylist() for name in table.column_names}


def _jsonl(path: Path) -> dict[str, Any]:
    columns: dict[str, list[Any]] = {}
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                row = json.loads(line)
            except ValueError as error:
                raise DataError(f"not JSON: {error}", where=f"{path} line {number}", hint="mend the line") from error
            if not isinstance(row, dict) or (columns and set(row) != set(columns)):
                fields = ", ".join(sorted(columns)) or "an object"
                raise DataError("not the fields of the lines before", where=f"{path} line {number}", hint=fields)
            for name, value in row.items():
                columns.setdefault(name, []).append(value)
    return columns
