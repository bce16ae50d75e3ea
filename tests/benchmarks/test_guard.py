"""A guard against lost speed that no busy machine can disturb: counted calls, and ratios of processor time to a peer.

The number of calls that the interpreter makes does not depend on the machine. In vectorised code it hardly grows with
the data; a loop over words, documents or queries in Python makes it grow in proportion.
"""

from __future__ import annotations

import importlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def modules() -> Iterator[None]:
    sys.path.append(str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))


def calls_of(work: Callable[[], Any]) -> int:
    """Return how many functions are called, in Python and in C, in this thread and in those that it starts."""
    counts: dict[int, int] = {}

    def count(frame: Any, event: str, argument: Any) -> None:
        if event in ("call", "c_call"):
            thread = threading.get_ident()
            counts[thread] = counts.get(thread, 0) + 1

    work()  # what is only done once
    threading.setprofile(count)
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return sum(counts.values())


def test_calls_are_counted() -> None:
    assert 1000 < calls_of(lambda: [len(str(n)) for n in range(1000)]) < 3000
    once = calls_of(lambda: sum(range(10)))
    assert calls_of(lambda: sum(range(10_000))) == once


LIMITS: dict[str, tuple[str, dict[str, Any], dict[str, Any], float]] = {
    "metrics by queries": (
        "metrics",
        {"queries": 100, "depth": 200, "documents": 2000},
        {"queries": 800, "depth": 200, "documents": 2000},
        0.5,
    ),
    "BM25 by documents": (
        "bm25",
        {"documents": 500, "queries": 20, "script": "en"},
        {"documents": 4000, "queries": 20, "script": "en"},
        3.0,
    ),
    "search by documents": ("search", {"documents": 1000, "queries": 20}, {"documents": 8000, "queries": 20}, 0.1),
    "comparison by queries": ("comparison", {"models": 5, "queries": 50}, {"models": 5, "queries": 400}, 0.5),
}
"""A case, two sizes of the part that is counted, and how many calls each further query or document may cost.

A document of BM25 has 75 words.
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", LIMITS)
def test_calls_do_not_grow_with_the_data(name: str) -> None:
    module_name, small, large, most = LIMITS[name]
    further = next(large[key] - small[key] for key in small if large[key] != small[key])
    module = importlib.import_module(f"cases.{module_name}")
    before, after = (calls_of(module.ours(module.make(**arguments))) for arguments in (small, large))
    assert after - before < most * further, f"{before:,} calls have become {after:,} with {further:,} more"


GUARDS: dict[str, tuple[str, str, dict[str, Any], float]] = {
    "metrics": ("metrics", "with_pytrec_eval", {"queries": 200, "depth": 1000, "documents": 10_000}, 4.0),
    "bm25": ("bm25", "with_bm25s_numpy", {"documents": 5000, "queries": 100, "script": "en"}, 2.0),
}
"""A case, its peer, the input, and the least ratio: less than half of what docs/benchmarks.md shows."""


def ratio(first: Callable[[], Any], second: Callable[[], Any], rounds: int = 5) -> float:
    """Return the ratio of the shortest processor times, second to first, of interleaved rounds."""
    shortest = [float("inf"), float("inf")]
    for _ in range(rounds):
        for place, work in enumerate((first, second)):
            start = time.process_time()
            work()
            shortest[place] = min(shortest[place], time.process_time() - start)
    return shortest[1] / shortest[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", GUARDS)
def test_the_ratio_to_a_peer_does_not_collapse(name: str) -> None:
    module_name, peer, arguments, least = GUARDS[name]
    module = importlib.import_module(f"cases.{module_name}")
    data = module.make(**arguments)
    assert ratio(module.ours(data), getattr(module, peer)(data)) > least
