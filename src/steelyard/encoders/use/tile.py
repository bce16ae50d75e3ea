"""One tile of the line of texts: the branches of USE multilingual v3, and their sums over each chunk of a text.

A tile's arrays are reused for the next tile, because allocating memory takes longer than filling it. Each step is one
call for the whole tile, because threads that return to Python more often wait for each other.

Convolutions compute six adjacent places at a time, by the Toom-Cook algorithm. Six outputs of a window of `size` places
are determined, like the coefficients of a polynomial, by values at `size + 5` points. Each point costs one product,
where direct computation costs `6 * size` (7 instead of 12, 8 of 18, 10 of 30). Small matrices of simple fractions
convert to and from the points. Vectors lose a digit: over thousands of texts they differ from direct computation by
2e-6 at most (by 5e-7 with four places at a time, by 7e-6 with eight).

A line is stored in six planes, place `6 * t + k` in plane `k` and column `t`, so that each product is one of plain
matrices. Windows extend beyond their six places: plane `6 + k` is plane `k` shifted by one column.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from steelyard.encoders.use.pieces import DIMENSION, ROWS, WIDTH, WINDOWS, Pieces
from steelyard.types import Float32, Float64, Int64

STEP = 6
"""Outputs computed together."""
POINTS = tuple(map(Fraction, ("0", "1", "-1", "2", "-1/2", "1/2", "-2", "4", "-1/4")))
"""Powers of two are exact, and small ones keep rounding small; the last point of a convolution is infinity."""


class Convolution:
    """The sum over a window of `size` places of each place's vector times that place's matrix, and a bias."""

    def __init__(self, weights: Float32, bias: Float32, size: int) -> None:
        """`weights` has the matrices of the places stacked vertically, as the network stores them."""
        self.planes = STEP + size - 1
        to_points, of_weights, back = _transforms(size)
        matrices = weights.astype(np.float64).reshape(size, -1, weights.shape[1])
        self._to_points = to_points.astype(np.float32)
        self._matrices = np.tensordot(of_weights, matrices, axes=1).astype(np.float32)
        self._back = back.astype(np.float32)
        self._bias = bias

    def __call__(self, line: Float32, points: Float32, products: Float32, out: Float32) -> None:
        """Fill `out` (`STEP` planes) from `line` (`planes` planes), using two arrays of the shape of `line`.

        Every array is planes x columns x channels and contiguous.
        """
        planes = self.planes
        np.matmul(self._to_points, line.reshape(planes, -1), out=points.reshape(planes, -1))
        np.matmul(points, self._matrices, out=products)
        products[1] += self._bias  # the point 1 counts once for each output
        np.matmul(self._back, products.reshape(planes, -1), out=out.reshape(STEP, -1))


def _transforms(size: int) -> tuple[Float64, Float64, Float64]:
    """Return the matrices from line to points, from weights to points, and from products to outputs.

    >>> to_points, of_weights, back = _transforms(3)
    >>> line, weights = np.arange(8.0) ** 2, np.array([1.0, 10.0, 100.0])
    >>> (back @ ((of_weights @ weights) * (to_points @ line))).round(9).tolist()
    [410.0, 941.0, 1694.0, 2669.0, 3866.0, 5285.0]
    >>> np.convolve(line, weights[::-1], mode="valid").tolist()
    [410.0, 941.0, 1694.0, 2669.0, 3866.0, 5285.0]
    """
    count = STEP + size - 1
    to_points = np.linalg.inv(_powers(count, count)).T
    # Rows of similar size lose less precision, and powers of two none.
    scale = 2.0 ** np.round(np.log2(np.abs(to_points).max(axis=1, keepdims=True)))
    return to_points / scale, _powers(count, size) * scale, _powers(count, STEP).T


def _powers(points: int, terms: int) -> Float64:
    """Return the first powers of each point; for infinity only the highest is 1."""
    finite = [[float(point**power) for power in range(terms)] for point in POINTS[: points - 1]]
    return np.array([*finite, [0.0] * (terms - 1) + [1.0]])


FEATURES = DIMENSION + WIDTH * len(WINDOWS)
BEFORE = 2 * max(before for _, before in WINDOWS)
"""Places before a tile that it reads: the reach of two convolutions, one on top of the other."""
AFTER = 2 * STEP + 1
"""Places after a tile that it reads: their reach, and the padding to whole columns."""
ZEROS = np.zeros(STEP * WIDTH, dtype=np.float32)
"""The lower bound of ReLU. numpy compares a row eight values at a time, but a scalar one by one."""
ONES = np.ones(WIDTH * len(WINDOWS), dtype=np.float32)
"""A product with it is a sum, in a third of the time that numpy's sum takes."""
COLUMNS = 12
"""A tile has a multiple of so many columns, as many as the kernels of BLAS process together."""


