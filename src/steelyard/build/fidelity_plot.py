"""Fidelity against size, as one SVG file that any browser shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from steelyard.build.fidelity import Fidelity

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 720, 420, 64, 40, 150, 48
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Those that colour-blind people tell apart."""


def plot(found: Sequence[Fidelity], measure: str, title: str, target: float | None = None) -> str:
    """A line for each number of documents, with its interval as a band; queries on a logarithmic axis."""
    groups: dict[int | None, list[Fidelity]] = {}
    for one in sorted(found, key=lambda one: one.queries):
        groups.setdefault(one.documents, []).append(one)
    low = min([0.0, *(one.intervals[measure].low for one in found)])
    first, last = min(one.queries for one in found), max(one.queries for one in found)
    span = math.log(last / first) or 1.0

    def x(queries: int) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * math.log(queries / first) / span, 1)

    def y(value: float) -> float:
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - (value - low) / (1 - low)), 1)

    parts = [f'<text x="{LEFT}" y="22" font-weight="bold">{escape(title)}</text>']
    for tick in range(6):
        value = low + (1 - low) * tick / 5
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value)}" y2="{y(value)}" stroke="#ccc"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y(value) + 4}" text-anchor="end">{value:.2f}</text>')
    for queries in sorted({one.queries for one in found}):
        parts.append(f'<text x="{x(queries)}" y="{HEIGHT - 26}" text-anchor="middle">{queries:,}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">queries</text>')
    if target is not None:
        line = f'x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(target)}" y2="{y(target)}"'
        parts.append(f'<line {line} stroke="#444" stroke-dasharray="5 4"/>')
    for number, (documents, members) in enumerate(groups.items()):
        colour = COLOURS[number % len(COLOURS)]
        upper = [f"{x(one.queries)},{y(one.intervals[measure].high)}" for one in members]
        lower = [f"{x(one.queries)},{y(one.intervals[measure].low)}" for one in reversed(members)]
        middle = " ".join(f"{x(one.queries)},{y(getattr(one, measure))}" for one in members)
        name = "all documents" if documents is None else f"{documents:,} documents"
        parts.append(f'<polygon points="{" ".join(upper + lower)}" fill="{colour}" opacity="0.18"/>')
        parts.append(f'<polyline points="{middle}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{p.split(",")[0]}" cy="{p.split(",")[1]}" r="3.5" fill="{colour}"/>' for p in middle.split()
        ]
        parts.append(f'<text x="{WIDTH - RIGHT + 12}" y="{TOP + 14 + 20 * number}" fill="{colour}">{name}</text>')
    frame = f'xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13"'
    body = "\n".join(parts)
    return f'<svg {frame} role="img">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
