"""Costs, Pareto fronts and recommendations."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import steelyard
from steelyard.cli import main
from steelyard.errors import DataError, UsageError
from steelyard.recommendation import (
    Choice,
    Constraints,
    Costs,
    Latency,
    Recommendation,
    Sampling,
    measure_costs,
    measure_latency,
)
from steelyard.recommendation.constraints import pareto
from steelyard.recommendation.expansion import Grid, choices, installed_models
from steelyard.recommendation.latency import fresh_index, without_stores
from steelyard.results import QueryScores, Result, Results
from steelyard.retrievers import load_retriever
from steelyard.types import Interval, Queries, Task

TASK = Task.of(
    "Mine/animals",
    {"a": "the red fox sleeps in its den", "b": "blue whales sing", "c": "rain in the north", "d": "stock markets"},
    {"q1": "sleeping fox", "q2": "song of the whale", "q3": "weather", "q4": "stock exchange"},
    {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}, "q4": {"d": 1}},
    language="en",
)


def costs(latency: float, size: float, price: float | None = None) -> Costs:
    one = Latency(latency, latency, latency, 10, 1)
    return Costs(one, one, bytes_per_document=size, price_per_thousand_queries=price)


def choice(
    model: str, quality: float, latency: float = 0.01, size: float = 100.0, price: float | None = None
) -> Choice:
    return Choice(model, quality, Interval(quality - 0.1, quality + 0.1), costs(latency, size, price))


def scores(by_model: dict[str, list[float]]) -> Results:
    def one(model: str, values: list[float]) -> Result:
        ids = tuple(f"q{place}" for place in range(len(values)))
        per_query = QueryScores(ids, np.ones(len(values), dtype=np.int32), {"ndcg_at_10": np.array(values)})
        mean = float(np.mean(values))
        return Result("T/a", model, {"model": model}, model, metrics={"ndcg_at_10": mean}, queries=per_query)

    return Results(one(model, values) for model, values in by_model.items())


class Ticking:
    """A clock that moves on by itself."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_percentiles_are_measured_values_and_warm_up_is_not_counted() -> None:
    clock, durations, sizes = Ticking(), iter([9.0, 9.0, *(0.001 * n for n in range(1, 101))]), []

    def call(batch: list[str]) -> None:
        sizes.append(len(batch))
        clock.now += next(durations)

    found = measure_latency(call, ["a", "b", "c"], batch_size=2, samples=100, warm_up=2, budget=1e9, clock=clock)
    assert (found.samples, found.warm_up, set(sizes)) == (100, 2, {2})
    assert [found.p50, found.p95, found.p99] == pytest.approx([0.05, 0.095, 0.099])
    assert found.per_query == pytest.approx(0.025)


def test_a_budget_ends_sampling_but_not_before_five() -> None:
    clock = Ticking()

    def call(batch: list[str]) -> None:
        clock.now += 4.0

    assert measure_latency(call, ["a"], samples=100, warm_up=0, budget=10, clock=clock).samples == 5


@pytest.mark.parametrize("given", [{"texts": []}, {"texts": ["a"], "samples": 0}, {"texts": ["a"], "batch_size": 0}])
def test_a_latency_of_nothing_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        measure_latency(lambda batch: None, **given)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["dense", "[bm25, dense]"])
def test_queries_are_computed_for_every_call(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path))
    retriever = load_retriever(model)
    index = retriever.index(TASK.corpus, TASK.info)
    stored = index.search(TASK.queries, 4)
    fresh = fresh_index(retriever, index, TASK.info)
    queries = Queries(TASK.queries.ids, TASK.queries.texts)  # the same texts: a store would have them
    again = fresh.search(queries, 4)
    notes = fresh.notes if model == "dense" else fresh.notes["dense:use-multilingual-v3"]
    assert notes["queries"]["texts_encoded"] == len(TASK.queries)
    assert again.rows.tolist() == stored.rows.tolist()


def test_costs_of_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path))
    found = measure_costs(load_retriever("dense?precision=int8"), TASK, Sampling(samples=6, batch_size=2))
    assert (found.latency.samples, found.batch_latency.batch_size) == (6, 2)
    assert found.bytes_per_document and found.documents_per_second and found.documents == 4
    assert found.price_per_thousand_queries is None
    assert json.dumps(found.to_dict())


