"""An encoder: how often the character trigrams of a text fall into each of some hashed places."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.errors import UsageError
from steelyard.types import Float32, Role
from steelyard.types.protocols import Tick, no_tick


@dataclass(frozen=True)
class Letters:
    """The encoder; its settings are part of the keys of stored vectors and results."""

    dimension: int = 256
    similarity: str = "cosine"

    @property
    def name(self) -> str:
        """The name after `dense:`."""
        return "letters"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that could change a vector."""
        return {"name": "letters", "dimension": self.dimension, "version": 1}

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Float32:
        """Return one row for each text, in the order of the texts; `role` is `query` or `document`."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            padded = f" {text.lower()} "
            for start in range(len(padded) - 2):
                vectors[row, zlib.crc32(padded[start : start + 3].encode()) % self.dimension] += 1
        return vectors


def from_options(revision: str | None, options: Mapping[str, str]) -> Letters:
    """The entry point: called with the revision and the options of `dense:letters@REVISION?dimension=512`."""
    unknown = sorted(set(options) - {"dimension"})
    if revision or unknown:
        wrong = f"the option {unknown[0]!r}" if unknown else "a revision"
        raise UsageError(f"dense:letters does not have {wrong}", hint="options: dimension")
    dimension = options.get("dimension", "256")
    if not dimension.isdecimal() or int(dimension) < 1:
        raise UsageError(f"dimension must be at least 1, got {dimension}", hint="for example dimension=512")
    return Letters(int(dimension))
