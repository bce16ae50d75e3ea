"""Our models and tasks in mteb: the same vectors and lists get the same figures there as here."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import mteb
import mteb_parts
import numpy as np
import pytest

from steelyard import evaluate
from steelyard.compat.mteb import as_mteb_model, as_mteb_task
from steelyard.encoders.backends.function import from_function as encoder
from steelyard.errors import UnknownName, UsageError
from steelyard.retrievers.dense import DenseRetriever
from steelyard.retrievers.rerank.load import from_function
from steelyard.types import Task
from steelyard.types.samples import AnyTask

THEIRS_ALONE = {"main_score", "hf_subset", "languages", "mteb_version"}
TOLERANCE = {"classification": 1e-6, "clustering": 1e-6, "sts": 1e-7, "summarization": 1e-6}
"""Of figures from fits, and of correlations with the model's own similarity, which mteb computes with torch."""


def theirs(model: Any, task: Any) -> dict[str, Any]:
    (result,) = mteb.evaluate(model, [task], cache=None, show_progress_bar=False, co2_tracker=False).task_results
    (split,) = task.metadata.eval_splits
    return dict(result.scores[split][0])


def assert_same_figures(task: AnyTask, similarity: str = "cosine") -> None:
    model = mteb_parts.lookup(similarity)
    (ours,) = evaluate(model, task)
    assert ours.done, ours.error
    other = theirs(as_mteb_model(model), as_mteb_task(task))
    keys = set(ours.mteb) | (set(other) - THEIRS_ALONE)
    tolerance = TOLERANCE.get(task.info.type, 1e-9)
    mteb_parts.assert_same(
        {key: ours.mteb.get(key) for key in keys}, {key: other.get(key) for key in keys}, task.name, tolerance
    )
    assert other["main_score"] == pytest.approx(ours.score, abs=1e-5)


@pytest.mark.filterwarnings(
    "ignore:.*lbfgs failed to converge",
    "ignore:unknown class",
    "ignore:The used Evaluator is deprecated",
    "ignore:To copy construct from a tensor",
)
@pytest.mark.parametrize("task", mteb_parts.all_types(), ids=lambda task: task.info.task)
def test_every_type_has_the_scores_of_mteb(task: AnyTask) -> None:
    assert_same_figures(task)


@pytest.mark.parametrize("similarity", ["dot", "euclidean", "manhattan"])
def test_models_compare_as_they_declare(similarity: str) -> None:
    assert_same_figures(mteb_parts.retrieval(), similarity)
    assert_same_figures(mteb_parts.sts(), similarity)


def test_a_document_that_is_the_query_is_left_out_there_too() -> None:
    task = mteb_parts.retrieval(ignore_identical_ids=True)
    same = Task(task.info, task.corpus, type(task.queries)(task.corpus.ids[:40], task.queries.texts), task.qrels)
    assert_same_figures(same)


def test_the_adapters_are_what_mteb_asks_for() -> None:
    dense, bm25 = as_mteb_model(mteb_parts.lookup()), as_mteb_model("bm25")
    assert isinstance(dense, mteb.models.EncoderProtocol)
    assert isinstance(dense, mteb.models.SearchProtocol)
    assert isinstance(bm25, mteb.models.SearchProtocol)
    assert not isinstance(bm25, mteb.models.EncoderProtocol)
    assert dense.mteb_model_meta.name == "steelyard/dense_lookup"
    assert bm25.mteb_model_meta.model_type == ["sparse"]
    other = as_mteb_model("bm25?k1=0.9").mteb_model_meta
    assert other.revision != bm25.mteb_model_meta.revision


def test_bm25_and_pipelines_search_there() -> None:
    task = mteb_parts.retrieval()
    for model in ("bm25", "[bm25, bm25?k1=0.9]"):
        (ours,) = evaluate(model, task)
        assert theirs(as_mteb_model(model), as_mteb_task(task))["ndcg_at_10"] == ours.mteb["ndcg_at_10"]


def test_candidates_in_the_order_of_any_model() -> None:
    task = mteb_parts.reranking()
    lookup = mteb_parts.lookup()
    for model in ("bm25", "[bm25, bm25?k1=0.9]", lookup):
        (ours,) = evaluate(model, task)
        assert theirs(as_mteb_model(model), as_mteb_task(task))["map_at_1000"] == ours.mteb["map_at_1000"]


def test_a_reranker_ranks_the_candidates() -> None:
    def near(query: str, documents: list[str]) -> Any:
        both = mteb_parts.vectors_of([query, *documents])
        return both[1:] @ both[0]

    reranker = from_function(near, "rerank:near")
    model = as_mteb_model(reranker)
    assert isinstance(model, mteb.models.CrossEncoderProtocol)
    task = mteb_parts.retrieval()
    found = theirs(model, as_mteb_task(task, candidates="lists"))
    dense = theirs(as_mteb_model(mteb_parts.lookup("dot")), as_mteb_task(task, candidates="lists"))
    assert found["map_at_1000"] == pytest.approx(dense["map_at_1000"], abs=1e-5)
    assert found["main_score"] == found["map_at_1000"]