def test_a_retriever_of_another_kind_is_left_as_it_is() -> None:
    bm25 = load_retriever("bm25")
    assert without_stores(bm25) is bm25


def test_choices_from_one_model() -> None:
    every, offered = choices(
        ["bm25", "dense:X", "rerank:R"], Grid(dimensions="64", precisions="int8", rescore="", depths=(10, 20))
    )
    names = [str(spec) for spec in every]
    assert "dense:X?precision=int8&truncate_dim=64" in names and "[bm25, dense:X?truncate_dim=64]" in names
    assert {"bm25 > rerank:R?depth=10", "[bm25, dense:X] > rerank:R?depth=20"} <= set(names)
    assert len(names) == len(set(names)) and "dense:X" not in map(str, offered)
    with pytest.raises(UsageError):
        choices(["rerank:R"])


def test_installed_models_are_found_without_the_network() -> None:
    assert {"bm25", "dense:use-multilingual-v3"} <= set(installed_models())


def test_the_front_has_what_nothing_beats() -> None:
    cheap, best, worse, equal = (
        choice("cheap", 0.5, 0.01),
        choice("best", 0.9, 0.5),
        choice("worse", 0.4, 0.2),
        choice("equal", 0.5, 0.01),
    )
    front = pareto([best, worse, cheap, equal], lambda one: one.latency.p95)
    assert [one.model for one in front] == ["cheap", "equal", "best"]


def test_the_cheapest_choice_that_is_as_good_as_the_best_is_recommended() -> None:
    values = np.random.default_rng(0).random(60)
    noise = np.random.default_rng(1).normal(0, 0.05, 60)
    results = scores(
        {
            "big": values.tolist(),
            "small": (values + noise - noise.mean() - 0.001).tolist(),
            "tiny": (values - 0.3).tolist(),
        }
    )
    ranked = (
        choice("big", float(values.mean()), 0.1, 2048),
        choice("small", float(values.mean()) - 0.001, 0.05, 64),
        choice("tiny", float(values.mean()) - 0.3, 0.001, 8),
    )
    found = Recommendation(ranked, results)
    assert [one.model for one in found.tied] == ["big", "small"]
    assert found.recommended is ranked[1] and found.best is ranked[0]
    limited = Recommendation(ranked, results, Constraints(latency=0.01))
    assert limited.recommended is ranked[2], "the constraint leaves one choice"
    nothing = Recommendation(ranked, results, Constraints(latency=1e-6))
    assert nothing.recommended is None and nothing.sentences()
    by_latency = Recommendation(ranked, results, cheapest="latency")
    assert by_latency.recommended is ranked[1]


def test_the_sentence_has_the_p_value_of_the_recommended_choice() -> None:
    values = np.random.default_rng(0).random(60)
    noise = np.random.default_rng(1).normal(0, 0.05, 60)
    results = scores(
        {
            "float": values.tolist(),
            "int8": values.tolist(),
            "small": (values + noise - noise.mean() - 0.01).tolist(),
        }
    )
    ranked = (
        choice("int8", float(values.mean()), 0.1, 2048),  # as good as "float", with which the others are compared
        choice("float", float(values.mean()), 0.1, 8192),
        choice("small", float(values.mean()) - 0.01, 0.01, 64),
    )
    found = Recommendation(ranked, results)
    assert found.recommended is ranked[2] and 0.05 < found.p_values["small"] < 0.9
    assert f"p = {found.p_values['small']:.3f}" in found.sentences()[1]


def test_a_price_counts_where_a_service_has_one() -> None:
    free, paid = choice("free", 0.5), choice("paid", 0.9, price=2.0)
    results = scores({"free": [0.5] * 20, "paid": [0.9] * 20})
    assert Recommendation((paid, free), results, Constraints(price=1.0)).recommended is free
    assert Recommendation((paid, free), results).fronts["price"] == [paid]


@pytest.mark.parametrize(
    "given",
    [{"max_latency": "soon"}, {"max_latency": "-5ms"}, {"max_bytes_per_doc": "many"}, {"max_price": -1.0}],
)
def test_a_constraint_that_cannot_be_read_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        Constraints.of(**given)  # type: ignore[arg-type]