class Tile:
    """Memory for a number of places, and what is computed in it; for one thread at a time."""

    def __init__(self, places: int, pieces: Pieces, second: Sequence[Convolution], eps: np.float32) -> None:
        self._pieces, self._second, self._eps = pieces, second, eps
        columns = max(ROWS, -(-places // (STEP * COLUMNS)) * COLUMNS) + 1
        self._line, self._points, self._products = (
            np.zeros(max(part.planes for part in second) * columns * WIDTH, dtype=np.float32) for _ in range(3)
        )
        self._features = np.empty(((columns - 1) * STEP, WIDTH * len(WINDOWS)), dtype=np.float32)
        self._embedding = np.empty(((columns - 1) * STEP, DIMENSION), dtype=np.float32)

    def sums(self, slots: Int64, starts: Int64, ends: Int64) -> Float32:
        """Return the features of each chunk, summed over its places.

        `starts` has the first place of each chunk and the end of the last. Slots of the places begin at `BEFORE`; at
        least `AFTER + STEP * ROWS` more follow after the last place. What is computed beyond the end is left out.
        `ends` are the places where a text ends: a convolution that reads beyond gets zeros, so that rounding does not
        depend on the next text.
        """
        begin = int(starts[0])
        columns = max(ROWS, -(-int(starts[-1] - begin) // (STEP * COLUMNS)) * COLUMNS)
        places = columns * STEP
        slots = slots[begin : begin + places + BEFORE + AFTER]
        if len(slots) < places + BEFORE + AFTER:
            slots = np.append(slots, np.zeros(places + BEFORE + AFTER - len(slots), dtype=np.int64))
        # Row k, column t of the array for `start` is the slot at place `start + STEP * t + k`.
        planes = [
            np.ascontiguousarray(slots[start : start + STEP * (columns + 1)].reshape(-1, STEP).T)
            for start in range(BEFORE + 2)
        ]
        features = self._features[:places]
        last_columns = (ends - begin) // STEP - 1
        for branch in range(len(WINDOWS)):
            self._branch(branch, planes, last_columns, features[:, branch * WIDTH : (branch + 1) * WIDTH])
        return self._summed(features, slots[BEFORE : BEFORE + places], starts - begin)

    def _branch(self, branch: int, planes: Sequence[Int64], last_columns: Int64, features: Float32) -> None:
        """Compute both convolutions of a branch, each with a bypass, for every place that `features` has a row for."""
        (size, before), second = WINDOWS[branch], self._second[branch]
        shape = second.planes, planes[0].shape[1], WIDTH
        line, points, products = (_shaped(buffer, *shape) for buffer in (self._line, self._points, self._products))
        self._first(branch, planes, line[:STEP])
        line[STEP:, :-1] = line[: size - 1, 1:]
        line[STEP:, -1] = 0
        line[STEP + before :, last_columns] = 0
        out = _shaped(self._points, STEP, *shape[1:])
        second(line, points, products, out)
        _relu(out)
        target = features.reshape(-1, STEP, WIDTH).swapaxes(0, 1)  # from planes to the order of the line
        np.add(out[:, :-1], line[before : before + STEP, :-1], out=target)

    def _first(self, branch: int, planes: Sequence[Int64], line: Float32) -> None:
        """Compute the first convolution: shares of single pieces, looked up and added; 0 where there is no piece."""
        (size, before), shares = WINDOWS[branch], self._pieces.first[branch]
        start = BEFORE - 2 * before
        more = _shaped(self._points, *line.shape)
        np.take(shares[0], planes[start], axis=0, out=line, mode="clip")
        for place in range(1, size):
            np.take(shares[place], planes[start + place], axis=0, out=more, mode="clip")
            line += more
        _relu(line)
        own = planes[BEFORE - before]
        np.take(self._pieces.projected[branch], own, axis=0, out=more, mode="clip")
        line += more
        line[own == 0] = 0

    def _summed(self, features: Float32, slots: Int64, starts: Int64) -> Float32:
        """Normalise each place's features, its embedding first, to mean 0 and variance 1, and sum them by chunk."""
        pieces = self._pieces
        mean = (pieces.total[slots] + features @ ONES) / FEATURES
        square = (pieces.squares[slots] + np.vecdot(features, features)) / FEATURES
        scale = np.where(slots == 0, np.float32(0), 1 / np.sqrt(square - mean * mean + self._eps))
        embedding = self._embedding[: len(slots)]
        np.take(pieces.embedding, slots, axis=0, out=embedding, mode="clip")
        sums = np.empty((len(starts) - 1, FEATURES), dtype=np.float32)
        for row, (start, end) in enumerate(pairwise(starts.tolist())):
            np.matmul(scale[start:end], embedding[start:end], out=sums[row, :DIMENSION])
            np.matmul(scale[start:end], features[start:end], out=sums[row, DIMENSION:])
        shift = scale * mean
        sums -= np.add.reduceat(shift[: starts[-1]], starts[:-1])[:, None]
        return sums


def _relu(planes: Float32) -> None:
    """Replace negative values by 0, in place."""
    rows = planes.reshape(-1, len(ZEROS))
    np.maximum(rows, ZEROS, out=rows)


def _shaped(buffer: Float32, *shape: int) -> Float32:
    """Return the beginning of a buffer as an array of that shape."""
    return buffer[: int(np.prod(shape))].reshape(shape)
