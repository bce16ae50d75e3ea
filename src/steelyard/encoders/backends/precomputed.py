"""Vectors that were computed elsewhere, by id or by text.

vectors.npy       a matrix; the ids of its rows stand beside it, in `vectors.ids.txt`, one a line (or option `ids`)
vectors.npz       `vectors` (or `embeddings`), and `ids` or `texts`
vectors.parquet   `vector` (or `embedding`), and `id`, `_id` or `text`; a column `role` tells queries from documents

A folder holds `documents` and `queries`, each in one of these forms, and may hold `texts` that are neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.config import Settings
from steelyard.encoders.batching import check_finite, shown
from steelyard.errors import DataError, MissingPart, UsageError
from steelyard.files import file_hash
from steelyard.options import Options
from steelyard.types import Float32, Role
from steelyard.types.protocols import ModelSettings, Tick, no_tick
from steelyard.vectors.similarity import SIMILARITIES

SUFFIXES = (".npy", ".npz", ".parquet")
VECTORS = ("vector", "vectors", "embedding", "embeddings")
NAMES = {"id": "id", "_id": "id", "ids": "id", "text": "text", "texts": "text"}
STEMS: dict[Role, str] = {"document": "documents", "query": "queries"}
ALL_STEMS: dict[Role, str] = {**STEMS, "text": "texts"}


@dataclass(frozen=True, eq=False)
class Table:
    """The vectors of one file, and what each belongs to: an id or a text, with a role where the file tells."""

    path: Path
    by: str
    row_of: dict[tuple[str, str | None], int]
    vectors: Float32
    roles: bool

    @classmethod
    def read(cls, path: Path, ids: Path | None = None) -> Table:
        """The table of a file; anything odd about it is a DataError."""
        if not path.is_file():
            raise MissingPart(f"there is no file {path}", hint=f"known forms: {', '.join(SUFFIXES)}")
        columns = {".npy": _npy, ".npz": _npz, ".parquet": _parquet}[path.suffix](path, ids)
        kind = next((name for name in NAMES if name in columns), None)
        column = next((name for name in VECTORS if name in columns), None)
        if kind is None or column is None:
            found = ", ".join(columns) or "nothing"
            hint = "expected vector (or embedding) and, for whose they are, id, _id or text"
            raise DataError(f"found {found}", where=str(path), hint=hint)
        names, vectors = [str(name) for name in columns[kind]], columns[column]
        if vectors.ndim != 2 or len(vectors) != len(names):
            raise DataError(
                f"{len(names)} names for vectors of shape {vectors.shape}", where=str(path), hint="one vector a name"
            )
        roles = columns.get("role", [None] * len(names))
        if "role" in columns and (odd := set(roles) - set(ALL_STEMS)):
            raise DataError(
                f"{shown(str(min(odd, key=str)))} in the column role", where=str(path), hint=" or ".join(ALL_STEMS)
            )
        row_of = {(name, role): row for row, (name, role) in enumerate(zip(names, roles, strict=True))}
        if len(row_of) != len(names):
            seen: set[tuple[str, str | None]] = set()
            twice = next(key[0] for key in zip(names, roles, strict=True) if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise DataError(f"{shown(twice)} is there more than once", where=str(path), hint="keep one of them")
        return cls(path, NAMES[kind], row_of, vectors, "role" in columns)

    def find(self, ids: Sequence[str] | None, texts: Sequence[str], role: Role) -> Float32:
        """The vector of each; one that is not there is a DataError."""
        wanted = texts if self.by == "text" else ids
        if wanted is None:
            raise UsageError(f"{self.path} goes by id, and texts alone were given", hint="a file with texts is needed")
        rows = [self.row_of.get((name, role if self.roles else None), -1) for name in wanted]
        if missing := [name for name, row in zip(wanted, rows, strict=True) if row < 0]:
            raise DataError(
                f"{len(missing)} of {len(wanted)} {ALL_STEMS[role]} are not there, such as {shown(missing[0])}",
                where=str(self.path),
                hint=f"the file goes by {self.by}",
            )
        return self.vectors[np.array(rows, dtype=np.int64)]


class Precomputed:
    """Looks vectors up in files."""

    storable = False

    def __init__(
        self, name: str, files: Mapping[Role, Path], similarity: str, ids: Path | None = None, home: Path | None = None
    ) -> None:
        self.name = name
        self.similarity = similarity
        self._files = files
        self._ids = ids
        self._home = home or Settings.load().home
        self._tables = {path: Table.read(path, self._ids_of(path)) for path in dict.fromkeys(files.values())}
        documents, queries = (self._tables[files[role]] for role in STEMS)
        if documents is queries and documents.by == "id" and not documents.roles:
            raise UsageError(
                f"{documents.path} goes by id and does not tell queries from documents",
                hint="queries=FILE, a folder with documents.* and queries.*, or a column role",
            )
        self.dimension = int(documents.vectors.shape[1])
        if queries.vectors.shape[1] != self.dimension:
            found = queries.vectors.shape[1]
            raise DataError(
                f"{found} dimensions, and documents have {self.dimension}",
                where=str(queries.path),
                hint="encode both with one model",
            )

    @cached_property
    def settings(self) -> ModelSettings:
        """The contents of the files, by a hash."""
        hashes = {ALL_STEMS[role]: file_hash(path, self._home).hex()[:32] for role, path in self._files.items()}
        names = [self._ids_of(path) for path in self._tables]
        return {
            "encoder": "files",
            **hashes,
            "ids": [file_hash(ids, self._home).hex()[:32] for ids in names if ids is not None],
        }

    def _ids_of(self, path: Path) -> Path | None:
        """The file with the ids of a matrix: beside it, or named; of documents the named one counts."""
        if path.suffix != ".npy":
            return None
        beside = path.with_suffix(".ids.txt")
        named = self._ids is not None and (path == self._files["document"] or not beside.is_file())
        return self._ids if named else beside

    def look_up(self, ids: Sequence[str] | None, texts: Sequence[str], role: Role) -> Float32:
        """The vector of each, by what the file goes by."""
        file = self._files.get(role, self._files["document"])  # a file of its own for texts is rare
        vectors = self._tables[file].find(ids, texts, role)
        check_finite(vectors, texts, role, self.name)
        return vectors

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Float32:
        """The vectors of texts; only files that go by text can give them."""
        vectors = self.look_up(None, texts, role)
        tick(len(texts))
        return vectors


def from_options(path: Path, given: Mapping[str, str], settings: Settings | None = None) -> Precomputed:
    """The vectors of `dense:PATH?queries=FILE&ids=FILE`."""
    options = Options(f"dense:{path}", given, ("ids", "queries", "similarity_fn_name"))
    similarity = options.choice("similarity_fn_name", SIMILARITIES)
    ids = options.text("ids")
    files: dict[Role, Path]
    if path.is_dir():
        files = {role: _in_folder(path, stem) for role, stem in STEMS.items()}
        if any((path / f"texts{suffix}").is_file() for suffix in SUFFIXES):
            files["text"] = _in_folder(path, "texts")
    else:
        files = {"document": path, "query": Path(options.text("queries") or path).expanduser()}
    named = Path(ids).expanduser() if ids else None
    return Precomputed(path.name, files, similarity, named, (settings or Settings.load()).home)


def _in_folder(folder: Path, stem: str) -> Path:
    found = [folder / (stem + suffix) for suffix in SUFFIXES if (folder / (stem + suffix)).is_file()]
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise MissingPart(f"{folder} should have one file of {stem}, and has {names}", hint=f"{stem}{SUFFIXES[0]} ...")
    return found[0]


def _npy(path: Path, ids: Path | None) -> dict[str, Any]:
    if ids is None or not ids.is_file():
        raise MissingPart(
            f"the ids of the rows of {path} are missing", hint=f"{path.with_suffix('.ids.txt').name}, one a line"
        )
    return {"vectors": _array(path), "ids": ids.read_text(encoding="utf-8-sig").splitlines()}


def _npz(path: Path, _: Path | None) -> dict[str, Any]:
    return {name: array if name in VECTORS else array.tolist() for name, array in _array(path).items()}


def _array(path: Path) -> Any:
    try:
        found = np.load(path, allow_pickle=False)
        if isinstance(found, np.ndarray):
            return _floats(found)
        return {name: _floats(found[name]) if name in VECTORS else found[name] for name in found.files}
    except (ValueError, OSError) as error:
        raise DataError(
            f"not an array of numbers: {error}", where=str(path), hint="real numbers, no pickled objects"
        ) from error


def _floats(array: Any) -> Float32:
    if array.dtype.kind not in "fiub":
        raise ValueError(f"it holds {array.dtype}")
    with np.errstate(over="ignore"):  # infinity is found where the texts are known
        return np.asarray(array, dtype=np.float32)


def _parquet(path: Path, _: Path | None) -> dict[str, Any]:
    import pyarrow as pa
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(path)
        columns = {name: table[name].combine_chunks() for name in table.column_names}
        return {name: _matrix(column) if name in VECTORS else column.to_pylist() for name, column in columns.items()}
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(
            f"not a table of vectors: {error}", where=str(path), hint="lists of numbers, all of one length"
        ) from error


def _matrix(column: Any) -> Float32:
    """A column of lists of one length."""
    import pyarrow.compute

    lengths = pyarrow.compute.list_value_length(column).unique().to_pylist()
    if None in lengths:
        raise ValueError("some of its vectors are null")
    if len(lengths) != 1:
        raise ValueError("its vectors differ in length")
    return _floats(column.flatten().to_numpy(zero_copy_only=False)).reshape(len(column), -1)
