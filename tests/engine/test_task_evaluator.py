"""Tasks without a corpus from the model to the stored result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from task_parts import ROW_OF, VECTORS, expected, pairs, sample_tasks, vectors_of

from steelyard.encoders.backends.api_texts import ApiTexts
from steelyard.encoders.backends.function import from_function
from steelyard.encoders.backends.precomputed import from_options
from steelyard.encoders.cache.vector_store import VectorStore
from steelyard.encoders.prompts import OPTIONS, TEXT_OPTIONS, all_prompts
from steelyard.engine import evaluate
from steelyard.engine.events import Event, Finished
from steelyard.errors import DataError
from steelyard.options import Options
from steelyard.results import Result
from steelyard.retrievers.dense import DenseRetriever
from steelyard.tasks import texts_of
from steelyard.types import Float32
from steelyard.vectors.variants import Variant

TASKS = sample_tasks()


class Recorder:
    """An encoder's function that writes down what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def __call__(self, texts: list[str], role: str) -> Float32:
        self.asked += [(role, text) for text in texts]
        found: Float32 = VECTORS[[ROW_OF.get(text, 0) for text in texts]]
        return found + (1 if role == "query" else 0)


def model(variant: Variant | None = None, **given: Any) -> DenseRetriever:
    encoder = from_function(Recorder(), "recorder", **given)
    store = VectorStore(encoder) if encoder.storable else None
    return DenseRetriever("dense:recorder", encoder, store, variant or Variant())


def one(retriever: Any, name: str, **conditions: Any) -> Result:
    (result,) = evaluate(retriever, TASKS[name], **conditions)
    return result


@pytest.mark.parametrize(
    ("name", "metric", "title"),
    [("FixtureSTS", "cosine_spearman", "Spearman of cosines"), ("FixtureClusteringLegacy", "v_measure", "V-measure")],
)
def test_failure_has_the_main_metric_of_its_type(
    name: str, metric: str, title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = evaluate("bm25", TASKS[name], results=tmp_path)
    assert results[0].error is not None and results[0].main_metric == metric
    assert results.table()[0][0] == title
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    lost = evaluate("bm25", "C-MTEB/ATEC", results=None)
    assert lost[0].error is not None and lost.table()[0][0] == "main score"


@pytest.mark.parametrize("name", ["FixtureSTS", "FixtureBinaryClassification", "FixtureClusteringLegacy"])
def test_result_has_the_scores_of_mteb_and_is_read_from_its_file(name: str, tmp_path: Path) -> None:
    found = one(model(), name, results=tmp_path)
    assert found.error is None and found.facts.samples == len(TASKS[name])
    assert found.score == pytest.approx(expected("mteb-2.26")[name]["main_score"], abs=1e-6)
    assert found.interval is not None and found.provenance["intervals"]["seed"] == 0
    assert found.path is not None
    again = Result.from_json(found.path.read_bytes(), found.path)
    assert (again.metrics, again.intervals, again.main_metric) == (found.metrics, found.intervals, found.main_metric)
    assert again.per_query.first_positive is None and list(again.per_query) == list(found.per_query)
    assert again.mteb.keys() == found.mteb.keys()


def test_each_text_is_encoded_once_and_as_neither_query_nor_document() -> None:
    retriever = model()
    found = one(retriever, "FixtureSTS")
    asked = [pair for pair in retriever.encoder._function.asked if pair[1] != "steelyard"]  # type: ignore[attr-defined]
    assert {role for role, _ in asked} == {"text"}
    assert len(asked) == len(set(asked)) == len(texts_of(TASKS["FixtureSTS"])) < 2 * len(TASKS["FixtureSTS"])
    assert found.notes["texts"]["texts_encoded"] == len(asked)


def test_a_querys_vector_is_never_taken_for_that_of_a_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path))
    texts = texts_of(TASKS["FixtureSTS"])[:5]
    first = model(version="1")
    queries, _ = first.embed(texts, "query")
    plain, notes = model(version="1").embed(texts, "text")
    assert notes["texts_encoded"] == 5 and not np.allclose(queries, plain)
    again, notes = model(version="1").embed(texts, "text")
    assert notes["texts_from_cache"] == 5 and (again == plain).all()


def test_where_roles_do_not_matter_vectors_are_shared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path))
    encoder = from_function(lambda texts: VECTORS[[ROW_OF.get(text, 0) for text in texts]], "alike", version="1")
    texts = texts_of(TASKS["FixtureSTS"])[:5]
    retriever = DenseRetriever("dense:alike", encoder, VectorStore(encoder))
    retriever.embed(texts, "document")
    assert retriever.embed(texts, "text")[1]["texts_from_cache"] == 5