def test_a_cross_encoder_has_every_score_of_mteb(tmp_path: Path) -> None:
    """With logits of a trained model's size its sigmoid changes nAUC, which reads the scores themselves."""
    from cross_encoders import build, reranking_task
    from sentence_transformers import CrossEncoder

    folder = str(build(tmp_path / "tiny"))
    model = CrossEncoder(folder, device="cpu")
    task, _ = reranking_task()
    task = replace(task, info=replace(task.info, type="reranking", main_metric="map_at_1000"))
    (ours,) = evaluate(f"rerank:{folder}", task)
    other = theirs(model, as_mteb_task(task))
    keys = sorted(set(other) - THEIRS_ALONE)
    assert len(keys) == 148 and sum(key.startswith("nauc") for key in keys) == 105
    for key in keys:
        expected = None if np.isnan(other[key]) else pytest.approx(other[key], abs=2e-5)
        assert ours.mteb[key] == expected, key
    (raw,) = evaluate(f"rerank:{folder}?activation=identity", task)
    differ = [key for key in keys if ours.mteb[key] is not None and abs(ours.mteb[key] - raw.mteb[key]) > 1e-3]
    assert differ
    assert all(key.startswith("nauc") and key.endswith(("_std", "_diff1")) for key in differ)


def test_a_built_in_set_and_the_default_model() -> None:
    (ours,) = evaluate("dense", "NanoAlmanac/en")
    task = as_mteb_task("NanoAlmanac/en")
    assert (task.metadata.name, task.metadata.eval_langs) == ("NanoAlmanac__en", ["eng-Latn"])
    assert theirs(as_mteb_model("dense"), task)["ndcg_at_10"] == ours.mteb["ndcg_at_10"]


def test_every_subset_of_mteb_keeps_its_language_codes() -> None:
    """Mteb's loader finds scores by these codes: `kor-Hang` for Korean and `cmn-Hans` for Chinese, not `zho-Hans`."""
    from steelyard.datasets.formats.mteb.tasks import language_facts

    subsets = 0
    for task in mteb.get_tasks(modalities=["text"]):
        codes = task.metadata.eval_langs
        for subset, tags in codes.items() if isinstance(codes, dict) else [("default", codes)]:
            assert list(language_facts(task.metadata, subset)["language_tags"]) == list(tags)
            subsets += 1
    assert subsets > 3_000
    task = mteb_parts.sts()
    (result,) = evaluate(mteb_parts.lookup(), replace(task, info=replace(task.info, language_tags=("kor-Hang",))))
    assert result.to_dict()["scores"]["test"][0]["languages"] == ["kor-Hang"]
    assert type(result).from_json(result.to_json()).facts.language_tags == ("kor-Hang",)


def test_languages_of_other_tasks_are_codes_that_mteb_has() -> None:
    from mteb.languages import check_language_code

    from steelyard.results.mteb_codes import mteb_languages

    codes = ("en", "zh", "ja", "ceb", "sr", "ko", "ne")
    assert mteb_languages(codes) == [
        *("eng-Latn", "cmn-Hans", "jpn-Jpan", "ceb-Latn", "srp-Cyrl", "kor-Hang", "npi-Deva"),
    ]
    for code in ("ar", "de", "el", "es", "fa", "fr", "he", "hi", "ko", "or", "ru", "th", "tr", "uk", "uz", "vi", "yi"):
        (tag,) = mteb_languages([code])
        check_language_code(tag)


def test_candidates_that_are_not_there() -> None:
    with pytest.raises(UnknownName):
        as_mteb_task(mteb_parts.retrieval(), candidates="list")
    with pytest.raises(UsageError):
        as_mteb_task(mteb_parts.sts(), candidates="lists")


def test_vectors_have_the_role_that_mteb_tells() -> None:
    asked: list[tuple[str, list[str]]] = []

    def noted(texts: list[str], role: str) -> Any:
        asked.append((role, texts))
        return mteb_parts.vectors_of(texts)

    model = as_mteb_model(DenseRetriever("dense:noted", encoder(noted, "noted")))
    batches = [{"text": ["a 1 x", "b 2 y"]}, {"text": ["a 1 x"]}]
    for prompt in (mteb.types.PromptType.query, mteb.types.PromptType.document, None):
        found = model.encode(batches, prompt_type=prompt, task_metadata=None, hf_split="test", hf_subset="default")
        assert np.array_equal(found[0], found[2])
    once = ["a 1 x", "b 2 y"]  # and a word, to learn how long a vector is
    assert [call for call in asked if call[1] == once] == [("query", once), ("document", once), ("text", once)]


def test_the_snippets_of_the_docs_run(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "mteb.md").read_text(encoding="utf-8")
    snippets = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(snippets) == 2
    for snippet in snippets:
        exec(snippet, {})
    assert "mean (task)" in capsys.readouterr().out
