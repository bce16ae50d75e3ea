"""A real encoder, small enough for tests: counts of letters, scaled by hash; it remembers what it was asked."""

from collections.abc import Sequence

import numpy as np

from steelyard.types import Float32, Role
from steelyard.types.protocols import Tick, no_tick


class Letters:
    """Counts the letters a to h; a query has a mark that a document lacks, unless it is symmetric."""

    name = "letters/small"
    dimension = 9
    similarity = "cosine"

    def __init__(self, *, symmetric: bool = False, poison: str | None = None) -> None:
        self.settings = {"encoder": self.name, "symmetric": symmetric}
        self.asked: list[tuple[str, str]] = []
        self._poison = poison

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Float32:
        self.asked += [(role, text) for text in texts]
        vectors = np.array([[text.count(letter) for letter in "abcdefgh"] + [0.5] for text in texts], dtype=np.float32)
        if role == "query" and not self.settings["symmetric"]:
            vectors[:, -1] = 1.5
        for row, text in enumerate(texts):
            if text == self._poison:
                vectors[row, 0] = np.nan
        tick(len(texts))
        return vectors.reshape(len(texts), self.dimension)
