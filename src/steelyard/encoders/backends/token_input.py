"""Token vectors that a Python function returns or that files contain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard.config import Settings
from steelyard.encoders.backends.function import RaggedFunction, RaggedFunctionEncoder, load_function
from steelyard.encoders.backends.precomputed_ragged import Columns, PrecomputedRagged
from steelyard.encoders.compute_options import NOT_FOR
from steelyard.encoders.float_arrays import as_floats
from steelyard.errors import DataError
from steelyard.files import with_home
from steelyard.options import Options
from steelyard.vectors.maxsim import SIMILARITIES, TokenVectors
from steelyard.vectors.ragged import offsets_of

KIND = "token vectors"


def from_function(
    function: RaggedFunction, *, name: str, similarity: str = "maxsim"
) -> RaggedFunctionEncoder[TokenVectors]:
    """Return an encoder from a function of (texts, role) that returns an array (tokens, dimension) for each text.

    >>> encoder = from_function(lambda texts, role: [[[len(text), 1.0]] for text in texts], name="lengths")
    >>> encoder.encode(["ab", "c"], "query")
    TokenVectors(2 texts, 2 tokens of 2 dimensions)
    """
    return RaggedFunctionEncoder(function, _read_arrays, name=name, kind=KIND, similarity=similarity)


def from_options(id: str, raw_options: Mapping[str, str]) -> RaggedFunctionEncoder[TokenVectors]:
    """Return the encoder of `late:package.module:function?OPTIONS`."""
    return from_function(load_function(id), name=id, similarity=_similarity(id, raw_options, "function"))


def from_files(
    id: str, raw_options: Mapping[str, str], settings: Settings | None = None
) -> PrecomputedRagged[TokenVectors]:
    """Return the encoder of a folder with `documents.*` and `queries.*`."""
    folder, similarity = with_home(id), _similarity(id, raw_options, "files")
    return PrecomputedRagged(folder, _read_columns, kind=KIND, similarity=similarity, settings=settings)


def _similarity(id: str, raw_options: Mapping[str, str], kind: str) -> str:
    options = Options(f"late:{id}", raw_options, ("similarity_fn_name",), NOT_FOR[kind])
    return options.choice("similarity_fn_name", SIMILARITIES)


def _read_arrays(arrays: Any) -> TokenVectors:
    """Read one array per text; an empty list is a text without tokens."""
    texts = [as_floats(array, "an encoder of token vectors", "(tokens, dimension) for each text") for array in arrays]
    width = next((text.shape[1] for text in texts if text.ndim == 2 and text.size), 0)
    return TokenVectors.of([text if text.size else np.empty((0, width)) for text in texts], width)


def _read_columns(columns: Columns) -> TokenVectors:
    """Read `vectors`: a list of vectors per text; in npz one matrix of all tokens, with `offsets` or `counts`."""
    vectors = columns.get("vectors")
    if not isinstance(vectors, np.ndarray):
        return _read_arrays(vectors)
    if vectors.dtype.kind not in "fiub":
        raise DataError.invalid("vectors", expected="numbers", found=str(vectors.dtype), path=str(columns.path))
    declared = columns.columns.get("offsets")
    offsets = columns.integers("offsets") if declared is not None else offsets_of(columns.integers("counts"))
    aligned = vectors.ndim == 2 and len(offsets) == len(columns.names) + 1 and offsets[0] == 0
    if not aligned or offsets[-1] != len(vectors) or (np.diff(offsets) < 0).any():
        raise DataError.invalid(
            "offsets and vectors",
            expected=f"{len(columns.names) + 1} offsets from 0 to the number of tokens, vectors (tokens, dimension)",
            found=f"{len(offsets)} offsets and vectors of shape {vectors.shape}",
            path=str(columns.path),
        )
    return TokenVectors(offsets, vectors.astype(np.float32, copy=False))
