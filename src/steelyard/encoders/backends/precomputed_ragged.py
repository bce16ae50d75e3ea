"""Token vectors or sparse vectors that were computed elsewhere: a folder with `documents.*` and `queries.*`.

.npz       arrays: `ids` (or `texts`), and those of the kind; a matrix saved by scipy has its ids in
           `documents.ids.txt`, one per line
.parquet   columns: `id` (or `_id`, or `text`), and those of the kind
.jsonl     one object per line with the same fields as the columns
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic

import numpy as np

from steelyard.config import Settings
from steelyard.encoders.backends.precomputed import read_id_lines
from steelyard.encoders.batching import excerpt, raise_not_finite
from steelyard.encoders.cache.cached_ragged import B
from steelyard.encoders.float_arrays import load_arrays, load_parquet, translated_errors
from steelyard.errors import DataError, MissingPart, ModelError
from steelyard.files import file_hash
from steelyard.types import Int64, Role
from steelyard.types.protocols import ModelSettings, Tick, no_tick

STEMS = {"document": "documents", "query": "queries"}
SUFFIXES = (".npz", ".parquet", ".jsonl")
NAME_COLUMNS = ("id", "_id", "ids", "text", "texts")


@dataclass(frozen=True)
class Columns:
    """A file: the names of its rows, and its other columns."""

    path: Path
    key: str
    """What the names are: `id` or `text`."""
    names: list[str]
    columns: dict[str, Any]

    def get(self, name: str) -> Any:
        """Return a column; raise a DataError that lists the columns if it is missing."""
        if name not in self.columns:
            columns = ", ".join(sorted(self.columns)) or "none"
            raise DataError(
                f"the column {name!r} is missing", path=self.path, field=name, found=columns, hint=f"it has: {columns}"
            )
        return self.columns[name]

    def integers(self, name: str) -> Int64:
        """Return a column of integers."""
        column = np.asarray(self.get(name))
        if column.ndim != 1 or column.dtype.kind not in "iu":
            description = f"{column.dtype} of shape {column.shape}"
            raise DataError.invalid(
                f"the column {name!r}", expected="a list of integers", found=description, path=self.path
            )
        return column.astype(np.int64)


class PrecomputedRagged(Generic[B]):
    """An encoder that looks encodings up in files; `read` turns the columns of a file into encodings."""

    storable = False

    def __init__(
        self,
        folder: Path,
        read: Callable[[Columns], B],
        *,
        kind: str,
        similarity: str,
        settings: Settings | None = None,
    ) -> None:
        self.name = str(folder)
        self.similarity = similarity
        self._kind = kind
        self._home = (settings or Settings.load()).home
        self._read = read
        self._paths = {role: _file_in_folder(folder, stem) for role, stem in STEMS.items()}
        self._loaded: dict[str, tuple[Columns, dict[str, int], B]] = {}

    @cached_property
    def settings(self) -> ModelSettings:
        """Hashes of the files."""
        files = dict(self._paths)
        files |= {f"{role}_ids": ids for role, path in self._paths.items() if (ids := _ids_file(path)) is not None}
        hashes = {role: file_hash(path, self._home).hex()[:32] for role, path in files.items()}
        return {"encoder": "files", "kind": self._kind, **hashes}

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> B:
        """Return the encodings of texts; this needs files with encodings by text."""
        encodings = self.look_up(texts, texts, role)
        tick(len(texts))
        return encodings

    def look_up(self, ids: Sequence[str], texts: Sequence[str], role: Role) -> B:
        """Return the encoding of each text, by id or by text as the file has them."""
        if role not in self._loaded:
            columns = read_columns(self._paths[role])
            row_of = {name: row for row, name in enumerate(columns.names)}
            self._loaded[role] = columns, row_of, self._encodings(columns)
        columns, row_of, encodings = self._loaded[role]
        names = ids if columns.key == "id" else texts
        if missing := [name for name in names if name not in row_of]:
            raise DataError(
                f"{len(missing)} of {len(names)} {STEMS[role]} are missing, such as {excerpt(missing[0])}",
                path=columns.path,
                field=columns.key,
                found=missing[0],
                hint=f"the file has encodings by {columns.key}",
            )
        chosen = encodings.take(np.array([row_of[name] for name in names], dtype=np.int64))
        raise_not_finite(np.flatnonzero(~chosen.finite), texts, role, self.name)
        return chosen

    def _encodings(self, columns: Columns) -> B:
        """Return the encodings of a file; values of a wrong type or shape are a DataError."""
        try:
            with translated_errors(columns.path, f"a table of {self._kind}", "see the format in the documentation"):
                encodings = self._read(columns)
        except ModelError as error:
            raise DataError(error.message, path=columns.path, hint=error.hint) from error
        if len(encodings) != len(columns.names):
            raise DataError.invalid(
                f"the number of {self._kind}",
                expected=f"{len(columns.names)}, one for each name",
                found=len(encodings),
                path=columns.path,
            )
        return encodings


def has_files(folder: Path) -> bool:
    """Return whether a folder contains encodings."""
    return folder.is_dir() and any((folder / (STEMS["document"] + suffix)).is_file() for suffix in SUFFIXES)


def _file_in_folder(folder: Path, stem: str) -> Path:
    for suffix in SUFFIXES:
        if (path := folder / (stem + suffix)).is_file():
            return path
    raise MissingPart(
        f"{stem}.npz, {stem}.parquet or {stem}.jsonl does not exist in {folder}",
        path=folder,
        hint="give the folder that contains one",
    )


def read_columns(path: Path) -> Columns:
    """Return the columns of an npz, Parquet or JSON Lines file."""
    columns = {".npz": _read_npz, ".parquet": _read_parquet, ".jsonl": _read_jsonl}[path.suffix](path)
    key = next((name for name in NAME_COLUMNS if name in columns), None)
    if key is None:
        raise DataError.invalid(
            "the columns",
            expected=f"one of {', '.join(NAME_COLUMNS)}",
            found=", ".join(columns) or "nothing",
            path=path,
        )
    with translated_errors(path, "a table with a list of names", "write one name per encoding"):
        names = [str(value) for value in columns.pop(key)]
    if len(set(names)) < len(names):
        repeated = next(name for name, count in Counter(names).items() if count > 1)
        raise DataError(
            f"the {key} {excerpt(repeated)} appears more than once",
            path=path,
            field=key,
            found=repeated,
            hint="keep one of the rows",
        )
    return Columns(path, "text" if key.startswith("text") else "id", names, columns)


def _read_npz(path: Path) -> dict[str, Any]:
    columns = load_arrays(path)
    if (ids := _ids_file(path)) is not None:
        columns["ids"] = read_id_lines(ids)
    return columns


def _ids_file(path: Path) -> Path | None:
    """Return the file with the names of the rows of an npz file, if it exists."""
    ids = path.with_suffix(".ids.txt")
    return ids if path.suffix == ".npz" and ids.is_file() else None


def _read_parquet(path: Path) -> dict[str, Any]:
    table = load_parquet(path)
    with translated_errors(path, "a table of encodings", "write it again"):
        return {name: table[name].to_pylist() for name in table.column_names}


def _read_jsonl(path: Path) -> dict[str, Any]:
    columns: dict[str, list[Any]] = {}
    with translated_errors(path, "JSON Lines in UTF-8", "save it as UTF-8"), path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                row = json.loads(line.decode("utf-8"))
            except (ValueError, RecursionError) as error:
                cause = str(error) if isinstance(error, ValueError) else "too many nested values"
                raise DataError(
                    f"the line must be JSON, got: {cause}", path=path, row=number, hint="correct the line"
                ) from error
            if not isinstance(row, dict) or (columns and set(row) != set(columns)):
                fields = ", ".join(sorted(columns)) or "any"
                raise DataError.invalid(
                    "the line",
                    expected=f"an object with the fields {fields}",
                    found=", ".join(sorted(row)) if isinstance(row, dict) else type(row).__name__,
                    path=path,
                    row=number,
                )
            for name, value in row.items():
                columns.setdefault(name, []).append(value)
    return columns
