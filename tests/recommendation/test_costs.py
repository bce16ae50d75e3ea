"""Costs: measured once in a process of their own, kept, and shown as stored; encoding costs stay with the vectors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steelyard import evaluate, load_results
from steelyard.cli import main
from steelyard.config import Settings
from steelyard.encoders.backends.function import from_function
from steelyard.encoders.cache.cached_encoder import encode_once, open_store
from steelyard.engine.batch import load_models
from steelyard.recommendation.costs import query_stages
from steelyard.recommendation.latency import Sampling
from steelyard.recommendation.measure_models import measure_models
from steelyard.reports.run_report.variants import share_kept
from steelyard.results.display.cost_notes import encoding_cost, reranking_cost
from steelyard.retrievers import load_retriever
from steelyard.retrievers.pipeline import pipeline
from steelyard.retrievers.rerank.load import from_function as from_rerank_function
from steelyard.types import Queries, Task

SAMPLING = Sampling(samples=6, warm_up=1, batch_size=4)


def small() -> Task:
    documents = {f"d{place}": f"river number {place} flows north" for place in range(30)}
    queries = {f"q{place}": f"river {place}" for place in range(12)}
    return Task.of("Costs/rivers", documents, queries, {f"q{place}": {f"d{place}": 1} for place in range(12)})


@pytest.mark.slow
def test_costs_are_measured_once_in_a_process_of_their_own(tmp_path: Path) -> None:
    settings = Settings.load(home=tmp_path)
    models = load_models(["lex=bm25", "bm25?k1=0.9"], settings=settings)
    failed: dict[str, str] = {}
    first = measure_models(models, [small()], failed=failed, sampling=SAMPLING, settings=settings)
    again = measure_models(models, [small()], failed=failed, sampling=SAMPLING, settings=settings)
    assert not failed and list(first) == ["lex", "bm25?k1=0.9"]
    for name, costs in first.items():
        assert not costs.stored and again[name].stored
        assert again[name].latency.p95 == pytest.approx(costs.latency.p95)
        values = costs.to_dict()
        assert values["peak_memory_bytes"] is not None and values["peak_memory_bytes"] < 10**9, "not of this process"
        assert values["latency"]["samples"] == 6 and values["latency"]["warm_up"] == 1
        assert values["queries_per_second"] == pytest.approx(4 / costs.batch_latency.p50)
        assert values["hours_per_million_documents"] == pytest.approx(1e6 / values["documents_per_second"] / 3600)
    fresh = measure_models(models[:1], [small()], failed=failed, sampling=SAMPLING, reuse=False, settings=settings)
    assert not fresh["lex"].stored


def test_stages_of_a_query_add_up_to_its_search() -> None:
    task = small()
    retriever = load_retriever("[bm25, dense]")
    index = retriever.index(task.corpus, task.info)
    index.search(Queries(("q",), ("river 3",)), 10)
    stages = query_stages(index, 1.0)
    assert set(stages) == {"encode", "search", "fuse"} and all(seconds >= 0 for seconds in stages.values())


def test_the_cost_of_encoding_stays_with_the_vectors(tmp_path: Path) -> None:
    settings = Settings.load(home=tmp_path)
    encoder = from_function(lambda texts: [[float(len(text)), 1.0] for text in texts], "length", version="1")
    encoder.fixed_batches = False  # so that half of the texts have the same vectors as all of them
    texts = [f"text {place}" for place in range(20)]
    _, first = encode_once(encoder, texts[:10], "document", store=open_store(encoder, settings))
    _, second = encode_once(encoder, texts, "document", store=open_store(encoder, settings))
    _, third = encode_once(encoder, texts, "document", store=open_store(encoder, settings))
    assert first.seconds is not None and first.stored_seconds == 0.0
    assert second.stored_seconds == pytest.approx(first.seconds, rel=1e-3)
    assert third.seconds == 0.0 and third.encoded == 0
    assert third.stored_seconds == pytest.approx(first.seconds + (second.seconds or 0), rel=1e-3)


def test_a_cached_run_shows_what_encoding_took(tmp_path: Path) -> None:
    settings = Settings.load(home=tmp_path)
    runs = [
        evaluate("dense", small(), results=tmp_path / "r", overwrite_strategy="always", settings=settings)
        for _ in range(2)
    ]
    costs = [encoding_cost(run) for run in runs]
    assert costs[0] is not None and costs[1] is not None
    assert costs[0].stored == 0.0 < costs[1].stored == pytest.approx(costs[0].seconds, rel=1e-3)
    assert costs[1].texts == costs[0].texts == 30


def test_a_cached_run_shows_what_reranking_took(tmp_path: Path) -> None:
    settings = Settings.load(home=tmp_path)
    model = from_rerank_function(lambda query, texts: [len(text) for text in texts], "longer", version="1")
    first_model = pipeline("bm25", model, depth=5, settings=settings)
    models = [first_model, first_model.at_depth(10)]
    runs = [
        evaluate(models, small(), results=tmp_path / "r", overwrite_strategy="always", settings=settings)
        for _ in range(2)
    ]
    (first, second), (again, deeper) = ([reranking_cost([result]) for result in run] for run in runs)
    assert first and second and again and deeper
    assert first.stored == second.stored == 0.0 < first.seconds < second.seconds, "the second reuses the first"
    whole = second.seconds  # of each pair once; the store has the mean of all
    assert deeper.stored == deeper.seconds == pytest.approx(whole, rel=1e-2)
    assert 0 < again.stored < deeper.stored and (again.texts, deeper.texts) == (first.texts, second.texts)


def test_kept_has_an_interval_and_a_paired_test() -> None:
    results = evaluate("dense", small(), precision="int8,binary")
    base, int8, binary = results.models
    whole = share_kept(results, int8, base, results.labels, "ndcg_at_10")
    coarse = share_kept(results, binary, base, results.labels, "ndcg_at_10")
    assert whole is not None and coarse is not None
    ratio = (results[2].score or 0) / (results[0].score or 1)
    assert coarse.low <= ratio <= coarse.high and 0 < coarse.p <= 1 and whole.p >= coarse.p


@pytest.mark.slow
def test_the_command_writes_costs_into_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    line = ["run", "lex=bm25", "-t", "NanoAlmanac/en", "--limit", "3", "-o", str(tmp_path / "r"), "--no-report"]
    assert main([*line, "--costs", "--cost-samples", "5", "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)
    assert shown["steelyard"]["model"] == "lex"
    (stored,) = load_results(tmp_path / "r")
    assert stored.model == "bm25" and stored.notes["costs"]["latency"]["samples"] == 5
    assert stored.peak_memory_bytes == stored.notes["costs"]["peak_memory_bytes"]
    assert main([*line, "--costs", "--cost-samples", "5"]) == 0
    assert "lex (stored)" in capsys.readouterr().out
