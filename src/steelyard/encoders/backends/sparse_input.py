"""Sparse vectors that a Python function returns or that files contain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from steelyard.config import Settings
from steelyard.encoders.backends.function import RaggedFunction, RaggedFunctionEncoder, load_function
from steelyard.encoders.backends.precomputed_ragged import Columns, PrecomputedRagged
from steelyard.encoders.compute_options import NOT_FOR
from steelyard.errors import DataError, ModelError
from steelyard.files import with_home
from steelyard.options import Options
from steelyard.vectors.ragged import offsets_of
from steelyard.vectors.sparse import SparseVectors

SIMILARITIES = ("dot", "cosine")
KIND = "sparse vectors"


def from_function(
    function: RaggedFunction, *, name: str, similarity: str = "dot"
) -> RaggedFunctionEncoder[SparseVectors]:
    """Return an encoder from a function of (texts, role) that returns what `as_sparse` reads.

    >>> encoder = from_function(lambda texts, role: [{ord(c): 1.0 for c in text} for text in texts], name="letters")
    >>> encoder.encode(["ab", "c", ""], "query")
    SparseVectors(3 texts of 100 dimensions, 3 active)
    """
    return RaggedFunctionEncoder(function, as_sparse, name=name, kind=KIND, similarity=similarity)


def from_options(id: str, raw_options: Mapping[str, str]) -> RaggedFunctionEncoder[SparseVectors]:
    """Return the encoder of `sparse:package.module:function?OPTIONS`."""
    return from_function(load_function(id), name=id, similarity=_similarity(id, raw_options, "function"))


def from_files(
    id: str, raw_options: Mapping[str, str], settings: Settings | None = None
) -> PrecomputedRagged[SparseVectors]:
    """Return the encoder of a folder with `documents.*` and `queries.*`."""
    read = partial(_read_columns, WordNumbers())
    folder, similarity = with_home(id), _similarity(id, raw_options, "files")
    return PrecomputedRagged(folder, read, kind=KIND, similarity=similarity, settings=settings)


def as_sparse(result: Any) -> SparseVectors:
    """Return sparse vectors from a scipy matrix, an array, a torch tensor, or one {column: weight} per text.

    >>> as_sparse(np.array([[0, 0.5], [1, 0]]))
    SparseVectors(2 texts of 2 dimensions, 2 active)
    """
    if hasattr(result, "to_dense"):  # a torch tensor, as sentence-transformers returns it
        result = result.detach().to_dense().float().cpu().numpy()
    if hasattr(result, "tocsr"):
        matrix = result.tocsr()
        return SparseVectors.of(matrix.indptr, matrix.indices, matrix.data, dimension=matrix.shape[1])
    if isinstance(result, np.ndarray) and result.ndim == 2:
        return SparseVectors.from_dense(result)
    if isinstance(result, Sequence) and all(isinstance(text, Mapping) for text in result):
        columns = [int(column) for text in result for column in text]
        weights = [weight for text in result for weight in text.values()]
        offsets = offsets_of(len(text) for text in result)
        return SparseVectors.of(offsets, columns, weights, dimension=max(columns, default=-1) + 1)
    raise ModelError.invalid(
        "the result of a sparse encoder",
        expected="a scipy sparse matrix, an array or tensor (texts, dimension), or a list of {column: weight}",
        found=type(result).__name__,
    )


def _similarity(id: str, raw_options: Mapping[str, str], kind: str) -> str:
    options = Options(f"sparse:{id}", raw_options, ("similarity_fn_name",), NOT_FOR[kind])
    return options.choice("similarity_fn_name", SIMILARITIES)


class WordNumbers:
    """Column numbers for files that name words instead of columns; shared by documents and queries.

    >>> words = WordNumbers()
    >>> words.numbered([{"river": 0.5, "2024": 1.0}], "documents"), words.numbered([{"2024": 2.0}], "queries")
    ([{0: 0.5, 1: 1.0}], [{1: 2.0}])
    """

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._are_columns = False

    def numbered(self, texts: Sequence[Mapping[str, float]], path: str) -> Sequence[Mapping[Any, float]]:
        """Return the texts with a number for each word; unchanged where all names are numbers."""
        word = next((name for text in texts for name in text if not name.isdecimal()), None)
        if word is None and not self._number:
            self._are_columns = True
            return texts
        if self._are_columns:
            raise DataError.invalid(
                "a column",
                expected="a number as in the other file",
                found=str(word),
                path=path,
                hint="use words or numbers in both files",
            )
        return [{self._number.setdefault(n, len(self._number)): w for n, w in text.items()} for text in texts]


def _read_columns(words: WordNumbers, columns: Columns) -> SparseVectors:
    """Read `indices` and `values`, one list of each per text; in npz one array of each, and `indptr` (scipy)."""
    if columns.path.suffix == ".npz":
        indices = columns.integers("indices")
        width = columns.integers("shape")[1] if "shape" in columns.columns else indices.max(initial=-1) + 1
        weights = columns.get("data" if "data" in columns.columns else "values")
        return SparseVectors.of(columns.integers("indptr"), indices, weights, dimension=int(width))
    if "vector" in columns.columns:
        return as_sparse(words.numbered(columns.get("vector"), str(columns.path)))
    indices, values = columns.get("indices"), columns.get("values")
    flat = [column for text in indices for column in text]
    weights = [weight for text in values for weight in text]
    return SparseVectors.of(offsets_of(map(len, indices)), flat, weights, dimension=max(flat, default=-1) + 1)
