"""Models that are Python objects: each gives the scores of the same model by name, or of a computation by hand."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import evaluate, load_task
from steelyard.errors import DataError, EvaluationWarning, UsageError
from steelyard.retrievers.objects.adapt import as_model, as_reranker
from steelyard.retrievers.rerank.load import load_reranker
from steelyard.spec import parse
from steelyard.types import Task

TEXTS = {"nile": "the nile is a long river", "alps": "the alps are high mountains", "oslo": "oslo is a city"}


def task() -> Task:
    queries = {"q1": "a long river", "q2": "high mountains", "q3": "a city"}
    qrels = {"q1": {"nile": 2, "alps": 0}, "q2": {"alps": 1}, "q3": {"oslo": 1}}
    return Task.of("Objects/places", TEXTS, queries, qrels, language="en")


def letters(texts: list[str]) -> list[list[float]]:
    """Return the counts of letters, a vector that can be computed by hand."""
    return [[float(text.count(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts]


def cosine_order(query: str) -> list[str]:
    vectors = np.array(letters([query, *TEXTS.values()]))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [list(TEXTS)[place] for place in np.argsort(-(vectors[1:] @ vectors[0]))]


def reciprocal_rank() -> float:
    relevant = {"a long river": "nile", "high mountains": "alps", "a city": "oslo"}
    return float(np.mean([1 / (1 + cosine_order(query).index(document)) for query, document in relevant.items()]))


def test_a_function_and_its_vectors_give_the_same_scores() -> None:
    documents = dict(zip(TEXTS, letters(list(TEXTS.values())), strict=True))
    queries = dict(zip(task().queries.ids, letters(list(task().queries.texts)), strict=True))
    results = evaluate({"f": letters, "vectors": {"documents": documents, "queries": queries}}, task())
    assert results.models == ("f", "vectors")
    assert [result["mrr"] for result in results] == pytest.approx([reciprocal_rank()] * 2)


def test_saved_vectors_are_a_model_by_path(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "v.npz",
        vectors=letters([*TEXTS.values(), *task().queries.texts]),
        texts=[*TEXTS.values(), *task().queries.texts],
    )
    (result,) = evaluate(tmp_path / "v.npz", task())
    assert result["mrr"] == pytest.approx(reciprocal_rank()) and result.model == "dense:v.npz"


def test_a_run_dictionary_is_scored_as_it_is() -> None:
    run = {"q1": {"alps": 3.0, "nile": 2.0}, "q2": {"alps": 1}}
    (result,) = evaluate(run, task())
    assert result["mrr"] == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert result.notes["queries_not_in_run"] == 1
    (other,) = evaluate({"mine": {"q1": {"nile": 1.0}}}, task())
    assert other.model == "mine" and other.settings["model"] == "run:mine" and other.key != result.key


def test_a_run_with_an_unknown_document_or_score_fails_with_the_reason() -> None:
    for run, found in (({"q1": {"ural": 1.0}}, "ural"), ({"q1": {"nile": float("nan")}}, "nan")):
        with pytest.warns(EvaluationWarning):
            results = evaluate(run, task())
        assert results.failures[0].error is not None and results.failures[0].error.type == DataError.__name__
        assert found in str(results), "print(results) shows the reason"


def test_what_is_not_a_model_is_an_error_that_names_it() -> None:
    for wrong, found in ((7, "int"), ({"a": 7}, "int"), ({1: "bm25"}, 1)):
        with pytest.raises(UsageError) as caught:
            evaluate(wrong, task())
        assert caught.value.found == found


def test_a_reranking_function_follows_bm25_or_a_stage_of_ones_own() -> None:
    def longest(query: str, texts: list[str]) -> list[int]:
        return [len(text) for text in texts]

    results = evaluate([longest, (letters, longest)], task())
    assert [result.model for result in results] == ["bm25 > rerank:longest", "dense:letters > rerank:longest"]
    assert results[1]["mrr"] == pytest.approx(np.mean([1 / 2, 1, 1 / 3]))  # alps, nile, oslo by length


def test_metric_functions_are_scored_by_query_and_part_of_the_key(tmp_path: Path) -> None:
    def best_grade(grades: list[int], judged: list[int]) -> float:
        return max(grades[:1], default=0) / max(judged)

    (first,) = evaluate(letters, task(), metrics=[best_grade, "P@1"], results=tmp_path)
    assert first["best_grade"] == pytest.approx(first["precision_at_1"])
    assert first.settings["metric_functions"]["best_grade"]
    with pytest.raises(UsageError):
        evaluate(letters, task(), metrics=lambda grades, judged: 0.0)


def test_variants_of_an_object_and_a_name_have_labels() -> None:
    results = evaluate({"f": letters}, task(), precision=["int8"], truncate_dim=8)
    assert results.models == ("f", "f?precision=int8", "f?truncate_dim=8", "f?precision=int8&truncate_dim=8")
    assert len({result.key for result in results}) == 4
    with pytest.raises(UsageError):
        evaluate("bm25", task(), precision="int8")


def test_failures_warn_unless_asked_not_to() -> None:
    def broken(texts: list[str]) -> Any:
        raise RuntimeError("no weights")

    with pytest.warns(EvaluationWarning):
        evaluate(broken, task())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = evaluate(broken, task(), warn=False)
    assert "no weights" in str(results)


def test_langchain_embeddings_are_a_model() -> None:
    embeddings = pytest.importorskip("langchain_core.embeddings")

    class Letters(embeddings.Embeddings):  # type: ignore[misc, name-defined]
        model_name = "letters"

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return letters(texts)

        def embed_query(self, text: str) -> list[float]:
            return letters([text])[0]

    fake = embeddings.DeterministicFakeEmbedding(size=8)
    results = evaluate([Letters(), fake], task())
    assert results[0]["mrr"] == pytest.approx(reciprocal_rank())
    assert results.models == ("dense:letters", "dense:DeterministicFakeEmbedding") and not results.failures
    other = as_model(embeddings.DeterministicFakeEmbedding(size=9))
    assert not isinstance(other, str) and other.settings != as_model(fake).settings  # type: ignore[union-attr]


@pytest.mark.filterwarnings("ignore")
def test_llama_index_embeddings_are_a_model() -> None:
    core = pytest.importorskip("llama_index.core.embeddings")

    class Letters(core.BaseEmbedding):  # type: ignore[misc, name-defined]
        def _get_query_embedding(self, query: str) -> list[float]:
            return letters([query])[0]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return letters([query])[0]

        def _get_text_embedding(self, text: str) -> list[float]:
            return letters([text])[0]

    (result,) = evaluate(Letters(model_name="letters/li"), task())
    assert result["mrr"] == pytest.approx(reciprocal_rank()) and result.model == "dense:letters/li"


@pytest.mark.torch
def test_sentence_transformers_give_the_scores_of_their_names(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    from cross_encoders import build
    from sentence_transformers import CrossEncoder, SentenceTransformer
    from torch_models import save_bert

    sets = load_task("NanoAlmanac/en")
    folder = save_bert(tmp_path / "bert")
    model = SentenceTransformer(str(folder))
    results = evaluate({"object": model, "name": f"dense:{folder}"}, sets, limit=5, results=tmp_path / "r")
    assert results[0]["ndcg_at_10"] == pytest.approx(results[1]["ndcg_at_10"], rel=1e-4)
    model.max_seq_length = 4
    (changed,) = evaluate(model, sets, limit=5, results=tmp_path / "r")
    assert changed.key != results[0].key, "another length is another model"
    cross = build(tmp_path / "cross")
    pairs = ["a river"], [list(TEXTS.values())]
    (own,), (named,) = (
        reranker.rerank(*pairs)
        for reranker in (as_reranker(CrossEncoder(str(cross)), None), load_reranker(parse(f"rerank:{cross}")))
    )
    np.testing.assert_allclose(own, named, rtol=1e-4)
    assert evaluate(CrossEncoder(str(cross)), sets, limit=5).models == ("bm25 > rerank:cross",)
