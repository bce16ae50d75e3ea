"""The benchmark harness: records, ratios, void cases, failures, resumed runs, the page and its plots."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
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
    assert "0.50" in text and "3.00 x the memory" in text and "Won" not in text
    text = page.losses([won, lost | {"memory_reason": "Ids."}])
    assert text.index("Where Steelyard loses") < text.index("Because of ids.")
    assert page.reasons(lost) == ["Because of ids.", ""], "a reason for the time is none for the memory"
    assert page.explanation(lost | {"memory_reason": "Ids."}) == "Because of ids. Ids."
    assert page.reasons(won) == []


def test_the_quality_of_every_contestant_is_in_its_line() -> None:
    from harness import page

    found = summary(([1.0], 1.0, {"ndcg_at_10": 0.75}), ([5.0], 3.0, {"ndcg_at_10": 0.7375}), tolerance=0.05)
    head, rule, ours, peer = page.block(found, "").splitlines()[2:6]
    assert [len(line.split("|")) for line in (head, rule, ours, peer)] == [8] * 4
    assert "0.7500" in ours and "0.7375" in peer
    plain = page.block(summary(([1.0], 1.0, {"x": 1.0}), ([5.0], 3.0, {"x": 1.0})), "")
    assert "nDCG" not in plain and plain.splitlines()[2] == "| | seconds | CPU s | peak MB | ratio (time) |"


def test_a_worker_measures_in_a_process_of_its_own(tmp_path: Path) -> None:
    from harness.case import all_cases
    from harness.measure import measure

    case = next(one for one in all_cases() if one.name == "metrics-200")
    changes = {"contestants": case.contestants[:2], "against": "pytrec_eval", "rounds": 2}
    small = replace(case, **changes, arguments={"queries": 5, "depth": 20, "documents": 50})
    found = measure(small, here=True)
    assert "void" not in found, found
    assert found["contestants"]["steelyard"]["runs"] == 2
    assert found["contestants"]["pytrec_eval"]["peak_mb"]["median"] > 5
    json.dumps(found)


def test_the_limit_of_the_machine_is_shown_for_every_contestant() -> None:
    from harness import page

    ours = ([2.0], 1.0, {"x": 1.0, "limit_gflop": 100.0, "tokens": 1000.0})
    found = summary(ours, ([5.0], 3.0, {"x": 1.0}))
    assert "void" not in found and found["difference"] == 0, "what is only shown is not compared"
    text = page.block(found, "", {"sgemm_gflops": 100.0})
    head, _, first, peer = text.splitlines()[2:6]
    assert head.endswith("| tokens/s | of the limit |")
    assert first.endswith("| 500 | 2 x |") and peer.endswith("| 200 | 5 x |")
    assert "Limit of the machine: 100 billion operations at the rate of a matrix product, 1 s." in text


def test_a_plot_has_a_bar_a_target_and_the_memory_of_every_case() -> None:
    from xml.etree import ElementTree

    from harness.plot import growth, plot

    lost = summary(([2.0], 9.0, {"x": 1.0}), ([1.0], 3.0, {"x": 1.0}), target=4.0)
    won = summary(([1.0], 1.0, {"x": 1.0}), ([5.0], 3.0, {"x": 1.0})) | {"name": "a < b"}
    drawn = plot([won, lost])
    texts = [one.text for one in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
    assert {"a < b", "made", "5.00", "0.50", "5. Metrics"} <= set(texts)
    assert drawn.count("<circle") == 3, "the legend and two cases"
    checks = {"exponent": 1.5, "CPU_s_at_10": 1.0, "CPU_s_at_100": 30.0}
    case = {"title": "By models", "contestants": {"steelyard": {"checks": checks}}}
    assert "1.50  By models" in growth([case])


def test_a_failing_contestant_or_environment_does_not_end_the_case(monkeypatch: pytest.MonkeyPatch) -> None:
    from harness import measure as module
    from harness.case import Case, Contestant
    from harness.environments import NotInstalled

    def python_of(environment: str, *, here: bool = False) -> str:
        if environment == "search":
            raise NotInstalled("the environment search could not be made: ERROR: no matching distribution")
        return sys.executable

    monkeypatch.setattr(module, "python_of", python_of)
    words = {
        "steelyard": ("python", "-c", "print()"),
        "raises": ("python", "-c", "raise SystemExit('no model')"),
        "hangs": ("python", "-c", "import time; time.sleep(60)"),
    }
    contestants = [Contestant(name, work) for name, work in words.items()]
    missing = Contestant("not installed", words["steelyard"], "search")
    fine = Contestant("peer", words["steelyard"])
    found = module.measure(Case(1, "made", "Made", (*contestants, missing, fine), rounds=2, seconds=3.0))
    failed = {name: one["failed"] for name, one in found["contestants"].items() if "failed" in one}
    assert failed["raises"] == "no model" and failed["hangs"] == "took more than 3 s"
    assert "no matching distribution" in failed["not installed"]
    assert found["contestants"]["peer"]["runs"] == 2 and "void" not in found and found["against"] == "peer"


def test_a_measured_case_is_not_measured_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from harness import record
    from harness.case import Case, Contestant

    monkeypatch.setattr(record, "FOLDER", tmp_path)
    case = Case(5, "made", "Made", (Contestant("steelyard", "a"), Contestant("peer", "b")), module="metrics")
    found = summary(([1.0], 1.0, {"x": 1.0}), ([5.0], 3.0, {"x": 1.0}))
    found |= {"source": record.source_of(case), "here": False, "took": 1.0}
    assert record.measured(case, here=False) is None
    record.write({"cpu": "any"}, [found], {"steelyard": {"numpy": "2"}})
    assert record.measured(case, here=False) is not None
    assert record.measured(case, here=True) is None, "other environments"
    other = type(case)(**{**vars(case), "arguments": {"queries": 1}})
    assert record.measured(other, here=False) is None, "another input"
    found["contestants"]["peer"] = {"failed": "killed"}
    record.write({"cpu": "any"}, [found], {})
    assert record.measured(case, here=False) is None, "a contestant failed"
    written = json.loads(next(tmp_path.glob("*.json")).read_text(encoding="utf-8"))
    assert len(written["cases"]) == 1 and written["versions"] == {"steelyard": {"numpy": "2"}}


def test_every_case_has_its_functions_and_a_known_environment() -> None:
    import importlib

    from harness.case import ROWS, all_cases
    from harness.environments import ENVIRONMENTS

    for case in all_cases():
        module = importlib.import_module(f"cases.{case.module}")
        assert case.row in ROWS and case.contestants[0].name == "steelyard", case.name
        assert not case.against or case.against in {one.name for one in case.contestants}, case.name
        for one in case.contestants:
            assert one.environment in ENVIRONMENTS, (case.name, one)
            assert not isinstance(one.work, str) or callable(getattr(module, one.work)), (case.name, one)


def test_an_environment_that_cannot_be_made_says_why_and_is_tried_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from harness import environments

    tried = []

    def run(words: list[str]) -> str:
        tried.append(words)
        return "ERROR: No matching distribution found for nothing" if "pip" in words else ""

    monkeypatch.setattr(environments, "FOLDER", tmp_path)
    monkeypatch.setattr(environments, "_run", run)
    monkeypatch.setitem(environments.ENVIRONMENTS, "made", ("nothing==1", "torch"))
    for _ in range(2):
        with pytest.raises(environments.NotInstalled, match="made could not be made: ERROR: No matching distribution"):
            environments.python_of("made")
    assert len(tried) == 2, "the environment, and pip in it"
    assert tried[1][-2:] == ["nothing==1", "torch"] and "--constraint" in tried[1]
    assert "torch==2.13.0" in (tmp_path / "constraints.txt").read_text(encoding="utf-8")
