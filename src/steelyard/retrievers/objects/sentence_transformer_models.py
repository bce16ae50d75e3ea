"""Models in memory, such as one that is being trained, as retrievers; and a guard that leaves them as they were."""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from steelyard.config import Settings
from steelyard.encoders.backends.function import RaggedFunctionEncoder, from_function
from steelyard.encoders.backends.transformers.sparse_encoder import sparse_vectors
from steelyard.encoders.cache.cached_encoder import open_store
from steelyard.errors import ModelError
from steelyard.retrievers.dense import DenseRetriever
from steelyard.retrievers.late import LateRetriever
from steelyard.retrievers.pipeline import pipeline
from steelyard.retrievers.rerank.load import from_function as reranker_from_function
from steelyard.retrievers.sparse import SparseRetriever
from steelyard.types import Float32, Role
from steelyard.types.protocols import Reranker, Retriever
from steelyard.vectors.maxsim import TokenVectors
from steelyard.vectors.sparse import SparseVectors

FAMILIES = {
    "CrossEncoder": "rerank",
    "SparseEncoder": "sparse",
    "MultiVectorEncoder": "late",
    "SentenceTransformer": "dense",
}
"""Classes of sentence-transformers and the family that each is; the first in this order that fits counts."""


def family_of(model: Any) -> str:
    """Return the family of a model of sentence-transformers: `dense`, `sparse`, `late` or `rerank`."""
    classes = {kind.__name__ for kind in type(model).__mro__}
    for name, family in FAMILIES.items():
        if name in classes:
            return family
    raise ModelError(
        f"the model must be one of {', '.join(FAMILIES)} of sentence-transformers, got {type(model).__name__}",
        hint="pass the model that the trainer trains",
    )


def live_retriever(
    model: Any, name: str, *, batch_size: int = 32, version: str | None = None, settings: Settings | None = None
) -> Retriever:
    """Return an encoder in memory as a retriever called `FAMILY:name`.

    Prompts are those that the model declares for queries and documents. Without a `version` that identifies its
    weights, nothing that it computes is stored; with one, dense vectors are.
    """
    family = family_of(model)
    if family == "dense":
        encoder = from_function(
            lambda texts, role: _dense(model, texts, role, batch_size),
            name,
            similarity=str(model.similarity_fn_name or "cosine"),
            version=version,
        )
        return DenseRetriever(f"dense:{name}", encoder, open_store(encoder, settings))
    if family == "sparse":
        sparse = RaggedFunctionEncoder[SparseVectors](
            lambda texts, role: _sparse(model, texts, role, batch_size),
            lambda vectors: vectors,
            name=name,
            kind="sparse vectors",
            similarity=str(model.similarity_fn_name or "dot"),
            version=version,
        )
        return SparseRetriever(f"sparse:{name}", sparse)
    if family == "late":
        late = RaggedFunctionEncoder[TokenVectors](
            lambda texts, role: _tokens(model, texts, role, batch_size),
            lambda vectors: vectors,
            name=name,
            kind="token vectors",
            similarity=str(model.similarity_fn_name or "maxsim"),
            version=version,
        )
        return LateRetriever(f"late:{name}", late)
    raise ModelError(
        "a cross-encoder needs a first stage, got none", hint="use SteelyardCrossEncoderEvaluator, or live_reranker"
    )


def live_reranker(
    model: Any, name: str, first: str | Retriever, *, depth: int = 100, batch_size: int = 32
) -> Retriever:
    """Return a cross-encoder in memory behind a first stage, as a retriever."""
    return pipeline(first, live_scorer(model, name, batch_size=batch_size), depth=depth)


def live_scorer(model: Any, name: str, *, batch_size: int = 32, version: str | None = None) -> Reranker:
    """Return a cross-encoder in memory as a reranker; with a `version` of its weights, scores are stored."""
    if family_of(model) != "rerank":
        raise ModelError(
            f"the model must be a CrossEncoder, got {type(model).__name__}", hint="use SteelyardEvaluator instead"
        )

    def score(query: str, texts: Sequence[str]) -> Float32:
        pairs = [(query, text) for text in texts]
        predictions = model.predict(pairs, batch_size=batch_size, show_progress_bar=False, convert_to_numpy=True)
        scores = np.asarray(predictions, dtype=np.float32)
        if scores.ndim != 1:
            raise ModelError(
                f"a cross-encoder must give one score for each pair, got shape {scores.shape}",
                hint="train with num_labels=1",
            )
        return scores

    return reranker_from_function(score, name, version=version)


def _encode(model: Any, texts: Sequence[str], role: Role, batch_size: int, **options: Any) -> Any:
    """Call the method of the role: the model puts its own prompt in front."""
    method = {"query": model.encode_query, "document": model.encode_document}.get(role, model.encode)
    return method(list(texts), batch_size=batch_size, show_progress_bar=False, **options)


def _dense(model: Any, texts: Sequence[str], role: Role, batch_size: int) -> Float32:
    return np.asarray(_encode(model, texts, role, batch_size, convert_to_numpy=True), dtype=np.float32)


def _sparse(model: Any, texts: Sequence[str], role: Role, batch_size: int) -> SparseVectors:
    prompt = str((model.prompts or {}).get(role, "") or "")
    parts = [
        sparse_vectors(model, list(texts[start : start + batch_size]), role, prompt)
        for start in range(0, len(texts), batch_size)
    ]
    if not parts:
        return SparseVectors.from_dense(np.empty((0, int(model.get_embedding_dimension() or 0))))
    return SparseVectors.joined(parts)


def _tokens(model: Any, texts: Sequence[str], role: Role, batch_size: int) -> TokenVectors:
    arrays = _encode(model, texts, role, batch_size, convert_to_numpy=True)
    return TokenVectors.of([np.asarray(array, dtype=np.float32) for array in arrays])


@contextmanager
def unchanged(model: Any) -> Iterator[None]:
    """Leave a model as it was: the mode of every module, its device, and the random states of Python, numpy and torch.

    Within the block the model is in evaluation mode.
    """
    torch: Any = importlib.import_module("torch")
    modes = [(module, module.training) for module in model.modules()]
    device = next((parameter.device for parameter in model.parameters()), None)
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training
        moved = next((parameter.device for parameter in model.parameters()), None)
        if device is not None and moved != device:
            model.to(device)
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)
