"""A browser, and a static site in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from boards import small_board
from explorer import explorer_boards, variant_board

from steelyard.web import write_site


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


@pytest.fixture(scope="session")
def explorer_site(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a static site with queries, ranked lists, comparisons and variants."""
    folder = tmp_path_factory.mktemp("explorer")
    boards = explorer_boards(folder / "fruit")
    board = boards.board("fruit")
    assert board is not None
    return write_site(folder / "site", [board, variant_board()], boards.details("fruit")).as_uri()


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
