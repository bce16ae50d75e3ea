"""The gate: what is a regression, what it writes, and the baseline file."""

from __future__ import annotations

import base64
import json
import xml.etree.ElementTree as Xml
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from comparison_parts import NEW, OLD, made

from steelyard.comparison import compare
from steelyard.comparison.baseline import _checksum, read_baseline, write_baseline
from steelyard.comparison.gate import gate
from steelyard.errors import DataError, UsageError
from steelyard.results import Result


def pair(*gaps: float, noise: float = 0.05) -> list[Result]:
    generator = np.random.default_rng(11)
    results = []
    for place, gap in enumerate(gaps):
        results.append(made(f"T/{place}", "old", OLD))
        results.append(made(f"T/{place}", "new", OLD + gap + generator.normal(0, noise, 80)))
    return results


def test_a_clear_drop_fails_and_a_gain_passes() -> None:
    failed, passed = gate(compare(pair(-0.05, -0.04))), gate(compare(pair(0.05, 0.04)))
    assert failed.failed and len(failed.regressions) == 1 and failed.regressions[0].name == "mean of 2 tasks"
    assert not passed.failed and str(failed).startswith("gate failed: mean of 2 tasks: new against old -0.0")
    assert "\n" not in str(failed)


def test_a_drop_below_the_margin_passes_however_significant() -> None:
    results = [made("T/a", "old", OLD), made("T/a", "new", OLD - 0.004)]
    assert not gate(compare(results)).failed and gate(compare(results), margin=0.0).failed


def test_a_drop_that_chance_explains_passes() -> None:
    results = pair(-0.03, noise=0.4)
    old, new = (result.score for result in results)
    assert old is not None and new is not None and new < old - 0.02
    assert not gate(compare(results), margin=0.0).failed
    assert gate(compare(pair(-0.03, noise=0.05)), margin=0.0).failed, "the same drop with less noise"


def test_one_task_decides_only_if_asked() -> None:
    comparison = compare(pair(-0.08, 0.1, 0.1))
    assert not gate(comparison).failed
    strict = gate(comparison, per_task=True)
    assert strict.failed and [check.name for check in strict.regressions] == ["T/0"]


@pytest.mark.slow
def test_false_alarms_are_rare() -> None:
    """No difference in truth: at alpha 0.05 two-sided, a regression is claimed in about 2.5 % of runs."""
    generator, alarms = np.random.default_rng(2), 0
    for _ in range(200):
        noise = generator.normal(0, 0.2, 40) * generator.choice([-1, 1], 40)
        results = [made("T/a", "old", OLD[:40]), made("T/a", "new", OLD[:40] + noise)]
        alarms += gate(compare(results), margin=0.0).failed
    assert alarms <= 13  # 2.5 % of 200 is 5; more than 13 has a chance of 1 in 2,000


def test_junit_and_annotations() -> None:
    outcome = gate(compare(pair(-0.08, 0.1, 0.1)), per_task=True)
    root = Xml.fromstring(outcome.junit())
    suite = root.find("testsuite")
    assert suite is not None and suite.get("tests") == "4" and suite.get("failures") == "1"
    assert [case.get("name") for case in suite if case.find("failure") is not None] == ["T/0"]
    (line,) = outcome.annotations()
    assert line.startswith("::error title=Regression on T/0::T/0: new against old")
    warned = gate(compare(pair(-0.08, 0.1, 0.1))).annotations()
    assert warned[0].startswith("::warning") and gate(compare(pair(0.1))).annotations()[0].startswith("::notice")
    assert json.loads(json.dumps(outcome.to_dict(), allow_nan=False))["failed"] is True


def test_annotations_escape_what_github_would_read() -> None:
    results = [replace(r, task="T/100%,\n::x") for r in pair(-0.2)]
    (line,) = gate(compare(results)).annotations()
    assert "\n" not in line and "100%25%2C%0A%3A%3Ax::" in line


def test_a_gate_does_not_pass_on_what_cannot_be_compared() -> None:
    results = [*pair(0.1), made("T/other", "old", OLD), made("T/other", "new", NEW, data_hash="e" * 32)]
    with pytest.raises(DataError):
        gate(compare(results))
    with pytest.raises(UsageError):
        gate(compare(pair(0.1)), margin=-1)


def test_baseline_keeps_every_score_in_kilobytes(tmp_path: Path) -> None:
    tasks = [
        made(f"T/{i}", "mine", np.round(np.random.default_rng(i).uniform(0, 1, 200), 2), language="zh")
        for i in range(3)
    ]
    path = write_baseline(tmp_path / "baseline.json", tasks)
    assert path.stat().st_size < 3 * 3000
    for stored, original in zip(read_baseline(path), tasks, strict=True):
        assert stored.per_query.ids == original.per_query.ids and stored.facts.language == "zh"
        assert np.array_equal(stored.per_query["ndcg_at_10"], original.per_query["ndcg_at_10"])
    comparison = compare(path, tasks)
    assert comparison.models == ("baseline", "mine") and comparison.between("mine", "baseline").p_value == 1.0


def corrupt(text: str, kind: str) -> str:
    content = json.loads(text)
    if kind == "truncated":
        return text[:-40]
    if kind == "edited":
        content["tasks"]["T/0"]["score"] = 0.9
    if kind == "newer":
        content["version"] = 99
    if kind in ("number", "nested"):  # with a checksum that is right
        ids = b"5" if kind == "number" else b"[" * 9000 + b"]" * 9000
        content["tasks"]["T/0"]["ids"] = base64.b64encode(zlib.compress(ids)).decode()
        content["checksum"] = _checksum(content)
    if kind == "other":
        content["format"] = "something"
    if kind == "empty":
        return ""
    return json.dumps(content)


@pytest.mark.parametrize("kind", ["truncated", "edited", "newer", "number", "nested"])
def test_a_corrupt_baseline_is_one_data_error(tmp_path: Path, kind: str) -> None:
    path = write_baseline(tmp_path / "baseline.json", [made("T/0", "mine", OLD)])
    path.write_text(corrupt(path.read_text(), kind))
    with pytest.raises(DataError) as caught:
        compare(path, [made("T/0", "mine", NEW)])
    assert caught.value.where == str(path) and caught.value.exit_code == 2


@pytest.mark.parametrize("kind", ["other", "empty"])
def test_a_file_that_is_not_a_baseline_is_refused(tmp_path: Path, kind: str) -> None:
    path = write_baseline(tmp_path / "baseline.json", [made("T/0", "mine", OLD)])
    path.write_text(corrupt(path.read_text(), kind))
    with pytest.raises(DataError):
        read_baseline(path)


def test_a_baseline_of_two_models_or_without_queries_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    with pytest.raises(UsageError):
        write_baseline(path, pair(0.1))
    with pytest.raises(DataError):
        write_baseline(path, [Result("T/a", "m", {}, "k", metrics={"ndcg_at_10": 0.5})])
    assert not path.exists()
