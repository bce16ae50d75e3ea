"""docs/benchmarks.md from a record: where ours is slower first, then one table for each row, and plots."""

from __future__ import annotations

from html import escape
from math import log10
from pathlib import Path
from typing import Any

from harness.case import ROWS

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
PLOT = PAGE.parent / "images" / "benchmarks.svg"
OURS = "steelyard"
QUALITY = "ndcg_at_10"
"""The check that is shown for every contestant."""


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
    cases = record["cases"]
    valid = [case for case in cases if not case.get("void") and "ratio" in case]
    PLOT.parent.mkdir(exist_ok=True)
    PLOT.write_text(plot(valid), encoding="utf-8")
    parts = [HEAD, machine_table(record), losses(cases), "![Ratios of all cases](images/benchmarks.svg)", ""]
    for row, title in ROWS.items():
        chosen = [case for case in cases if case["row"] == row]
        if chosen:
            parts += [f"## {row}. {title}", "", *(block(case, record["commit"]) for case in chosen)]
    PAGE.write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")
    return PAGE


HEAD = """# Benchmarks

Steelyard side by side with what a user would pick instead. `make bench` measures everything again and writes this page;
`python benchmarks/run.py --list` lists the cases, each of which is one file in `benchmarks/cases`.

Every measurement is a fresh process on the same input: each peer in an environment of its own, or all in one with
`--here`, as in the record below. Rounds are interleaved; the order changes from round to round. Times are medians with
the lowest and the highest value. A ratio is the peer's median divided by ours: above 1, Steelyard is faster. Memory is
the highest resident memory of the process. A case is void if the answers of the contestants differ by more than its
tolerance. Absolute times depend on the machine; compare ratios.
"""


