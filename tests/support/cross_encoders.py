"""A tiny cross-encoder of the library's own classes, and a task of candidate lists to weigh it by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

from steelyard.types import Corpus, Qrels, Queries, Ragged, Task, TaskInfo

WORDS = (
    *("river", "sea", "mountain", "snow", "lake", "desert", "city", "tree", "stone", "rain", "wind", "sand", "ice"),
    *("fish", "bird", "boat", "road", "salt", "leaf", "fire"),
)


def build(folder: Path, labels: int = 1) -> Path:
    """A cross-encoder with random weights: large enough that scores differ, small enough to run at once."""
    torch.manual_seed(7)
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]))
    tokenizer = BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=64)
    config = BertConfig(
        vocab_size=len(WORDS) + 5, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=64, num_labels=labels, initializer_range=0.5,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def declare_activation(folder: Path, path: str | None) -> None:
    """Write the activation into the config of a model, as sentence-transformers 4 does; None removes it."""
    file = folder / "config.json"
    config = json.loads(file.read_text())
    config.pop("sentence_transformers", None)
    if path is not None:
        config["sentence_transformers"] = {"activation_fn": path, "version": "4.1.0"}
    file.write_text(json.dumps(config))


def texts(count: int, seed: int, longest: int) -> list[str]:
    draw = np.random.default_rng(seed)
    return [" ".join(draw.choice(WORDS, draw.integers(1, longest))) for _ in range(count)]


def reranking_task() -> tuple[Task, list[dict[str, Any]]]:
    """A task of 15 queries with 30 candidates each, and the same as samples of the library's evaluator."""
    documents, asked = texts(120, 3, 20), texts(15, 4, 6)
    documents = list(dict.fromkeys(documents))
    draw = np.random.default_rng(5)
    lists = [np.sort(draw.choice(len(documents), 30, replace=False)) for _ in asked]
    positives = [draw.choice(rows, draw.integers(1, 4), replace=False) for rows in lists]
    corpus = Corpus.of([f"d{row:03}" for row in range(len(documents))], documents)
    rows_of = [[corpus.row_of[f"d{row:03}"] for row in rows] for rows in lists]
    judged = [(q, corpus.row_of[f"d{row:03}"], 1) for q, rows in enumerate(positives) for row in rows]
    queries = Queries(tuple(f"q{q}" for q in range(len(asked))), tuple(asked))
    candidates = Ragged(np.arange(0, 30 * len(asked) + 1, 30), np.array(rows_of, dtype=np.int32).ravel())
    qrels = Qrels.of(*zip(*judged, strict=True), queries=len(asked))
    task = Task(TaskInfo("Tiny/rerank"), corpus, queries, qrels, {"given": candidates})

    samples = [
        {
            "query": query,
            "positive": [documents[row] for row in good],
            "negative": [documents[row] for row in rows if row not in good],
        }
        for query, rows, good in zip(asked, lists, positives, strict=True)
    ]
    return task, samples
