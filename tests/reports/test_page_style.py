"""Pages, reports and the leaderboard share one visual language: the same colours under the same names, one typeface."""

from __future__ import annotations

import re
from importlib.resources import files

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
