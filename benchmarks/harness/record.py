"""The one result format: a JSON file for each commit, with the machine, the versions and every case."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

FORMAT = 1
FOLDER = Path(__file__).parents[1] / "results"


def commit() -> str:
    """Return the short name of the commit that is checked out."""
    done = subprocess.run(
        ["git", "rev-parse", "--short=9", "HEAD"], capture_output=True, text=True, cwd=FOLDER.parent, check=False
    )
    return done.stdout.strip() or "unknown"


def write(machine: dict[str, Any], cases: list[dict[str, Any]], versions: dict[str, str]) -> Path:
    """Add the cases to the record of this commit and return its path; a case that was measured again is replaced."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{commit()}.json"
    before = json.loads(path.read_text(encoding="utf-8"))["cases"] if path.exists() else []
    names = {case["name"] for case in cases}
    merged = [case for case in before if case["name"] not in names] + cases
    record = {
        "format": FORMAT,
        "commit": commit(),
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine,
        "versions": versions,
        "cases": sorted(merged, key=lambda case: (case["row"], case["name"])),
    }
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def newest() -> dict[str, Any]:
    """Return the newest record, with the cases that it lacks from earlier ones; each case has its commit.

    Records are compared by the history of commits: their names are not in order.
    """
    records = [json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")]
    if not records:
        raise SystemExit("there is no record yet: run python benchmarks/run.py")
    records.sort(key=lambda record: (record["date"], _age(record["commit"])), reverse=True)
    cases: dict[str, Any] = {}
    for record in records:
        for case in record["cases"]:
            cases.setdefault(case["name"], case | {"commit": record["commit"]})
    return records[0] | {"cases": sorted(cases.values(), key=lambda case: (case["row"], case["name"]))}


def _age(name: str) -> int:
    done = subprocess.run(
        ["git", "rev-list", "--count", name], capture_output=True, text=True, cwd=FOLDER.parent, check=False
    )
    return int(done.stdout.strip() or 0)
