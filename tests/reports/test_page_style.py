"""Pages, reports and the leaderboard share one visual language: the same colours under the same names, one typeface."""

from __future__ import annotations

import re
from importlib.resources import files

from steelyard.reports.pages.render.blocks import Page, Section, Table
from steelyard.reports.pages.render.html_page import html_page

SHARED = ("paper", "ink", "soft", "line", "wash", "accent", "good", "bad")


def colours(css: str) -> list[dict[str, str]]:
    """Return the variables of the light and of the dark scheme."""
    return [dict(re.findall(r"--([a-z]+): (#[0-9a-f]+)", block)) for block in re.findall(r":root \{(.*?)\}", css, re.S)]


def test_pages_have_the_colours_and_the_typeface_of_the_leaderboard() -> None:
    page = files("steelyard.reports").joinpath("page.css").read_text(encoding="utf-8")
    board = files("steelyard.web").joinpath("assets/board.css").read_text(encoding="utf-8")
    for ours, theirs in zip(colours(page), colours(board), strict=True):
        assert {name: ours[name] for name in SHARED} == {name: theirs[name] for name in SHARED}
    faces = [re.search(r"font: 15px/[\d.]+ ([^;]+);", css) for css in (page, board)]
    assert faces[0] and faces[1] and faces[0][1] == faces[1][1]


def test_tables_of_texts_become_blocks_on_narrow_screens() -> None:
    """Also if the texts are short: their columns are next to each other, and the last ones would be out of view."""
    short = Table(("Query", "Positive document"), (("Oslo [4 chars]", "a city [6 chars]"),))
    counts = Table(("Task", "Queries"), (("el", "400"),))
    for table, blocks in ((short, True), (counts, False)):
        html = html_page(Page("x", "x", (Section("S", (table,)),)))
        assert ('class="texts"' in html) == blocks == ('data-label="Query"' in html)
