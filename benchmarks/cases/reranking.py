"""Row 8: reranking with a small cross-encoder of random weights: the same network on both sides."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

from cases import bm25
from harness.case import Case, Contestant

Data = tuple[list[str], list[list[str]], str]


def make(queries: int, depth: int) -> Data:
    texts, asked, _, _ = bm25.make(queries * 5, queries, "en")
    rng = np.random.default_rng(5)
    lists = [[texts[row][: int(rng.integers(60, 400))] for row in rng.choice(len(texts), depth)] for _ in asked]
    return asked, lists, _model(texts)


def _model(texts: list[str]) -> str:
    """Write a BERT with two layers and one output, and a tokenizer of the words; the seed fixes the weights."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder = Path(mkdtemp(prefix="steelyard-bench-cross-"))
    words = sorted({word for text in texts for word in text.split()})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=512,
        num_labels=1,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    return str(folder)


def _check(scores: Any) -> dict[str, float]:
    return {"mean": float(np.mean(scores)), "spread": float(np.std(scores))}


def ours(data: Data) -> Callable[[], dict[str, float]]:
    from steelyard.retrievers.rerank.load import load_reranker
    from steelyard.spec import ModelSpec

    asked, lists, folder = data
    reranker = load_reranker(ModelSpec("rerank", folder))
    reranker.rerank(asked[:1], [lists[0][:4]])
    return lambda: _check(np.concatenate(reranker.rerank(asked, lists)))


def with_sentence_transformers(data: Data) -> Callable[[], dict[str, float]]:
    from sentence_transformers import CrossEncoder

    asked, lists, folder = data
    model = CrossEncoder(folder, device="cpu")
    pairs = [(query, text) for query, some in zip(asked, lists, strict=True) for text in some]
    model.predict(pairs[:4])
    return lambda: _check(model.predict(pairs, show_progress_bar=False))


CASES = [
    Case(
        8,
        "rerank-200x100",
        "Reranking 200 x 100 pairs with a cross-encoder of two layers",
        (
            Contestant("steelyard", "ours"),
            Contestant("sentence-transformers", "with_sentence_transformers", "mteb"),
        ),
        {"queries": 200, "depth": 100},
        rounds=3,
        tolerance=1e-4,
    ),
]
