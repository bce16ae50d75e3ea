"""A browser, and a board with every case that the page must show: complete, partial, flagged, hostile names."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steelyard.web import Board, write_site
from steelyard.web.board import OTHER_DATA, TRAINED, BoardModel, BoardTask, Cell

HOSTILE = "<script>alert(1)</script>"


def small_board() -> Board:
    """Return a board of six models on six tasks of two types."""
    tasks = [BoardTask(f"Ret{i}", "Retrieval", "t2t", ("cmn-Hans",), "ndcg_at_10") for i in range(4)]
    tasks += [
        BoardTask("Sts0", "STS", "t2t", ("eng-Latn",), "cosine_spearman"),
        BoardTask(HOSTILE, "STS", "t2t", ("eng-Latn",)),
    ]
    models = [
        BoardModel(
            "org/large", parameters=7_000_000_000, dimension=4096, license="apache-2.0", open=True, family="dense"
        ),
        BoardModel("org/small", parameters=33_000_000, dimension=384, license="mit", open=True, family="dense"),
        BoardModel("shop/closed", dimension=1024, open=False, family="dense"),
        BoardModel("org/partial", parameters=110_000_000, dimension=768, license="mit", open=True, family="dense"),
        BoardModel(HOSTILE, parameters=1_000_000, dimension=64, family="dense"),
        BoardModel("dense:mine", dimension=512, family="dense", own=True),
    ]
    level = [0.9, 0.7, 0.8, 0.6, 0.3, 0.75]
    cells = []
    for m, base in enumerate(level):
        for t in range(len(tasks)):
            if m == 3 and t > 2:
                continue
            flags = (TRAINED if (m, t) == (0, 0) else 0) | (OTHER_DATA if (m, t) == (2, 1) else 0)
            cells.append(Cell(m, t, round(base - 0.01 * t + 0.004 * ((m * 7 + t * 3) % 5), 4), flags=flags))
    recall = [round(1 - cell.score / 2, 4) for cell in cells]
    return Board("Small", "A small board", tasks, models, cells, {"recall_at_100": recall})


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A real Chromium."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert path, "Chromium is not installed: make browser"
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=flags)
        yield running
        running.close()


@pytest.fixture
def site(tmp_path: Path) -> str:
    """The address of a static site on disk."""
    return write_site(tmp_path / "site", [small_board()]).as_uri()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page that fails the test if its console shows an error."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    opened = context.new_page()
    problems: list[str] = []
    opened.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: problems.append(str(error)))
    yield opened
    context.close()
    assert not problems
