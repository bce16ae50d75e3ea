"""What USE multilingual v3 computes from one piece alone, kept for each distinct piece.

The embedding, its projection and its share in each place of the first convolutions do not depend on the pieces
around it. Texts repeat pieces, so keeping them spares more than half of the network's arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.types import Float32, Int32, Int64

DIMENSION = 512
WIDTH = 256
"""Channels of a branch."""
WINDOWS = ((2, 0), (3, 1), (5, 2))
"""Size of each branch's window, and how many of its places lie before the piece."""
TABLES = 17
"""The embeddings are stored as bytes in 17 tables with a scale each; a piece is in table `id % 17`."""
KEPT = 16_384
"""Distinct pieces that are kept, 15 kB each; when the place is full, it is emptied and filled anew."""


class Pieces:
    """Shares by slot. Slot 0 is an empty place, with zeros everywhere; `slots` gives those of pieces."""

    def __init__(self, weights: Mapping[str, Any], tables: Iterable[npt.NDArray[np.uint8]]) -> None:
        self._w = weights
        # Interleaved, a piece's id is its row. (128,010 x 512 bytes; as floats it would be 262 MB.)
        self._table = np.stack(list(tables), axis=1).reshape(-1, DIMENSION)
        self._project = np.concatenate([weights[f"proj{size}"] for size, _ in WINDOWS], axis=1)
        self._slot_of = np.zeros(len(self._table), dtype=np.int64)
        self._used = 1
        rows = KEPT + 1
        self.embedding: Float32 = np.empty((rows, DIMENSION), dtype=np.float32)
        self.total: Float32 = np.zeros(rows, dtype=np.float32)
        self.squares: Float32 = np.zeros(rows, dtype=np.float32)
        self.projected: list[Float32] = [np.empty((rows, WIDTH), dtype=np.float32) for _ in WINDOWS]
        self.first: list[list[Float32]] = [
            [np.empty((rows, WIDTH), dtype=np.float32) for _ in range(size)] for size, _ in WINDOWS
        ]
        """For each branch and place of its window: the share in the first convolution."""
        for array in (self.embedding, *self.projected, *(share for shares in self.first for share in shares)):
            array[0] = 0

    def slots(self, ids: Int32) -> Int64:
        """Where the shares of these pieces are, at most `KEPT` distinct ones; new pieces are computed now."""
        new = np.unique(ids[self._slot_of[ids] == 0])
        if self._used + len(new) > KEPT + 1:
            self._slot_of[:] = 0
            self._used = 1
            new = np.unique(ids)
        if len(new):
            self._add(new)
        return self._slot_of[ids]

    def _add(self, ids: Int32) -> None:
        here = slice(self._used, self._used + len(ids))
        self._slot_of[ids] = np.arange(here.start, here.stop)
        self._used = here.stop
        table = ids % TABLES
        embedding = self._table[ids].astype(np.float32)
        embedding *= self._w["scale"][table, None]
        embedding += self._w["lo"][table, None]
        self.embedding[here] = embedding
        self.total[here] = embedding.sum(axis=1)
        self.squares[here] = np.einsum("ij,ij->i", embedding, embedding)
        projected = self._layer_norm(embedding @ self._project)
        for branch, (size, before) in enumerate(WINDOWS):
            own = np.ascontiguousarray(projected[:, branch * WIDTH : (branch + 1) * WIDTH])
            self.projected[branch][here] = own
            for place in range(size):
                share = own @ self._w[f"w1_{size}"][place * WIDTH : (place + 1) * WIDTH]
                # Every window holds its own piece once, so the bias can ride on that share.
                self.first[branch][place][here] = share + self._w[f"b1_{size}"] if place == before else share

    def _layer_norm(self, x: Float32) -> Float32:
        """Bias, then mean 0 and variance 1 over all branches together, then scale and shift."""
        x += np.concatenate([self._w[f"proj_b{size}"] for size, _ in WINDOWS])
        x -= x.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", x, x) / np.float32(x.shape[1])
        x /= np.sqrt(variance + np.float32(self._w["eps"]))[:, None]
        x *= np.concatenate([self._w[f"ln_g{size}"] for size, _ in WINDOWS])
        x += np.concatenate([self._w[f"ln_b{size}"] for size, _ in WINDOWS])
        return x
