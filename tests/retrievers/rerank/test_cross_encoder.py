"""Cross-encoders: a tiny model of the library's own classes, against the library's own predictions and evaluator."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from float_parity import assert_float_parity

from steelyard.engine import evaluate
from steelyard.errors import MissingPart, ModelError, SteelyardError, UsageError
from steelyard.retrievers import load_retriever
from steelyard.retrievers.rerank.load import load_reranker
from steelyard.spec import parse
from steelyard.types import Corpus, Qrels, Queries, Task, TaskInfo

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch
    from cross_encoders import build, declare_activation, reranking_task, texts
    from sentence_transformers import CrossEncoder
    from sentence_transformers.cross_encoder.evaluation import CrossEncoderRerankingEvaluator
pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("own_home")]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(build(tmp_path_factory.mktemp("models") / "tiny"))


def test_scores_are_the_librarys_own_whatever_the_batches(model: str) -> None:
    queries, documents = texts(5, 1, 6), [texts(n, n, 30) for n in (7, 1, 0, 12, 4)]
    reranker = load_reranker(parse(f"rerank:{model}?batch_size=3&device=cpu"))
    ticks: list[int] = []
    scores = reranker.rerank(queries, documents, ticks.append)
    own = CrossEncoder(model, device="cpu")
    for query, read, found in zip(queries, documents, scores, strict=True):
        expected = own.predict([(query, text) for text in read])
        assert found.dtype == np.float32 and found.shape == (len(read),)
        assert_float_parity(found, expected)
    assert sum(ticks) == 24 and len(ticks) == 8
    assert reranker.rerank([], []) == []


def test_figures_are_those_of_the_librarys_evaluator(model: str) -> None:
    task, samples = reranking_task()
    (result,) = evaluate(f"rerank:{model}", task, candidates="given", metrics=["map", "mrr@10"])
    evaluator = CrossEncoderRerankingEvaluator(samples, at_k=10, show_progress_bar=False, write_csv=False)
    expected = evaluator(CrossEncoder(model, device="cpu"))
    assert result["ndcg_at_10"] == pytest.approx(expected["ndcg@10"], abs=1e-4)
    assert result["mrr_at_10"] == pytest.approx(expected["mrr@10"], abs=1e-4)
    assert result["map"] == pytest.approx(expected["map"], abs=1e-4)
    assert 0.05 < expected["ndcg@10"] < 0.95, "a trivial list would prove nothing"


def test_a_pipeline_by_name_scores_each_pair_once_and_a_second_run_none(model: str) -> None:
    documents = texts(40, 8, 12)
    corpus = Corpus.of([f"d{row:02}" for row in range(40)], [*documents[:39], documents[0]])
    queries = Queries(("a", "b", "c"), (*texts(2, 9, 5), texts(1, 9, 5)[0]))
    qrels = Qrels.of([0, 1, 2], [1, 2, 3], [1, 1, 1], queries=3)
    task = Task(TaskInfo("Tiny/pipe", language="en"), corpus, queries, qrels)
    first = evaluate([f"bm25 > rerank:{model}"], task, depths=[5, 20])
    notes = [result.notes["rerank"] for result in first]
    assert notes[1]["pairs_reused"] == notes[0]["pairs"], "the deeper one scores only what is below"
    again = evaluate([f"bm25 > rerank:{model}?depth=20"], task)[0].notes["rerank"]
    assert again["pairs_scored"] == 0 and again["pairs_from_cache"] > 0
    assert again["pairs_from_cache"] < again["pairs"], "the same texts are one pair"


def test_settings_say_all_that_could_change_a_score(model: str, tmp_path: Path) -> None:
    settings = load_reranker(parse(f"rerank:{model}")).settings
    assert settings["activation"] == "Sigmoid" and settings["dtype"] == "float32" and settings["max_length"] == 64
    assert settings["reranker"] == "tiny" and len(settings["weights"]) == 32
    other = load_reranker(parse(f"rerank:{model}?max_length=16&activation=identity&query_prompt=river%20"))
    assert other.settings["max_length"] == 16 and other.settings["activation"] == "Identity"
    assert {**other.settings} != {**settings} and other.settings["query_prompt"] == "river "


def test_options_do_what_they_say(model: str) -> None:
    query, read = "river sea", ["snow " * 50, "lake fish"]
    own = CrossEncoder(model, device="cpu")
    prompted = load_reranker(parse(f"rerank:{model}?query_prompt=river%20&document_prompt=ice%20"))
    pairs = [(f"river {query}", f"ice {text}") for text in read]
    assert_float_parity(prompted.rerank([query], [read])[0], own.predict(pairs))
    short = load_reranker(parse(f"rerank:{model}?max_length=8&activation=identity"))
    own.max_seq_length = 8
    expected = own.predict([(query, text) for text in read], activation_fn=torch.nn.Identity())
    assert_float_parity(short.rerank([query], [read])[0], expected)
    assert short.account() == {"pairs_cut": 1} and short.account() == {"pairs_cut": 0}
    half = load_reranker(parse(f"rerank:{model}?dtype=bfloat16"))
    assert half.settings["dtype"] == "bfloat16" and np.isfinite(half.rerank([query], [read])[0]).all()


def test_the_default_activation_is_the_models_own_and_raw_logits_are_an_option(tmp_path: Path) -> None:
    folder = build(tmp_path / "declared")
    pairs = [("river sea", text) for text in texts(6, 3, 9)]
    for declared in (None, "torch.nn.modules.linear.Identity", "torch.nn.modules.activation.Sigmoid"):
        declare_activation(folder, declared)
        own = CrossEncoder(str(folder), device="cpu")
        read = [[text for _, text in pairs]]
        default = load_reranker(parse(f"rerank:{folder}"))
        assert default.settings["activation"] == type(own.activation_fn).__name__
        assert_float_parity(default.rerank(["river sea"], read)[0], own.predict(pairs))
        raw = load_reranker(parse(f"rerank:{folder}?activation=identity")).rerank(["river sea"], read)[0]
        assert_float_parity(raw, own.predict(pairs, activation_fn=torch.nn.Identity()))


def test_several_labels_need_a_choice(tmp_path: Path) -> None:
    folder = build(tmp_path / "nli", labels=3)
    with pytest.raises(UsageError, match="label=0 to label=2"):
        load_reranker(parse(f"rerank:{folder}"))
    pair = ("river sea", "snow lake")
    found = load_reranker(parse(f"rerank:{folder}?label=2")).rerank([pair[0]], [[pair[1]]])[0]
    assert_float_parity(found, CrossEncoder(str(folder), device="cpu").predict([pair])[:, 2])


def test_memory_that_runs_out_makes_batches_smaller(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reranker = load_reranker(parse(f"rerank:{model}?batch_size=8"))
    expected = reranker.rerank(["river"], [texts(20, 2, 9)])[0]
    predict, sizes = CrossEncoder.predict, []

    def tight(self: CrossEncoder, pairs: list[tuple[str, str]], **arguments: object) -> object:
        sizes.append(len(pairs))
        if len(pairs) > 3:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")
        return predict(self, pairs, **arguments)

    monkeypatch.setattr(CrossEncoder, "predict", tight)
    assert_float_parity(reranker.rerank(["river"], [texts(20, 2, 9)])[0], expected)
    assert sizes[:3] == [8, 4, 2]
    monkeypatch.setattr(CrossEncoder, "predict", lambda self, pairs, **_: (_ for _ in ()).throw(MemoryError()))
    with pytest.raises(ModelError, match=r"memory.*'river'"):
        reranker.rerank(["river"], [["snow"]])


@pytest.mark.parametrize(
    ("name", "error", "option"),
    [
        ("rerank:{}?activation=relu", UsageError, "activation"),
        ("rerank:{}?max_len=5", UsageError, "max_len"),
        ("rerank:{}?label=1", UsageError, "label"),
        ("rerank:./nowhere", MissingPart, None),
    ],
)
def test_invalid_options_are_named(model: str, name: str, error: type[SteelyardError], option: str | None) -> None:
    with pytest.raises(error) as caught:
        load_retriever("bm25 > " + name.format(model))
    assert caught.value.option == option


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cross-encoder"):
        load_reranker(parse(f"rerank:{tmp_path}"))
