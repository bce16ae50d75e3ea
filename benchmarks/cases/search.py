"""Row 15: exact dense search, top 100, all cores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harness.case import Case, Contestant

DIMENSION, K = 384, 100
Data = tuple[np.ndarray, np.ndarray]


def make(documents: int, queries: int, dimension: int = DIMENSION) -> Data:
    rng = np.random.default_rng(documents)
    return tuple(rng.standard_normal((n, dimension), dtype=np.float32) for n in (documents, queries))  # type: ignore[return-value]


def _check(rows: np.ndarray) -> dict[str, float]:
    return {"mean_row": float(rows.mean())}


def ours(data: Data) -> Callable[[], dict[str, float]]:
    from steelyard.vectors.topk import top_k

    documents, queries = data
    top_k(queries[:4], documents[:1000], 10)
    limit = {"limit_gflop": 2e-9 * documents.size * len(queries)}
    return lambda: _check(top_k(queries, documents, K).rows) | limit


def with_faiss(data: Data) -> Callable[[], dict[str, float]]:
    import faiss

    documents, queries = data
    index = faiss.IndexFlatIP(DIMENSION)
    index.add(documents)
    index.search(queries[:4], 10)
    return lambda: _check(index.search(queries, K)[1])


def with_torch(data: Data) -> Callable[[], dict[str, float]]:
    import torch

    documents, queries = (torch.from_numpy(one) for one in data)

    def work() -> dict[str, float]:
        parts = []
        for start in range(0, len(documents), 100_000):
            scores, rows = torch.topk(queries @ documents[start : start + 100_000].T, K, dim=1)
            parts.append((scores, rows + start))
        scores, rows = (torch.cat(column, dim=1) for column in zip(*parts, strict=True))
        return _check(rows.gather(1, torch.topk(scores, K, dim=1).indices).numpy())

    torch.topk(queries[:4] @ documents[:1000].T, 10, dim=1)
    return work


def with_numpy(data: Data) -> Callable[[], dict[str, float]]:
    documents, queries = data

    def work() -> dict[str, float]:
        scores, rows = np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64)
        for start in range(0, len(documents), 100_000):
            block = queries @ documents[start : start + 100_000].T
            best = np.argpartition(block, -K, axis=1)[:, -K:]
            scores = np.concatenate([scores, np.take_along_axis(block, best, axis=1)], axis=1)
            rows = np.concatenate([rows, best + start], axis=1)
        return _check(np.take_along_axis(rows, np.argsort(-scores, axis=1)[:, :K], axis=1))

    return work


def with_usearch(data: Data) -> Callable[[], dict[str, float]]:
    """The exact search of usearch, on all cores."""
    import os

    from usearch.index import MetricKind, search

    documents, queries = data
    search(documents[:1000], queries[:4], 10, MetricKind.IP, exact=True)
    threads = os.cpu_count() or 1
    return lambda: _check(search(documents, queries, K, MetricKind.IP, exact=True, threads=threads).keys)


SIDES = (
    Contestant("steelyard", "ours"),
    Contestant("faiss flat", "with_faiss", "search"),
    Contestant("torch", "with_torch", "search"),
    Contestant("numpy", "with_numpy", "search"),
)
CASES = [
    Case(
        15,
        f"search-{label}",
        f"Exact search, {documents:,} documents x {queries:,} queries x {DIMENSION} dimensions, top {K}",
        (*SIDES, Contestant("usearch", "with_usearch", "search")) if documents < 1_000_000 else SIDES,
        {"documents": documents, "queries": queries},
        rounds=rounds,
        target=1 / 1.3,
        tolerance=1.0,  # the mean of row numbers: two documents that are equal in float32 may change places
        quick=quick,
        reason="Ties are found and ordered by id, which no peer does.",
        memory_reason="The scores of two blocks of documents are in memory, one for each core.",
    )
    for label, documents, queries, rounds, quick in (
        ("10k", 10_000, 200, 9, True),
        ("100k", 100_000, 1000, 5, True),
        ("1m", 1_000_000, 1000, 2, False),
    )
]
