"""The benchmark harness: records, ratios, void cases; and a guard that ratios against the peers do not collapse."""

from __future__ import annotations

import json
import statistics
import sys
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


def summary(ours: dict[str, Any], theirs: dict[str, Any], **options: Any) -> dict[str, Any]:
    from harness.case import Case, Contestant
    from harness.measure import summary as summarise

    case = Case(5, "made", "Made", (Contestant("steelyard", "a"), Contestant("peer", "b")), **options)
    runs = {
        name: [{"seconds": s, "cpu": s, "peak_mb": mb, "before_mb": 1.0, "checks": checks} for s in seconds]
        for name, (seconds, mb, checks) in (("steelyard", ours), ("peer", theirs))
    }
    return summarise(case, runs, {})


def test_ratios_are_of_medians_and_different_answers_are_void() -> None:
    found = summary(([1.0, 2.0, 9.0], 50.0, {"x": 0.5}), ([8.0, 6.0, 7.0], 100.0, {"x": 0.5}))
    assert found["ratio"] == pytest.approx(3.5) and found["memory_ratio"] == pytest.approx(2.0) and "void" not in found
    differs = summary(([1.0], 1.0, {"x": 0.5}), ([1.0], 1.0, {"x": 0.6}))
    assert differs["void"] and differs["difference"] == pytest.approx(0.1)
    assert summary(([1.0], 1.0, {"x": 0.5}), ([1.0], 1.0, {}))["void"], "nothing in common cannot agree"


def test_the_page_lists_what_is_lost_first() -> None:
    from harness import page

    lost = summary(([2.0], 9.0, {"x": 1.0}), ([1.0], 3.0, {"x": 1.0}), target=4.0, reason="Because of ids.")
    won = summary(([1.0], 1.0, {"x": 1.0}), ([5.0], 3.0, {"x": 1.0})) | {"title": "Won"}
    text = page.losses([won, lost])
    assert "0.50" in text and "Because of ids." in text and "3.00 x the memory" in text and "Won" not in text
    assert page.plot([won, lost]).count("<rect") == 3


def test_the_quality_of_every_contestant_is_in_its_line() -> None:
    from harness import page

    found = summary(([1.0], 1.0, {"ndcg_at_10": 0.75}), ([5.0], 3.0, {"ndcg_at_10": 0.7375}), tolerance=0.05)
    head, rule, ours, peer = page.block(found, "").splitlines()[2:6]
    assert [len(line.split("|")) for line in (head, rule, ours, peer)] == [8] * 4
    assert "0.7500" in ours and "0.7375" in peer
    plain = page.block(summary(([1.0], 1.0, {"x": 1.0}), ([5.0], 3.0, {"x": 1.0})), "")
    assert "nDCG" not in plain and plain.splitlines()[2] == "| | seconds | CPU s | peak MB | ratio |"


def test_a_worker_measures_in_a_process_of_its_own(tmp_path: Path) -> None:
    from harness.case import all_cases
    from harness.measure import measure

    case = next(one for one in all_cases() if one.name == "metrics-200")
    small = type(case)(
        **{**vars(case), "contestants": case.contestants[:2], "arguments": {"queries": 5, "depth": 20, "documents": 50}}
    )
    found = measure(small, here=True, rounds=2)
    assert "void" not in found, found
    assert (
        found["contestants"]["steelyard"]["runs"] == 2 and found["contestants"]["pytrec_eval"]["peak_mb"]["median"] > 5
    )
    json.dumps(found)


def interleaved(first: Callable[[], Any], second: Callable[[], Any], rounds: int = 7) -> float:
    """Return the ratio of the medians of processor time, second to first."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for work, spent in zip((first, second), times, strict=True):
            start = time.process_time()
            work()
            spent.append(time.process_time() - start)
    return statistics.median(times[1]) / statistics.median(times[0])


GUARDS = {"metrics": ("metrics", "with_pytrec_eval", {"queries": 200, "depth": 1000, "documents": 10_000}, 4.0)}
GUARDS["bm25"] = ("bm25", "with_bm25s_numpy", {"documents": 5000, "queries": 100, "script": "en"}, 2.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", GUARDS)
def test_the_ratio_to_a_peer_does_not_collapse(name: str) -> None:
    """A guard, not a measurement: a ratio in one process, far below what docs/benchmarks.md shows."""
    import importlib

    module_name, peer, arguments, least = GUARDS[name]
    module = importlib.import_module(f"cases.{module_name}")
    data = module.make(**arguments)
    assert interleaved(module.ours(data), getattr(module, peer)(data)) > least
