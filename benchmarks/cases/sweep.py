"""Row 7: 20 tasks x 5 models: cold, and again with everything stored."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from harness.case import Case, Contestant

MODELS = ["bm25", "bm25?k1=0.9&b=0.4", "dense", "dense?truncate_dim=128", "[bm25, dense]"]


def make(tasks: int) -> list[str]:
    from steelyard.datasets.builtin import names

    return list(names())[:tasks]


def _mean(results: object) -> dict[str, float]:
    scores = [result.score for result in results]  # type: ignore[attr-defined]
    return {"mean": sum(scores) / len(scores)}


def ours(tasks: list[str]) -> Callable[[], dict[str, float]]:
    """The second run in the same folder: every result is read, no model is opened."""
    import steelyard

    folder = tempfile.mkdtemp(prefix="steelyard-bench-sweep-")
    settings = steelyard.Settings.load(home=Path(folder) / "home")
    steelyard.evaluate(MODELS, tasks, results=folder, settings=settings)
    return lambda: _mean(steelyard.evaluate(MODELS, tasks, results=folder, settings=settings))


def cold(tasks: list[str]) -> Callable[[], dict[str, float]]:
    """The first run: nothing is stored, every text is encoded."""
    import steelyard

    folder = tempfile.mkdtemp(prefix="steelyard-bench-sweep-")
    settings = steelyard.Settings.load(home=Path(folder) / "home")
    return lambda: _mean(steelyard.evaluate(MODELS, tasks, results=folder, settings=settings))


CASES = [
    Case(
        7,
        "sweep-20x5",
        "20 built-in tasks x 5 models: a second run with everything stored against the first",
        (Contestant("steelyard", "ours"), Contestant("steelyard, first run", "cold")),
        {"tasks": 20},
        rounds=1,
        target=20,
        tolerance=1e-12,
    ),
]
