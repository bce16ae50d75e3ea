"""Run the contestants of a case: every measurement a fresh process, rounds interleaved, the order turning."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from harness.case import Case, Contestant
from harness.environments import python_of

WORKER = Path(__file__).with_name("worker.py")
LAUNCHER = Path(__file__).with_name("launcher.py")
SECONDS = 1800
"""The longest time that one process may take."""


class Failed(Exception):
    """A contestant that did not finish."""


def measure(case: Case, *, here: bool = False, rounds: int | None = None) -> dict[str, Any]:
    """Return the measurements of a case in the format of the records."""
    runs: dict[str, list[dict[str, Any]]] = {one.name: [] for one in case.contestants}
    failures: dict[str, str] = {}
    for turn in range(rounds or case.rounds):
        order = [*case.contestants[turn % len(case.contestants) :], *case.contestants[: turn % len(case.contestants)]]
        for one in order:
            if one.name in failures:
                continue
            try:
                runs[one.name].append(_run(case, one, here))
            except Failed as error:
                failures[one.name] = str(error)
    return summary(case, runs, failures)


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
    found: dict[str, Any] = {
        "row": case.row,
        "name": case.name,
        "title": case.title,
        "arguments": dict(case.arguments),
        "by": case.by,
        "target": case.target,
        "reason": case.reason,
        "contestants": contestants,
    }
    ours = contestants[case.ours.name]
    peers = {name: one for name, one in contestants.items() if name != case.ours.name and "failed" not in one}
    if "failed" in ours:
        return found | {"void": f"{case.ours.name}: {ours['failed']}"}
    if not peers:
        return found | ({"void": "no other contestant finished"} if len(contestants) > 1 else {})
    found["difference"] = max(_difference(ours["checks"], one["checks"]) for one in peers.values())
    if not found["difference"] <= case.tolerance:
        found["void"] = f"the answers differ by {found['difference']:.3g} (at most {case.tolerance:g} is allowed)"
    found["ratios"] = {name: one[case.by]["median"] / ours[case.by]["median"] for name, one in peers.items()}
    found["against"] = case.against or min(found["ratios"], key=lambda name: found["ratios"][name])
    if found["against"] not in found["ratios"]:
        return found | {"void": f"{found['against']} did not finish"}
    found["ratio"] = found["ratios"][found["against"]]
    found["memory_ratio"] = min(one["peak_mb"]["median"] for one in peers.values()) / ours["peak_mb"]["median"]
    return found


def _difference(ours: dict[str, float], theirs: dict[str, float]) -> float:
    """Return the largest difference of the checks that both have; contestants without common checks cannot agree."""
    shared = ours.keys() & theirs.keys()
    if not shared:
        return 0.0 if not ours and not theirs else float("inf")
    return max(abs(ours[key] - theirs[key]) for key in shared)


def _run(case: Case, one: Contestant, here: bool) -> dict[str, Any]:
    python = python_of(one.environment, here=here)
    if isinstance(one.work, str):
        words = [python, str(WORKER), case.module, one.work, json.dumps(dict(case.arguments))]
        return _worker(words)
    return _command([python if word == "python" else word for word in one.work])


def _environment() -> dict[str, str]:
    quiet = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONWARNINGS": "ignore"}
    return {**os.environ, **quiet, "PYTHONPATH": str(WORKER.parents[2] / "src")}


def _worker(words: list[str]) -> dict[str, Any]:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, env=_environment(), check=False)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"took more than {SECONDS} s") from error
    if done.returncode:
        raise Failed((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def _command(words: list[str]) -> dict[str, Any]:
    """Run a command in an empty folder with a home of its own; its last line of output may hold checks as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**_environment(), "STEELYARD_HOME": folder}
        done = subprocess.run(
            [sys.executable, "-I", str(LAUNCHER), *words],
            capture_output=True,
            text=True,
            cwd=folder,
            env=environment,
            timeout=SECONDS,
            check=False,
        )
    if done.returncode:
        raise Failed((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
    *lines, usage = done.stdout.strip().splitlines()
    found: dict[str, Any] = json.loads(usage)
    checks = json.loads(lines[-1])["checks"] if lines and lines[-1].startswith('{"checks"') else {}
    return found | {"before_mb": 0.0, "checks": checks}
