"""Row 8: reranking with a cross-encoder of the shape and weights of MiniLM-L6: the same network on both sides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cases import encoding
from harness.case import Case, Contestant
from harness.inputs import kept

Data = tuple[list[str], list[list[str]], str]


def make(queries: int, depth: int) -> Data:
    """Return queries of 4 to 10 words, the documents to rerank for each, of 5 to 80 words, and a model folder."""
    rng = np.random.default_rng(5)
    vocabulary = np.array(encoding.english_words(), dtype=object)
    weights = 1 / np.arange(5, len(vocabulary) + 5)
    weights /= weights.sum()

    def text(size: int) -> str:
        return " ".join(rng.choice(vocabulary, size, p=weights))

    asked = [text(int(size)) for size in rng.integers(4, 11, queries)]
    sizes = np.minimum(80, 5 + rng.lognormal(2.8, 0.7, (queries, depth))).astype(int)
    lists = [
        [f"{query} {text(size)}" if size % 7 == 0 else text(size) for size in row]
        for query, row in zip(asked, sizes.tolist(), strict=True)
    ]
    return asked, lists, str(kept("cross-encoder-minilm", _write_model))


def _write_model(folder: Path) -> None:
    """Write a classifier with the layers of all-MiniLM-L6-v2 and a head whose weights a seed fixes."""
    import torch
    from transformers import AutoTokenizer, BertForSequenceClassification

    torch.manual_seed(0)
    model = BertForSequenceClassification.from_pretrained(encoding.folder(), num_labels=1)
    torch.nn.init.normal_(model.classifier.weight, std=0.1)
    torch.nn.init.normal_(model.bert.pooler.dense.weight, std=0.2)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(encoding.folder()).save_pretrained(folder)


def _check(scores: Any, depth: int) -> dict[str, float]:
    """Return the mean and the spread of all scores, and the mean score of the first and of the best of each query."""
    table = np.asarray(scores, dtype=np.float64).reshape(-1, depth)
    first, best = table[:, 0].mean(), table.max(axis=1).mean()
    return {"mean": float(table.mean()), "spread": float(table.std()), "first": float(first), "best": float(best)}


def _tokens(data: Data) -> int:
    from tokenizers import Tokenizer

    asked, lists, folder = data
    tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
    tokenizer.no_padding()
    pairs = [(query, text) for query, some in zip(asked, lists, strict=True) for text in some]
    return sum(len(one) for one in tokenizer.encode_batch(pairs))


def ours(data: Data) -> Callable[[], dict[str, float]]:
    from steelyard.retrievers.rerank.load import load_reranker
    from steelyard.spec import ModelSpec

    asked, lists, folder = data
    reranker = load_reranker(ModelSpec("rerank", folder))
    reranker.rerank(asked[:1], [lists[0][:4]])
    tokens = _tokens(data)
    shown = {"tokens": float(tokens), "limit_gflop": tokens * encoding.GFLOP_PER_TOKEN}
    return lambda: _check(np.concatenate(reranker.rerank(asked, lists)), len(lists[0])) | shown


def with_sentence_transformers(data: Data) -> Callable[[], dict[str, float]]:
    from sentence_transformers import CrossEncoder

    asked, lists, folder = data
    model = CrossEncoder(folder, device="cpu")
    pairs = [(query, text) for query, some in zip(asked, lists, strict=True) for text in some]
    model.predict(pairs[:4])
    return lambda: _check(model.predict(pairs, show_progress_bar=False), len(lists[0]))


CASES = [
    Case(
        8,
        f"rerank-{queries}x100",
        f"Reranking {queries} x 100 pairs with a cross-encoder of MiniLM's weights (6 layers, 384 dimensions)",
        (
            Contestant("steelyard", "ours", "models"),
            Contestant("sentence-transformers", "with_sentence_transformers", "sentence-transformers"),
        ),
        {"queries": queries, "depth": 100},
        rounds=rounds,
        by="cpu",
        tolerance=1e-4,
        quick=quick,
        seconds=900,
        memory_reason="A hundred megabytes more are in memory before the work: what Steelyard imports.",
    )
    for queries, rounds, quick in ((10, 3, True), (200, 1, False))
]
