"""docs/benchmarks.md from a record: where ours is slower first, then one table for each row, and plots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.case import ROWS, all_cases
from harness.plot import growth, plot

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
PLOT = PAGE.parent / "images" / "benchmarks.svg"
GROWTH = PLOT.with_name("benchmarks-growth.svg")
OURS = "steelyard"
QUALITY = "ndcg_at_10"
"""The check that is shown for every contestant."""
LIMITS = {
    "limit_gflop": ("sgemm_gflops", "{:.3g} billion operations at the rate of a matrix product"),
    "limit_memory_gb": ("memory_gb_per_s_all_cores", "{:.3g} GB at the rate of a copy in memory"),
    "limit_disk_mb": ("disk_read_mb_per_s", "{:.4g} MB at the rate of the disk"),
}
"""What a contestant reports that any program has to do, the measured limit that it is divided by, and its words."""
TEXTS = ("title", "reason", "memory_reason", "note", "target")
"""What the page takes from the case as it is now, not as it was when it was measured."""


def verdict(case: dict[str, Any]) -> str:
    """Return one line: the ratio, the target, or why the case is void."""
    if case.get("void"):
        return f"void: {case['void']}"
    if "ratio" not in case:
        return f"{case['contestants'][OURS][case['by']]['median']:.3f} s"
    line = f"{case['ratio']:.2f} x {case['against']} ({case['by']}), memory {case['memory_ratio']:.2f} x"
    return line + (f", target {case['target']:g}" if case["target"] else "")


def write(record: dict[str, Any]) -> Path:
    """Write the page and its plot; return the path of the page."""
    cases = [with_texts(case) for case in record["cases"]]
    valid = [case for case in cases if not case.get("void") and "ratio" in case]
    PLOT.parent.mkdir(exist_ok=True)
    PLOT.write_text(plot(valid), encoding="utf-8")
    here = any(case.get("here", True) for case in cases)
    parts = [HEAD + (ONE if here else OWN), losses(cases)]
    parts += ["## All ratios", "", "![Ratios of all cases](images/benchmarks.svg)", "", machine_table(record)]
    for row, title in ROWS.items():
        chosen = [case for case in cases if case["row"] == row]
        if not chosen:
            continue
        parts += [f"## {row}. {title}", ""]
        grown = [case for case in chosen if "exponent" in case["contestants"][OURS].get("checks", {})]
        if grown:
            GROWTH.write_text(growth(grown), encoding="utf-8")
            parts += ["![How CPU time grows](images/benchmarks-growth.svg)", ""]
        parts += [block(case, record["commit"], case.get("machine", record["machine"])) for case in chosen]
    PAGE.write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")
    return PAGE


HEAD = """# Benchmarks

Steelyard side by side with what a user would pick instead. `make bench` measures everything again and writes this page;
`python benchmarks/run.py --list` lists the cases, each of which is in a file in `benchmarks/cases`.

