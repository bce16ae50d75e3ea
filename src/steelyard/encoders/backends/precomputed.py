"""Dense vectors that were computed elsewhere, looked up by id or by text.

vectors.npy       a matrix; the ids of its rows are in `vectors.ids.txt`, one per line (or in the file of option `ids`)
vectors.npz       arrays `vectors` (or `embeddings`), and `ids` or `texts`
vectors.parquet   columns `vector` (or `embedding`), and `id`, `_id` or `text`; `role` separates queries and documents

A folder contains `documents` and `queries`, each in one of these formats, and optionally `texts`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.config import Settings
from steelyard.encoders.batching import check_finite, excerpt
from steelyard.encoders.compute_options import NOT_FOR
from steelyard.encoders.float_arrays import load_arrays, load_parquet, translated_errors
from steelyard.errors import DataError, MissingPart, UsageError
from steelyard.files import file_hash, with_home
from steelyard.options import Options
from steelyard.types import Float32, Role
from steelyard.types.protocols import ModelSettings, Tick, no_tick
from steelyard.vectors.similarity import SIMILARITIES

SUFFIXES = (".npy", ".npz", ".parquet")
VECTOR_COLUMNS = ("vector", "vectors", "embedding", "embeddings")
NAME_COLUMNS = {"id": "id", "_id": "id", "ids": "id", "text": "text", "texts": "text"}
STEMS: dict[Role, str] = {"document": "documents", "query": "queries"}
ALL_STEMS: dict[Role, str] = {**STEMS, "text": "texts"}


@dataclass(frozen=True, eq=False)
class VectorTable:
    """The vectors of one file by id or by text, and by role where the file has roles."""

    path: Path
    key: str
    """What rows are looked up by: `id` or `text`."""
    row_of: dict[tuple[str, str | None], int]
    vectors: Float32
    has_roles: bool

    @classmethod
    def read(cls, path: Path, ids: Path | None = None) -> VectorTable:
        """Read a file; raise a DataError if it is not a table of vectors."""
        if not path.is_file():
            raise MissingPart(f"the file does not exist: {path}", path=path, hint=f"use {', '.join(SUFFIXES)}")
        columns = {".npy": _read_npy, ".npz": _read_npz, ".parquet": _read_parquet}[path.suffix](path, ids)
        name_column = next((name for name in NAME_COLUMNS if name in columns), None)
        vector_column = next((name for name in VECTOR_COLUMNS if name in columns), None)
        if name_column is None or vector_column is None:
            raise DataError.invalid(
                "the columns",
                expected="vector (or embedding), and id, _id or text",
                found=", ".join(columns) or "nothing",
                path=path,
            )
        with translated_errors(path, "a table with a list of names", "write one name per vector"):
            names = [str(name) for name in columns[name_column]]
        vectors = columns[vector_column]
        if vectors.ndim != 2 or len(vectors) != len(names):
            raise DataError.invalid(
                "the vectors",
                expected=f"one row for each of {len(names)} names",
                found=f"shape {vectors.shape}",
                path=path,
            )
        roles = _read_roles(columns["role"], path) if "role" in columns else [None] * len(names)
        keys = list(zip(names, roles, strict=True))
        row_of = {key: row for row, key in enumerate(keys)}
        if len(row_of) != len(keys):
            repeated = next(key[0] for key, count in Counter(keys).items() if count > 1)
            raise DataError(
                f"the {NAME_COLUMNS[name_column]} {excerpt(repeated)} appears more than once",
                path=path,
                field=name_column,
                found=repeated,
                hint="keep one of the rows",
            )
        return cls(path, NAME_COLUMNS[name_column], row_of, vectors, "role" in columns)

    def find(self, ids: Sequence[str] | None, texts: Sequence[str], role: Role) -> Float32:
        """Return the vector of each text; raise a DataError for one that is missing."""
        names = texts if self.key == "text" else ids
        if names is None:
            raise UsageError(
                f"{self.path} has vectors by id, and only texts were given",
                path=self.path,
                hint="use a file with a column text",
            )
        rows = [self.row_of.get((name, role if self.has_roles else None), -1) for name in names]
        if missing := [name for name, row in zip(names, rows, strict=True) if row < 0]:
            raise DataError(
                f"{len(missing)} of {len(names)} {ALL_STEMS[role]} are missing, such as {excerpt(missing[0])}",
                path=self.path,
                field=self.key,
                found=missing[0],
                hint=f"the file has vectors by {self.key}",
            )
        return self.vectors[np.array(rows, dtype=np.int64)]


class Precomputed:
    """An encoder that looks vectors up in files."""

    storable = False

    def __init__(
        self, name: str, files: Mapping[Role, Path], similarity: str, ids: Path | None = None, home: Path | None = None
    ) -> None:
        self.name = name
        self.similarity = similarity
        self._files = files
        self._ids = ids
        self._home = home or Settings.load().home
        self._tables = {path: VectorTable.read(path, self._ids_of(path)) for path in dict.fromkeys(files.values())}
        documents, queries = (self._tables[files[role]] for role in STEMS)
        if documents is queries and documents.key == "id" and not documents.has_roles:
            raise UsageError(
                f"{documents.path} has vectors by id without roles, so queries and documents cannot be separated",
                path=documents.path,
                hint="add queries=FILE, use a folder with documents.* and queries.*, or add a column role",
            )
        self.dimension = int(documents.vectors.shape[1])
        if queries.vectors.shape[1] != self.dimension:
            raise DataError.invalid(
                "the dimension of queries",
                expected=f"{self.dimension} as that of documents",
                found=queries.vectors.shape[1],
                path=queries.path,
                hint="encode both with one model",
            )

    @cached_property
    def settings(self) -> ModelSettings:
        """Hashes of the files."""
        hashes = {ALL_STEMS[role]: file_hash(path, self._home).hex()[:32] for role, path in self._files.items()}
        id_files = [self._ids_of(path) for path in self._tables]
        id_hashes = [file_hash(ids, self._home).hex()[:32] for ids in id_files if ids is not None]
        return {"encoder": "files", **hashes, "ids": id_hashes}

    def _ids_of(self, path: Path) -> Path | None:
        """Return the file with the ids of a matrix: the one next to it, or for documents the one of option `ids`."""
        if path.suffix != ".npy":
            return None
        neighbour = path.with_suffix(".ids.txt")
        by_option = self._ids is not None and (path == self._files["document"] or not neighbour.is_file())
        return self._ids if by_option else neighbour

    def look_up(self, ids: Sequence[str] | None, texts: Sequence[str], role: Role) -> Float32:
        """Return the vector of each text, by id or by text as the file has them."""
        file = self._files.get(role, self._files["document"])  # a separate file for texts is optional
        vectors = self._tables[file].find(ids, texts, role)
        check_finite(vectors, texts, role, self.name)
        return vectors

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Float32:
        """Return the vectors of texts; this needs files with vectors by text."""
        vectors = self.look_up(None, texts, role)
        tick(len(texts))
        return vectors


def from_options(path: Path, raw_options: Mapping[str, str], settings: Settings | None = None) -> Precomputed:
    """Return the encoder of `dense:PATH?queries=FILE&ids=FILE`."""
    options = Options(f"dense:{path}", raw_options, ("ids", "queries", "similarity_fn_name"), NOT_FOR["files"])
    similarity = options.choice("similarity_fn_name", SIMILARITIES)
    ids = options.text("ids")
    files: dict[Role, Path]
    if path.is_dir():
        files = {role: _file_in_folder(path, stem) for role, stem in STEMS.items()}
        if any((path / f"texts{suffix}").is_file() for suffix in SUFFIXES):
            files["text"] = _file_in_folder(path, "texts")
    else:
        files = {"document": path, "query": with_home(options.text("queries") or path)}
    id_file = with_home(ids) if ids else None
    return Precomputed(path.name, files, similarity, id_file, (settings or Settings.load()).home)


def read_id_lines(path: Path) -> list[str]:
    """Return the lines of a file of ids."""
    with translated_errors(path, "a text file in UTF-8 with one id per line", "save it as UTF-8"):
        return path.read_text(encoding="utf-8-sig").splitlines()


def _file_in_folder(folder: Path, stem: str) -> Path:
    files = [folder / (stem + suffix) for suffix in SUFFIXES if (folder / (stem + suffix)).is_file()]
    if len(files) != 1:
        names = ", ".join(path.name for path in files) or "none"
        raise MissingPart.invalid(
            f"the files of {stem} in {folder}",
            expected=f"one of {', '.join(stem + suffix for suffix in SUFFIXES)}",
            found=names,
            path=folder,
        )
    return files[0]


def _read_npy(path: Path, ids: Path | None) -> dict[str, Any]:
    if ids is None or not ids.is_file():
        name = path.with_suffix(".ids.txt").name
        raise MissingPart(
            f"the ids of the rows of {path} are missing", path=path, hint=f"write {name} with one id per line"
        )
    return {"vectors": _floats(load_arrays(path)["vectors"], path), "ids": read_id_lines(ids)}


def _read_npz(path: Path, _: Path | None) -> dict[str, Any]:
    arrays = load_arrays(path).items()
    return {name: _floats(array, path) if name in VECTOR_COLUMNS else array.tolist() for name, array in arrays}


def _floats(array: Any, path: Path) -> Float32:
    if array.dtype.kind not in "fiub":
        raise DataError.invalid("the vectors", expected="real numbers", found=str(array.dtype), path=path)
    with np.errstate(over="ignore"):  # infinity is refused where the texts are known
        return np.asarray(array, dtype=np.float32)


def _read_parquet(path: Path, _: Path | None) -> dict[str, Any]:
    table = load_parquet(path)
    with translated_errors(path, "a table of vectors", "write vectors as lists of numbers, all of one length"):
        columns = {name: table[name].combine_chunks() for name in table.column_names}
        return {
            name: _matrix(column, path) if name in VECTOR_COLUMNS else column.to_pylist()
            for name, column in columns.items()
        }


def _matrix(column: Any, path: Path) -> Float32:
    """Return a column of lists of one length as a matrix."""
    import pyarrow.compute

    lengths = pyarrow.compute.list_value_length(column).unique().to_pylist()
    if None in lengths:
        raise ValueError("some vectors are null")
    if len(lengths) != 1:
        raise ValueError("the vectors have different lengths")
    return _floats(column.flatten().to_numpy(zero_copy_only=False), path).reshape(len(column), -1)


def _read_roles(column: Any, path: Path) -> list[str]:
    roles = list(column) if isinstance(column, list) else [column]
    if unknown := [role for role in roles if not isinstance(role, str) or role not in ALL_STEMS]:
        raise DataError.invalid(
            "the column role", expected=" or ".join(ALL_STEMS), found=excerpt(str(unknown[0])), path=path, field="role"
        )
    return roles
