"""Row 3: 19 variants of one encoding (dimensions, int8, binary, rescored), with nDCG@10 of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from harness.case import Case, Contestant

DOCUMENTS, QUERIES, DIMENSION, K = 10_000, 200, 384, 100
DIMENSIONS = (384, 256, 128, 64)
Data = tuple[np.ndarray, np.ndarray, np.ndarray]


def make() -> Data:
    """Return document vectors in groups, query vectors near some, and the three nearest documents of each query."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((200, DIMENSION), dtype=np.float32)
    documents = centres[rng.integers(0, 200, DOCUMENTS)] + rng.standard_normal((DOCUMENTS, DIMENSION), dtype=np.float32)
    queries = documents[:QUERIES] + 0.5 * rng.standard_normal((QUERIES, DIMENSION), dtype=np.float32)
    documents /= np.linalg.norm(documents, axis=1, keepdims=True)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    return documents, queries, np.argsort(-(queries @ documents.T), axis=1)[:, :3]


def ours(data: Data) -> Callable[[], dict[str, float]]:
    from steelyard.metrics import score
    from steelyard.retrievers.dense import DenseRetriever, SharedVectors
    from steelyard.types import Corpus, Qrels, Queries, TaskInfo
    from steelyard.vectors.variants import Variant

    documents, queries, nearest = data
    numbers = [f"{DOCUMENTS - n:05d}" for n in range(DOCUMENTS)]  # rows are numbered by descending id
    vectors = {
        "document": dict(zip(numbers, documents, strict=True)),
        "query": dict(zip(numbers, queries, strict=False)),
    }

    class Given:
        """An encoder whose vectors exist already."""

        name, similarity, dimension = "given", "cosine", DIMENSION
        settings = {"encoder": "given"}  # noqa: RUF012

        def encode(self, texts: Any, role: Any, tick: Any = None) -> np.ndarray:
            return np.stack([vectors[role][text] for text in texts])

    corpus, asked = Corpus.of(numbers, numbers), Queries(tuple(numbers[:QUERIES]), tuple(numbers[:QUERIES]))
    qrels = Qrels.of(np.repeat(np.arange(QUERIES), 3), nearest.ravel(), np.ones(nearest.size), queries=QUERIES)
    stored = [("float32", None), ("int8", None), ("int8", 4), ("binary", None), ("binary", 4)]
    variants = [Variant(None if size == DIMENSION else size, *kind) for size in DIMENSIONS for kind in stored]
    shared = SharedVectors(Given())
    shared.documents(corpus)
    shared.queries(asked)

    def work() -> dict[str, float]:
        scores = []
        for variant in variants:
            retriever = DenseRetriever("dense:given", shared.encoder, None, variant, None, shared)
            scores.append(score(retriever.index(corpus, TaskInfo("Given/task")).search(asked, K), qrels).means)
        return {"float_ndcg": float(scores[0]["ndcg_at_10"])}

    return work


def with_sentence_transformers(data: Data) -> Callable[[], dict[str, float]]:
    """quantize_embeddings of sentence-transformers, faiss for binary codes, pytrec_eval for nDCG@10."""
    import faiss
    import pytrec_eval
    from sentence_transformers.quantization import quantize_embeddings

    documents, queries, nearest = data
    qrels = {f"q{n}": {str(row): 1 for row in rows} for n, rows in enumerate(nearest.tolist())}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10"})

    def top(scores: np.ndarray, k: int) -> np.ndarray:
        best = np.argpartition(-scores, k, axis=1)[:, :k]
        return np.take_along_axis(best, np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1), axis=1)

    def ndcg(rows: np.ndarray) -> float:
        run = {
            f"q{n}": {str(row): float(K - place) for place, row in enumerate(one[:K])}
            for n, one in enumerate(rows.tolist())
        }
        return float(np.mean([one["ndcg_cut_10"] for one in evaluator.evaluate(run).values()]))

    def rescored(rows: np.ndarray, asked: np.ndarray, some: np.ndarray) -> np.ndarray:
        exact = np.einsum("qd,qkd->qk", asked, some[rows])
        return np.take_along_axis(rows, np.argsort(-exact, axis=1)[:, :K], axis=1)

    def work() -> dict[str, float]:
        values = []
        for size in DIMENSIONS:
            some, asked = documents[:, :size], queries[:, :size]
            some = some / np.linalg.norm(some, axis=1, keepdims=True)
            asked = asked / np.linalg.norm(asked, axis=1, keepdims=True)
            values.append(ndcg(top(asked @ some.T, K)))
            codes = quantize_embeddings(some, "int8", calibration_embeddings=some)
            scores = asked @ codes.astype(np.float32).T
            values += [ndcg(top(scores, K)), ndcg(rescored(top(scores, 4 * K), asked, some))]
            index = faiss.IndexBinaryFlat(size)
            index.add(quantize_embeddings(some, "ubinary"))
            _, rows = index.search(quantize_embeddings(asked, "ubinary"), 4 * K)
            values += [ndcg(rows), ndcg(rescored(rows, asked, some))]
        return {"float_ndcg": values[0]}

    return work


CASES = [
    Case(
        3,
        "variants-19",
        "A model and 19 variants of 10,000 documents x 200 queries x 384 dimensions, nDCG@10 of each",
        (
            Contestant("steelyard", "ours"),
            Contestant("sentence-transformers, faiss", "with_sentence_transformers", "sentence-transformers"),
        ),
        rounds=5,
        by="cpu",
        tolerance=1e-6,
    ),
]
