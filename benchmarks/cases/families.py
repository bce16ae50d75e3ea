"""Row 2: a whole Nano task of every family with encodings given, against sentence-transformers' own evaluators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from harness.case import Case, Contestant
from harness.made_tasks import retrieval

DIMENSION = {"dense": 384, "sparse": 30_522, "late": 128}
Encodings = dict[str, Any]
Data = tuple[str, Any, Encodings, float]


def make(family: str, documents: int, queries: int) -> Data:
    """Return a task whose judgements are binary, the encoding of every text, and the products that a search needs."""
    task = retrieval(documents, queries, highest=1)
    draw = np.random.default_rng(11)
    encodings: Encodings = {}
    for text in task.corpus.texts:
        encodings[text] = _document(family, draw)
    for number, text in enumerate(task.queries.texts):
        near = [encodings[task.corpus.texts[row]] for row in task.qrels.rows_of(number)]
        encodings[text] = _query(family, near, draw)
    tokens = [sum(len(encodings[text]) for text in texts) for texts in (task.corpus.texts, task.queries.texts)]
    gflop = 2e-9 * DIMENSION[family] * (tokens[0] * tokens[1] if family == "late" else documents * queries)
    return family, task, encodings, gflop


def _document(family: str, draw: np.random.Generator) -> np.ndarray:
    if family == "dense":
        return draw.standard_normal(DIMENSION["dense"], dtype=np.float32)
    if family == "sparse":  # columns and weights; small columns are frequent, as words are
        columns = np.unique((DIMENSION["sparse"] * draw.random(120) ** 3).astype(np.int64))
        return np.stack([columns, draw.random(len(columns)) + 0.1]).T
    tokens = draw.standard_normal((int(draw.integers(20, 100)), DIMENSION["late"]), dtype=np.float32)
    return tokens / np.linalg.norm(tokens, axis=1, keepdims=True)


def _query(family: str, near: Sequence[np.ndarray], draw: np.random.Generator) -> np.ndarray:
    """Return the encoding of a query that is like those of its documents."""
    if family == "dense":
        return np.mean(near, axis=0) + 0.5 * _document(family, draw)
    if family == "sparse":
        return np.concatenate([draw.permutation(one)[:6] for one in near])
    tokens = np.concatenate([draw.permutation(one)[:6] for one in near])
    tokens = tokens + 0.15 * draw.standard_normal(tokens.shape, dtype=np.float32)
    return tokens / np.linalg.norm(tokens, axis=1, keepdims=True)


def _csr(parts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return offsets, columns and weights; equal columns of a text are added."""
    summed = [np.unique(one[:, 0].astype(np.int64), return_inverse=True) for one in parts]
    weights = [np.bincount(place, one[:, 1]) for (_, place), one in zip(summed, parts, strict=True)]
    offsets = np.concatenate(([0], np.cumsum([len(columns) for columns, _ in summed])))
    return offsets, np.concatenate([columns for columns, _ in summed]), np.concatenate(weights).astype(np.float32)


def _blocks(family: str, task: Any, encodings: Encodings) -> dict[str, Any]:
    """Return the encodings of documents and queries as a model returns them: one matrix, or a list of matrices."""
    blocks: dict[str, Any] = {}
    for role, texts in (("document", task.corpus.texts), ("query", task.queries.texts)):
        parts = [encodings[text] for text in texts]
        blocks[role] = np.stack(parts) if family == "dense" else _csr(parts) if family == "sparse" else parts
    return blocks


def _rows(task: Any) -> dict[str, int]:
    """Return the row of every text: a model is asked for texts, so all contestants look them up."""
    return {text: row for texts in (task.corpus.texts, task.queries.texts) for row, text in enumerate(texts)}


def _matrix(block: Any) -> Any:
    from scipy import sparse

    offsets, columns, weights = block
    return sparse.csr_matrix((weights, columns, offsets), shape=(len(offsets) - 1, DIMENSION["sparse"]))


def ours(data: Data) -> Callable[[], dict[str, float]]:
    from steelyard import evaluate
    from steelyard.encoders.backends import sparse_input, token_input
    from steelyard.encoders.backends.function import from_function
    from steelyard.retrievers.dense import DenseRetriever
    from steelyard.retrievers.late import LateRetriever
    from steelyard.retrievers.sparse import SparseRetriever

    family, task, encodings, gflop = data
    blocks, rows = _blocks(family, task, encodings), _rows(task)
    if family == "sparse":
        blocks = {role: _matrix(one) for role, one in blocks.items()}

    def given(texts: Sequence[str], role: str) -> Any:
        chosen = [rows[text] for text in texts]
        return [blocks[role][row] for row in chosen] if family == "late" else blocks[role][chosen]

    model: Any
    if family == "dense":
        rows["steelyard"] = 0  # asked for to learn the dimension
        model = DenseRetriever("dense:given", from_function(given, "given", batch_size=1 << 20))
    elif family == "sparse":
        model = SparseRetriever("sparse:given", sparse_input.from_function(given, name="given"))
    else:
        model = LateRetriever("late:given", token_input.from_function(given, name="given"))

    def work() -> dict[str, float]:
        (result,) = evaluate(model, task)
        if result.score is None:
            raise SystemExit(str(result.error))
        return {"ndcg_at_10": float(result.score), **({} if family == "sparse" else {"limit_gflop": gflop})}

    _first_call(evaluate)
    return work


