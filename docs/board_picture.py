"""Take the picture of the leaderboard that the README begins with.

    python docs/board_picture.py WAREHOUSE

WAREHOUSE holds mteb's public results (`steelyard results import path/to/embeddings-benchmark/results`). Needs the
extra `web`, playwright and Chromium. The picture is written to `docs/images/leaderboard.png`.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from steelyard.web import write_site
from steelyard.web.sources import Boards

BENCHMARK = "mteb-cmn-v1"
VIEW = "?types=Retrieval&size=1000&open=1"
TARGET = Path(__file__).parent / "images" / "leaderboard.png"
LARGEST = 300_000


def main(warehouse: str) -> None:
    """Write the board as a static site, open it, and take the picture."""
    boards = Boards(warehouse=warehouse)
    board = boards.board(BENCHMARK)
    if board is None:
        sys.exit(f"{warehouse} has no results of {BENCHMARK}")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        site = write_site(folder, [board], boards.details(BENCHMARK)).as_uri()
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 760})
        page.goto(f"{site}#/board/{BENCHMARK}{VIEW}")
        page.wait_for_selector("table.board")
        TARGET.parent.mkdir(exist_ok=True)
        page.screenshot(path=str(TARGET))
        browser.close()
    size = TARGET.stat().st_size
    if size > LARGEST:
        sys.exit(f"the picture must have at most {LARGEST:,} bytes, got {size:,}")
    sys.stdout.write(f"{TARGET}: {size:,} bytes\n")


if __name__ == "__main__":
    main(sys.argv[1])
