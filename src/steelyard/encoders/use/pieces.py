"""What USE multilingual v3 computes from one piece alone, kept for each distinct piece.

The embedding, its projection and its share in each place of the first convolutions do not depend on the pieces
around it. Texts repeat pieces, so keeping these values saves more than half of the network's arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.types import Float32, Int64
from steelyard.vectors.threads import MapSlices, map_serially

DIMENSION = 512
WIDTH = 256
"""Channels of a branch."""
WINDOWS = ((2, 0), (3, 1), (5, 2))
"""Size of each branch's window, and how many of its places lie before the piece."""
TABLES = 17
"""The embeddings are stored as bytes in 17 tables with a scale each; a piece is in table `id % 17`."""
EMPTY = 17 * 7530
"""The id of an empty place between texts."""
KEPT = 16_384
"""The most distinct pieces that are kept, 15 kB each; the least used ones are dropped first."""
ADDED = 512
"""New pieces computed at a time."""
ROWS = 48
"""The least number of rows of a matrix product, and it is a multiple of 12: BLAS computes a few rows, or a remainder of
rows, in another order, with other rounding."""
HALF_BLOCK = 6
"""Rows that OpenBLAS computes in one order on processors without AVX-512."""


class Pieces:
    """Values by slot. Slot 0 is an empty place, with zeros everywhere; `slots` returns those of pieces."""

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
        """For each branch and place of its window, the share in the first convolution."""
        shares = (share for shares in self.first for share in shares)
        self._arrays: list[Float32] = [self.embedding, self.total, self.squares, *self.projected, *shares]
        for array in self._arrays:
            array[0] = 0

    @staticmethod
    def fit(ids: Int64) -> bool:
        """Return whether all pieces among these ids can be kept at once."""
        return len(ids) <= KEPT or int(np.count_nonzero(np.bincount(ids))) <= KEPT

    def slots(self, ids: Int64, map_slices: MapSlices = map_serially) -> Int64:
        """Return the slots of these pieces, at most `KEPT` distinct ones; new pieces are computed first."""
        here = np.zeros(len(self._slot_of), dtype=np.bool_)
        here[ids] = True
        new = _alternating(np.flatnonzero(here & (self._slot_of < 0)))
        if self._used + len(new) > KEPT + 1:
            self._make_room(np.unique(self._slot_of[ids]), len(new))
        map_slices(lambda part: self._fill(self._used + part.start, new[part]), len(new), ADDED)
        # Only now: an interrupt of the above must not leave slots without values.
        self._slot_of[new] = np.arange(self._used, self._used + len(new))
        self._used += len(new)
        slots = self._slot_of[ids]
        self._uses += np.bincount(slots, minlength=len(self._uses))
        return slots

    def _make_room(self, needed: Int64, more: int) -> None:
        """Drop half of the pieces, or as many as leave room for `more`: the least used ones, and no needed slot."""
        needed = needed[needed > 0]
        uses = self._uses[1 : self._used].copy()
        uses[needed - 1] += uses.max() + 1
        most = max(len(needed), min(KEPT // 2, KEPT - more))
        keep = np.sort(np.argsort(-uses, kind="stable")[:most] + 1)
        ids = np.flatnonzero(self._slot_of[:EMPTY] > 0)
        ids = ids[np.argsort(self._slot_of[ids])][keep - 1]
        self._slot_of[:EMPTY], self._used = -1, 1
        rows = slice(1, 1 + len(keep))
        for array in self._arrays:
            array[rows] = array[keep]
        self._uses[rows] = self._uses[keep] // 2
        self._uses[rows.stop :] = 0
        self._slot_of[ids], self._used = np.arange(rows.start, rows.stop), rows.stop

    def _fill(self, first: int, ids: Int64) -> None:
        """Compute the values of pieces into the slots from `first` on; they do not depend on the other pieces."""
        order = _row_order(ids)
        target = np.empty(len(ids), dtype=np.int64)
        filled = order >= 0
        target[order[filled]] = np.flatnonzero(filled)
        rows = ids[np.maximum(order, 0)]
        slots = slice(first, first + len(ids))
        table = rows % TABLES
        embedding = self._table[rows].astype(np.float32)
        embedding *= self._w["scale"][table, None]
        embedding += self._w["lo"][table, None]
        np.take(embedding, target, axis=0, out=self.embedding[slots], mode="clip")
        self.total[slots] = embedding.sum(axis=1)[target]
        self.squares[slots] = np.einsum("ij,ij->i", embedding, embedding)[target]
        projected = self._layer_norm(embedding @ self._project)
        own, share = (np.empty((len(rows), WIDTH), dtype=np.float32) for _ in range(2))
        for branch, (size, before) in enumerate(WINDOWS):
            own[:] = projected[:, branch * WIDTH : (branch + 1) * WIDTH]
            np.take(own, target, axis=0, out=self.projected[branch][slots], mode="clip")
            shares = self.first[branch]
            for place in range(size):
                np.matmul(own, self._w[f"w1_{size}"][place * WIDTH : (place + 1) * WIDTH], out=share)
                np.take(share, target, axis=0, out=shares[place][slots], mode="clip")
            shares[before][slots] += self._w[f"b1_{size}"]  # every window contains its own piece once

    def _layer_norm(self, x: Float32) -> Float32:
        """Add the bias, normalise to mean 0 and variance 1 over all branches together, then scale and shift."""
        x += np.concatenate([self._w[f"proj_b{size}"] for size, _ in WINDOWS])
        x -= x.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", x, x) / np.float32(x.shape[1])
        x /= np.sqrt(variance + np.float32(self._w["eps"]))[:, None]
        x *= np.concatenate([self._w[f"ln_g{size}"] for size, _ in WINDOWS])
        x += np.concatenate([self._w[f"ln_b{size}"] for size, _ in WINDOWS])
        return x


def _alternating(ids: Int64) -> Int64:
    """Return the ids with even and odd ones in turn, so that any part of them has about as many of both.

    >>> _alternating(np.array([2, 4, 6, 7, 8, 9])).tolist()
    [2, 7, 4, 9, 6, 8]
    """
    even, odd = ids[ids % 2 == 0], ids[ids % 2 == 1]
    common = min(len(even), len(odd))
    pairs = np.stack([even[:common], odd[:common]], axis=1).ravel()
    return np.concatenate([pairs, even[common:], odd[common:]])


def _row_order(ids: Int64) -> Int64:
    """Return the place of a piece in `ids` for each row of a matrix product, -1 for a row that pads it.

    On processors without AVX-512, OpenBLAS computes the first six rows of every twelve in one order and the other six
    in another. Even ids take the former and odd ids the latter, so that the rounding depends on the id alone.

    >>> order = _row_order(np.array([4, 6, 9]))
    >>> order[:12].tolist(), len(order)
    ([0, 1, -1, -1, -1, -1, 2, -1, -1, -1, -1, -1], 48)
    """
    odd = ids % 2
    halves = [np.flatnonzero(odd == parity) for parity in (0, 1)]
    blocks = max(ROWS // (2 * HALF_BLOCK), -(-max(map(len, halves)) // HALF_BLOCK))
    order = np.full((blocks, 2, HALF_BLOCK), -1, dtype=np.int64)
    for parity, places in enumerate(halves):
        column = np.full(blocks * HALF_BLOCK, -1, dtype=np.int64)
        column[: len(places)] = places
        order[:, parity] = column.reshape(blocks, HALF_BLOCK)
    return order.ravel()
