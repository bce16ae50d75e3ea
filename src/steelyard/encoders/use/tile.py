"""One tile of the line of texts: the branches of USE multilingual v3, and their sums over each text.

A tile's arrays are used again for the next one: new memory costs more time than filling it does. Each step is done
for the whole tile in one call: threads that come back to Python more often wait for each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.encoders.use.convolution import STEP, Convolution
from steelyard.encoders.use.pieces import DIMENSION, WIDTH, WINDOWS, Pieces
from steelyard.types import Float32, Int64

FEATURES = DIMENSION + WIDTH * len(WINDOWS)
BEFORE = 2 * max(before for _, before in WINDOWS)
"""Places before a tile that it looks at: the reach of two convolutions, one on the other."""
AFTER = 2 * STEP + 1
"""Places after a tile that it looks at: their reach, and the filling up to whole columns."""
NOTHING = np.zeros(STEP * WIDTH, dtype=np.float32)
"""What negative values are raised to. With a row numpy compares eight at a time, with the number 0 one by one; a row
of several places has fewer ends."""
ONES = np.ones(WIDTH * len(WINDOWS), dtype=np.float32)
"""A product with it is a sum, in a third of the time of numpy's."""


class Tile:
    """Room for so many places, and what is done in it; for one thread at a time."""

    def __init__(self, places: int, pieces: Pieces, second: Sequence[Convolution], eps: np.float32) -> None:
        self._pieces, self._second, self._eps = pieces, second, eps
        columns = places // STEP + 2
        self._line, self._points, self._products = (
            np.zeros(max(part.planes for part in second) * columns * WIDTH, dtype=np.float32) for _ in range(3)
        )
        self._features = np.empty(((columns - 1) * STEP, WIDTH * len(WINDOWS)), dtype=np.float32)
        self._embedding = np.empty((places, DIMENSION), dtype=np.float32)

    def sums(self, slots: Int64, text: Int64) -> Float32:
        """The features of each text, summed over its places in the tile.

        `slots` are those of the tile's places, with `BEFORE` and `AFTER` more at the ends; `text` numbers the text
        of each place, and rises.
        """
        columns = -(-len(text) // STEP) + 1
        starts = range(BEFORE + 2)
        # Row k, column t of the array for `start` is the slot at place `start + STEP * t + k`.
        planes = [np.ascontiguousarray(slots[start : start + STEP * columns].reshape(-1, STEP).T) for start in starts]
        features = self._features[: (columns - 1) * STEP]
        for branch in range(len(WINDOWS)):
            self._branch(branch, planes, features[:, branch * WIDTH : (branch + 1) * WIDTH])
        return self._summed(features[: len(text)], slots[BEFORE : BEFORE + len(text)], text)

    def _branch(self, branch: int, planes: Sequence[Int64], features: Float32) -> None:
        """Both convolutions of a branch, each with a bypass, for every place that `features` has a row for."""
        (size, before), second = WINDOWS[branch], self._second[branch]
        shape = second.planes, planes[0].shape[1], WIDTH
        line, points, products = (_shaped(room, *shape) for room in (self._line, self._points, self._products))
        self._first(branch, planes, line[:STEP])
        line[STEP:, :-1] = line[: size - 1, 1:]
        line[STEP:, -1] = 0
        out = _shaped(self._points, STEP, *shape[1:])
        second(line, points, products, out)
        _raise_to_nothing(out)
        target = features.reshape(-1, STEP, WIDTH).swapaxes(0, 1)  # out of the planes, into the order of the line
        np.add(out[:, :-1], line[before : before + STEP, :-1], out=target)

    def _first(self, branch: int, planes: Sequence[Int64], line: Float32) -> None:
        """The first convolution: shares of single pieces, looked up and added; nothing where there is no piece."""
        (size, before), shares = WINDOWS[branch], self._pieces.first[branch]
        start = BEFORE - 2 * before
        more = _shaped(self._points, *line.shape)
        np.take(shares[0], planes[start], axis=0, out=line, mode="clip")
        for place in range(1, size):
            np.take(shares[place], planes[start + place], axis=0, out=more, mode="clip")
            line += more
        _raise_to_nothing(line)
        own = planes[BEFORE - before]
        np.take(self._pieces.projected[branch], own, axis=0, out=more, mode="clip")
        line += more
        line[own == 0] = 0

    def _summed(self, features: Float32, slots: Int64, text: Int64) -> Float32:
        """Each piece's features, its embedding first, brought to mean 0 and variance 1 and summed by text."""
        pieces = self._pieces
        mean = (pieces.total[slots] + features @ ONES) / FEATURES
        square = (pieces.squares[slots] + np.vecdot(features, features)) / FEATURES
        scale = np.where(slots == 0, np.float32(0), 1 / np.sqrt(square - mean * mean + self._eps))
        embedding = self._embedding[: len(slots)]
        np.take(pieces.embedding, slots, axis=0, out=embedding, mode="clip")
        starts = np.flatnonzero(np.diff(text, prepend=-1))
        ends = [*starts[1:].tolist(), len(text)]
        sums = np.empty((len(starts), FEATURES), dtype=np.float32)
        for row, (start, end) in enumerate(zip(starts.tolist(), ends, strict=True)):
            np.matmul(scale[start:end], embedding[start:end], out=sums[row, :DIMENSION])
            np.matmul(scale[start:end], features[start:end], out=sums[row, DIMENSION:])
        sums -= np.add.reduceat(scale * mean, starts)[:, None]
        return sums


def _raise_to_nothing(planes: Float32) -> None:
    rows = planes.reshape(-1, len(NOTHING))
    np.maximum(rows, NOTHING, out=rows)


def _shaped(room: Float32, *shape: int) -> Float32:
    """The beginning of a room as an array of that shape."""
    return room[: int(np.prod(shape))].reshape(shape)
