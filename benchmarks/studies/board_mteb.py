"""`mteb leaderboard` (Gradio) in Chromium, measured as `board.py` and `board_walk.py` measure ours.

    python benchmarks/studies/board_mteb.py CACHE [PYTHON]

CACHE is a cache folder of mteb with `remote/results/org__model/revision/Task.json`. PYTHON is an interpreter with
`mteb[leaderboard]`, by default this one. mteb 2.26.24 does not start as it is: its summary table has a column of texts,
`_experiment_id`, which `mteb/leaderboard/table.py` multiplies by 100 and rounds (TypeError in `_format_scores`). The
column is left out here; nothing else of mteb is changed. Requests to other hosts (icons, fonts) are refused.

The walk is the one of `board_walk.py`: the best open model under 500 M parameters for Chinese retrieval and its
runner-up. mteb's board has no comparison of two models and no queries, so the walk ends with their scores by task.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from statistics import median
from typing import Any

from board import Processor
from playwright.sync_api import sync_playwright

ROUNDS, PORT = 3, 7871
ADDRESS = f"http://127.0.0.1:{PORT}/"
SERVE = f"""
import sys
from mteb.cache import ResultCache
ResultCache.download_from_remote = lambda self, *args, **options: self.cache_path / "remote"
import mteb.leaderboard.table as table
from mteb.leaderboard import get_leaderboard_app
styled = table._apply_summary_table_styling
table._apply_summary_table_styling = lambda frame: styled(frame.drop(columns=["_experiment_id"], errors="ignore"))
app = get_leaderboard_app(ResultCache(sys.argv[1]), rebuild=True)
app.launch(server_name="127.0.0.1", server_port={PORT}, share=False)
"""
TABLE = "[...document.querySelectorAll('.table-wrap')].filter((t) => t.offsetParent).map((t) => t.innerText).join('|')"
TO_TOP = "(tab) => tab.scrollIntoView({ block: 'start' })"
QUIET = 1500
"""Milliseconds without a change of the visible tables after which an action is finished."""


def settled(page: Any, before: str | None, most: float = 60.0) -> float:
    """Wait until the tables differ from `before` and stay as they are; return the seconds to their last change.

    A choice that changes no visible row, such as one that all of them fulfil, has 0 seconds.
    """
    start = time.perf_counter()
    last, changed = before, None
    while time.perf_counter() - start < most:
        now = page.evaluate(TABLE)
        if now and now != last:
            last, changed = now, time.perf_counter()
        if changed and time.perf_counter() - changed > QUIET / 1e3:
            return changed - start
        page.wait_for_timeout(50)
    return changed - start if changed else 0.0


def processor_seconds(process: int) -> float:
    """Return the processor time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Walk:
    """Counts clicks and the seconds that page and server need to show their effect."""

    def __init__(self, page: Any, server: int) -> None:
        self.page, self.server, self.clicks, self.seconds = page, server, 0, 0.0

    def do(self, name: str, action: Any, *, redraws: bool = True) -> None:
        """Do one action; wait for the tables if it changes them."""
        before, used = self.page.evaluate(TABLE), processor_seconds(self.server)
        action()
        self.clicks += 1
        self.page.get_by_role("tab", name="Summary").evaluate(TO_TOP)  # rows outside the view are not drawn
        needed = settled(self.page, before) if redraws else 0.0
        self.seconds += needed
        used = processor_seconds(self.server) - used
        print(f"  {name:30} {needed:5.1f} s wall, {used:5.1f} s processor of the server", flush=True)


def open_page(browser: Any) -> tuple[Any, float, float, int]:
    """Return a page, the seconds to its first table, processor milliseconds and bytes."""
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    sizes: list[Any] = []
    page.on("response", lambda answer: sizes.append(answer))
    page.route("**/*", lambda r: r.continue_() if "127.0.0.1" in r.request.url else r.abort())
    processor, start = Processor(page), time.perf_counter()
    page.goto(ADDRESS, wait_until="commit")
    page.wait_for_function("document.querySelector('.table-wrap a')?.offsetParent", timeout=120_000)
    seconds, used = time.perf_counter() - start, processor.milliseconds()
    finished = [answer for answer in sizes if answer.request.timing["responseEnd"] >= 0]
    return page, seconds, used, sum(answer.request.sizes()["responseBodySize"] for answer in finished)


def walk(page: Any, server: int) -> None:
    way = Walk(page, server)
    way.do("Language-specific", page.get_by_role("button", name="Language-specific").first.click, redraws=False)
    way.do("Chinese", page.locator("button:visible", has_text="Chinese").first.click)
    way.do("Customize this Benchmark", page.get_by_text("Customize this Benchmark").click, redraws=False)
    types = page.locator("fieldset, .block").filter(has_text="Select task types to include").last
    for name in ("Classification", "Clustering", "PairClassification", "Reranking", "STS"):
        way.do(f"{name} off", types.get_by_label(name, exact=True).click)
    way.do("Advanced Model Filters", page.get_by_text("Advanced Model Filters").click, redraws=False)
    way.do("<500M", page.get_by_label("<500M").click)
    way.do("Only Open", page.get_by_label("Only Open").click)
    rows = [line for line in page.evaluate(TABLE).split("\n") if line.strip()]
    print("  ", rows[:40])
    way.do("Performance per task", page.get_by_role("tab", name="Performance per task", exact=True).click)
    print(f"walk: {way.clicks} clicks, {way.seconds:.1f} s; no comparison of two models, no queries")


def main(cache: str, python: str) -> None:
    start = time.perf_counter()
    script = Path(tempfile.mkdtemp(), "serve.py")  # Gradio looks for the file of the program
    script.write_text(SERVE, encoding="utf-8")
    server = subprocess.Popen([python, str(script), cache], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            if server.poll() is not None:
                raise SystemExit(f"mteb leaderboard ended with code {server.returncode}: run {script} to see why")
            try:
                urllib.request.urlopen(ADDRESS, timeout=5).close()
                break
            except OSError:
                time.sleep(0.2)
        files = sum(1 for _ in Path(cache).glob("remote/results/*/*/*.json"))
        print(f"{files} files; served after {time.perf_counter() - start:.1f} s wall", flush=True)
        chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            rounds = [open_page(browser) for _ in range(ROUNDS)]
            seconds, used, sizes = (median(one[part] for one in rounds) for part in (1, 2, 3))
            print(f"first view {1e3 * seconds:.0f} ms wall, {used:.0f} ms processor, {sizes / 1e3:.0f} kB", flush=True)
            for page, *_ in rounds[1:]:
                page.context.close()
            walk(rounds[0][0], server.pid)
            browser.close()
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else sys.executable)
