"""The report: every figure in it, text of any kind safely escaped, nothing fetched, honest about leads."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from engine_parts import small_task

from steelyard.engine import Results, evaluate
from steelyard.reports import write_report
from steelyard.reports.components.charts import Dot, dot_plot
from steelyard.reports.run_report.board import Board
from steelyard.reports.run_report.report import page
from steelyard.reports.run_report.stages import stage_plot, stages_of
from steelyard.results import Failure, Miss, QueryScores, Result, TaskFacts
from steelyard.retrievers.pipeline import pipeline
from steelyard.retrievers.rerank.load import from_function
from steelyard.types import Interval


def result(task: str, model: str, values: list[float], created: str = "2026-01-01", **more: object) -> Result:
    array = np.array(values)
    metrics = {"ndcg_at_10": float(array.mean()), "hit_rate_at_10": float((array > 0).mean()), "recall_at_100": 1.0}
    ids = tuple(f"q{i}" for i in range(len(values)))
    return Result(
        task,
        model,
        {},
        f"{task}{model}",
        metrics=metrics,
        intervals={"ndcg_at_10": Interval(metrics["ndcg_at_10"] - 0.01, metrics["ndcg_at_10"] + 0.01)},
        facts=TaskFacts("en", queries=len(values), documents=10),
        timings={"index": 0.5, "total": 1.25},
        queries=QueryScores(ids, np.ones(len(values), dtype=np.int32), {"ndcg_at_10": array}),
        created=created,
        **more,  # type: ignore[arg-type]
    )


class Checker(HTMLParser):
    """Counts tags and fails on one that is closed in the wrong place."""

    VOID = frozenset({"meta", "br", "link"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.references: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.references += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture
def results() -> list[Result]:
    good, bad = [1.0] * 30, [0.5] * 15 + [0.0] * 15
    miss = Miss("q1", "<script>alert('سؤال')</script>", None, "d2", "wrong & first", "d1", "right")
    return [
        result("NanoX/en", "bm25", bad, misses=(miss,)),
        result("NanoX/en", "dense:use", good),
        result("NanoX/zh", "bm25", good),
        result("NanoX/zh", "dense:use", [*good[:-1], 0.9]),
        Result("NanoX/ja", "bm25", {}, "k", status="failed", error=Failure("DataError", "bad row 3", "mend it")),
    ]


def test_the_page_is_whole_and_fetches_nothing(results: list[Result], tmp_path: Path) -> None:
    path = write_report(results, tmp_path / "deep" / "report.html")
    html = path.read_text(encoding="utf-8")
    checker = Checker()
    checker.feed(html)
    assert checker.open == []
    assert all(reference.startswith("#") for reference in checker.references)
    assert not re.search(r"@import|url\(|<script|https?://", html)
    text = " ".join(checker.text)
    for expected in ("0.2500", "1.0000", "NanoX/zh", "bad row 3", "mend it", "not found", "wrong & first", "1.25"):
        assert expected in text


def test_keys_and_screen_readers_find_their_way(results: list[Result]) -> None:
    text = page([*results, sts("My/a", "m", 0.5)])
    assert '<html lang="en">' in text and text.count("<main ") == 1
    assert re.search(r'<body><a href="#main" class="skip">', text), "the first thing that the tab key reaches"
    tables = re.findall(r"<table.*?</table>", text)
    assert tables and all("<caption" in table for table in tables)
    assert all(re.search(r'scope="(row|col|colgroup)"', head) for head in re.findall(r"<th[ >][^>]*>?", text))
    assert text.count('class="scroll" role="region" tabindex="0" aria-label=') == len(tables)
    assert all("aria-label" in svg or "aria-hidden" in svg for svg in re.findall(r"<svg[^>]*>", text))


def test_texts_are_escaped(results: list[Result]) -> None:
    assert "&lt;script&gt;alert" in page(results)


def test_a_lead_that_chance_explains_is_not_claimed(results: list[Result]) -> None:
    board = Board(results)
    clear, close = board.leaders("NanoX/en"), board.leaders("NanoX/zh")
    assert clear is not None and close is not None
    assert (clear.model, clear.tied) == ("dense:use", ())
    assert (close.model, close.tied) == ("bm25", ("dense:use",))
    assert board.leaders("NanoX/ja") is None


def test_means_are_over_tasks_that_all_models_finished(results: list[Result]) -> None:
    board = Board(results)
    assert board.common_tasks == ["NanoX/en", "NanoX/zh"]
    assert board.mean("bm25", "ndcg_at_10") == pytest.approx(0.625)
    assert board.mean("bm25", "no_such_metric") is None


def test_a_model_that_finished_nothing_takes_no_mean_from_the_others(results: list[Result]) -> None:
    broken = [
        Result(task, "broken", {}, task, status="failed", error=Failure("HubError", "out of reach"))
        for task in ("NanoX/en", "NanoX/zh")
    ]
    text = page([*results, *broken])
    assert Board([*results, *broken]).common_tasks == ["NanoX/en", "NanoX/zh"]
    assert "Mean of the 2 common tasks" in text
    assert '<span class="bad">failed</span>' in text
    assert Results([*results, *broken]).means() == Results(results).means() != {}
    assert Results([*results, *broken]).table()[1][-1][-1] == "-"


def test_many_models_stand_in_rows_the_best_first() -> None:
    levels = [(i * 7) % 12 / 12 for i in range(12)]
    results = [result(f"NanoX/{t}", f"m{i:02}", [level] * 12) for t in ("en", "zh") for i, level in enumerate(levels)]
    text = page(results)
    rows = re.findall(
        r"<tr><th scope=\"row\">(m\d\d)</th><td class=\"number([^\"]*)\">([\d.]+)</td>", text.split("<h2>Plot</h2>")[0]
    )
    assert [float(mean) for _, _, mean in rows] == pytest.approx(sorted(levels, reverse=True), abs=1e-4)
    assert [" best" in marks for _, marks, _ in rows] == [True] + [False] * 11
    checker = Checker()
    checker.feed(text)
    legend = re.search(r'<p class="legend">.*?</p>', text)
    assert not checker.open and legend and "NanoX/en" in legend[0] and "m00" not in legend[0], "marks are for tasks"
    assert "nDCG@10 by model and task" in text


def test_many_models_on_many_tasks_are_drawn_by_their_means() -> None:
    results = [result(f"NanoX/t{t}", f"m{i}", [i / 10]) for t in range(9) for i in range(9)]
    picture = page(results).split("<h2>Plot</h2>")[1]
    assert picture.count('class="mark') == 9 + 1 and "m8, mean: 0.8000" in picture


def test_of_two_results_the_newer_counts() -> None:
    old, new = result("a/b", "bm25", [0.0], "2026-01-01"), result("a/b", "bm25", [1.0], "2026-02-01")
    cell = Board([new, old]).cell("a/b", "bm25")
    assert cell is new


def test_alone_nobody_is_the_best(results: list[Result]) -> None:
    several, alone = page(results), page([result("a/b", "bm25", [1.0]), result("a/c", "bm25", [0.5])])
    assert 'class="number best' in several and 'class="number best' not in alone


def test_different_data_under_one_name_is_told_apart() -> None:
    one, other = (
        replace(result("mine/test", "bm25", values), facts=TaskFacts("en", data_hash=data, queries=1, documents=2))
        for values, data in (([1.0], "a" * 32), ([0.0], "b" * 32))
    )
    board = Board([one, other])
    assert board.tasks == ["mine/test@aaaaaaaa", "mine/test@bbbbbbbb"]
    assert [board.mean("bm25", "ndcg_at_10"), len(board.common_tasks)] == [0.5, 2]
    assert Board([one]).tasks == ["mine/test"]
    assert "mine/test@aaaaaaaa</th>" in page([one, other]) and "mine/test@bbbbbbbb</th>" in page([one, other])


def test_an_empty_report_is_a_page() -> None:
    checker = Checker()
    checker.feed(page([]))
    assert checker.open == []


def test_the_plot_puts_marks_where_the_values_are() -> None:
    svg = dot_plot(["t"], ["m"], [[Dot(0.5, 0.25, 0.75)]], "a title")
    zero, one = (float(x) for x in (re.findall(r'<line x1="([\d.]+)"', svg)[i] for i in (0, 5)))
    mark = re.search(r"translate\(([\d.]+) ", svg)
    assert mark is not None
    assert float(mark.group(1)) == pytest.approx((zero + one) / 2)
    assert 'aria-label="a title"' in svg


def test_the_axis_of_the_plot_reaches_as_far_as_the_values() -> None:
    svg = dot_plot(["sts"], ["m"], [[Dot(-0.25, -0.5, 0.0)]], "a title")
    at = {name: float(x) for x, name in re.findall(r'<text x="([\d.]+)"[^>]*>(-?[\d.]+)</text>', svg)}
    mark = re.search(r"translate\(([\d.]+) ", svg)
    assert mark is not None and float(mark.group(1)) == pytest.approx((at["-0.4"] + 3 * at["-0.2"]) / 4, abs=0.1)


def test_stages_are_drawn_where_a_result_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path))
    rerank = from_function(lambda query, texts: [len({*query} & {*text}) for text in texts], "letters")
    task = small_task()
    composite = pipeline("[bm25, dense]", rerank, depth=3)
    results = evaluate(["bm25", composite], [task])
    html = page(results)
    checker = Checker()
    checker.feed(html)
    assert checker.open == []
    stages = next(found for found in results if found.notes.get("stages")).notes["stages"]
    assert [stage["model"] for stage in stages][-1] == composite.name and len(stages) == 4
    section = html[html.index('<section id="stages">') : html.index('<section id="misses">')]
    for stage in stages:
        assert f"{stage['ndcg_at_10']:.4f}" in section and f"{stage['recall_at_100']:.4f}" in section
        if "gain" in stage:
            assert f"{stage['gain']['ndcg_at_10']:+.4f}" in section and f"{stage['recall_ceiling']:.4f}" in section
    assert section.count('class="median"') == 2, "a ceiling for the fusion and for the reranker"
    assert section.count("<rect") == 4 and "&gt; rerank:letters?depth=3" in section
    assert 'id="stages"' not in page(evaluate(["bm25"], [task]))


def test_stages_over_several_tasks_are_means() -> None:
    def told(score: float, ceiling: float) -> list[dict[str, object]]:
        figures = {"hit_rate_at_10": 1.0, "recall_at_100": 1.0}
        gain = {"ndcg_at_10": score - 0.1}
        second = {"model": "bm25 > rerank:<X>", "ndcg_at_10": score, "gain": gain, "over": "bm25", "reads": None}
        return [
            {"model": "bm25", "ndcg_at_10": 0.1, **figures},
            {**second, **figures, "recall_ceiling": ceiling, "warning": "weaker <i>"},
        ]

    name = "bm25 > rerank:<X>"
    cells = [result(f"T/{t}", name, [0.5], notes={"stages": told(*v)}) for t, v in enumerate([(0.2, 0.5), (0.6, 0.9)])]
    first, second = stages_of(cells)
    assert (first.value, first.gain, first.ceiling) == (0.1, None, None)
    assert (second.value, second.gain, second.ceiling) == pytest.approx((0.4, 0.3, 0.7))
    drawn = stage_plot([first, second], "t")
    assert 'width="288.0"' in drawn and 'x1="504.0"' in drawn, "0.4 and 0.7 of 720"
    html = page(cells)
    assert "&lt;X&gt;" in html and "<X>" not in html and "weaker &lt;i&gt;" in html and "all" in html


def test_tasks_without_a_search_have_a_table_of_their_own(results: list[Result]) -> None:
    facts = TaskFacts(type="sts", language="zh", samples=1361)
    sts = Result("My/sts", "dense", {}, "k", main_metric="cosine_spearman", facts=facts, created="2026-01-01",
                 metrics={"cosine_spearman": 0.7123}, intervals={"cosine_spearman": Interval(0.68, 0.74)})  # fmt: skip
    alone, mixed = page([sts]), page([*results, sts])
    others = mixed[mixed.index('id="others"') : mixed.index('id="plot"')]
    assert all(text in others for text in ("My/sts", "Spearman of cosines", "1,361", "0.7123", "0.680–0.740"))
    assert "My/sts" not in mixed[mixed.index('id="figures"') : mixed.index('id="others"')]
    assert 'id="figures"' not in alone and "The main score by task" in alone


def sts(task: str, model: str, score: float | None) -> Result:
    figures = {"cosine_spearman": score} if score is not None else {}
    error = None if figures else Failure("ModelError", f"no vectors of {task}")
    return Result(task, model, {}, task + model, "done" if figures else "failed", "cosine_spearman", figures,
                  facts=TaskFacts(type="sts", language="zh", samples=9, data_hash="c" * 32), error=error)  # fmt: skip


def test_failed_tasks_of_every_type_stand_in_the_tables() -> None:
    found = [sts("My/a", "m", None), sts("My/b", "m", None), sts("My/b", "n", -0.25)]
    html = page([*found, sts("My/a", "n", None)])
    others = html[html.index('id="others"') : html.index('id="plot"')]
    assert "My/a" in others and others.count('<span class="bad">failed</span>') == 3 and "-0.2500" in others
    assert html[html.index('id="errors"') :].count("no vectors of My/a") == 2
    assert "best" not in page([sts("My/b", "n", 0.5)]).partition('id="others"')[2], "alone, nobody is the best"


def test_a_model_has_one_mark_throughout_the_report() -> None:
    found = [result("T/a", "bm25", [0.5]), *(sts("My/a", model, 0.5) for model in ("dense", "bm25", "other"))]
    marks = re.findall(r'<path [^>]*class="mark (s\d)"><title>(?:[^<]*, )?(\w+)(?:: [^<]*)?</title>', page(found))
    assert {model: {mark for mark, name in marks if name == model} for _, model in marks} == {
        "bm25": {"s0"}, "dense": {"s1"}, "other": {"s2"}
    }  # fmt: skip


def test_many_models_on_many_tasks_of_all_types_are_drawn_by_their_main_figures() -> None:
    found = [result(f"T/{t}", f"m{i}", [i / 10]) for t in range(8) for i in range(9)]
    html = page([*found, *(sts("My/a", f"m{i}", 0.1) for i in range(9))])
    picture = html.split("<h2>Plot</h2>")[1]
    assert f"m8, mean: {(8 * 0.8 + 0.1) / 9:.4f}" in picture and "<path" not in html.split("<h2>Plot</h2>")[0]


@pytest.mark.parametrize("width", [360, 800, 1400])
def test_long_names_do_not_make_the_page_wider_than_the_window(width: int, tmp_path: Path) -> None:
    """Chromium lays the report out in a frame of that width: only tables and plots may be moved sideways, alone."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert browser, "Chromium is not installed: apt install chromium"
    long = "bm25 > rerank:" + "a_folder/without_a_blank/" * 8 + "?depth=50"
    values = {"ndcg_at_10": 0.5, "hit_rate_at_10": 0.5, "recall_at_100": 0.5}
    told = [{"model": "bm25", **values}, {"model": long, "over": "bm25", **values}]
    lost = (Miss("q", "q" * 200, None, "x", "x" * 200, "y", "y" * 200),)
    found = [result("T/a", "bm25", [0.0, 1.0]), result("T/a", long, [1.0, 0.0], notes={"stages": told}, misses=lost)]
    broken = replace(found[1], task="T/b", status="failed", error=Failure("HubError", "z" * 300), metrics={})
    frame = f'<iframe id="frame" style="border:0;width:{width}px" srcdoc="{escape(page([*found, broken]))}"></iframe>'
    probe = (
        "<script>onload = () => { const one = frame.contentDocument.documentElement; "
        "document.title = one.scrollWidth + ' of ' + one.clientWidth }</script>"
    )
    (tmp_path / "probe.html").write_text(f"<!doctype html><title>-</title>{frame}{probe}", encoding="utf-8")
    command = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
    ]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", (tmp_path / "probe.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    widths = re.search(r"<title>(\d+) of (\d+)</title>", done.stdout)
    assert widths is not None, done.stdout[:200] + done.stderr[-500:]
    assert int(widths[1]) == int(widths[2]) > 0


