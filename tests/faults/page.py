"""The record of injected faults and fuzzed readers, `record.json`, and its tables on a docs page.

python tests/faults/page.py docs/faults.md
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

RECORD = Path(__file__).parent / "record.json"
MUTANTS = Path(__file__).parents[1] / "mutants.json"
GOAL = 1_000_000


def load_record() -> dict[str, Any]:
    """Return what was recorded: `injection` by command and fault, `readers` by name, `mutants` by module."""
    empty: dict[str, Any] = {"injection": {}, "readers": {}, "atheris": {}}
    stored = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    return empty | stored | {"mutants": json.loads(MUTANTS.read_text(encoding="utf-8")) if MUTANTS.exists() else {}}


def save_record(record: dict[str, Any]) -> None:
    """Store the record; a process that is killed leaves the former one or the new one."""
    own = {name: rows for name, rows in record.items() if name != "mutants"}  # those have a file of their own
    new = RECORD.with_name(f"{RECORD.name}.{os.getpid()}.tmp")
    new.write_text(json.dumps(own, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    new.replace(RECORD)


@contextmanager
def changed_record() -> Iterator[dict[str, Any]]:
    """Load the record, and store it again at the end; other processes that change it wait meanwhile."""
    with RECORD.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        record = load_record()
        yield record
        save_record(record)


def write_page(path: Path, record: dict[str, Any]) -> None:
    """Write all tables between the marks of the page."""
    replace_between(path, "table", "\n".join(injection_table(record["injection"])))
    replace_between(path, "readers", "\n".join(reader_table(record["readers"])))
    replace_between(path, "atheris", "\n".join(atheris_table(record["atheris"])))
    replace_between(path, "mutants", "\n".join(mutant_table(record["mutants"])))


def injection_table(rows: dict[str, dict[str, dict[str, int]]]) -> list[str]:
    """Return how often each fault was injected into each command, and the problems that were found."""
    columns = list(dict.fromkeys(fault for row in rows.values() for fault in row))
    counts = {name: [row.get(one, {}).get("count", 0) for one in columns] for name, row in rows.items()}
    problems = {name: sum(fault["problems"] for fault in row.values()) for name, row in rows.items()}
    counts["all"] = [sum(column) for column in zip(*counts.values(), strict=True)]
    problems["all"] = sum(problems.values())
    seeds = sorted({fault["seed"] for row in rows.values() for fault in row.values()})
    return [
        f"| command | {' | '.join(columns)} | problems |",
        "|---|" + "---|" * (len(columns) + 1),
        *(f"| {name} | {' | '.join(map(str, row))} | {problems[name]} |" for name, row in counts.items()),
        "",
        f"Seeds of the moments: {', '.join(map(str, seeds))}.",
    ]


def reader_table(rows: dict[str, dict[str, float]]) -> list[str]:
    """Return cases, seed, time and findings of each reader, and how long the rest of a million cases takes."""
    lines = [
        "| reader | cases | different inputs | seed | CPU s | cases/s | findings |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in sorted(rows.items()):
        rate = row["cases"] / max(row["seconds"], 0.1)
        lines.append(
            f"| {name} | {row['cases']:,} | {row['distinct']:,} | {row['seed']} | {row['seconds']:,.0f} "
            f"| {rate:,.0f} | {row['findings']} |"
        )
    cases, distinct, seconds = (sum(row[name] for row in rows.values()) for name in ("cases", "distinct", "seconds"))
    done = sum(row["cases"] >= GOAL for row in rows.values())
    rest = (
        f"Every reader has {GOAL:,} cases."
        if done == len(rows)
        else f"{done} of {len(rows)} readers have {GOAL:,} cases; at these rates the rest needs "
        f"{_hours(rows, GOAL):,.1f} CPU hours: `make faults CASES={GOAL}` continues from here."
    )
    return [
        *lines,
        "",
        f"{cases:,} cases of {len(rows)} readers, {distinct:,} of them different inputs, in {seconds / 60:,.0f} CPU "
        f"minutes. {rest}",
    ]


def _hours(rows: dict[str, dict[str, float]], goal: int) -> float:
    """Return the CPU hours that are left until every reader has that many cases, at the rates of the record."""
    left = (max(goal - row["cases"], 0) * row["seconds"] / row["cases"] for row in rows.values() if row["cases"])
    return sum(left) / 3600


def atheris_table(rows: dict[str, dict[str, int]]) -> list[str]:
    """Return runs and findings of each reader that atheris has fuzzed."""
    lines = [
        f"| {name} | {row['runs']:,} | {row['seconds']} | {row['findings']} |" for name, row in sorted(rows.items())
    ]
    return ["| reader | runs | CPU s | findings |", "|---|---|---|---|", *lines]


def mutant_table(rows: dict[str, dict[str, Any]]) -> list[str]:
    """Return how many mutants of each module the tests kill, and those that survive."""
    lines = ["| module | mutants | equivalent | killed | survived |", "|---|---|---|---|---|"]
    for name, row in sorted(rows.items()):
        survived = ", ".join(f"`{one}`".replace("|", "\\|") for one in row["survived"]) or "-"
        lines.append(f"| {name} | {row['mutants']} | {row['equivalent']} | {row['killed']} | {survived} |")
    counts = {key: sum(row[key] for row in rows.values()) for key in ("mutants", "equivalent", "killed")}
    real = counts["mutants"] - counts["equivalent"]
    seeds = ", ".join(map(str, sorted({row["seed"] for row in rows.values()})))
    return [
        *lines,
        "",
        f"{counts['killed']} of {real} mutants that can alter an answer are killed "
        f"({counts['killed'] / max(real, 1):.1%}; {counts['mutants']} mutants of {len(rows)} modules, "
        f"{counts['equivalent']} equivalent, seed {seeds}).",
    ]


def replace_between(path: Path, mark: str, body: str) -> None:
    """Replace what is between two marks of a page."""
    head, start, rest = path.read_text(encoding="utf-8").partition(f"<!-- {mark} -->\n")
    _, end, tail = rest.partition(f"<!-- end of {mark} -->\n")
    assert start and end, f"{path} has no marks of {mark}"
    path.write_text(f"{head}{start}{body}\n{end}{tail}", encoding="utf-8")


if __name__ == "__main__":
    write_page(Path(sys.argv[1]), load_record())
