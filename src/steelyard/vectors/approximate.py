"""Approximate indexes as production systems use them, to measure what they lose against exact search.

`hnsw` and `ivfpq` are those of faiss, `hnswlib` is that of the package. They are built by one thread from fixed seeds,
so that a result can be reproduced; a service that builds its index in parallel has another graph of the same quality.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.errors import MissingPart, ModelError, UsageError
from steelyard.types import Float32, Run
from steelyard.vectors.similarity import Similarity

KINDS = ("hnsw", "ivfpq", "hnswlib")
LINKS = 32
"""Links of a node in a graph (M)."""
BUILD_CANDIDATES = 200
"""Candidates while a graph is built (efConstruction)."""
EF, PROBES = 100, 16
"""Defaults: candidates of a search in a graph; lists that are searched."""
CODE_BITS = 8
RECALL_DEPTHS = (10, 100)


@dataclass(frozen=True)
class Approximation:
    """The kind of index and how thoroughly it is searched."""

    kind: str
    ef: int = EF
    probes: int = PROBES

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError.invalid("index", expected=" or ".join(KINDS), found=self.kind, option="index")

    @property
    def settings(self) -> dict[str, Any]:
        """Everything here that could change a score."""
        package = "hnswlib" if self.kind == "hnswlib" else "faiss"
        version = importlib.import_module("importlib.metadata").version
        searched = {"probes": self.probes} if self.kind == "ivfpq" else {"ef": self.ef, "links": LINKS}
        library = f"{package} {version('faiss-cpu' if package == 'faiss' else package)}"
        return {"index": self.kind, **searched, "index_library": library}


class ApproximateIndex:
    """An approximate index of float vectors; cosine needs vectors of length 1."""

    def __init__(self, vectors: Float32, how: Approximation, similarity: Similarity) -> None:
        if similarity.name == "manhattan":
            raise UsageError.invalid("the similarity", expected="cosine, dot or euclidean", found=similarity.name)
        self._how, self._distance, self._count = how, similarity.is_distance, len(vectors)
        self._index = self._hnswlib(vectors) if how.kind == "hnswlib" else self._faiss(vectors)

    def _faiss(self, vectors: Float32) -> Any:
        faiss = _package("faiss")
        width = vectors.shape[1]
        metric = faiss.METRIC_L2 if self._distance else faiss.METRIC_INNER_PRODUCT
        with _one_thread(faiss):
            if self._how.kind == "hnsw":
                index = faiss.IndexHNSWFlat(width, LINKS, metric)
                index.hnsw.efConstruction = BUILD_CANDIDATES
                index.hnsw.efSearch = self._how.ef
            else:
                if len(vectors) < 1 << CODE_BITS:
                    raise ModelError.invalid(
                        "a corpus for ivfpq", expected="at least 256 documents", found=len(vectors)
                    )
                lists = max(1, min(round(4 * len(vectors) ** 0.5), len(vectors) // 39))
                codes = next(parts for parts in range(max(1, width // 4), 0, -1) if width % parts == 0)
                quantiser = faiss.IndexFlatL2(width) if self._distance else faiss.IndexFlatIP(width)
                index = faiss.IndexIVFPQ(quantiser, width, lists, codes, CODE_BITS, metric)
                index.cp.min_points_per_centroid = index.pq.cp.min_points_per_centroid = 1  # no warning on small sets
                index.nprobe = self._how.probes
                index.train(vectors)
                self._kept = quantiser  # while the index is used
            index.add(vectors)
        return index

    def _hnswlib(self, vectors: Float32) -> Any:
        index = _package("hnswlib").Index(space="l2" if self._distance else "ip", dim=vectors.shape[1])
        index.init_index(max_elements=len(vectors), ef_construction=BUILD_CANDIDATES, M=LINKS, random_seed=100)
        index.add_items(vectors, np.arange(len(vectors)), num_threads=1)
        return index

    @property
    def size_bytes(self) -> int:
        """The bytes of the index as it is saved; of hnswlib an estimate: vectors, and links of the lowest layer."""
        if self._how.kind == "hnswlib":
            return int(self._count * (self._index.dim * 4 + 2 * LINKS * 4 + 8))
        return int(_package("faiss").serialize_index(self._index).nbytes)

    def search(self, queries: Float32, k: int) -> Run:
        """Return about the top `k` documents of each query, ties by row; shorter lists end in padding.

        A graph is searched with `ef` candidates for any `k`, and returns no more: a deeper search would find more.
        """
        depth = min(k, self._count) if self._how.kind == "ivfpq" else min(k, self._count, self._how.ef)
        if self._how.kind == "hnswlib":
            self._index.set_ef(self._how.ef)
            rows, distances = self._index.knn_query(queries, k=depth, num_threads=1)
            rows, scores = rows.astype(np.int64), distances if self._distance else 1 - distances
        else:
            with _one_thread(_package("faiss")):
                scores, rows = self._index.search(np.ascontiguousarray(queries), depth)
        scores = -np.sqrt(np.maximum(scores, 0)) if self._distance else scores
        return Run.of(rows.astype(np.int32), scores.astype(np.float32))


def overlap(approximate: Run, exact: Run) -> dict[str, float]:
    """Return the share of the exact top 10 and 100 that an approximate search has found, over all queries.

    >>> overlap(Run.of([[2, 1]], [[2, 1]]), Run.of([[1, 0]], [[2, 1]]))
    {'index_recall_at_10': 0.5, 'index_recall_at_100': 0.5}
    """
    shares = {}
    for depth in RECALL_DEPTHS:
        pairs = zip(approximate.top(depth).rows, exact.top(depth).rows, strict=True)
        hits = [len(set(one[one >= 0].tolist()) & set(other[other >= 0].tolist())) for one, other in pairs]
        shares[f"index_recall_at_{depth}"] = sum(hits) / max(1, int(exact.top(depth).lengths.sum()))
    return shares


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if name == "faiss":
            raise MissingPart.extra("faiss", "ann") from error
        raise MissingPart(f"the package {name!r} is not installed", hint=f"pip install {name}") from error


@contextmanager
def _one_thread(faiss: Any) -> Iterator[None]:
    """Let faiss use one thread: a graph that several threads build is different each time."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
