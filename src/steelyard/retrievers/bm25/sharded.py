"""BM25 over a corpus whose postings are larger than memory: shards of consecutive documents, in mapped files.

Weights use the statistics of the whole corpus, and the lists of the shards are merged by score and row. So rows and
scores are those of an index in memory, bit by bit.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from steelyard.retrievers.bm25.forms import Form
from steelyard.retrievers.bm25.postings import Portion, Postings, PostingsBuilder, Statistics
from steelyard.retrievers.bm25.search import QueryTerms, search
from steelyard.types import Float32, Int32, Int64, Run
from steelyard.vectors.mapped import release

BYTES_PER_POSTING = 8


@dataclass(frozen=True, eq=False)
class Shard:
    """The postings of the documents from row `first` on; their rows are counted from there."""

    first: int
    documents: int
    postings: Postings


@dataclass(frozen=True, eq=False)
class ShardedPostings:
    """All shards. Their files have no names any more, and are gone with this object or the process."""

    shards: tuple[Shard, ...]

    @property
    def size_bytes(self) -> int:
        """Return the bytes of the files."""
        return sum(shard.postings.size_bytes for shard in self.shards)

    def search(self, queries: QueryTerms, top_k: int) -> tuple[Int32, Float32]:
        """Return what `search` returns for the whole corpus, shard by shard."""
        best = Run(np.full((len(queries), top_k), -1, np.int32), np.full((len(queries), top_k), -np.inf, np.float32))
        for shard in self.shards:
            depth = min(top_k, shard.documents)
            rows, scores = search(shard.postings, shard.documents, queries, depth)
            rows = np.where(rows >= 0, rows + np.int32(shard.first), rows)
            best = Run.of(np.concatenate([best.rows, rows], axis=1), np.concatenate([best.scores, scores], axis=1))
            best = best.top(top_k)
            for array in (shard.postings.rows, shard.postings.weights):
                release(array)
        return best.rows, np.asarray(best.scores, dtype=np.float32)


class ShardedBuilder:
    """Collects portions like `PostingsBuilder`, and writes those that exceed the limit of memory to files."""

    def __init__(self, documents: int, folder: Path, limit: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = Path(tempfile.mkdtemp(dir=folder, prefix="bm25-"))
        self._remove = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._limit = max(1, limit // BYTES_PER_POSTING // 4)
        self._portions: list[Portion] = []
        self._postings = 0
        self._shards: list[tuple[int, int, list[Path]]] = []
        self._first = self._next = 0
        self.documents = documents
        self.lengths: Int64 = np.zeros(documents, dtype=np.int64)

    def append(self, portion: Portion) -> None:
        """Append a portion; each has later rows than the one before."""
        self.lengths[portion.first_row : portion.first_row + len(portion.lengths)] += portion.lengths
        self._portions.append(portion)
        self._postings += len(portion.rows)
        self._next += portion.documents
        if self._postings >= self._limit:
            self._flush()

    def _flush(self) -> None:
        """Write the portions in memory to files: they make one shard."""
        if self._next == self._first:
            return
        paths = []
        for number, portion in enumerate(self._portions):
            path = self._folder / f"{len(self._shards)}-{number}.npz"
            np.savez(path, **{own.name: getattr(portion, own.name) for own in fields(portion)})
            paths.append(path)
        self._shards.append((self._first, self._next - self._first, paths))
        self._portions, self._postings, self._first = [], 0, self._next

    def finish(self, terms: int, form: Form, k1: float, b: float, delta: float, workers: int = 1) -> ShardedPostings:
        """Return the index of everything added: frequencies of all shards first, then the weights of each."""
        self._flush()
        frequencies = np.zeros(terms, dtype=np.int64)
        for _, _, paths in self._shards:
            for portion in _portions(paths):
                frequencies[portion.terms] += portion.sizes
        corpus = Statistics(frequencies, self.documents, int(self.lengths.sum()))
        shards = []
        for number, (first, documents, paths) in enumerate(self._shards):
            builder = PostingsBuilder(documents)
            for portion in _portions(paths):
                builder.append(replace(portion, first_row=portion.first_row - first))
            postings = builder.finish(terms, form, k1, b, delta, workers, corpus)
            shards.append(Shard(first, documents, self._mapped(postings, number)))
            for path in paths:
                path.unlink()
        self._remove()
        return ShardedPostings(tuple(shards))

    def _mapped(self, postings: Postings, number: int) -> Postings:
        """Write the arrays of a shard to files and return the same postings, mapped."""
        arrays = {}
        for own in fields(postings):
            path = self._folder / f"{number}.{own.name}.npy"
            np.save(path, getattr(postings, own.name))
            arrays[own.name] = np.load(path, mmap_mode="r", allow_pickle=False)
        return Postings(**arrays)


def _portions(paths: Sequence[Path]) -> Iterable[Portion]:
    for path in paths:
        with np.load(path, allow_pickle=False) as arrays:
            counts = {name: int(arrays[name]) for name in ("first_row", "documents")}
            yield Portion(**{own.name: arrays[own.name] for own in fields(Portion)} | counts)