def _first_call(evaluate: Callable[..., Any]) -> None:
    """Evaluate a tiny task, which imports what a first call imports."""
    from steelyard.encoders.backends.function import from_function
    from steelyard.retrievers.dense import DenseRetriever

    draw = np.random.default_rng(0)
    model = from_function(lambda texts: draw.random((len(texts), 8)), "tiny", batch_size=1 << 20)
    evaluate(DenseRetriever("dense:tiny", model), retrieval(50, 5))


def with_sentence_transformers(data: Data) -> Callable[[], dict[str, float]]:
    """The evaluator of the family, with a model that returns what exists already as tensors."""
    import torch
    from sentence_transformers.multi_vector_encoder.evaluation import MultiVectorInformationRetrievalEvaluator
    from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
    from sentence_transformers.sparse_encoder.evaluation import SparseInformationRetrievalEvaluator
    from sentence_transformers.util import SimilarityFunction

    family, task, encodings, _ = data
    name = {"dense": "cosine", "sparse": "dot", "late": "maxsim"}[family]
    blocks = {role: _tensor(family, one) for role, one in _blocks(family, task, encodings).items()}
    rows = _rows(task)

    def given(texts: Sequence[str], role: str) -> Any:
        chosen = [rows[text] for text in texts]
        return (
            [blocks[role][row] for row in chosen]
            if family == "late"
            else blocks[role].index_select(0, torch.tensor(chosen))
        )

    class Given:
        """A model whose encodings exist already."""

        similarity_fn_name = name
        similarity = staticmethod(SimilarityFunction.to_similarity_fn(name))
        prompts: dict[str, str] = {}  # noqa: RUF012
        model_card_data = SimpleNamespace(set_evaluation_metrics=lambda *_, **__: None)

        def encode_query(self, texts: Any, **_: Any) -> Any:
            return given(texts, "query")

        def encode_document(self, texts: Any, **_: Any) -> Any:
            return given(texts, "document")

        @staticmethod
        def sparsity(vectors: Any) -> dict[str, float]:
            active = vectors._nnz() / vectors.shape[0]
            return {"active_dims": active, "sparsity_ratio": 1 - active / vectors.shape[1]}

    queries = dict(zip(task.queries.ids, task.queries.texts, strict=True))
    corpus = dict(zip(task.corpus.ids, task.corpus.texts, strict=True))
    relevant = {
        query: {task.corpus.ids[row] for row in task.qrels.rows_of(number)} for number, query in enumerate(queries)
    }
    kinds = {
        "dense": InformationRetrievalEvaluator,
        "sparse": SparseInformationRetrievalEvaluator,
        "late": MultiVectorInformationRetrievalEvaluator,
    }
    evaluator = kinds[family](queries, corpus, relevant, corpus_chunk_size=len(corpus), write_csv=False)
    torch.topk(torch.rand(4, 100) @ torch.rand(100, 100), 10)
    return lambda: {"ndcg_at_10": float(evaluator(Given())[f"{name.lower()}_ndcg@10"])}


def _tensor(family: str, block: Any) -> Any:
    import torch

    if family == "dense":
        return torch.from_numpy(block)
    if family == "late":
        return [torch.from_numpy(one) for one in block]
    offsets, columns, weights = block
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    size = (len(offsets) - 1, DIMENSION["sparse"])
    return torch.sparse_coo_tensor(np.stack([rows, columns]), torch.from_numpy(weights), size).coalesce()


CASES = [
    Case(
        2,
        f"family-{family}",
        f"A whole Nano task of {documents:,} documents x {queries} queries, {title}, encodings given",
        (
            Contestant("steelyard", "ours"),
            Contestant("sentence-transformers", "with_sentence_transformers", "sentence-transformers"),
        ),
        {"family": family, "documents": documents, "queries": queries},
        rounds=3,
        by="cpu",
        tolerance=1e-5,
        quick=family != "late",
        reason="Steelyard's time includes intervals, values by query and all scores of mteb.",
        note="The peer is the evaluator of sentence-transformers for this family: 16 scores, without intervals.",
    )
    for family, documents, queries, title in (
        ("dense", 10_000, 200, "dense vectors of 384 dimensions"),
        ("sparse", 10_000, 200, "learned sparse vectors"),
        ("late", 5_000, 50, "late interaction with about 60 vectors a document"),
    )
]
