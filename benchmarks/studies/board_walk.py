"""The walk of a newcomer through the leaderboard in Chromium: clicks and seconds from the first page to the answer.

    python benchmarks/studies/board_walk.py WAREHOUSE RESULTS

On the public results: find the best open model under 500 M parameters for Chinese retrieval, compare it with the
runner-up, open the task they differ on most. On results of one's own, with saved runs: compare the two best models,
open the query they differ on most. A person reads meanwhile; the seconds are those of the page alone.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from typing import Any

from playwright.sync_api import sync_playwright

from steelyard.web.server import serve
from steelyard.web.sources import Boards


class Walk:
    """Counts what is clicked or chosen, and waits until the page shows it."""

    def __init__(self, page: Any) -> None:
        self.page, self.clicks, self.start = page, 0, time.perf_counter()

    def do(self, action: Any, shown: str) -> None:
        """Do one action and wait for a condition of the page."""
        action()
        self.clicks += 1
        self.page.wait_for_function(shown)

    def result(self) -> str:
        return f"{self.clicks} clicks, {time.perf_counter() - self.start:.1f} s"


def compare_two_best(walk: Walk) -> list[str]:
    """Tick the first two models and compare them; return their names."""
    page = walk.page
    names = page.locator("table.board tbody a.name").all_inner_texts()[:2]
    for number in range(2):
        box = page.locator("table.board tbody input[type=checkbox]").nth(number)
        walk.do(box.check, f"Steelyard.list(Steelyard.parse(location.hash).options.pick).length === {number + 1}")
    walk.do(page.get_by_role("link", name="Compare 2 models").click, "document.querySelector('.verdict')")
    return names


def public(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("table.board")
    walk = Walk(page)
    chosen = "location.hash.includes('{}') && document.querySelector('table.board')"
    walk.do(lambda: page.locator("#board").select_option("mteb-cmn-v1"), chosen.format("mteb-cmn-v1"))
    walk.do(page.get_by_text("Retrieval", exact=True).click, chosen.format("types=Retrieval"))
    walk.do(lambda: page.locator("#size").select_option("500"), chosen.format("size=500"))
    walk.do(page.get_by_label("Open weights").check, chosen.format("open=1"))
    best, runner_up = compare_two_best(walk)
    print(f"best open model under 500 M for Chinese retrieval: {best}, then {runner_up}")
    print(page.locator(".verdict").inner_text())
    link = page.get_by_role("region", name=f"Differences of {best} and {runner_up}").locator("tbody a").first
    task = link.inner_text()
    walk.do(link.click, "location.hash.startsWith('#/task/') && document.querySelector('dl.facts')")
    print(f"they differ most on {task}: {walk.result()}")


def own(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("table.board")
    walk = Walk(page)
    best, runner_up = compare_two_best(walk)
    print(f"of one's own, {best} and {runner_up}: {page.locator('.verdict').inner_text()}")
    link = page.get_by_role("region", name="Queries that differ most", exact=False).locator("tbody a").first
    query = link.inner_text()
    walk.do(link.click, "document.querySelector('section.list')")
    print(f"they differ most on the query {query!r}: {walk.result()}")


def main(warehouse: str, results: str) -> None:
    boards, addresses = Boards([results], warehouse), []
    threading.Thread(target=serve, args=(boards.load,), kwargs={"ready": addresses.append}, daemon=True).start()
    while not addresses:
        time.sleep(0.01)
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900}, bypass_csp=True)  # conditions are evaluated
        public(page, addresses[0])
        own(page, addresses[0])
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