def cells(html: str, row: str) -> list[str]:
    """The cells of the row of a table that begins with this name, without their tags."""
    (line,) = [line for line in re.findall(r"<tr.*?</tr>", html) if re.search(rf">{re.escape(row)}</th>", line)]
    return [re.sub(r"<[^>]*>", " ", cell).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", line)]


def test_one_model_alone_is_named_and_not_marked_as_the_best() -> None:
    alone = [result("NanoX/en", "bm25", [1.0, 0.5, 0.0]), result("NanoX/zh", "bm25", [0.5, 0.5, 0.5])]
    board = Board(alone)
    assert board.best("NanoX/en") == () == board.best_means()
    leaders = board.leaders("NanoX/en")
    assert leaders is not None and (leaders.model, leaders.tied) == ("bm25", ())
    assert board.mean("bm25") == pytest.approx(0.5)
    html = page(alone)
    assert 'class="number best' not in html and set(cells(html, "NanoX/en")[3].split()) == {"bm25"}
    assert cells(html, "Mean of 2 tasks")[1:] == ["0.5000", f"{(2 / 3 + 1) / 2:.4f}", "1.0000"]


def test_a_mean_over_tasks_without_a_value_is_not_a_mean() -> None:
    """Means are over the same tasks and values for every model, or they are not shown."""
    whole = [result(task, model, [1.0, 0.5]) for task in ("NanoX/en", "NanoX/zh") for model in ("bm25", "dense")]
    lacking = replace(whole[3], metrics={"ndcg_at_10": whole[3].metrics["ndcg_at_10"]})
    board = Board([*whole[:3], lacking])
    assert board.mean("bm25", "hit_rate_at_10") == pytest.approx(1.0)
    assert board.mean("dense", "hit_rate_at_10") is None
    assert board.mean("dense") == pytest.approx(0.75)
    partial = Board([*whole[:3], replace(whole[3], status="failed", metrics={}, error=Failure("DataError", "x"))])
    assert partial.common_tasks == ["NanoX/en"]
    assert partial.mean("bm25") == pytest.approx(0.75), "of the common task alone"


def test_a_partial_task_is_called_partial() -> None:
    facts = TaskFacts("en", queries=2, documents=10, limit=2, queries_in_full=90)
    partial = replace(result("NanoX/en", "bm25", [1.0, 0.5]), facts=facts)
    assert cells(page([partial]), "NanoX/en (partial)")[0] == "NanoX/en (partial)"
    assert "(partial)" not in page([result("NanoX/en", "bm25", [1.0, 0.5])])


def test_a_task_that_failed_to_load_is_not_other_data() -> None:
    facts = TaskFacts("en", queries=2, documents=10, data_hash="a" * 32)
    done = replace(result("NanoX/en", "bm25", [1.0, 0.5]), facts=facts)
    failed = Result("NanoX/en", "dense", {}, "k", status="failed", error=Failure("DataError", "unreadable"))
    board = Board([done, failed])
    assert board.tasks == ["NanoX/en"] and board.failed("NanoX/en", "dense")
    assert not board.failed("NanoX/en", "bm25") and board.cell("NanoX/en", "dense") is None
    assert [one.model for one in board.failures] == ["dense"]
    other = replace(done, facts=replace(facts, data_hash="b" * 32), model="dense")
    assert Board([done, other]).tasks == ["NanoX/en@aaaaaaaa", "NanoX/en@bbbbbbbb"]
