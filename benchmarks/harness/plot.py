"""The plots of docs/benchmarks.md as SVG: ratios of all cases, and how cost grows."""

from __future__ import annotations

from html import escape
from itertools import groupby
from math import floor, log10
from typing import Any

from harness.case import ROWS

WIDTH, LEFT, RIGHT, LINE = 860, 250, 70, 20
GOOD, MISSED, LOST, MEMORY = "#2a7f62", "#c48a1a", "#b4452c", "#33507a"
COLOURS = ("#2a7f62", "#33507a", "#b4452c", "#c48a1a", "#7a4f8f", "#4f7a8a", "#8a6f4f", "#555555")
RATIO_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10000)


def _svg(height: float, title: str, parts: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="#333"><title>{escape(title)}</title>'
        '<rect width="100%" height="100%" fill="#fff"/>' + "".join(parts) + "</svg>\n"
    )


def _text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(words)}</text>'


def plot(cases: list[dict[str, Any]]) -> str:
    """Return a bar for every case: how many times slower the peer is, its target and its memory, by row."""
    values = [case["ratio"] for case in cases] + [case["memory_ratio"] for case in cases]
    low, high = min([*values, 0.5]) / 1.1, max([*values, 10.0]) * 1.1
    scale = (WIDTH - LEFT - RIGHT) / log10(high / low)

    def x(ratio: float) -> float:
        return LEFT + log10(ratio / low) * scale

    parts, y = _legend(), 62.0
    for row, some in groupby(sorted(cases, key=lambda case: case["row"]), key=lambda case: case["row"]):
        parts.append(_text(8, y + 15, f"{row}. {ROWS[row]}", ' font-weight="600"'))
        y += LINE
        for case in sorted(some, key=lambda case: -case["ratio"]):
            parts += _bar(case, y, x)
            y += LINE
        y += 6
    lines = []
    for tick in (one for one in RATIO_TICKS if low <= one <= high):
        stroke = "#333" if tick == 1 else "#ddd"
        lines.append(f'<line x1="{x(tick):.1f}" y1="52" x2="{x(tick):.1f}" y2="{y:.1f}" stroke="{stroke}"/>')
        parts.append(_text(x(tick), 46, f"{tick:g} x", ' text-anchor="middle" fill="#666"'))
    parts.append(_text(LEFT, y + 18, "the peer / Steelyard, on a logarithmic axis: right of 1, Steelyard needs less"))
    return _svg(y + 30, "How many times more the peer needs than Steelyard, by case", [*lines, *parts])


def _legend() -> list[str]:
    marks = ((GOOD, "target reached, or none"), (MISSED, "faster, target missed"), (LOST, "a peer is faster"))
    parts, x = [], 8.0
    for colour, words in marks:
        parts.append(f'<rect x="{x}" y="10" width="14" height="11" fill="{colour}"/>' + _text(x + 19, 20, words))
        x += 40 + 6.4 * len(words)
    parts.append(f'<rect x="{x}" y="8" width="2.5" height="15" fill="#000"/>' + _text(x + 9, 20, "target"))
    x += 70
    parts.append(f'<circle cx="{x + 5}" cy="16" r="4.5" fill="#fff" stroke="{MEMORY}" stroke-width="2"/>')
    return [*parts, _text(x + 15, 20, "memory")]


def _bar(case: dict[str, Any], y: float, x: Any) -> list[str]:
    ratio, target = case["ratio"], case["target"]
    missed = bool(target) and ratio < target
    slower = min(case["ratios"].values()) < 1 and not (target and target < 1 and not missed)
    colour = LOST if slower else MISSED if missed else GOOD
    start, end = sorted((x(1), x(ratio)))
    parts = [_text(LEFT - 8, y + 13, case["name"], ' text-anchor="end"')]
    parts.append(
        f'<rect x="{start:.1f}" y="{y + 3:.1f}" width="{max(end - start, 1):.1f}" height="{LINE - 6}" fill="{colour}"/>'
    )
    if target:
        parts.append(f'<rect x="{x(target) - 1:.1f}" y="{y + 1:.1f}" width="2.5" height="{LINE - 2}" fill="#000"/>')
    memory = x(case["memory_ratio"])
    parts.append(
        f'<circle cx="{memory:.1f}" cy="{y + 10:.1f}" r="4.5" fill="#fff" stroke="{MEMORY}" stroke-width="2"/>'
    )
    ends = [end, x(1), memory + 5, x(target) + 2 if target else 0]
    digits = 2 if ratio < 10 else 1
    parts.append(_text(max(ends) + 6, y + 13, f"{ratio:.{digits}f}", ' font-weight="600"'))
    return parts


def growth(cases: list[dict[str, Any]]) -> str:
    """Return a line for every case of row 13: CPU seconds against size, both on logarithmic axes, as multiples.

    Sizes and times are divided by the first ones, so that lines of different jobs can be compared: slope 1 is linear.
    """
    lines = []
    for case in cases:
        checks = case["contestants"]["steelyard"]["checks"]
        points = [(int(key.rsplit("_", 1)[1]), value) for key, value in checks.items() if key.startswith("CPU_s_at_")]
        first = points[0]
        lines.append((case["title"], checks["exponent"], [(n / first[0], s / first[1]) for n, s in points]))
    most = max([point for _, _, points in lines for pair in points for point in pair] + [10.0])
    side, top, left = 400.0, 24.0, 60.0
    scale = side / log10(most)

    def place(point: tuple[float, float]) -> str:
        return f"{left + log10(point[0]) * scale:.1f},{top + side - log10(max(point[1], 1e-9)) * scale:.1f}"

    parts = [
        f'<line x1="{left}" y1="{top + side}" x2="{left + side}" y2="{top}" stroke="#bbb" stroke-dasharray="5 4"/>'
    ]
    for power in range(floor(log10(most)) + 1):
        at = power * scale
        parts.append(_text(left + at, top + side + 18, f"{10**power:g}", ' text-anchor="middle" fill="#666"'))
        parts.append(_text(left - 8, top + side - at + 4, f"{10**power:g}", ' text-anchor="end" fill="#666"'))
        lines_at = f"M{left + at:.1f},{top} V{top + side} M{left},{top + side - at:.1f} H{left + side}"
        parts.append(f'<path d="{lines_at}" stroke="#eee"/>')
    for number, (title, exponent, points) in enumerate(sorted(lines, key=lambda line: -line[1])):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(map(place, points))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{p.split(",")[0]}" cy="{p.split(",")[1]}" r="3" fill="{colour}"/>' for p in path.split()
        ]
        y = top + 20 + number * 24
        parts.append(f'<rect x="{left + side + 20}" y="{y - 9}" width="14" height="10" fill="{colour}"/>')
        parts.append(_text(left + side + 40, y, f"{exponent:.2f}  {title}"))
    parts.append(_text(left, top + side + 40, "size, as a multiple of the smallest; dashed: linear growth"))
    parts.append(_text(8, 14, "CPU time, as a multiple"))
    return _svg(top + side + 54, "How CPU time grows with size; the number is the fitted exponent", parts)