def test_truncated_and_coded_vectors_are_evaluated() -> None:
    whole, short = one(model(), "FixtureSTS"), one(model(Variant(truncate_dim=64)), "FixtureSTS")
    assert short.score is not None and whole.score is not None and 0.5 < short.score != whole.score
    for precision, near in (("int8", 1e-2), ("binary", 0.15)):
        coded = one(model(Variant(precision=precision)), "FixtureSTS").score
        assert coded is not None and 0 < abs(coded - whole.score) < near
    assert one(model(Variant(precision="float16")), "FixtureSTS").score == pytest.approx(whole.score, abs=1e-3)


@pytest.mark.parametrize(
    ("variant", "option"),
    [(Variant(precision="int8", rescore=4), "rescore=4"), (Variant(precision="int8@hakari"), "precision=int8@hakari")],
)
def test_options_of_search_are_refused_without_search(variant: Variant, option: str) -> None:
    error = one(model(variant), "FixtureSTS").error
    assert error is not None and error.type == "UsageError" and error.message.startswith(option) and error.hint


def test_a_model_without_vectors_learns_what_is_needed() -> None:
    found = one("bm25", "FixtureSTS")
    assert found.error is not None and "vectors" in found.error.message and "dense" in str(found.error)


def test_a_limit_keeps_some_pairs_and_marks_the_result() -> None:
    found = one(model(), "FixtureSTS", limit=50)
    assert found.partial and found.facts.samples == 50 and len(found.per_query) == 50


def test_profiles_have_keys_of_their_own() -> None:
    old, new = (one(model(), "FixturePairClassification", profile=name) for name in ("mteb-1.14", "mteb-2.26"))
    assert set(old.mteb) - set(new.mteb) == {key for key in old.mteb if key.endswith("_threshold")}
    assert old.key != new.key


def test_prompts_of_texts() -> None:
    own = {"query": "q: ", "Clustering": "group: "}

    def found(default: str | None = None, **given: str) -> dict[str, str]:
        return dict(all_prompts(own, Options("x", given, (*OPTIONS, *TEXT_OPTIONS)), default))

    assert "text" not in found()
    assert found("Clustering")["text"] == "group: "
    assert found("Clustering", text_prompt="compare: ")["text"] == "compare: "
    assert "text" not in found("Clustering", text_prompt="")
    assert found(text_prompt_name="Clustering")["text"] == found(prompt_name="Clustering")["text"] == "group: "


def test_services_are_asked_for_texts_in_their_own_way() -> None:
    def reading(**given: str) -> ApiTexts:
        return ApiTexts.of(Options("api/x", given, ApiTexts.names()))

    plain = reading(query_prompt="q: ", document_body='{"input_type": "passage"}')
    assert plain.prepared("x", "text") == ("x", False) and plain.fields["text"] == {}
    assert set(plain.settings["prompts"]) == {"query", "document"}, "keys of what is stored stay"
    asked = reading(text_prompt="t: ", text_body='{"input_type": "clustering"}')
    assert asked.prepared("x", "text")[0] == "t: x" and asked.fields["text"] == {"input_type": "clustering"}
    assert asked.settings["prompts"]["text"] == "t: " and not asked.symmetric
    assert reading(query_prompt="x: ").symmetric, "roles differ by their prompts alone, which are part of the keys"


def test_vectors_from_files_serve_pairs(tmp_path: Path) -> None:
    task = pairs("sts", "sts", "score")
    texts = texts_of(task)
    pq.write_table(pa.table({"text": texts, "vector": vectors_of(texts).tolist()}), tmp_path / "all.parquet")
    encoder = from_options(tmp_path / "all.parquet", {})
    (found,) = evaluate(DenseRetriever("dense:files", encoder), task)
    assert found.score == pytest.approx(expected("mteb-2.26")["FixtureSTS"]["main_score"], abs=1e-12)
    for stem in ("documents", "queries"):
        pq.write_table(pa.table({"text": ["a"], "vector": [[1.0, 2.0]]}), tmp_path / f"{stem}.parquet")
    with pytest.raises(DataError):
        from_options(tmp_path, {}).encode(["b"], "text")
    pq.write_table(pa.table({"text": ["b"], "vector": [[3.0, 4.0]]}), tmp_path / "texts.parquet")
    folder = from_options(tmp_path, {})
    assert folder.encode(["b"], "text").tolist() == [[3.0, 4.0]] and "texts" in folder.settings


@pytest.mark.parametrize("strategy", ["only-missing", "never"])
def test_save_runs_does_not_evaluate_again_without_a_corpus(strategy: Any, tmp_path: Path) -> None:
    first = one(model(version="1"), "FixtureSTS", results=tmp_path)
    events: list[Event] = []
    asked = {"results": tmp_path, "save_runs": "parquet", "overwrite_strategy": strategy}
    asked |= {"top_k": 5, "metrics": ["ndcg@7"]}  # nor a list that these could be about
    kept = one(model(version="1"), "FixtureSTS", progress=events.append, **asked)
    assert kept.key == first.key and events[-1] == Finished(kept, stored=True), "there is no run that could be missing"
