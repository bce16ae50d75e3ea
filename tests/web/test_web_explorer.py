"""The explorer in a real browser: queries, ranked lists, comparisons query by query, variants, pipelines, files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest
from browsing import wait_until
from explorer import HOSTILE, MODELS, explorer_results

from steelyard import compare
from steelyard.web import Board, write_report, write_site
from steelyard.web.board import BoardModel, BoardStage, BoardTask, Cell

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def address(*parts: str) -> str:
    return "#/" + "/".join(quote(part, safe="") for part in parts)


QUERY = address("query", "fruit", "Fruit/a", "q1")
VIEWS = [
    address("queries", "fruit", "Fruit/a"),
    QUERY,
    address("task", "fruit", "Fruit/a"),
    address("tasks", "fruit"),
    address("model", "fruit", "bm25"),
    address("compare", "fruit", *MODELS),
    address("pipelines", "variants"),
    address("board", "variants") + "?open_variants=dense%3AX&scores=1",
    address("cost", "variants") + "?cost=bytes",
]


def open_view(page: Any, site: str, view: str) -> None:
    page.goto("about:blank")
    page.goto(site + view)
    page.wait_for_selector("main > *:not(.soft)")


@pytest.mark.parametrize(
    ("board", "over"), [("fruit", "over tasks and queries"), ("variants", "over tasks")], ids=["queries", "tasks only"]
)
def test_the_note_names_what_the_interval_of_a_rank_is_over(
    board: str, over: str, page: Any, explorer_site: str
) -> None:
    open_view(page, explorer_site, address("board", board))
    assert f"a rank are its 95 % interval {over}." in page.locator("main").inner_text()


def test_queries_are_listed_hardest_first_and_filtered(page: Any, explorer_site: str) -> None:
    open_view(page, explorer_site, VIEWS[0])
    rows = page.locator("table.grid tbody tr")
    assert rows.count() == 8
    assert "zzz nothing" in rows.first.inner_text()
    page.get_by_label("Only queries that no model solves (1)").check()
    wait_until(page, "location.hash.includes('unsolved=1')")
    assert rows.count() == 1
    page.go_back()
    wait_until(page, "!location.hash.includes('unsolved')")
    page.locator("#q").fill("pear")
    wait_until(page, "document.querySelectorAll('table.grid tbody tr').length === 2")
    assert page.evaluate("document.activeElement.id") == "q"


def test_a_query_shows_ranks_of_positives_and_what_outranked_them(page: Any, explorer_site: str) -> None:
    open_view(page, explorer_site, QUERY)
    rows = page.locator("table.grid tbody tr").all_inner_texts()
    by_model = {row.split("\t")[0].strip(): row.split("\t")[1:] for row in rows}
    assert set(by_model) == set(MODELS)
    assert by_model["bm25?b=1&k1=9"][1] == "2"
    worst = page.get_by_label("List of bm25?b=1&k1=9", exact=True)
    assert worst.locator("li").nth(0).get_attribute("class") == "above"
    assert worst.locator("li").nth(1).get_attribute("class") == "positive"
    assert worst.locator("li").nth(0).locator("mark").all_inner_texts() == ["apple"]
    assert page.locator(".documents li.positive mark").count() == 4


def test_the_keyboard_chooses_the_lists(page: Any, explorer_site: str) -> None:
    open_view(page, explorer_site, QUERY + "?models=bm25")
    assert page.locator("section.list").count() == 1
    page.get_by_label("Show the list of bm25?b=1&k1=9").focus()
    page.keyboard.press("Space")
    wait_until(page, "document.querySelectorAll('section.list').length === 2")
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused == "Show the list of bm25?b=1&k1=9"


def test_hostile_ids_and_documents_are_text(page: Any, explorer_site: str) -> None:
    for view in (address("query", "fruit", "Fruit/a", HOSTILE), address("query", "fruit", "Fruit/a", "q2")):
        open_view(page, explorer_site, view)
        assert HOSTILE in page.locator("main").inner_text()
        assert page.locator("main img").count() == 0


def test_a_pair_has_the_numbers_of_steelyard_compare(page: Any, explorer_site: str, tmp_path: Path) -> None:
    found, _ = explorer_results(tmp_path / "fruit")
    compared = compare(*([one for one in found if one.model == model] for model in (MODELS[0], MODELS[2])))
    expected = compared.tasks[0].differences[0]
    open_view(page, explorer_site, address("compare", "fruit", MODELS[2], MODELS[0]))
    row = page.get_by_role("region", name=f"Differences of {MODELS[2]} and bm25").locator("tbody tr").first
    cells = row.locator("td").all_inner_texts()
    assert float(cells[0].replace("−", "-")) == pytest.approx(100 * expected.difference, abs=0.006)
    assert float(cells[2]) == pytest.approx(expected.p_holm, abs=1e-3)
    assert cells[3] == f"{expected.wins} / {expected.ties} / {expected.losses}"
    page.get_by_role("region", name="Queries that differ most").locator("tbody a").first.click()
    page.wait_for_selector("section.list")
    assert page.locator("section.list").count() == 2
    page.go_back()
    page.wait_for_selector("svg.chart")


def test_up_to_four_models_are_compared(page: Any, explorer_site: str) -> None:
    open_view(page, explorer_site, address("compare", "fruit", *MODELS))
    assert page.locator("svg.chart").count() == 2
    assert page.get_by_role("region", name="Scores").locator("thead th").count() == 4
    open_view(page, explorer_site, address("compare", "fruit", *MODELS, *MODELS))
    assert page.locator("svg.chart").count() == 0


def test_models_are_ticked_with_the_keyboard_and_compared(page: Any, explorer_site: str) -> None:
    open_view(page, explorer_site, address("board", "fruit"))
    for name in MODELS[:2]:
        page.get_by_label(f"Compare {name}", exact=True).focus()
        page.keyboard.press("Space")
        wait_until(page, "(name) => Steelyard.list(Steelyard.parse(location.hash).options.pick).includes(name)", name)
    page.get_by_role("link", name="Compare 2 models").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".verdict")


def test_variants_fold_under_their_model_with_the_change(page: Any, explorer_site: str) -> None:
    open_view(page, explorer_site, address("board", "variants"))
    rows = page.locator("table.board tbody tr")
    assert rows.count() == 2
    assert rows.first.locator("td").first.inner_text().strip().startswith("1")
    page.get_by_role("button", name="2 variants").click()
    wait_until(page, "document.querySelectorAll('table.board tbody tr').length === 4")
    changes = page.locator("table.board tr.variants td.mean small").all_inner_texts()
    assert changes == ["−2.00", "−10.00"]
    assert page.get_by_role("button", name="2 variants").get_attribute("aria-expanded") == "true"


def test_pipelines_have_first_stage_depth_and_ceiling(page: Any, explorer_site: str) -> None:
    open_view(page, explorer_site, address("pipelines", "variants"))
    cells = page.locator("table.grid tbody tr").first.locator("td").all_inner_texts()
    assert [text.strip() for text in cells[1:]] == ["pipeline", "bm25", "50.00", "+20.00", "50", "90.00"]


def test_files_of_a_view_hold_its_rows(page: Any, explorer_site: str, tmp_path: Path) -> None:
    open_view(page, explorer_site, address("board", "fruit"))
    files = {}
    for kind in ("CSV", "JSON", "Parquet"):
        with page.expect_download() as download:
            page.locator(".summary").get_by_role("button", name=kind).click()
        files[kind] = tmp_path / download.value.suggested_filename
        download.value.save_as(files[kind])
    table = pq.read_table(files["Parquet"])
    records = json.loads(files["JSON"].read_text())
    assert table.column("Model").to_pylist() == [record["name"] for record in records]
    assert table.column("nDCG@10").to_pylist() == pytest.approx([record["mean"] for record in records])
    assert len(files["CSV"].read_text().splitlines()) == table.num_rows + 1
    open_view(page, explorer_site, VIEWS[0])
    with page.expect_download() as download:
        page.get_by_role("button", name="Parquet").click()
    download.value.save_as(tmp_path / "queries.parquet")
    assert "zzz nothing" in pq.read_table(tmp_path / "queries.parquet").column("Query").to_pylist()


def test_a_preset_chooses_metric_and_columns(page: Any, explorer_site: str) -> None:
    open_view(page, explorer_site, address("board", "fruit"))
    page.locator("#metric").select_option("preset:ai")
    wait_until(page, "location.hash.includes('preset=ai')")
    heads = page.locator("table.board thead th").all_inner_texts()
    assert [head.strip() for head in heads][2:5] == ["recall@100", "recall@10", "hit@10"]


def test_the_report_of_a_run_explores_its_queries(page: Any, tmp_path: Path) -> None:
    found, tasks = explorer_results(tmp_path / "fruit")
    report = write_report(found, tmp_path / "report.html", tasks=tasks).as_uri()
    open_view(page, report, "")
    page.get_by_role("link", name="Queries").click()
    page.wait_for_selector("table.grid")
    page.get_by_role("link", name="apple", exact=True).click()
    page.wait_for_selector("section.list")
    assert page.locator("section.list li").count() > 2


@pytest.mark.parametrize("width", [400, 1280, 1920])
def test_no_view_is_wider_than_the_screen(page: Any, explorer_site: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for view in VIEWS:
        open_view(page, explorer_site, view)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1"), view


def test_every_view_fits_on_paper_without_its_controls(page: Any, explorer_site: str) -> None:
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 with Chromium's margins
    for view in VIEWS:
        page.emulate_media(media="screen")
        open_view(page, explorer_site, view)
        page.emulate_media(media="print")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1"), view
        assert not page.locator(".controls:visible, .downloads:visible, nav:visible").count(), view
        assert page.locator("main table:visible, main svg.chart:visible").count(), view


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_in_the_explorer(browser: Any, explorer_site: str, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(color_scheme=scheme, bypass_csp=True)  # axe is injected as an inline script
    page = context.new_page()
    for view in VIEWS:
        open_view(page, explorer_site, view)
        violations = Axe().run(page).response["violations"]
        assert not violations, (view, [(item["id"], item["nodes"][0]["html"]) for item in violations])
    context.close()


def test_the_first_stage_of_a_pipeline_is_its_input_and_costs_are_next_to_the_gain(page: Any, tmp_path: Path) -> None:
    fused = (BoardStage("bm25", 0.5), BoardStage("dense", 0.4), BoardStage("[bm25, dense]", 0.6, 0.1, 1.0, 500))
    models = [
        BoardModel(
            f"[bm25, dense] > rerank:X?depth={depth}",
            family="pipeline",
            own=True,
            rerank=2.5 * depth,
            price=0.25,
            stages=(*fused, BoardStage(f"> rerank:X?depth={depth}", 0.55, -0.05, 0.9, depth)),
        )
        for depth in (50, 5)
    ]
    models.append(BoardModel("[bm25, dense]", family="fusion", own=True, stages=fused))
    cells = [Cell(0, 0, 0.55), Cell(1, 0, 0.55), Cell(2, 0, 0.6)]
    site = write_site(tmp_path / "site", [Board("pipes", "Pipelines", [BoardTask("T/a", "retrieval")], models, cells)])
    open_view(page, site.as_uri(), address("pipelines", "pipes"))
    rows = page.locator("table.grid").first.locator("tbody tr")
    shown = [[text.strip() for text in rows.nth(n).locator("td").all_inner_texts()] for n in range(3)]
    assert shown[0] == ["60.00", "fusion", "bm25 + dense", "50.00", "+10.00", "500", "100.00", "", ""]
    piped = ["55.00", "pipeline", "[bm25, dense]", "60.00", "−5.00"]
    assert shown[1] == [*piped, "5", "90.00", "12.5", "0.25"], "equal scores are in the order of depths"
    assert shown[2] == [*piped, "50", "90.00", "125", "0.25"]


def test_neighbouring_terms_of_a_query_are_one_mark(page: Any, explorer_site: str) -> None:
    open_view(page, explorer_site, address("board", "fruit"))
    marks = """([text, query]) => {
        const box = document.createElement("div");
        box.append(...Steelyard.highlight(text, Steelyard.terms(query, [])));
        return [box.textContent, [...box.querySelectorAll("mark")].map((mark) => mark.textContent)];
    }"""
    assert page.evaluate(marks, ["red apple, apples", "red apple"]) == ["red apple, apples", ["red", "apple", "apples"]]
    text, found = page.evaluate(marks, ["总胆红素偏高的危害", "总胆红素偏高"])
    assert (text, found) == ("总胆红素偏高的危害", ["总胆红素偏高"])


def test_points_of_a_chart_have_names_that_identify_the_model(page: Any, explorer_site: str) -> None:
    open_view(page, explorer_site, address("board", "fruit"))
    shown = page.evaluate(
        "(names) => names.map(Steelyard.pointName)",
        ["BAAI/bge-m3", "dense:api/words?url=http://host/v1", "bm25 > rerank:api/x?shape=jina&url=http://h/v1/rerank"],
    )
    assert shown == ["bge-m3", "dense:api/words", "bm25 > rerank:api/x"]