Every measurement is a fresh process on the same input. Rounds are interleaved; the order changes from round to round.
Times are medians with the lowest and the highest value. A ratio is the peer's median divided by ours: above 1,
Steelyard is faster; the head of the column says whether it is one of wall time or of processor time. Memory is the
highest resident memory of the process during the work. A case is void if the answers of the contestants differ by more
than its tolerance. Absolute times depend on the machine; compare ratios. The text below a
table names the commit and the machine if they are not those of the newest run.
"""
OWN = "Each peer runs in a virtual environment of its own, with the newest versions that install there.\n"
ONE = "Each peer runs in a virtual environment of its own, except where a case says that it was measured in one.\n"


def with_texts(case: dict[str, Any]) -> dict[str, Any]:
    """Return a case with the texts of its definition, if it still has one, and the ratio to the peer named there."""
    now = next((one for one in all_cases() if one.name == case["name"]), None)
    texts = {name: getattr(now, name) for name in TEXTS} if now else {}
    if now and now.against in case.get("ratios", {}):
        texts |= {"against": now.against, "ratio": case["ratios"][now.against]}
    return {"memory_reason": "", "note": "", **case, **texts}


def machine_table(record: dict[str, Any]) -> str:
    """Return the machine, its measured limits and the versions."""
    one = record["machine"]
    changed = " with local changes" if record.get("changed") else ""
    lines = [
        "## The machine",
        "",
        f"{one['cores']} cores of {one['cpu']}, {one.get('ram_gb', '?')} GB of memory, load {one['load']} at the "
        f"start, Python {one['python']}. Commit `{record['commit']}`{changed}, {record['date']}.",
        "",
        "| measured limit | |",
        "|---|---|",
        f"| product of float32 matrices, all cores | {one['sgemm_gflops']} GFLOP/s |",
        f"| copy in memory, reads and writes, one core | {one['memory_gb_per_s']} GB/s |",
    ]
    if "memory_gb_per_s_all_cores" in one:
        lines.append(f"| the same, all cores | {one['memory_gb_per_s_all_cores']} GB/s |")
        lines.append(f"| reading a file that is not in memory | {one['disk_read_mb_per_s']} MB/s |")
    lines += [
        f"| writing a file to the disk | {one['disk_mb_per_s']} MB/s |",
        "",
        "| environment | versions |",
        "|---|---|",
    ]
    for name, packages in record["versions"].items():
        lines.append(f"| {name} | {', '.join(f'{key} {value}' for key, value in sorted(packages.items()))} |")
    return "\n".join([*lines, ""])


def losses(cases: list[dict[str, Any]]) -> str:
    """Return the cases in which ours is slower, larger, below its target, or void, with the reason."""
    lost = sorted((case for case in cases if problem(case)), key=_severity)
    lines = [f"| {case['title']} | {problem(case)} | {explanation(case) or '-'} |" for case in lost]
    if not lines:
        return "## Where Steelyard loses\n\nIn no case of this run.\n"
    head = ["## Where Steelyard loses", "", "| case | what | reason |", "|---|---|---|"]
    return "\n".join([*head, *lines, ""])


def problem(case: dict[str, Any]) -> str:
    """Return what is lost in a case; nothing if ours is the best and reaches its target."""
    if case.get("void"):
        return f"void: {case['void']}"
    if "ratio" not in case:
        return ""
    problems = []
    if _slower(case):
        problems.append("slower than " + ", ".join(f"{name} ({case['ratios'][name]:.2f} x)" for name in _slower(case)))
    if _misses(case):
        problems.append(f"{case['ratio']:.2f} x {case['against']}, target {case['target']:.3g} x")
    if case["memory_ratio"] < MEMORY:
        problems.append(f"uses {1 / case['memory_ratio']:.2f} x the memory of the smallest peer")
    return "; ".join(problems)


MEMORY = 0.99
"""Processes of the same size differ by a percent from run to run."""


def reasons(case: dict[str, Any]) -> list[str]:
    """Return one reason for what is lost in time and one for memory; an empty one is not known."""
    if case.get("void"):
        return [str(case["void"])]
    if "ratio" not in case:
        return []
    time = [case["reason"]] if _slower(case) or _misses(case) else []
    return time + ([case.get("memory_reason", "")] if case["memory_ratio"] < MEMORY else [])


def explanation(case: dict[str, Any]) -> str:
    """Return the known reasons of what is lost in a case."""
    return " ".join(filter(None, reasons(case)))


def _severity(case: dict[str, Any]) -> tuple[bool, bool, bool]:
    """Return the order of what is lost: void, slower than a peer, below the target, larger."""
    if case.get("void"):
        return (False, False, False)
    return (True, not _slower(case), not _misses(case))


def _slower(case: dict[str, Any]) -> list[str]:
    return [name for name, ratio in case["ratios"].items() if ratio < 1]


def _misses(case: dict[str, Any]) -> bool:
    return bool(case["target"]) and case["ratio"] < case["target"]


def block(case: dict[str, Any], newest: str, machine: dict[str, Any] | None = None) -> str:
    """Return the table of one case."""
    lines = [f"**{case['title']}**", ""]
    checks = [one.get("checks", {}) for one in case["contestants"].values()]
    tokens = next((one["tokens"] for one in checks if "tokens" in one), None)
    quality = any(QUALITY in one for one in checks)
    limit, words = _limit(checks, machine)
    heads = ["", "seconds", "CPU s", "peak MB", "ratio (CPU)" if case["by"] == "cpu" else "ratio (time)"]
    heads += [
        *(["nDCG@10"] if quality else []),
        *(["tokens/s"] if tokens else []),
        *(["of the limit"] if limit else []),
    ]
    lines += [_line(heads), _line(["---"] * len(heads)).replace(" ", "")]
    for name, one in case["contestants"].items():
        if "failed" in one:
            lines.append(_line([name, f"failed: {_cell(one['failed'])}", *[""] * (len(heads) - 2)]))
            continue
        ratio = "1" if name == OURS else f"{case.get('ratios', {}).get(name, float('nan')):.2f}"
        cells = [name, _range(one["seconds"]), f"{one['cpu']['median']:.3g}", f"{one['peak_mb']['median']:.0f}", ratio]
        cells += [f"{one['checks'].get(QUALITY, float('nan')):.4f}"] if quality else []
        cells += [f"{tokens / one['seconds']['median']:,.0f}"] if tokens else []
        cells += [f"{one['seconds']['median'] / limit:.2g} x"] if limit else []
        lines.append(_line(cells))
    return "\n".join(
        [*lines, "", *([" ".join(_notes(case, newest, words)), ""] if _notes(case, newest, words) else [])]
    )


def _notes(case: dict[str, Any], newest: str, limit: str) -> list[str]:
    notes = [case["note"]] if case.get("note") else []
    compared = [key for one in case["contestants"].values() for key in one.get("checks", {}) if "limit_" not in key]
    if case.get("void"):
        notes.append(f"**Void**: {case['void']}.")
    elif "difference" in case and compared:
        notes.append(f"The answers agree within {max(case['difference'], 1e-16):.1g}.")
    if case["target"]:
        reached = not case.get("void") and case.get("ratio", 0) >= case["target"]
        unit = "CPU time" if case["by"] == "cpu" else "time"
        verb = "reached" if reached else "not reached"
        notes.append(f"Target: {case['target']:.3g} x {case.get('against', 'the peer')} by {unit}, {verb}.")
    if problem(case) and explanation(case):
        notes.append(explanation(case))
    if limit:
        notes.append(limit)
    extra = case["contestants"].get(OURS, {}).get("checks", {})
    if "ratio" not in case and extra:
        notes.append("; ".join(f"{key.replace('_', ' ')} {value:.3g}" for key, value in extra.items()) + ".")
    if case.get("here", True):
        notes.append("Measured in one environment.")
    if case.get("commit", newest) != newest:
        machine = case.get("machine")
        where = f", with {machine['sgemm_gflops']:.0f} GFLOP/s in products of matrices" if machine else ""
        notes.append(f"Measured at commit `{case['commit']}`{where}.")
    return notes


def _limit(checks: list[dict[str, float]], machine: dict[str, Any] | None) -> tuple[float, str]:
    """Return the time that no program on this machine can be faster than, and what it is made of; 0 if not known."""
    for one in checks:
        for key, (rate, words) in LIMITS.items():
            if key in one and machine and rate in machine:
                seconds = one[key] / machine[rate]
                return seconds, f"Limit of the machine: {words.format(one[key])}, {seconds:.3g} s."
    return 0.0, ""


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |", 1)


def _cell(text: str) -> str:
    return text.replace("|", "/").replace("\n", " ")[:200]


def _range(values: dict[str, float]) -> str:
    return f"{values['median']:.3g} ({values['low']:.3g} to {values['high']:.3g})"
