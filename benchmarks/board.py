"""The leaderboard in Chromium: time to the first view, bytes over the wire, time of a sort, a filter and a search.

    python benchmarks/board.py WAREHOUSE [BENCHMARK]

Serves the warehouse on loopback and opens it in Debian's Chromium. Medians of five rounds, in milliseconds.
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


def main(warehouse: str, benchmark: str) -> None:
    boards, addresses = Boards(warehouse=warehouse), []
    threading.Thread(target=serve, args=(boards.load,), kwargs={"ready": addresses.append}, daemon=True).start()
    while not addresses:
        time.sleep(0.01)
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    address = f"{addresses[0]}#/board/{slug(benchmark)}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        first, sizes, actions = [], [], {name: [] for name in ACTIONS}
        for _ in range(ROUNDS):
            page = browser.new_context(viewport={"width": 1280, "height": 900}, bypass_csp=True).new_page()
            received: list[Any] = []
            page.on("response", lambda answer, into=received: into.append(answer))
            page.goto(address)
            page.wait_for_selector("table.board")
            entries = "performance.getEntriesByType('resource').map((e) => e.responseEnd)"
            answered = max(page.evaluate(entries))
            first.append(page.evaluate("performance.now()") - answered)
            sizes.append(sum(answer.request.sizes()["responseBodySize"] for answer in received))
            for name, action in ACTIONS.items():
                actions[name].append(timed(page, action))
                page.goto(address.replace("#", "?again#"))
                page.wait_for_selector("table.board")
        browser.close()
    print(f"first view after the server's last answer: at most {median(first):.0f} ms (polling included)")
    print(f"over the wire: {median(sizes) / 1e3:.0f} kB, compressed")
    for name, times in actions.items():
        print(f"{name}: {median(times):.0f} ms")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "MTEB(Multilingual, v2)")
