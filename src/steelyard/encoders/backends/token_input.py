"""Encoders of token vectors by id: a model folder or hub id, a folder of files, a Python function."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.config import Settings
from steelyard.encoders.backends.precomputed_ragged import Columns, FileEncoder, has_files
from steelyard.encoders.backends.ragged_function import Function, FunctionEncoder, load_function
from steelyard.encoders.cache.cached_ragged import BundleEncoder
from steelyard.encoders.float_arrays import as_floats
from steelyard.errors import DataError
from steelyard.options import Options
from steelyard.vectors.maxsim import SIMILARITIES, TokenVectors
from steelyard.vectors.ragged import offsets_of

BACKENDS = ("auto", "sentence-transformers", "files", "python")
KIND = "token vectors"


def load_multi_vector_encoder(
    id: str,
    revision: str | None = None,
    options: Mapping[str, str] | None = None,
    settings: Settings | None = None,
) -> BundleEncoder[TokenVectors]:
    """The encoder of that id. The option `backend` says what the id is, where that cannot be told from it."""
    given = dict(options or {})
    backend = Options(f"late:{id}", {"backend": given.pop("backend", "")}, ("backend",)).choice("backend", BACKENDS)
    folder = Path(id).expanduser()
    if backend == "files" or (backend == "auto" and has_files(folder)):
        return FileEncoder(folder, _read_columns, kind=KIND, similarity=_similarity(id, given))
    if backend == "python" or (backend == "auto" and ":" in id and not folder.exists()):
        return from_function(load_function(id), name=id, similarity=_similarity(id, given))
    from steelyard.encoders.backends.transformers.multi_vector_encoder import from_options

    return from_options(id, revision, given, settings or Settings.load())


def from_function(function: Function, *, name: str, similarity: str = "maxsim") -> FunctionEncoder[TokenVectors]:
    """An encoder from a function of (texts, role) that gives an array (tokens, dimension) for each text.

    >>> encoder = from_function(lambda texts, role: [[[len(text), 1.0]] for text in texts], name="lengths")
    >>> encoder.encode(["ab", "c"], "query")
    TokenVectors(2 texts, 2 tokens of 2 dimensions)
    """
    return FunctionEncoder(function, _read_arrays, name=name, kind=KIND, similarity=similarity)


def _similarity(id: str, given: Mapping[str, str]) -> str:
    return Options(f"late:{id}", given, ("similarity_fn_name",)).choice("similarity_fn_name", SIMILARITIES)


def _read_arrays(arrays: Any) -> TokenVectors:
    """Empty lists stand for texts without tokens; they take the dimension of the others."""
    texts = [as_floats(array, "an encoder of token vectors", "(tokens, dimension) for each text") for array in arrays]
    width = next((text.shape[1] for text in texts if text.ndim == 2 and text.size), 0)
    return TokenVectors.of([text if text.size else np.empty((0, width)) for text in texts], width)


def _read_columns(columns: Columns) -> TokenVectors:
    """`vectors`: a list of vectors a text; in an npz file all tokens in one matrix, with `offsets` or `counts`."""
    vectors = columns.get("vectors")
    if not isinstance(vectors, np.ndarray):
        return _read_arrays(vectors)
    offsets = columns.columns.get("offsets")
    offsets = np.asarray(offsets, dtype=np.int64) if offsets is not None else offsets_of(columns.get("counts"))
    whole = vectors.ndim == 2 and len(offsets) == len(columns.names) + 1 and offsets[0] == 0
    if not whole or offsets[-1] != len(vectors) or (np.diff(offsets) < 0).any():
        raise DataError(
            f"{len(columns.names)} names, {len(offsets)} offsets and vectors of shape {vectors.shape} do not fit",
            where=str(columns.path),
            hint="offsets (names + 1) from 0 to the number of tokens, vectors (tokens, dimension)",
        )
    return TokenVectors(offsets, vectors.astype(np.float32, copy=False))