def machine_table(record: dict[str, Any]) -> str:
    """Return the machine, its measured limits and the versions."""
    one = record["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in sorted(record["versions"].items()))
    return "\n".join(
        [
            "## The machine",
            "",
            f"{one['cores']} cores of {one['cpu']}, load {one['load']} at the start, Python {one['python']}.",
            f"Measured limits: product of float32 matrices {one['sgemm_gflops']} GFLOP/s, copy in memory",
            f"{one['memory_gb_per_s']} GB/s (one core), disk {one['disk_mb_per_s']} MB/s.",
            f"Commit `{record['commit']}`, {record['date']}. Versions: {versions}.",
            "",
        ]
    )


def losses(cases: list[dict[str, Any]]) -> str:
    """Return the cases in which ours is slower, larger, below its target, or void, with the reason."""
    lines = []
    for case in cases:
        problem = _problem(case)
        if problem:
            lines.append(f"| {case['title']} | {problem} | {case['reason'] or '-'} |")
    if not lines:
        return "## Where Steelyard loses\n\nIn no case of this run.\n"
    head = ["## Where Steelyard loses", "", "| case | what | reason |", "|---|---|---|"]
    return "\n".join([*head, *lines, ""])


def _problem(case: dict[str, Any]) -> str:
    if case.get("void"):
        return f"void: {case['void']}"
    if "ratio" not in case:
        return ""
    found = []
    slower = [f"{name} ({ratio:.2f} x)" for name, ratio in case["ratios"].items() if ratio < 1]
    if slower:
        found.append("slower than " + ", ".join(slower))
    if case["target"] and case["ratio"] < case["target"]:
        found.append(f"{case['ratio']:.2f} x {case['against']}, target {case['target']:.3g} x")
    if case["memory_ratio"] < 1:
        found.append(f"uses {1 / case['memory_ratio']:.2f} x the memory of the smallest peer")
    return "; ".join(found)


def block(case: dict[str, Any], newest: str) -> str:
    """Return the table of one case."""
    lines = [f"**{case['title']}**", ""]
    quality = any(QUALITY in one.get("checks", {}) for one in case["contestants"].values())
    heads = ["", "seconds", "CPU s", "peak MB", "ratio", *(["nDCG@10"] if quality else [])]
    lines += [_line(heads), _line(["---"] * len(heads)).replace(" ", "")]
    for name, one in case["contestants"].items():
        if "failed" in one:
            lines.append(_line([name, f"failed: {one['failed']}", *[""] * (len(heads) - 2)]))
            continue
        ratio = "1" if name == OURS else f"{case.get('ratios', {}).get(name, float('nan')):.2f}"
        cells = [name, _range(one["seconds"]), f"{one['cpu']['median']:.3g}", f"{one['peak_mb']['median']:.0f}", ratio]
        lines.append(_line([*cells, *([f"{one['checks'].get(QUALITY, float('nan')):.4f}"] if quality else [])]))
    notes = []
    if case.get("void"):
        notes.append(f"Void: {case['void']}.")
    elif "difference" in case and any(one.get("checks") for one in case["contestants"].values()):
        notes.append(f"The answers agree within {max(case['difference'], 1e-16):.1g}.")
    if case["target"]:
        reached = not case.get("void") and case.get("ratio", 0) >= case["target"]
        unit = "CPU time" if case["by"] == "cpu" else "time"
        verb = "reached" if reached else "not reached"
        notes.append(f"Target: {case['target']:.3g} x {case.get('against', 'the peer')} by {unit}, {verb}.")
    if case["reason"] and _problem(case):
        notes.append(case["reason"])
    extra = case["contestants"].get(OURS, {}).get("checks", {})
    if "ratio" not in case and extra:
        notes.append("; ".join(f"{key.replace('_', ' ')} {value:.3g}" for key, value in extra.items()) + ".")
    if case.get("commit", newest) != newest:
        notes.append(f"Measured at commit `{case['commit']}`.")
    return "\n".join([*lines, "", *([" ".join(notes), ""] if notes else [])])


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |", 1)


def _range(values: dict[str, float]) -> str:
    return f"{values['median']:.3g} ({values['low']:.3g} to {values['high']:.3g})"


def plot(cases: list[dict[str, Any]]) -> str:
    """Return a bar for every case: how many times slower the fastest peer is, on a logarithmic axis."""
    width, left, height = 860, 330, 22
    bars = sorted(cases, key=lambda case: -case["ratio"])
    top = max([case["ratio"] for case in bars] + [10.0])
    low = min([case["ratio"] for case in bars] + [0.5])
    scale = (width - left - 70) / (log10(top) - log10(low))

    def x(ratio: float) -> float:
        return left + (log10(ratio) - log10(low)) * scale

    rows = []
    for place, case in enumerate(bars):
        y = 34 + place * height
        start, end = sorted((x(1), x(case["ratio"])))
        colour = "#2a7f62" if case["ratio"] >= 1 else "#b4452c"
        rows.append(f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{escape(case["name"])}</text>')
        size = f'width="{max(end - start, 1):.1f}" height="{height - 7}"'
        rows.append(f'<rect x="{start:.1f}" y="{y + 3}" {size} fill="{colour}"/>')
        rows.append(f'<text x="{x(max(case["ratio"], 1)) + 5:.1f}" y="{y + 14}">{case["ratio"]:.1f}</text>')
    bottom = 34 + len(bars) * height
    for tick in (0.1, 0.5, 1, 2, 5, 10, 20, 50, 100, 1000, 10000):
        if low <= tick <= top:
            rows.insert(0, f'<line x1="{x(tick):.1f}" y1="28" x2="{x(tick):.1f}" y2="{bottom}" stroke="#8886"/>')
            rows.append(f'<text x="{x(tick):.1f}" y="20" text-anchor="middle">{tick:g}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + 30}" role="img" '
        'font-family="system-ui, sans-serif" font-size="12" fill="#444">'
        "<title>How many times slower the fastest peer is, by case (logarithmic axis)</title>"
        '<rect width="100%" height="100%" fill="#fff"/>'
        + "".join(rows)
        + f'<text x="{left}" y="{bottom + 20}">time of the fastest peer / time of Steelyard</text></svg>\n'
    )
