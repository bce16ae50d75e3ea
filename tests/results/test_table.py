"""The one view of many results: what leads, what ties, what may be averaged, in every form."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard
from steelyard.errors import MissingPart, ResultError, UnknownName
from steelyard.results import QueryScores, Result, Results, ResultStore, TaskFacts, load_results
from steelyard.types import Float64, Interval
from steelyard.web.own_results import from_results

RNG = np.random.default_rng(0)
BASE = RNG.uniform(0.2, 0.8, 60)
GOOD = BASE + RNG.normal(0.1, 0.05, 60)
CLOSE = GOOD + RNG.normal(0.0, 0.05, 60)


def made(task: str, model: str, values: Float64 | None, **more: Any) -> Result:
    facts = TaskFacts(
        more.pop("language", "en"), type=more.pop("type", "retrieval"), queries=60, documents=9,
        data_hash=more.pop("data_hash", f"{task.replace('/', ''):0<8}" * 4),
    )  # fmt: skip
    if values is None:
        return Result(task, model, {}, task + model, status="failed", facts=facts, **more)
    score = float(values.mean())
    ids = tuple(f"q{i}" for i in range(len(values)))
    return Result(
        task, model, {}, task + model, metrics={"ndcg_at_10": score}, facts=facts,
        intervals={"ndcg_at_10": Interval(score - 0.05, score + 0.05)},
        queries=QueryScores(ids, np.ones(len(values), dtype=np.int32), {"ndcg_at_10": values}), **more,
    )  # fmt: skip


@pytest.fixture
def results() -> Results:
    return Results(
        [
            made("A/x", "low", BASE), made("A/x", "high", GOOD), made("A/x", "same", CLOSE),
            made("A/y", "low", BASE, language="zh", type="reranking"),
            made("A/y", "high", GOOD, language="zh", type="reranking"),
            made("A/y", "same", CLOSE, language="zh", type="reranking"),
            made("B/z", "low", BASE), made("B/z", "high", GOOD), made("B/z", "same", None),
        ]
    )  # fmt: skip


def test_leaders_are_the_best_and_all_that_cannot_be_distinguished_from_it(results: Results) -> None:
    leaders = results.leaders("A/x")
    assert leaders is not None and set(leaders.best) == {"high", "same"}
    assert leaders.p_values["low"] < 0.01 and leaders.score == max(GOOD.mean(), CLOSE.mean())
    overall = results.overall_leaders()
    assert overall is not None and set(overall.best) == {"high", "same"} and "low" in overall.p_values
    assert results.leaders("no such task") is None


def test_console_and_report_mark_the_same_models(results: Results) -> None:
    columns, rows = results.table()
    starred = {columns[place] for place, cell in enumerate(rows[0]) if "*" in cell}
    mean = {columns[place] for place, cell in enumerate(rows[-1]) if "*" in cell}
    board = from_results(results)
    assert starred == mean == {"high", "same"} == {board.models[place].name for place in board.tied}


def test_models_without_per_query_scores_tie_only_with_equal_scores() -> None:
    bare = [
        Result("T/a", f"m{i}", {}, str(i), metrics={"ndcg_at_10": score}) for i, score in enumerate((0.5, 0.5, 0.4))
    ]
    leaders = Results(bare).leaders("T/a")
    assert leaders is not None and leaders.best == ("m0", "m1") and leaders.p_values == {}


def test_a_score_that_is_not_the_mean_of_its_queries_is_not_tested() -> None:
    one, other = made("T/a", "a", GOOD), made("T/a", "b", CLOSE)
    spearman = [Result(r.task, r.model, {}, r.key, metrics={"ndcg_at_10": 0.9 - place}, queries=r.queries)
                for place, r in enumerate((one, other))]  # fmt: skip
    leaders = Results(spearman).leaders("T/a")
    assert leaders is not None and leaders.best == ("a",) and not leaders.p_values


def test_scores_that_are_not_means_are_compared_by_their_intervals() -> None:
    def correlation(model: str, score: float) -> Result:
        spread = {"cosine_spearman": Interval(score - 0.05, score + 0.05)}
        metrics = {"cosine_spearman": score}
        return Result("T/sts", model, {}, model, main_metric="cosine_spearman", metrics=metrics, intervals=spread)

    leaders = Results([correlation("a", 0.8), correlation("b", 0.77), correlation("c", 0.6)]).leaders("T/sts")
    assert leaders is not None and leaders.best == ("a", "b") and leaders.p_values["c"] < 0.001


def test_mean_of_tasks_without_queries_is_tested_by_task() -> None:
    bare = [
        Result(f"T/{t}", model, {}, f"{t}{model}", metrics={"ndcg_at_10": 0.5 + gap * (t + 1)})
        for t in range(7)
        for model, gap in (("a", 0.01), ("b", 0.0), ("c", 0.0101))
    ]
    overall = Results(bare).overall_leaders()
    assert overall is not None and overall.model == "c" and overall.tied == ()
    assert overall.p_values == {"a": 1 / 32, "b": 1 / 32}
    assert Results(bare[:9]).overall_leaders().tied == ("a", "b")  # type: ignore[union-attr]


def test_means_common_tasks_and_partial_models(results: Results) -> None:
    assert results.common_tasks() == ("A/x", "A/y")
    assert results.means()["low"] == pytest.approx(BASE.mean())
    assert results.partial_models() == {"same": ("B/z",)}
    assert results.select(models=["low", "high"]).partial_models() == {}


def test_of_several_results_the_newest_counts() -> None:
    old, new = made("T/a", "m", BASE, created="2026-01-01"), made("T/a", "m", GOOD, created="2026-02-01")
    assert Results([new, old]).score("T/a", "m") == GOOD.mean()


def test_a_failure_before_the_data_was_read_belongs_to_the_data_that_others_read() -> None:
    mixed = Results([made("T/a", "m", GOOD, data_hash="a" * 32), made("T/a", "n", None, data_hash=None)])
    assert mixed.labels == ("T/a",)
    two = Results([made("T/a", "m", GOOD, data_hash="a" * 32), made("T/a", "m", GOOD, data_hash="b" * 32)])
    assert two.labels == ("T/a@aaaaaaaa", "T/a@bbbbbbbb")


@pytest.mark.parametrize(
    ("chosen", "tasks"),
    [
        ({"tasks": "A"}, ("A/x", "A/y")),
        ({"tasks": ["B/*", "A/y"]}, ("A/y", "B/z")),
        ({"languages": "zh"}, ("A/y",)),
        ({"types": "reranking"}, ("A/y",)),
        ({"models": "hi*", "tasks": "A/x"}, ("A/x",)),
        ({"tasks": "C"}, ()),
    ],
)
def test_selection(results: Results, chosen: dict[str, Any], tasks: tuple[str, ...]) -> None:
    selected = results.select(**chosen)
    assert selected.tasks == tasks and isinstance(selected, Results)


def test_selection_by_language_ignores_script_and_region() -> None:
    assert len(Results([made("T/a", "m", BASE, language="zh-Hans")]).select(languages=["zh"])) == 1


def test_data_frames_have_one_row_for_each_result(results: Results) -> None:
    frame, other, table = results.to_pandas(["ndcg@10"]), results.to_polars(), results.to_arrow()
    assert len(frame) == len(other) == table.num_rows == 9
    assert frame.loc[0, "score"] == frame.loc[0, "ndcg_at_10"] == BASE.mean()
    assert other["status"].to_list().count("failed") == 1 and table.column("queries").type == "int64"
    assert str(frame["score"].dtype) == "float64" and frame["score"].isna().sum() == 1
    assert Results([]).to_arrow().num_rows == 0


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_library_is_named_with_the_command_that_installs_it(
    results: Results, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == library:
            raise ImportError(name)
        return original(name, *rest, **more)

    import sys

    for name in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setattr("importlib.import_module", lambda name: without(name))
    with pytest.raises(MissingPart) as caught:
        getattr(results, f"to_{library}")()
    assert caught.value.exit_code == 3 and f"pip install {library}" in (caught.value.hint or "")


def test_tables_for_documents_have_the_best_in_bold(results: Results) -> None:
    markdown, latex = results.to_markdown(), results.to_latex(intervals=True)
    assert markdown.splitlines()[1] == "|---|---|---|---|" and markdown.count("**") == 2 * 7
    assert latex.startswith(r"\begin{tabular}{lrrr}") and latex.count(r"\textbf{") == 7
    assert "A/x" in latex and r"\bottomrule" in latex


def test_results_of_a_folder(results: Results, tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    for result in results:
        store.put(result)
    loaded = load_results(tmp_path, models=["low", "high"])
    assert set(loaded.models) == {"low", "high"} and len(loaded) == 6
    leaders = steelyard.load_results(tmp_path).leaders("A/x")  # per-query scores are read from the Parquet files
    assert leaders is not None and set(leaders.best) == {"high", "same"}
    with pytest.raises(ResultError):
        load_results(tmp_path / "none")


def test_a_damaged_file_of_queries_leaves_the_intervals_to_decide(results: Results, tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    stored = [store.put(result) for result in results.select(tasks="A/x")]
    assert stored[2].path is not None
    stored[2].path.with_name(stored[2].path.name.replace(".json", ".queries.parquet")).write_bytes(b"PAR1 no PAR1")
    leaders = load_results(tmp_path).leaders("A/x")
    assert leaders is not None and set(leaders.best) == {"high", "same"}
    assert "A/x" in str(load_results(tmp_path))


def test_a_metric_that_does_not_exist_is_an_unknown_name(results: Results) -> None:
    with pytest.raises(UnknownName):
        results.means("ndgc@10")
    assert results.means("nDCG@20") == {}


def test_html_of_a_notebook_is_the_table(results: Results) -> None:
    assert results._repr_html_().count("<tr>") == 1 + 3 + 1 and str(results).count("*") == 7
