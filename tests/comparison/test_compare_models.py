"""Comparisons: what may be compared, what is concluded, which queries changed, in every form."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import task_parts
from comparison_parts import NEW, OLD, made
from engine_parts import Overlap, small_task
from hypothesis import given, settings
from hypothesis import strategies as st

import steelyard
from steelyard.comparison import Comparison, compare
from steelyard.comparison.changed_queries import changed_queries
from steelyard.comparison.compare_models import from_results
from steelyard.comparison.model import TaskScores
from steelyard.comparison.slices import read_metadata
from steelyard.errors import DataError, MissingPart, ResultError, UnknownName, UsageError
from steelyard.results import Result, Results, ResultStore
from steelyard.results.ranking import compare_rankings


def both(*, tasks: int = 2) -> list[Result]:
    names = [f"T/{i}" for i in range(tasks)]
    return [made(t, "old", OLD) for t in names] + [made(t, "new", NEW) for t in names]


def test_a_difference_has_all_its_evidence() -> None:
    comparison = compare(both())
    assert comparison.models == ("old", "new") and len(comparison.tasks) == 2
    one = comparison.tasks[0].differences[0]
    assert (one.model, one.baseline) == ("new", "old") and one.difference == pytest.approx((NEW - OLD).mean())
    assert one.low is not None and one.high is not None and one.low < one.difference < one.high
    assert one.p_value is not None and one.p_holm is not None and one.p_bh is not None
    assert one.p_value <= one.p_bh <= one.p_holm < 0.05 and one.verdict(0.05) == "better"
    assert one.wins is not None and one.ties is not None and one.losses is not None
    assert one.wins + one.ties + one.losses == 80 and (one.probability_better or 0) > 0.99
    overall = comparison.between("new", "old")
    assert overall.low_over_tasks is not None and overall.p_value is not None and overall.p_value <= one.p_value
    assert compare(both()).to_dict() == comparison.to_dict()  # the same again


def test_a_model_compared_with_itself_differs_in_nothing() -> None:
    comparison = compare([*both(), *(replace(r, model="copy") for r in both() if r.model == "new")])
    one = comparison.between("copy", "new")
    assert (one.difference, one.p_value, one.probability_better) == (0.0, 1.0, 0.5)
    groups = {row.model: row.group for row in comparison.ranking}
    assert groups == {"new": 1, "copy": 1, "old": 2}
    assert len(comparison.overall.differences) == 3  # type: ignore[union-attr]


def test_models_by_name_are_evaluated_and_stored_once(tmp_path: Path) -> None:
    task = small_task()
    comparison = compare("bm25", Overlap(), tasks=task, results=tmp_path)
    stored = sorted(path for path in tmp_path.rglob("*.json"))
    assert comparison.models == ("bm25", "overlap") and len(stored) == 2
    before = [path.stat().st_mtime_ns for path in stored]
    again = steelyard.compare("bm25", Overlap(), tasks=task, results=tmp_path)
    assert again.to_dict() == comparison.to_dict() and [path.stat().st_mtime_ns for path in stored] == before


def test_folders_of_results_are_named_by_folder_where_models_have_the_same_name(tmp_path: Path) -> None:
    for folder, values in (("before", OLD), ("after", NEW)):
        ResultStore(tmp_path / folder).put(made("T/a", "mine", values))
    comparison = compare(tmp_path / "before", str(tmp_path / "after"))
    assert comparison.models == ("before", "after")
    assert comparison.between("after", "before").difference == pytest.approx((NEW - OLD).mean())


def test_runs_are_scored_on_their_task(tmp_path: Path) -> None:
    task = small_task()
    saved = tmp_path / "results"
    steelyard.evaluate("bm25", task, results=saved, save_runs="trec")
    (run,) = saved.rglob("*.run.trec")
    loose = tmp_path / "mine.trec"
    loose.write_bytes(run.read_bytes())
    comparison = compare(run, loose, Overlap(), tasks=[task])
    assert comparison.models == ("bm25", "mine.trec", "overlap")
    assert comparison.between("mine.trec", "bm25").difference == 0.0
    with pytest.raises(UsageError):
        compare(loose, loose)
    wrong = tmp_path / "wrong.trec"
    wrong.write_text("q1 Q0 amazon 1 1.0 x\n", encoding="utf-8")
    with pytest.raises(ResultError):
        compare(wrong, loose, tasks=[task])


def test_without_tasks_stored_results_are_compared_also_of_tasks_from_files(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "text": "red apple"}\n{"_id": "b", "text": "blue sky"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "red apple"}\n{"_id": "2", "text": "sky"}\n')
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t1\n2\ta\t1\n")
    results = tmp_path / "results"
    steelyard.evaluate(["bm25", "bm25?k1=2"], tmp_path, results=results)
    comparison = compare("bm25", "bm25?k1=2", results=results)
    assert [task.task for task in comparison.tasks] == [f"local/{tmp_path.name}"]
    with pytest.raises(MissingPart) as caught:  # the name of such a task cannot be loaded again
        compare("bm25", "bm25?k1=3", results=results)
    assert "-t" in str(caught.value.hint)


def test_stored_refuses_what_is_missing_with_the_command_that_gets_it(tmp_path: Path) -> None:
    steelyard.evaluate("bm25", "NanoAlmanac/en", results=tmp_path, limit=5)
    with pytest.raises(MissingPart) as caught:
        compare("bm25", "dense", tasks="NanoAlmanac/en", results=tmp_path, stored=True, limit=5)
    assert caught.value.exit_code == 3 and "steelyard run 'dense" in (caught.value.hint or "")
    with pytest.raises(MissingPart):  # stored only with a limit
        compare("bm25", "bm25?k1=2", tasks="NanoAlmanac/en", results=tmp_path, stored=True)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"data_hash": "e" * 32}, "content hash"),
        ({"data_hash": "e" * 32, "revision": "abc"}, "revision"),
        ({"data_hash": "e" * 32, "limit": 80}, "limit"),
        ({"data_hash": "e" * 32, "settings": {"seed": 5}}, "seed"),
        ({"settings": {"profile": "mteb-1.14"}}, "profile"),
        ({"metric": "map_at_1000"}, "main metric"),
        ({"settings": {"model_settings": {"parts": [{"candidates": "bm25"}]}}}, None),
    ],
)
def test_results_that_must_not_be_compared_are_refused_by_name(change: dict[str, Any], word: str | None) -> None:
    pair = [made("T/a", "old", OLD), made("T/a", "new", NEW, **change)]
    if word is None:  # only one of them ranks candidates: noted, not refused
        assert [flag.refused for flag in compare(pair).flags] == [False]
        return
    with pytest.raises(DataError) as caught:
        compare(pair)
    assert "T/a" in caught.value.message and word in caught.value.message
    mixed = compare([*pair, made("T/b", "old", OLD), made("T/b", "new", NEW)])
    assert [(flag.task.partition("@")[0], flag.refused) for flag in mixed.flags] == [("T/a", True)]
    assert [task.task for task in mixed.tasks] == ["T/b"] and mixed.overall.tasks == ("T/b",)  # type: ignore[union-attr]


def test_other_candidate_lists_and_scoring_versions_are_refused() -> None:
    lists = [
        made("T/a", name, values, settings={"model_settings": {"candidates": own}})
        for name, values, own in (("old", OLD, "bm25"), ("new", NEW, "hybrid"))
    ]
    with pytest.raises(DataError, match="candidate"):
        compare(lists)
    old, new = made("T/a", "old", OLD), made("T/a", "new", NEW)
    with pytest.raises(DataError, match="definition"):
        compare([replace(old, key="of another version"), new])


def test_other_depths_and_partial_results_are_noted() -> None:
    pair = [
        made("T/a", "old", OLD, settings={"top_k": 100}, limit=80),
        made("T/a", "new", NEW, settings={"top_k": 1000}, limit=80),
    ]
    reasons = " ".join(flag.reason for flag in compare(pair).flags)
    assert "top_k" in reasons and "partial" in reasons


def test_queries_in_another_order_are_aligned_and_other_queries_refused() -> None:
    order = np.random.default_rng(9).permutation(80)
    shuffled = made("T/a", "new", NEW[order], ids=tuple(f"q{i}" for i in order))
    expected = compare([made("T/a", "old", OLD), made("T/a", "new", NEW)]).between("new", "old")
    assert compare([made("T/a", "old", OLD), shuffled]).between("new", "old") == expected
    other = made("T/a", "new", NEW, ids=tuple(f"x{i}" for i in range(80)))
    with pytest.raises(DataError) as caught:
        compare([made("T/a", "old", OLD), other])
    assert caught.value.where == "T/a"


@pytest.mark.parametrize(
    "pair",
    [
        [made("T/a", "old", OLD[:1]), made("T/a", "new", NEW[:1])],
        [made("T/a", "old", np.ones(9)), made("T/a", "new", np.ones(9))],
        [made("T/a", "old", OLD), made("T/a", "new", np.where(np.arange(80) == 7, np.nan, NEW))],
        [made("T/a", "old", OLD), made("T/b", "new", NEW)],
    ],
    ids=["one query", "constant scores", "NaN", "no common task"],
)
def test_bad_results_give_one_data_error(pair: list[Result]) -> None:
    with pytest.raises(DataError) as caught:
        compare(pair)
    assert caught.value.exit_code == 2 and caught.value.hint


def test_one_model_or_a_wrong_alpha_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        compare([made("T/a", "old", OLD)])
    with pytest.raises(UsageError):
        compare(both(), alpha=1.5)
    with pytest.raises(UsageError):
        compare("no-such-folder.json", "bm25")
    with pytest.raises(UsageError):
        compare(both()).between("new", "nobody")


def test_a_saturated_task_among_others_is_noted() -> None:
    pair = [*both(tasks=1), made("T/full", "old", np.ones(9)), made("T/full", "new", np.ones(9))]
    comparison = compare(pair)
    assert comparison.tasks[1].notes and comparison.tasks[1].differences[0].p_value == 1.0


def test_a_score_that_is_not_a_mean_is_listed_but_neither_tested_nor_averaged() -> None:
    spearman = [
        replace(made("T/sts", name, values), metrics={"ndcg_at_10": 0.9})
        for name, values in (("old", OLD), ("new", NEW))
    ]
    comparison = compare([*both(tasks=1), *spearman])
    assert comparison.tasks[1].differences[0].p_value is None
    assert comparison.tasks[1].differences[0].verdict(0.05) == "not tested"
    assert comparison.overall is not None and comparison.overall.tasks == ("T/0",)
    assert any(flag.task == "T/sts" for flag in comparison.flags)
    alone = compare(spearman)
    assert alone.overall is None and "not tested" in str(alone)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    folder = tmp_path_factory.mktemp("results")
    meta = {f"q{i}": {"source": "web" if i % 2 else "chat"} for i in range(1, 7)}
    return compare(
        "bm25", Overlap(), tasks=[small_task(), small_task("Small/shifted", shift=3)], results=folder, queries=4,
        slices=["language", "length", "positives", "overlap", "source"], metadata=meta,
    )  # fmt: skip


def test_changed_queries_have_texts_ranks_and_what_took_their_place(real: Comparison) -> None:
    assert 0 < len(real.queries) <= 4
    sizes = [abs(change.difference) for change in real.queries]
    assert sizes == sorted(sizes, reverse=True) and all(change.query for change in real.queries)
    positives = [positive for change in real.queries for positive in change.positives]
    assert positives and any(p.rank != p.baseline_rank for p in positives)


@pytest.mark.parametrize("count", [1, 7, 1000])
def test_changed_queries_are_the_largest_differences_then_in_order_of_names(count: int) -> None:
    steps = np.random.default_rng(0).integers(-2, 3, (3, 60)) / 4  # many equal differences, and none
    ids = tuple(f"q{(7 * n) % 60:02}" for n in range(60))
    scores = {f"T/{n}": TaskScores(ids, np.stack([row, np.zeros(60)])) for n, row in enumerate(steps)}
    comparison = Comparison((NEW, OLD), (), None, scores=scores)
    results = {task: [Result(task, model, {}, "1") for model in (NEW, OLD)] for task in scores}
    changed = changed_queries(comparison, results, {}, count)
    every = sorted((-abs(v), f"T/{t}", q) for t, row in enumerate(steps) for q, v in zip(ids, row, strict=True) if v)
    assert [(-abs(one.difference), one.task, one.query_id) for one in changed] == every[:count]


def test_what_took_the_place_of_a_relevant_document(tmp_path: Path) -> None:
    comparison = compare("bm25", "dense", tasks="NanoAlmanac/en", results=tmp_path, limit=30, queries=5)
    placed = [change for change in comparison.queries if change.instead]
    assert placed and all(change.instead_id not in {p.id for p in change.positives} for change in placed)


def test_ranks_of_a_changed_query_are_those_of_the_runs(tmp_path: Path) -> None:
    task = small_task()
    comparison = compare("bm25", Overlap(), tasks=task, results=tmp_path, queries=6)
    lists: dict[str, dict[str, list[str]]] = {}
    results = steelyard.evaluate(["bm25", Overlap()], task, results=tmp_path / "trec", save_runs="trec")
    for result in results:
        assert result.path is not None
        lines = result.path.with_name(result.path.name.removesuffix(".json") + ".run.trec").read_text().splitlines()
        for line in lines:
            query, _, document, *_ = line.split()
            lists.setdefault(result.model, {}).setdefault(query, []).append(document)
    for change in comparison.queries:
        for positive in change.positives:
            own = lists["overlap"].get(change.query_id, [])
            assert positive.rank == (own.index(positive.id) + 1 if positive.id in own else None)


def test_slices_cover_all_queries_and_small_ones_conclude_nothing(real: Comparison) -> None:
    by_dimension: dict[str, int] = {}
    for part in real.slices:
        by_dimension[part.dimension] = by_dimension.get(part.dimension, 0) + part.queries
    assert by_dimension["language"] == by_dimension["length"] == by_dimension["positives"] == 12
    assert by_dimension["source"] == 12 and by_dimension["overlap"] <= 12
    assert all(not part.conclusive and part.difference.p_holm is None for part in real.slices)
    assert "too few queries" in str(real)


def test_slices_are_corrected_over_those_that_are_large_enough() -> None:
    results = both(tasks=1)
    meta = {f"q{i}": {"half": "first" if i < 40 else "second", "rare": "yes" if i < 5 else None} for i in range(80)}
    comparison = compare(results, slices=["half", "rare"], metadata=meta)
    halves = [part for part in comparison.slices if part.dimension == "half"]
    (rare,) = [part for part in comparison.slices if part.dimension == "rare"]
    raw = [part.difference.p_value or 0 for part in halves]
    holm = [part.difference.p_holm or 0 for part in halves]
    assert sorted(holm)[0] == pytest.approx(2 * min(raw)) and not rare.conclusive and rare.queries == 5
    with pytest.raises(UnknownName):
        compare(results, slices=["colour"])
    with pytest.raises(DataError):  # the data of these results cannot be read
        compare(results, slices=["length"])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("m.csv", "query-id,topic\nq1,law\nq2,\n"),
        ("m.tsv", "qid\ttopic\nq1\tlaw\nq2\t\n"),
        ("queries.jsonl", '{"_id": "q1", "text": "?", "metadata": {"topic": "law"}}\n{"_id": "q2", "text": "!"}\n'),
    ],
)
def test_metadata_of_queries(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert read_metadata(tmp_path / name) == {"q1": {"topic": "law"}, "q2": {}}


@pytest.mark.parametrize(("name", "text"), [("m.csv", "a,b\n1,2\n"), ("m.jsonl", "{"), ("m.csv", "")])
def test_metadata_without_ids_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_metadata(tmp_path / name)
    assert str(tmp_path / name) in (caught.value.where or "")


class Checker(HTMLParser):
    """Fails on a tag that is closed in the wrong place; collects what the page would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in {"meta", "br", "link"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_all_forms_show_the_same_numbers(real: Comparison) -> None:
    data = json.loads(json.dumps(real.to_dict(), allow_nan=False))
    shown = f"{data['overall']['differences'][0]['difference']:+.4f}"
    html, markdown, latex = real.to_html(), real.to_markdown(), real.to_latex()
    assert all(shown in form for form in (html, markdown, latex, str(real), real._repr_html_()))
    checker = Checker()
    checker.feed(html)
    assert not checker.open and all(link.startswith("#") for link in checker.fetched)
    assert html.count("<svg") == 2 + 2 and 'aria-label="overlap minus bm25' in html  # forest, scatter, two legend marks
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 1
    assert data["version"] == 1 and data["tasks"][0]["differences"][0]["verdict"]
    assert repr(real) == "Comparison(bm25, overlap on 2 tasks)"


def test_text_of_any_kind_is_escaped() -> None:
    strange = [replace(r, model=f"<b>&_{r.model}|%") for r in both(tasks=1)]
    comparison = compare(strange)
    assert "<b>" not in comparison.to_html().replace("<body>", "") and "<b>" not in comparison._repr_html_()
    assert r"\_new|\%" in comparison.to_latex() and r"\|" in comparison.to_markdown()


def test_significance_has_marks() -> None:
    comparison = compare(both())
    assert re.search(r"\+0\.\d{4}[†‡]", str(comparison)) and r"\dagger}$" in comparison.to_latex().replace(
        "ddagger", "dagger"
    )


def test_many_models_and_tasks_are_listed_by_their_means_only() -> None:
    results = [made(f"T/{t}", f"m{m}", OLD + 0.01 * m) for t in range(8) for m in range(9)]
    comparison = compare(results)
    text = str(comparison)
    assert text.count("mean of 8 tasks") >= 36 and "T/3 " not in text
    assert comparison.ranking[0].model == "m8" and comparison.ranking[0].wins_against["m0"] == 1.0
    assert len(comparison.to_dict()["tasks"][0]["differences"]) == 36


def test_agreement_of_the_ranking_with_another_metric_and_other_tasks(tmp_path: Path) -> None:
    models = ["bm25", "bm25?b=0&k1=0.1", Overlap()]
    tasks = [small_task(), small_task("Small/other", shift=2)]
    comparison = compare(*models, tasks=tasks, results=tmp_path, agreement="recall@3")
    found = comparison.agreement
    assert found is not None and set(found.intervals) == {"spearman", "kendall", "rbo"} and found.models == 3
    assert "Kendall" in str(comparison) and comparison.to_dict()["agreement"]["rbo"] == found.rbo
    with pytest.raises(UsageError):
        compare(models[0], models[2], tasks=tasks, agreement="recall@3")
    results = steelyard.evaluate(models, tasks)
    assert compare_rankings(results, results).spearman == pytest.approx(1.0)
    assert [row.model for row in results.ranking()] == [row.model for row in comparison.ranking]


@pytest.mark.slow
def test_correlations_of_sts_are_tested_by_influence_and_average_precision_is_not(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    tasks = [task_parts.sample_tasks()[name] for name in ("FixtureSTS", "FixturePairClassification")]
    comparison = compare("dense", "dense?truncate_dim=16", tasks=tasks, results=tmp_path)
    sts, pairs = (task.differences[0] for task in comparison.tasks)
    assert sts.p_value is not None and sts.verdict(0.05) == "worse" and pairs.verdict(0.05) == "not tested"
    assert comparison.overall is not None and len(comparison.overall.tasks) == 1
    stored = steelyard.load_results(tmp_path).leaders(comparison.tasks[0].task)  # from the Parquet files
    assert stored is not None and len(stored.best) == 1 and min(stored.p_values.values()) < 0.01


def test_a_model_named_twice_is_refused() -> None:
    with pytest.raises(UsageError):
        compare("bm25", "bm25", tasks=small_task())


def test_first_ranks_are_shown_where_no_run_was_saved(tmp_path: Path) -> None:
    task = small_task()
    results = steelyard.evaluate(["bm25", Overlap()], task, results=tmp_path)
    comparison = compare(results, tasks=task, queries=3)
    assert comparison.queries and all(not change.positives for change in comparison.queries)
    assert all(change.query for change in comparison.queries) and "first: " in str(comparison)


def test_from_results_takes_a_view() -> None:
    comparison, cells = from_results(["old", "new"], Results(both()))
    assert list(cells) == ["T/0", "T/1"] and comparison.scores["T/0"].scores.shape == (2, 80)


def test_nan_of_a_plug_in_metric_is_one_error_that_names_the_metric(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A metric that another package registers; stored scores with NaN are tested above."""
    from importlib.metadata import EntryPoint

    from steelyard.metrics.definition import METRICS

    (tmp_path / "broken_metric.py").write_text(
        "import numpy as np\n"
        "from steelyard.metrics.definition import Definition\n"
        "def compute(ranking, cutoff):\n"
        "    values = np.linspace(0, 1, 6)\n"
        "    values[2] = np.nan\n"
        "    return values\n"
        "BROKEN = Definition('broken', 'NaN', 'none', compute, ('broken', 'broken'), takes_cutoff=False)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    point = EntryPoint("broken", "broken_metric:BROKEN", "steelyard.metrics")
    monkeypatch.setattr(METRICS, "_plugins", {**METRICS.plugins, "broken": point})
    with pytest.raises(ResultError) as caught:
        compare("bm25", Overlap(), tasks=small_task(), metric="broken")
    assert "broken" in caught.value.message and caught.value.hint


lattice = st.lists(st.tuples(*[st.sampled_from([0.0, 0.25, 0.5, 1.0])] * 2), min_size=3, max_size=25)


@settings(max_examples=40, deadline=None)
@given(lattice)
def test_swapping_two_models_mirrors_every_statistic(pairs: list[tuple[float, float]]) -> None:
    first, second = np.array(pairs).T
    if np.ptp([first, second]) == 0:
        return
    results = [made("T/a", "a", first), made("T/a", "b", second)]
    one, other = compare(results).tasks[0].differences[0], compare(results[::-1]).tasks[0].differences[0]
    assert one.difference == pytest.approx(-other.difference) and one.p_value == other.p_value
    assert (one.wins, one.ties, one.losses) == (other.losses, other.ties, other.wins)
    assert one.probability_better == pytest.approx(1 - (other.probability_better or 0))
    assert (one.low, one.high) == (pytest.approx(-(other.high or 0)), pytest.approx(-(other.low or 0)))
    assert one.p_value is not None and 0 < one.p_value <= 1
