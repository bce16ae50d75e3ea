"""The leaderboard in Chromium: time to the first view, bytes over the wire, time of a sort, a filter and a search.

    python benchmarks/studies/board.py WAREHOUSE [BENCHMARK]

Serves the warehouse on loopback and opens it in Debian's Chromium. Medians of five rounds, in milliseconds: wall time,
and processor time of the page's main thread (script, style, layout, paint), which does not depend on other programs.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from statistics import median
from typing import Any

from playwright.sync_api import sync_playwright

from steelyard.web.board import slug
from steelyard.web.server import serve
from steelyard.web.sources import Boards

ROUNDS = 5
ACTIONS = {
    "sort": "document.querySelectorAll('button.sort')[3].click()",
    "filter": "document.querySelector('input[name=types]').click()",
    "rank by Borda": "(s => {s.value = 'borda'; s.dispatchEvent(new Event('change'))})(method)",
    "search": "(e => {e.value = 'bge'; e.dispatchEvent(new Event('input'))})(q)",
}


def timed(page: Any, action: str) -> float:
    """Return the milliseconds from an action to the next drawn frame after the table changed."""
    program = f"""() => new Promise((resolve) => {{
        const start = performance.now();
        const drawn = () => requestAnimationFrame(() => resolve(performance.now() - start));
        new MutationObserver((_, observer) => {{ observer.disconnect(); drawn(); }})
            .observe(document.getElementById("main"), {{ childList: true }});
        {action};
    }})"""
    return float(page.evaluate(program))


class Processor:
    """The processor time of a page's main thread."""

    def __init__(self, page: Any) -> None:
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def milliseconds(self) -> float:
        """Return the time of all tasks so far."""
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        return 1e3 * next(float(one["value"]) for one in metrics if one["name"] == "TaskDuration")


def measure(browser: Any, address: str) -> tuple[dict[str, list[float]], dict[str, list[float]], list[int]]:
    """Return wall and processor times of the first view and of every action, and the bytes over the wire."""
    wall: dict[str, list[float]] = {name: [] for name in ("first view", *ACTIONS)}
    used: dict[str, list[float]] = {name: [] for name in wall}
    sizes = []
    for _ in range(ROUNDS):
        page = browser.new_context(viewport={"width": 1280, "height": 900}, bypass_csp=True).new_page()
        received: list[Any] = []
        page.on("response", lambda answer, into=received: into.append(answer))
        processor = Processor(page)
        page.goto(address)
        page.wait_for_selector("table.board")
        answered = max(page.evaluate("performance.getEntriesByType('resource').map((e) => e.responseEnd)"))
        wall["first view"].append(page.evaluate("performance.now()") - answered)
        used["first view"].append(processor.milliseconds())
        sizes.append(sum(answer.request.sizes()["responseBodySize"] for answer in received))
        for name, action in ACTIONS.items():
            before = processor.milliseconds()
            wall[name].append(timed(page, action))
            used[name].append(processor.milliseconds() - before)
            page.goto(address.replace("#", "?again#"))
            page.wait_for_selector("table.board")
        page.context.close()
    return wall, used, sizes


def main(warehouse: str, benchmark: str) -> None:
    boards, addresses = Boards(warehouse=warehouse), []
    threading.Thread(target=serve, args=(boards.load,), kwargs={"ready": addresses.append}, daemon=True).start()
    while not addresses:
        time.sleep(0.01)
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    address = f"{addresses[0]}#/board/{slug(benchmark)}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        wall, used, sizes = measure(browser, address)
        browser.close()
    print(f"{benchmark}: {median(sizes) / 1e3:.0f} kB over the wire, compressed")
    for name in wall:
        print(f"{name:16} {median(wall[name]):6.0f} ms wall  {median(used[name]):6.0f} ms processor")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "MTEB(Multilingual, v2)")
