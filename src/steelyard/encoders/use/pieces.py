"""What USE multilingual v3 computes from one piece alone, kept for each distinct piece.

The embedding, its projection and its share in each place of the first convolutions do not depend on the pieces
around it. Texts repeat pieces, so keeping them spares more than half of the network's arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.types import Float32, Int64
from steelyard.vectors.threads import Spread, in_turn

DIMENSION = 512
WIDTH = 256
"""Channels of a branch."""
WINDOWS = ((2, 0), (3, 1), (5, 2))
"""Size of each branch's window, and how many of its places lie before the piece."""
TABLES = 17
"""The embeddings are stored as bytes in 17 tables with a scale each; a piece is in table `id % 17`."""
EMPTY = 17 * 7530
"""Stands for no piece, between texts."""
KEPT = 16_384
"""Distinct pieces that are kept, 15 kB each; when the place is full, those used least make room."""
ADDED = 512
"""New pieces computed at a time."""


class Pieces:
    """Shares by slot. Slot 0 is an empty place, with zeros everywhere; `slots` gives those of pieces."""

    def __init__(self, weights: Mapping[str, Any], tables: Iterable[npt.NDArray[np.uint8]]) -> None:
        self._w = weights
        # Interleaved, a piece's id is its row. (128,010 x 512 bytes; as floats it would be 262 MB.)
        self._table = np.empty((EMPTY, DIMENSION), dtype=np.uint8)
        for number, table in enumerate(tables):
            self._table[number::TABLES] = table
        self._project = np.concatenate([weights[f"proj{size}"] for size, _ in WINDOWS], axis=1)
        self._slot_of = np.full(len(self._table) + 1, -1, dtype=np.int64)
        self._slot_of[EMPTY] = 0
        self._used = 1
        rows = KEPT + 1
        self._uses = np.zeros(rows, dtype=np.int64)
        self.embedding: Float32 = np.empty((rows, DIMENSION), dtype=np.float32)
        self.total: Float32 = np.empty(rows, dtype=np.float32)
        self.squares: Float32 = np.empty(rows, dtype=np.float32)
        self.projected: list[Float32] = [np.empty((rows, WIDTH), dtype=np.float32) for _ in WINDOWS]
        self.first: list[list[Float32]] = [
            [np.empty((rows, WIDTH), dtype=np.float32) for _ in range(size)] for size, _ in WINDOWS
        ]
        """For each branch and place of its window: the share in the first convolution."""
        shares = (share for shares in self.first for share in shares)
        self._arrays: list[Float32] = [self.embedding, self.total, self.squares, *self.projected, *shares]
        for array in self._arrays:
            array[0] = 0

    @staticmethod
    def fit(ids: Int64) -> bool:
        """Whether the pieces among these can be kept all at once."""
        return len(ids) <= KEPT or int(np.count_nonzero(np.bincount(ids))) <= KEPT

    def slots(self, ids: Int64, spread: Spread = in_turn) -> Int64:
        """Where the shares of these pieces are, at most `KEPT` distinct ones; new pieces are computed now, by cores."""
        here = np.zeros(len(self._slot_of), dtype=np.bool_)
        here[ids] = True
        new = np.flatnonzero(here & (self._slot_of < 0))
        if self._used + len(new) > KEPT + 1:
            self._make_room(np.unique(self._slot_of[ids]), len(new))
        spread(lambda share: self._fill(self._used + share.start, new[share]), len(new), ADDED)
        # Only now: who interrupts the above must not be left with slots that nothing was filled into.
        self._slot_of[new] = np.arange(self._used, self._used + len(new))
        self._used += len(new)
        slots = self._slot_of[ids]
        self._uses += np.bincount(slots, minlength=len(self._uses))
        return slots

    def _make_room(self, needed: Int64, more: int) -> None:
        """Forget half of the pieces, or as many as leave room for `more`: those used least, and no needed slot."""
        needed = needed[needed > 0]
        uses = self._uses[1 : self._used].copy()
        uses[needed - 1] += uses.max() + 1
        most = max(len(needed), min(KEPT // 2, KEPT - more))
        keep = np.sort(np.argsort(-uses, kind="stable")[:most] + 1)
        ids = np.flatnonzero(self._slot_of[:EMPTY] > 0)
        ids = ids[np.argsort(self._slot_of[ids])][keep - 1]
        self._slot_of[:EMPTY], self._used = -1, 1
        kept = slice(1, 1 + len(keep))
        for array in self._arrays:
            array[kept] = array[keep]
        self._uses[kept] = self._uses[keep] // 2
        self._uses[kept.stop :] = 0
        self._slot_of[ids], self._used = np.arange(kept.start, kept.stop), kept.stop

    def _fill(self, first: int, ids: Int64) -> None:
        """Compute the shares of pieces into the slots from `first` on."""
        here = slice(first, first + len(ids))
        table = ids % TABLES
        embedding = self._table[ids].astype(np.float32)
        embedding *= self._w["scale"][table, None]
        embedding += self._w["lo"][table, None]
        self.embedding[here] = embedding
        self.total[here] = embedding.sum(axis=1)
        self.squares[here] = np.einsum("ij,ij->i", embedding, embedding)
        projected = self._layer_norm(embedding @ self._project)
        for branch, (size, before) in enumerate(WINDOWS):
            own = self.projected[branch][here]
            own[:] = projected[:, branch * WIDTH : (branch + 1) * WIDTH]
            shares = self.first[branch]
            for place in range(size):
                np.matmul(own, self._w[f"w1_{size}"][place * WIDTH : (place + 1) * WIDTH], out=shares[place][here])
            shares[before][here] += self._w[f"b1_{size}"]  # every window holds its own piece once

    def _layer_norm(self, x: Float32) -> Float32:
        """Bias, then mean 0 and variance 1 over all branches together, then scale and shift."""
        x += np.concatenate([self._w[f"proj_b{size}"] for size, _ in WINDOWS])
        x -= x.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", x, x) / np.float32(x.shape[1])
        x /= np.sqrt(variance + np.float32(self._w["eps"]))[:, None]
        x *= np.concatenate([self._w[f"ln_g{size}"] for size, _ in WINDOWS])
        x += np.concatenate([self._w[f"ln_b{size}"] for size, _ in WINDOWS])
        return x
