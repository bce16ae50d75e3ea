"""The one result format: a JSON file for each commit, with the machine, the versions and every case."""

from __future__ import annotations

import hashlib
import json
import subprocess
import time
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from harness.case import Case

FORMAT = 2
"""Since 2, `versions` are by environment, and a case has `source`, `took`, `note` and `memory_reason`."""
FOLDER = Path(__file__).parents[1] / "results"
PROJECT = FOLDER.parents[1]


def commit() -> str:
    """Return the short name of the commit that is checked out."""
    return _git("rev-parse", "--short=9", "HEAD") or "unknown"


def source_of(case: Case) -> str:
    """Return a digest of the package and of the case without its texts: what a measurement belongs to."""
    facts = json.dumps([case.module, case.name, asdict(case)["contestants"], dict(case.arguments)], default=str)
    return hashlib.sha256(_package() + facts.encode()).hexdigest()[:16]


@cache
def _package() -> bytes:
    digest = hashlib.sha256()
    for path in sorted((PROJECT / "src").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.digest()


def measured(case: Case, *, here: bool) -> dict[str, Any] | None:
    """Return the measurement of a case in the record of this commit, if every contestant finished in it.

    A measurement of other code, of another case or of other environments does not count.
    """
    path = FOLDER / f"{commit()}.json"
    if not path.exists():
        return None
    for one in json.loads(path.read_text(encoding="utf-8"))["cases"]:
        finished = all("failed" not in contestant for contestant in one["contestants"].values())
        if one["name"] == case.name and finished and (one.get("source"), one.get("here")) == (source_of(case), here):
            return dict(one)
    return None


def write(machine: dict[str, Any], cases: list[dict[str, Any]], versions: dict[str, dict[str, str]]) -> Path:
    """Add the cases to the record of this commit and return its path; a case that was measured again is replaced."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{commit()}.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"cases": [], "versions": {}}
    names = {case["name"] for case in cases}
    merged = [case for case in before["cases"] if case["name"] not in names] + cases
    record = {
        "format": FORMAT,
        "commit": commit(),
        "changed": bool(_git("status", "--porcelain", "--", "src", "benchmarks/cases", "benchmarks/harness")),
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine,
        "versions": by_environment(before["versions"]) | versions,
        "cases": sorted(merged, key=lambda case: (case["row"], case["name"])),
    }
    part = path.with_suffix(".part")
    part.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    part.replace(path)
    return path


def newest() -> dict[str, Any]:
    """Return the newest record, with the cases that it lacks from earlier ones; each has its commit and machine.

    Records are compared by the history of commits: their names are not in order.
    """
    records = [json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")]
    if not records:
        raise SystemExit("there is no record yet: run python benchmarks/run.py")
    records.sort(key=lambda record: (record["date"], _age(record["commit"])), reverse=True)
    cases: dict[str, Any] = {}
    for record in records:
        for case in record["cases"]:
            cases.setdefault(case["name"], case | {"commit": record["commit"], "machine": record["machine"]})
    versions = by_environment(records[0]["versions"])
    return records[0] | {
        "versions": versions,
        "cases": sorted(cases.values(), key=lambda case: (case["row"], case["name"])),
    }


def by_environment(versions: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return versions by environment and package; records of format 1 have those of all environments together.

    >>> by_environment({"numpy": "2.4"})
    {'steelyard': {'numpy': '2.4'}}
    >>> by_environment({"search": {"numpy": "2.4"}})
    {'search': {'numpy': '2.4'}}
    """
    if any(isinstance(one, str) for one in versions.values()):
        return {"steelyard": dict(versions)}
    return dict(versions)


def _age(name: str) -> int:
    return int(_git("rev-list", "--count", name) or 0)


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], capture_output=True, text=True, cwd=PROJECT, check=False)
    return done.stdout.strip()