@pytest.mark.slow
def test_recommend_end_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    found = steelyard.recommend(
        ["bm25", "dense"], TASK, sampling=Sampling(samples=5, budget=2.0), grid=Grid(precisions="int8", rescore="")
    )
    names = {one.model for one in found.choices}
    assert names == {
        "bm25",
        "dense:use-multilingual-v3",
        "dense:use-multilingual-v3?precision=int8",
        "[bm25, dense:use-multilingual-v3]",
        "[bm25, dense:use-multilingual-v3?precision=int8]",
    }
    assert found.recommended in found.tied and "latency" in found.fronts and not found.failed
    page = found.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page and "<svg" in page and "<script" not in page
    assert str(found).startswith("model")


@pytest.mark.slow
def test_recommend_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["recommend", "bm25", "-t", "NanoAlmanac/en", "--samples", "5", "-o", str(tmp_path), "--quiet", "--json"]
    assert main(words) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["recommended"] == "bm25" and data["choices"][0]["latency"]["samples"] == 5
    assert (tmp_path / "recommend.html").is_file()
    for option, stored in (("--no-fusions", True), ("--remeasure", False)):
        assert main([*words, option]) == 0
        assert json.loads(capsys.readouterr().out)["choices"][0]["stored"] is stored
    assert main([*words, "--max-latency", "0.001us"]) == 1, "no choice keeps the constraint"
    assert main([*words, "--max-latency", "fast"]) == 2


def test_run_with_costs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "run",
        "bm25",
        "-t",
        "NanoAlmanac/en",
        "-o",
        str(tmp_path),
        "--no-report",
        "--costs",
        "--cost-samples",
        "5",
    ]
    assert main([*words, "--json", "--quiet"]) == 0
    (result,) = json.loads(capsys.readouterr().out)
    assert result["steelyard"]["notes"]["costs"]["latency"]["samples"] == 5
    assert main([*words, "--quiet"]) == 0
    assert "bytes/doc" in capsys.readouterr().out


def test_a_task_with_one_query_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    task = Task.of("Mine/one", {"a": "red fox", "b": "blue whale"}, {"q": "fox"}, {"q": {"a": 1}}, language="en")
    with pytest.raises(DataError) as caught:
        steelyard.recommend(["bm25", "bm25?k1=0.9"], task, results=tmp_path / "results")
    assert caught.value.found == 1
    assert not (tmp_path / "results").exists()


def resampled(model: str, values: list[float], *, latency: float) -> Choice:
    """Return a choice whose quality is the mean of the scores of queries, with resamples that all choices share."""
    rows = np.random.default_rng(5).integers(0, len(values), (2_000, len(values)))
    means = np.array(values)[rows].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Choice(model, float(np.mean(values)), Interval(float(low), float(high)), costs(latency, 100.0), means)


def loss_study(max_loss: float | None) -> Recommendation:
    generator = np.random.default_rng(3)
    base = generator.random(200)
    by_model = {
        "best": base,
        "slightly worse": base - 0.01 * generator.random(200),  # significant, but never more than 0.01
        "uncertain": np.clip(base + generator.normal(-0.05, 0.4, 200), 0, 1),
    }
    listed = {model: values.tolist() for model, values in by_model.items()}
    latency = {"best": 0.1, "slightly worse": 0.05, "uncertain": 0.01}
    every = [resampled(model, values, latency=latency[model]) for model, values in listed.items()]
    ranked = tuple(sorted(every, key=lambda one: -one.quality))
    return Recommendation(ranked, scores(listed), cheapest="latency", max_loss=max_loss)


def test_an_uncertain_difference_is_no_proof_of_equal_quality() -> None:
    free, limited = loss_study(None), loss_study(0.02)
    assert free.recommended is not None and free.recommended.model == "uncertain"
    assert -free.differences["uncertain"].low > 0.02
    assert any("--max-loss" in line for line in free.sentences())
    assert limited.recommended is not None and limited.recommended.model == "slightly worse"
    assert limited.recommended not in limited.tied and -limited.differences["slightly worse"].low < 0.02
    assert not any("--max-loss" in line for line in limited.sentences())
    assert limited.to_dict()["max_loss"] == 0.02
    strict = loss_study(0.0)
    assert strict.recommended is strict.best


@pytest.mark.parametrize("max_loss", [-0.1, 1.0, float("nan")])
def test_the_largest_loss_is_a_share(max_loss: float) -> None:
    with pytest.raises(UsageError):
        loss_study(max_loss)
    with pytest.raises(UsageError):  # before the model is looked up
        steelyard.recommend(["dense:no/such-model"], TASK, max_loss=max_loss)
