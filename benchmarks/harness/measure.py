"""Run the contestants of a case: every measurement a fresh process, rounds interleaved, the order turning."""

from __future__ import annotations

import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.case import Case, Contestant
from harness.environments import NotInstalled, python_of

WORKER = Path(__file__).with_name("worker.py")
LAUNCHER = Path(__file__).with_name("launcher.py")
SHOWN = ("tokens", "limit_gflop", "limit_memory_gb", "limit_disk_mb")
"""Numbers of a contestant that are not compared."""


class Failed(Exception):
    """A contestant that did not finish."""


def measure(case: Case, *, here: bool = False, rounds: int | None = None) -> dict[str, Any]:
    """Return the measurements of a case in the format of the records."""
    start = time.perf_counter()
    runs: dict[str, list[dict[str, Any]]] = {one.name: [] for one in case.contestants}
    failures: dict[str, str] = {}
    for turn in range(rounds or case.rounds):
        order = [*case.contestants[turn % len(case.contestants) :], *case.contestants[: turn % len(case.contestants)]]
        for one in order:
            if one.name in failures:
                continue
            try:
                runs[one.name].append(_run(case, one, here))
            except (Failed, NotInstalled) as error:
                failures[one.name] = str(error)
    return summary(case, runs, failures) | {"took": round(time.perf_counter() - start, 1)}


def summary(case: Case, runs: dict[str, list[dict[str, Any]]], failures: dict[str, str]) -> dict[str, Any]:
    """Return medians, spreads, ratios and whether the checks agree."""
    contestants: dict[str, Any] = {}
    for name, done in runs.items():
        if name in failures or not done:
            contestants[name] = {"failed": failures.get(name, "not run")}
            continue
        contestants[name] = {
            key: {
                "median": statistics.median(run[key] for run in done),
                "low": min(run[key] for run in done),
                "high": max(run[key] for run in done),
            }
            for key in ("seconds", "cpu", "peak_mb", "before_mb")
        } | {"runs": len(done), "checks": done[-1]["checks"]}
    facts: dict[str, Any] = {
        "row": case.row,
        "name": case.name,
        "title": case.title,
        "arguments": dict(case.arguments),
        "by": case.by,
        "target": case.target,
        "reason": case.reason,
        "memory_reason": case.memory_reason,
        "note": case.note,
        "contestants": contestants,
    }
    ours = contestants[case.ours.name]
    peers = {name: one for name, one in contestants.items() if name != case.ours.name and "failed" not in one}
    if "failed" in ours:
        return facts | {"void": f"{case.ours.name}: {ours['failed']}"}
    if not peers:
        return facts | ({"void": "no other contestant finished"} if len(contestants) > 1 else {})
    facts["difference"] = max(_difference(ours["checks"], one["checks"]) for one in peers.values())
    if not facts["difference"] <= case.tolerance:
        facts["void"] = f"the answers differ by {facts['difference']:.3g} (at most {case.tolerance:g} is allowed)"
    facts["ratios"] = {name: one[case.by]["median"] / ours[case.by]["median"] for name, one in peers.items()}
    facts["against"] = case.against or min(facts["ratios"], key=lambda name: facts["ratios"][name])
    if facts["against"] not in facts["ratios"]:
        return facts | {"void": f"{facts['against']} did not finish"}
    facts["ratio"] = facts["ratios"][facts["against"]]
    facts["memory_ratio"] = min(one["peak_mb"]["median"] for one in peers.values()) / ours["peak_mb"]["median"]
    return facts


def _difference(ours: Mapping[str, float], theirs: Mapping[str, float]) -> float:
    """Return the largest difference of the checks that both have; contestants without common checks cannot agree."""
    mine, other = ({key: value for key, value in one.items() if key not in SHOWN} for one in (ours, theirs))
    shared = mine.keys() & other.keys()
    if not shared:
        return 0.0 if not mine and not other else float("inf")
    return max(abs(mine[key] - other[key]) for key in shared)


def _run(case: Case, one: Contestant, here: bool) -> dict[str, Any]:
    """Run one contestant in a folder of its own, which is also its place for temporary files."""
    python = python_of(one.environment, here=here)
    command = not isinstance(one.work, str)
    if isinstance(one.work, str):
        words = [python, str(WORKER), case.module, one.work, json.dumps(dict(case.arguments))]
    else:
        known = {"python": python}
        if "INPUT" in one.work:
            known["INPUT"] = str(importlib.import_module(f"cases.{case.module}").make(**case.arguments))
        words = [sys.executable, "-I", str(LAUNCHER), *(known.get(word, word) for word in one.work)]
    with tempfile.TemporaryDirectory(prefix="steelyard-bench-", ignore_cleanup_errors=True) as folder:
        lines = _output(words, folder, case.seconds)
    try:
        facts: dict[str, Any] = json.loads(lines[-1])
        if command:
            checks = json.loads(lines[-2])["checks"] if len(lines) > 1 and lines[-2].startswith('{"checks"') else {}
            facts |= {"before_mb": 0.0, "checks": checks}
    except (ValueError, IndexError) as error:
        raise Failed("printed no measurement") from error
    return facts


def _output(words: list[str], folder: str, seconds: float) -> list[str]:
    """Return the lines that a process prints; it is ended with its children after some time."""
    quiet = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONWARNINGS": "ignore"}
    own = {"PYTHONPATH": str(WORKER.parents[2] / "src"), "STEELYARD_HOME": folder, "TMPDIR": folder}
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        cwd=folder,
        env={**os.environ, **quiet, **own},
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"took more than {seconds:g} s") from error
    finally:
        if process.poll() is None:
            os.killpg(process.pid, 9)
            process.communicate()
    if process.returncode:
        raise Failed((errors.strip().splitlines() or [f"exit code {process.returncode}"])[-1])
    return output.strip().splitlines()
