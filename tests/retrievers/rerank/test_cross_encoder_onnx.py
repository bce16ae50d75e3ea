"""Cross-encoders as ONNX files: scores and figures are those of the model that they were made from."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from float_parity import assert_float_parity

from steelyard.config import Settings
from steelyard.engine import Results, evaluate
from steelyard.errors import MissingPart, ModelError, UsageError
from steelyard.retrievers.rerank.cross_encoder_onnx import OnnxCrossEncoder
from steelyard.retrievers.rerank.load import load_reranker
from steelyard.spec import parse

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch
    from cross_encoders import build, declare_activation, reranking_task, texts
    from onnx_export import export, export_classifier
    from onnxruntime.quantization import quantize_dynamic
    from sentence_transformers import CrossEncoder
    from sentence_transformers.cross_encoder.evaluation import CrossEncoderRerankingEvaluator

QUERIES, READ = texts(5, 1, 6), [texts(n, n, 30) for n in (7, 1, 0, 12, 4)]
pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("own_home")]


def exported(place: Path, labels: int = 1, **how: object) -> tuple[Path, Path]:
    """The model for torch, and a folder with its ONNX file and no weights for torch."""
    place.mkdir(exist_ok=True)
    model = build(place / "torch", labels)
    folder = place / "onnx"
    shutil.copytree(model, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    export_classifier(model, folder / "model.onnx", **how)
    return model, folder


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return exported(tmp_path_factory.mktemp("models"))


def own_scores(model: Path, *, swapped: bool = False, label: int | None = None) -> list[np.ndarray]:
    own = CrossEncoder(str(model), device="cpu")
    found = []
    for query, documents in zip(QUERIES, READ, strict=True):
        pairs = [(text, query) if swapped else (query, text) for text in documents]
        scores = own.predict(pairs, activation_fn=torch.nn.Identity()) if pairs else np.empty((0,), np.float32)
        found.append(scores if label is None or not pairs else scores[:, label])
    return found


def assert_same(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == np.float32 and ours.shape == theirs.shape
        assert_float_parity(ours, theirs)


def test_a_folder_without_weights_for_torch_is_read_as_onnx(models: tuple[Path, Path]) -> None:
    model, folder = models
    reranker = load_reranker(parse(f"rerank:{folder}?batch_size=3&activation=identity"))
    assert isinstance(reranker.opened, OnnxCrossEncoder)
    assert_same(reranker.rerank(QUERIES, READ), own_scores(model))
    assert reranker.settings["max_length"] == 64 and reranker.settings["file"] == "model.onnx"
    assert reranker.rerank([], []) == []


def test_figures_are_those_of_the_librarys_evaluator(models: tuple[Path, Path]) -> None:
    model, folder = models
    task, samples = reranking_task()
    (result,) = evaluate(f"rerank:{folder}", task, candidates="given", metrics=["map", "mrr@10"])
    evaluator = CrossEncoderRerankingEvaluator(samples, at_k=10, show_progress_bar=False, write_csv=False)
    expected = evaluator(CrossEncoder(str(model), device="cpu"))
    for ours, theirs in {"ndcg_at_10": "ndcg@10", "mrr_at_10": "mrr@10", "map": "map"}.items():
        assert result[ours] == pytest.approx(expected[theirs], abs=1e-4)
    assert 0.05 < expected["ndcg@10"] < 0.95, "a trivial list would prove nothing"


def test_the_order_of_a_pair_and_its_label_are_options(tmp_path: Path) -> None:
    model, folder = exported(tmp_path, labels=3)
    with pytest.raises(UsageError, match="label=0 to label=2"):
        load_reranker(parse(f"rerank:{folder}"))
    swapped = load_reranker(parse(f"rerank:{folder}?label=2&first=document"))
    assert_same(swapped.rerank(QUERIES, READ), own_scores(model, swapped=True, label=2))
    logs = load_reranker(parse(f"rerank:{folder}?label=1&activation=softmax")).rerank(QUERIES, READ)
    logits = torch.tensor(CrossEncoder(str(model), device="cpu").predict([(QUERIES[0], text) for text in READ[0]]))
    assert_float_parity(logs[0], torch.log_softmax(logits, dim=1)[:, 1])


def test_the_default_activation_is_the_one_the_library_chooses(models: tuple[Path, Path], tmp_path: Path) -> None:
    model, exported = models
    folder = tmp_path / "onnx"
    shutil.copytree(exported, folder)
    for declared, expected in (
        (None, "sigmoid"),
        ("torch.nn.modules.linear.Identity", "identity"),
        ("torch.nn.modules.activation.Sigmoid", "sigmoid"),
        ("somewhere.Else", "sigmoid"),
    ):
        declare_activation(folder, declared)
        reranker = load_reranker(parse(f"rerank:{folder}"))
        assert reranker.settings["activation"] == expected
        raw = own_scores(model)
        scores = raw if expected == "identity" else [1 / (1 + np.exp(-scores)) for scores in raw]
        assert_same(reranker.rerank(QUERIES, READ), scores)
    declare_activation(folder, "torch.nn.modules.activation.Tanh")
    with pytest.raises(UsageError) as caught:
        load_reranker(parse(f"rerank:{folder}"))
    assert caught.value.option == "activation"
    with pytest.raises(UsageError, match="softmax"):
        load_reranker(parse(f"rerank:{folder}?activation=softmax"))


def test_long_pairs_are_cut_as_the_library_cuts_them_and_counted(models: tuple[Path, Path]) -> None:
    model, folder = models
    own = CrossEncoder(str(model), device="cpu")
    own.max_seq_length = 8
    pair = ("river sea", "snow " * 50)
    short = load_reranker(parse(f"rerank:{folder}?max_length=8&activation=identity"))
    found = short.rerank([pair[0]], [[pair[1]]])[0]
    assert_float_parity(found, own.predict([pair], activation_fn=torch.nn.Identity()))
    assert short.account() == {"pairs_cut": 1}


def test_an_error_of_the_runtime_names_the_pair(models: tuple[Path, Path]) -> None:
    with pytest.raises(ModelError, match="river sea"):
        load_reranker(parse(f"rerank:{models[1]}?max_length=1000")).rerank(["river sea"], [["snow " * 1000]])


def test_a_file_of_fixed_size_and_a_tokenizer_elsewhere(tmp_path: Path) -> None:
    model, folder = exported(tmp_path, shape=(4, 16))
    (folder / "words").mkdir()
    (folder / "tokenizer.json").rename(folder / "words" / "tokenizer.json")
    (folder / "model.onnx").rename(folder / "judge.onnx")
    with pytest.raises(MissingPart, match=r"file_name=judge\.onnx"):
        load_reranker(parse(f"rerank:{folder}?backend=onnx"))
    with pytest.raises(MissingPart, match="tokenizer=words"):
        load_reranker(parse(f"rerank:{folder}?backend=onnx&file_name=judge.onnx"))
    reranker = load_reranker(
        parse(f"rerank:{folder}?backend=onnx&file_name=judge.onnx&tokenizer=words&activation=identity")
    )
    assert reranker.settings["max_length"] == 16
    own = CrossEncoder(str(model), device="cpu")
    own.max_seq_length = 16
    expected = own.predict([(QUERIES[0], text) for text in READ[0]], activation_fn=torch.nn.Identity())
    assert_float_parity(reranker.rerank(QUERIES[:1], READ[:1])[0], expected)


def test_a_quantised_file_reads_one_pair_at_a_time(models: tuple[Path, Path], tmp_path: Path) -> None:
    folder = tmp_path / "int8"
    shutil.copytree(models[1], folder)
    quantize_dynamic(models[1] / "model.onnx", folder / "model.onnx")
    reranker = load_reranker(parse(f"rerank:{folder}"))
    together = np.concatenate(reranker.rerank(QUERIES, READ))
    alone = [reranker.rerank([query], [[text]])[0] for query, part in zip(QUERIES, READ, strict=True) for text in part]
    assert (together == np.concatenate(alone)).all() and reranker.settings["batch_size"] == 1


def test_an_encoder_is_no_cross_encoder(models: tuple[Path, Path], tmp_path: Path) -> None:
    folder = tmp_path / "states"
    shutil.copytree(models[1], folder, ignore=shutil.ignore_patterns("*.onnx"))
    export(models[0], folder / "model.onnx")
    with pytest.raises(UsageError, match="states of tokens"):
        load_reranker(parse(f"rerank:{folder}"))


def test_a_stored_rerun_does_not_open_the_model(
    models: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, folder = models
    task, _ = reranking_task()
    settings = Settings.load(home=tmp_path / "home")

    def run(model: str, **options: Any) -> Results:
        return evaluate(model, task, results=tmp_path / "results", settings=settings, warn=False, **options)

    first = run(f"rerank:{folder}", candidates="given")
    assert first[0].done, str(first[0].error)
    monkeypatch.setattr("steelyard.retrievers.rerank.cross_encoder_onnx.open_sessions", _fail)
    again = run(f"rerank:{folder}", candidates="given")
    assert again[0].key == first[0].key and again[0].created == first[0].created
    deeper = run(f"candidates:given > rerank:{folder}?depth=2")  # the scores of its pairs are stored
    assert deeper[0].done, str(deeper[0].error)
    assert deeper[0].notes["rerank"]["pairs_from_cache"] == deeper[0].notes["rerank"]["pairs"] > 0
    other = run(f"rerank:{folder}?max_length=9", candidates="given")
    assert other[0].error is not None and other[0].error.message == "opened"


def _fail(*_: object, **__: object) -> None:
    raise RuntimeError("opened")
