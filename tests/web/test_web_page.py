"""The leaderboard in a real browser: ranking, sorting, filters, addresses, keyboard, narrow screens, printing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from boards import small_board
from browsing import wait_until

from steelyard.web import write_site
from steelyard.web.board import OTHER_DATA

pytestmark = [pytest.mark.browser, pytest.mark.slow]
HOSTILE = "<script>alert(1)</script>"


def names(page: Any) -> list[str]:
    found: list[str] = page.locator("table.board tbody th a").all_text_contents()
    return found


def test_models_are_ranked_and_the_partial_one_comes_last_without_a_rank(page: Any, site: str) -> None:
    page.goto(site)
    page.wait_for_selector("table.board")
    assert names(page) == ["org/large", "dense:mine", "org/small", HOSTILE, "shop/closed", "org/partial"]
    last = page.locator("table.board tbody tr").last
    assert "3 of 6 tasks missing" in last.inner_text()
    assert last.locator("td").first.inner_text() == "–"
    assert "1 task" in page.locator("table.board tbody tr").first.inner_text()  # that it was trained on


def test_scores_on_other_data_are_averaged_only_when_the_address_asks_for_it(page: Any, site: str) -> None:
    page.goto(site)
    row = page.locator("table.board tbody tr").filter(has_text="shop/closed")
    assert "1 of 6 tasks on other data" in row.inner_text()
    assert row.locator("td").first.inner_text() == "–"
    without = row.locator("td.mean").inner_text()
    page.get_by_role("button", name="Include them").click()
    wait_until(page, "location.hash.includes('otherdata=1')")
    assert names(page)[1] == "shop/closed"
    assert row.locator("td.mean").inner_text() != without
    assert "other data" in row.locator(".flag").all_inner_texts()
    assert "not comparable" in page.locator(".warn").inner_text()
    page.get_by_role("link", name="shop/closed").click()
    page.get_by_role("heading", name="Tasks on other data").wait_for()
    assert page.locator("tr").filter(has_text="Ret1").filter(has_text="not ranked").count() == 1
    page.go_back()
    page.locator(".warn").wait_for()


def test_sorting_puts_unknown_values_last_in_both_directions(page: Any, site: str) -> None:
    page.goto(site)
    page.get_by_role("button", name="Parameters").click()
    wait_until(page, "document.querySelector('th[aria-sort=descending]')")
    assert names(page)[0] == "org/large"
    assert set(names(page)[-2:]) == {"shop/closed", "dense:mine"}
    page.get_by_role("button", name="Parameters").click()
    wait_until(page, "document.querySelector('th[aria-sort=ascending]')")
    assert names(page)[0] == HOSTILE
    assert set(names(page)[-2:]) == {"shop/closed", "dense:mine"}


def test_filters_rank_again_and_are_in_the_address(page: Any, site: str) -> None:
    page.goto(site)
    page.get_by_text("More filters").click()
    page.get_by_label("STS", exact=True).check()
    wait_until(page, "location.hash.includes('types=STS')")
    assert "on 2 tasks" in page.locator(".summary").inner_text()
    assert "org/partial" not in names(page)
    page.locator("#size").select_option("500")
    wait_until(page, "location.hash.includes('size=500')")
    assert names(page) == ["org/small", HOSTILE]
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("table.board")
    assert names(page) == ["org/small", HOSTILE]
    page.get_by_role("button", name="Clear filters").click()
    wait_until(page, "!location.hash.includes('types')")
    assert len(names(page)) == 6


def test_the_back_button_undoes_a_choice(page: Any, site: str) -> None:
    page.goto(site)
    page.wait_for_selector("table.board")
    page.locator("#method").select_option("borda")
    wait_until(page, "location.hash.includes('method=borda')")
    assert page.get_by_role("button", name="Borda").count() == 1
    page.go_back()
    wait_until(page, "!location.hash.includes('borda')")
    assert page.get_by_role("button", name="Borda").count() == 0


def test_search_keeps_the_focus_while_typing(page: Any, site: str) -> None:
    page.goto(site)
    page.locator("#q").click()
    page.keyboard.type("small", delay=20)
    wait_until(page, "document.querySelectorAll('table.board tbody tr').length === 1")
    assert names(page) == ["org/small"]
    assert page.evaluate("document.activeElement.id") == "q"
    assert page.locator("#q").input_value() == "small"


def test_another_metric_ranks_anew(page: Any, site: str) -> None:
    page.goto(site)
    page.locator("#metric").select_option("recall_at_100")
    wait_until(page, "location.hash.includes('metric=recall_at_100')")
    assert names(page)[0] == HOSTILE


def test_two_models_are_compared_task_by_task(page: Any, site: str) -> None:
    page.goto(site)
    page.get_by_label("Compare org/large").check()
    page.get_by_label("Compare org/small").check()
    page.get_by_role("link", name="Compare 2 models").click()
    page.wait_for_selector("svg.chart")
    assert "org/large is better on 6 tasks" in page.locator("main").inner_text()
    assert page.locator("svg.chart rect.bar").count() == 6


def test_models_are_compared_on_other_data_only_if_they_share_it(page: Any, tmp_path: Path) -> None:
    board = small_board()
    shared = {(0, 3): "abc", (1, 3): "abc", (0, 4): "abc", (1, 4): "xyz"}
    cells = [
        cell._replace(flags=OTHER_DATA, data=shared[cell.model, cell.task])
        if (cell.model, cell.task) in shared
        else cell
        for cell in board.cells
    ]
    site = write_site(tmp_path / "site", [replace(board, cells=cells)]).as_uri()
    page.goto(site + "#/compare/small/org%2Flarge/org%2Fsmall")
    page.wait_for_selector("svg.chart")
    assert page.locator("svg.chart rect.bar").count() == 5
    assert "1 task was evaluated on different data" in page.locator("main").inner_text()
    page.goto(site + "#/task/small/Sts0")
    page.get_by_role("cell", name="other data: xyz").wait_for()


def test_quality_against_cost_shows_the_pareto_front_and_brushes(page: Any, site: str) -> None:
    page.goto(site + "#/cost")
    chart = page.locator("svg.chart")
    chart.wait_for()
    assert page.locator("svg.chart circle.top").count() == 3
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 70, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + box["height"] - 60, steps=5)
    page.mouse.up()
    wait_until(page, "location.hash.includes('brush=')")
    assert "org/large" not in page.locator("table").inner_text()


def test_pages_of_models_and_tasks_show_hostile_names_as_text(page: Any, site: str) -> None:
    page.goto(site)
    page.get_by_role("link", name=HOSTILE).click()
    page.wait_for_selector("dl.facts")
    assert page.locator("h2").inner_text() == HOSTILE
    page.get_by_role("link", name=HOSTILE).first.click()
    wait_until(page, "location.hash.startsWith('#/task/')")
    wait_until(page, "document.querySelector('dl.facts dd').textContent === 'STS'")
    assert page.evaluate("document.querySelectorAll('main script').length") == 0


def test_downloads_hold_what_is_shown(page: Any, site: str, tmp_path: Path) -> None:
    page.goto(site)
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV").click()
    download.value.save_as(tmp_path / "board.csv")
    assert (tmp_path / "board.csv").read_text().splitlines()[1].startswith("1,org/large,")
    with page.expect_download() as download:
        page.get_by_role("button", name="JSON").click()
    download.value.save_as(tmp_path / "board.json")
    rows = json.loads((tmp_path / "board.json").read_text())
    assert rows[0]["name"] == "org/large"
    assert rows[-1]["missing"] == ["Ret3", "Sts0", HOSTILE]


def test_the_keyboard_alone_reaches_the_table(page: Any, site: str) -> None:
    page.goto(site)
    page.wait_for_selector("table.board")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    for _ in range(25):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "sort":
            break
    page.keyboard.press("Enter")
    wait_until(page, "location.hash.includes('sort=')")


@pytest.mark.parametrize("width", [400, 1280, 1920])
def test_nothing_is_wider_than_the_screen_except_inside_scroll_areas(page: Any, site: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for view in ("", "#/cost", "#/tasks", "#/model/small/org%2Fsmall", "#/compare/small/org%2Flarge/org%2Fsmall"):
        page.goto(site + view)
        page.wait_for_selector("main > *:not(.soft)")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth + 1"), view


def test_dark_mode_and_print_have_styles_of_their_own(page: Any, site: str) -> None:
    page.goto(site)
    page.wait_for_selector("table.board")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.emulate_media(media="print")
    assert not page.locator(".controls").is_visible()
    assert page.locator("table.board").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(browser: Any, site: str, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(color_scheme=scheme, bypass_csp=True)  # axe is injected as an inline script
    page = context.new_page()
    views = ["", "#/board/small?types=STS", "#/cost", "#/tasks", "#/task/small/Ret0", "#/model/small/org%2Fsmall"]
    views += ["#/board/small?otherdata=1&panel=filters", "#/model/small/shop%2Fclosed", "#/task/small/Ret1", "#/errors"]
    for view in [*views, "#/compare/small/org%2Flarge/shop%2Fclosed"]:
        page.goto(site + view)
        page.wait_for_selector("main > *:not(.soft)")
        violations = Axe().run(page).response["violations"]
        assert not violations, (view, [(item["id"], item["nodes"][0]["html"]) for item in violations])
    context.close()


def test_the_keyboard_includes_other_data_and_the_back_button_leaves_it_out(page: Any, site: str) -> None:
    page.goto(site)
    page.get_by_role("button", name="Include them").focus()
    page.keyboard.press("Enter")
    wait_until(page, "location.hash.includes('otherdata=1')")
    page.go_back()
    wait_until(page, "!location.hash.includes('otherdata=1')")
    page.get_by_role("button", name="Include them").wait_for()


def test_an_unknown_view_is_reported_with_a_way_back(browser: Any, site: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(site + "#/board/none")
    page.wait_for_selector("[role=alert]")
    page.get_by_role("link", name="Back to the leaderboard").click()
    page.wait_for_selector("table.board")
    context.close()
