"""Fidelity of cuts: exact chances by resampling, real cuts of a made-up set, stored results, and the command."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from statistics import fmean
from xml.etree import ElementTree

import numpy as np
import pytest
from build_parts import write_lines

from steelyard.build.fidelity import (
    Fidelity,
    ModelScores,
    fewest_queries,
    resample,
    sample_fidelity,
    smallest,
    stored_scores,
)
from steelyard.build.sample.recipe import Recipe
from steelyard.cli import main
from steelyard.datasets import load_task
from steelyard.engine.fidelity import evaluator, measure_fidelity
from steelyard.errors import UnknownName, UsageError
from steelyard.reports.components.curves import Curve, Point, curve_plot
from steelyard.results import QueryScores, Result, ResultStore, TaskFacts
from steelyard.stats.agreement import MEASURES
from steelyard.types import Float64, Interval, Task

METRIC = "ndcg_at_10"
MODELS = ("bm25", "bm25?b=0", "bm25?k1=6", "[bm25, bm25?b=0]")
pytestmark = pytest.mark.usefixtures("shared_home")


def scores(values: Float64) -> ModelScores:
    return ModelScores("X/en", METRIC, tuple(f"m{i}" for i in range(len(values))), values, {})


def noisy(queries: int = 400, models: int = 6, gap: float = 0.02) -> ModelScores:
    generator = np.random.default_rng(5)
    hard = generator.random(queries)
    means = 0.4 + gap * np.arange(models)[:, None]
    return scores(means + 0.3 * (hard - 0.5) + generator.normal(0, 0.15, (models, queries)))


def test_resampled_pairs_have_the_chance_that_counting_gives() -> None:
    """All samples of 3 of 7 queries can be listed: the mean over draws nears the mean over all of them."""
    values = np.random.default_rng(3).random((3, 7)).round(2)
    full = values.mean(axis=1)
    agreeing = [
        np.sign(full[a] - full[b]) == np.sign(values[a, list(some)].sum() - values[b, list(some)].sum())
        for some in combinations(range(7), 3)
        for a, b in combinations(range(3), 2)
    ]
    (found,) = resample(scores(values), [3], draws=4000)
    assert 0.3 < fmean(agreeing) < 0.95, "or else the example shows nothing"
    assert found.means["pairs"] == pytest.approx(fmean(agreeing), abs=0.02)


def test_more_queries_rank_better_and_all_of_them_perfectly() -> None:
    found = resample(noisy(), [5, 20, 80, 400], draws=300)
    for measure in MEASURES:
        means = [one.means[measure] for one in found]
        assert means == sorted(means) and means[0] < 0.95 and means[-1] == 1.0
        widths = [one.intervals[measure].high - one.intervals[measure].low for one in found]
        assert widths[0] > widths[2] and widths[-1] == 0
    assert {one.intervals["pairs"].level for one in found} == {0.95}
    assert found[1].to_dict() == resample(noisy(), [20], draws=300)[0].to_dict(), (
        "the same draws, whatever else is asked"
    )
    assert found[1].to_dict() != resample(noisy(), [20], draws=300, seed=1)[0].to_dict()


def test_blocks_of_draws_do_not_change_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = resample(noisy(), [20], draws=50)[0]
    monkeypatch.setattr("steelyard.build.fidelity.BLOCK", 7 * noisy().values.size)
    assert resample(noisy(), [20], draws=50)[0].to_dict() == whole.to_dict()


@pytest.mark.parametrize("lower_bound", [False, True])
def test_the_fewest_queries_are_the_fewest(lower_bound: bool) -> None:
    scored = noisy()
    found = fewest_queries(scored, 0.95, "spearman", lower_bound=lower_bound, draws=200)
    assert found is not None and 1 < found.queries < scored.queries
    assert found.meets(0.95, "spearman", lower_bound=lower_bound)
    (below,) = resample(scored, [found.queries - 1], draws=200)
    assert not below.meets(0.95, "spearman", lower_bound=lower_bound)


def test_one_query_may_be_enough() -> None:
    scored = scores(np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]))
    found = fewest_queries(scored, 1.0, "kendall", lower_bound=True, draws=20)
    assert found is not None and found.queries == 1


def test_what_cannot_be_ranked_is_refused() -> None:
    with pytest.raises(UsageError, match=r"X/en.*2"):
        scores(np.ones((2, 5)))
    with pytest.raises(UsageError):
        resample(scores(np.ones((3, 5))), [2])
    with pytest.raises(UsageError, match=r"5.*6"):
        resample(scores(np.random.default_rng(0).random((3, 5))), [6])


def made(queries: int, documents: int | None, mean: float, low: float) -> Fidelity:
    interval = Interval(low, 1.0)
    way = "resampled" if documents is None else "cut"
    return Fidelity(way, queries, documents, 5, dict.fromkeys(MEASURES, mean), dict.fromkeys(MEASURES, interval))


def test_the_smallest_cut_has_the_fewest_texts() -> None:
    found = [made(50, None, 1, 1), made(200, 1000, 0.99, 0.9), made(50, 5000, 0.97, 0.96), made(100, 1000, 0.96, 0.8)]
    best = smallest(found, 0.95, "kendall", lower_bound=False)
    assert best is not None and (best.queries, best.documents) == (100, 1000)
    sure = smallest(found, 0.95, "kendall", lower_bound=True)
    assert sure is not None and (sure.queries, sure.documents) == (50, 5000)
    assert smallest(found, 0.999, "kendall", lower_bound=False) is None


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Functions of made-up code, declared as such: what BM25 reads of identifiers depends on it."""
    rng = random.Random(2)
    words = [
        a + b for a in ("get", "parse", "open", "sum", "raw", "max") for b in ("Header", "Row", "Mask", "Key", "Tree")
    ]
    often = [1 / (rank + 1) for rank in range(len(words))]
    folder = tmp_path_factory.mktemp("full") / "source"
    folder.mkdir()
    texts = [" ".join(rng.choices(words, often, k=rng.randint(8, 40))) for _ in range(400)]
    asked = [" ".join(rng.choices(text.lower().split() + text.split(), k=5)) for text in texts[:120]]
    write_lines(folder / "corpus.jsonl", [{"_id": f"d{i:03}", "text": text} for i, text in enumerate(texts)])
    write_lines(folder / "queries.jsonl", [{"_id": f"q{i:03}", "text": text} for i, text in enumerate(asked)])
    lines = ["query-id\tcorpus-id\tscore", *(f"q{i:03}\td{i:03}\t1" for i in range(len(asked)))]
    (folder / "qrels.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "task.json").write_text(json.dumps({"language": "en", "category": "code"}), encoding="utf-8")
    return str(folder)


@pytest.fixture(scope="module")
def full(source: str) -> ModelScores:
    scored = evaluator(METRIC)(load_task(source), MODELS)
    assert scored.queries == 120 and len(set(scored.means.tolist())) == len(MODELS)
    return scored


def test_real_cuts_are_weighed(source: str, full: ModelScores) -> None:
    seen: list[tuple[int, int]] = []
    stages: list[tuple[int, int, str]] = []

    def weigh(task: Task, models: Sequence[str]) -> ModelScores:
        seen.append((len(task.queries), len(task.corpus)))
        return evaluator(METRIC)(task, models)

    found, impossible = sample_fidelity(
        source,
        full,
        [(10, 200), (100, 80), (100, 5000), (40, 200)],
        weigh,
        recipe=Recipe(),
        seeds=range(2),
        progress=lambda *stage: stages.append(stage),
    )
    assert seen == [(10, 200)] * 2 + [(40, 200)] * 2
    assert [(one.way, one.queries, one.documents, one.draws) for one in found] == [
        ("cut", 10, 200, 2),
        ("cut", 40, 200, 2),
    ]
    assert all(0 < one.means["pairs"] <= 1 for one in found)
    assert found[0].intervals["spearman"].level == pytest.approx(1 / 3)
    assert [(one.queries, one.documents) for one in impossible] == [(100, 80), (100, 5000)]
    assert "100" in impossible[0].reason and "80" in impossible[0].reason
    assert "5,000" in impossible[1].reason
    assert stages[0] == (0, 8, "10 queries x 200 documents, seed 0") and stages[-1] == (8, 8, "")


def test_a_cut_that_is_the_full_set_gives_its_figures(source: str, full: ModelScores) -> None:
    """Down to the language and category that models go by."""
    seen: list[list[float]] = []

    def weigh(task: Task, models: Sequence[str]) -> ModelScores:
        scored = evaluator(METRIC)(task, models)
        seen.append(scored.means.tolist())
        return scored

    found, impossible = sample_fidelity(source, full, [(120, 400)], weigh, recipe=Recipe(near=0), seeds=[0, 1])
    assert not impossible and found[0].means == dict.fromkeys(MEASURES, 1.0)
    assert seen[0] == pytest.approx(full.means.tolist()) and seen[1] == pytest.approx(seen[0])


def test_cuts_of_several_tasks_at_once_are_refused(full: ModelScores) -> None:
    with pytest.raises(UsageError):
        sample_fidelity("NanoStdlib", full, [(10, 300)], evaluator(METRIC), recipe=Recipe(), seeds=[0])


def result(model: str, values: Float64, key: str, **facts: object) -> Result:
    ids = tuple(f"q{i}" for i in range(len(values)))
    told = TaskFacts(queries=len(values), **{"data_hash": "a" * 32, **facts})  # type: ignore[arg-type]
    queries = QueryScores(ids, np.zeros(len(values), np.int32), {METRIC: values})
    return Result("X/en", model, {"key": key}, key, metrics={METRIC: float(values.mean())}, facts=told, queries=queries)


def test_stored_results_are_read_and_what_is_passed_over_is_told(tmp_path: Path) -> None:
    values = np.random.default_rng(1).random((4, 12))
    store = ResultStore(tmp_path)
    for number in range(4):
        store.put(replace(result(f"m{number}", values[number], f"key{number}"), created=f"2026-01-0{number + 1}"))
    store.put(replace(result("m0", values[1], "older"), created="2025-01-01"))
    store.put(result("part", values[0], "part", limit=12, queries_in_full=90))
    store.put(result("m1", values[0], "elsewhere", data_hash="b" * 32))
    scored = stored_scores(tmp_path, "X/en", METRIC)
    assert scored.models == ("m0", "m1", "m2", "m3")
    assert scored.means == pytest.approx(values.mean(axis=1))
    assert scored.skipped == {
        "m0 (older)": "older than another result",
        "part (part)": "only 12 of 90 queries",
        "m1 (elsewher)": "other data",
    }
    assert stored_scores(tmp_path, "X/en", METRIC, ["m3", "m1", "m2"]).models == ("m1", "m2", "m3")
    with pytest.raises(UnknownName, match=r"X/em.*'X/en'"):
        stored_scores(tmp_path, "X/em", METRIC)
    with pytest.raises(UsageError, match=r"X/en.*0"):
        stored_scores(tmp_path, "X/en", "map")


def test_a_plot_is_a_picture_of_its_points() -> None:
    points = tuple(Point(size, value, value - 0.1, 1.0) for size, value in ((10, 0.7), (100, 0.9), (1000, 0.95)))
    svg = curve_plot([Curve("all <documents>", points), Curve("1,000", points[:1])], "fidelity & size", "queries", 0.95)
    root = ElementTree.fromstring(svg)
    circles = list(root.iter("circle"))
    across = [float(circle.attrib["cx"]) for circle in circles]
    upward = [float(circle.attrib["cy"]) for circle in circles]
    assert len(circles) == 4 and across[1] - across[0] == pytest.approx(across[2] - across[1]), "a logarithmic axis"
    assert upward[0] > upward[1] > upward[2] and upward[3] == upward[0]
    texts = [text.text for text in root.iter("text")]
    assert "all <documents>" in texts and "queries" in texts and "1,000" in texts
    assert "all <documents>, 10: 0.700 (0.600 to 1.000)" in [title.text for title in root.iter("title")]


def command(reference: str, *words: str) -> int:
    return main(["build", "fidelity", reference, "--near", "0", *words])


def test_the_study_is_a_python_call(source: str) -> None:
    notes: list[str] = []
    study = measure_fidelity(source, MODELS, queries=[10, 120, 500], draws=50, note=notes.append)
    assert [(size.way, size.queries, size.documents) for size in study.sizes] == [
        ("resampled", 10, None),
        ("resampled", 120, None),
    ]
    assert any("500" in note for note in notes) and list(study.to_dict()["models"]) == list(MODELS)
    with pytest.raises(UsageError) as caught:
        measure_fidelity(source, MODELS, draws=0)
    assert caught.value.option == "--draws"
    with pytest.raises(UsageError) as caught:
        measure_fidelity(source, MODELS, queries=[500])
    assert caught.value.option == "--sizes"


def test_the_command_weighs_cuts_and_writes_a_page(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "fidelity.html"
    models = [word for model in MODELS for word in ("-m", model)]
    sizes = ["--sizes", "10,40,120,500", "--cut-docs", "200", "--seeds", "2", "--draws", "100"]
    code = command(source, *models, *sizes, "--plot", str(page), "--by", "pairs", "--target", "0.9", "--json")
    told = capsys.readouterr()
    value = json.loads(told.out)
    assert code == 0 and list(value["models"]) == list(MODELS)
    ways = [(one["way"], one["queries"], one["documents"]) for one in value["fidelity"]]
    assert ways == [("resampled", n, None) for n in (10, 40, 120)] + [("cut", n, 200) for n in (10, 40, 120)]
    assert value["fidelity"][2]["pairs"] == 1.0 and not value["impossible"]
    fewest = value["smallest"]["resampled"]["on_average"]
    assert fewest["pairs"] >= 0.9 and fewest["queries"] < 120
    assert "500 queries" in told.err and "sample 6/6" in told.err and " left" in told.err
    html = page.read_text(encoding="utf-8")
    assert html.count("<svg") == 3 and "200 documents" in html and "Models on the full set" in html
    assert "on average" in html and "<script" not in html


def test_the_command_reads_stored_results(source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = str(tmp_path / "results")
    assert command(source, "--results", results) == 2
    assert main(["run", *MODELS, "-t", source, "-o", results, "--no-report", "-q"]) == 0
    capsys.readouterr()
    assert command(source, "--results", results, "--draws", "50", "--target", "1") == 0
    told = capsys.readouterr()
    rows = [line.split()[:4] for line in told.out.splitlines() if line.startswith("resampled")]
    assert rows == [["resampled", n, "all", "50"] for n in ("10", "20", "50", "100", "120")]
    assert "at the low end of the interval" in told.err
    assert command(source, "--plot", "fidelity.svg") == 2
    assert command(source, "--results", results, "--target", "2") == 2
