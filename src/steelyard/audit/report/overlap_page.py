"""The report on evaluation sets by themselves and against each other: findings and two matrices."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from steelyard.audit.between import BetweenAudit
from steelyard.audit.report.document import document
from steelyard.audit.within import MEANINGS, WithinAudit
from steelyard.files import write_atomic
from steelyard.reports.components.markup import Markup, join, table, tag, th

TITLES = {"queries": "Shared queries and samples", "documents": "Shared documents"}


def write_overlap_report(created: str, within: Sequence[WithinAudit], between: BetweenAudit | None, path: Path) -> Path:
    """Write the report, whole or not at all, and return the path."""
    sections = {"Within each set": _within(within)}
    if between is not None:
        sections |= {title: _matrix(between, side) for side, title in TITLES.items()}
    write_atomic(path, document("Overlap of evaluation sets", created, sections).encode(errors="replace"))
    return path


def _within(audits: Sequence[WithinAudit]) -> Markup:
    rows = [
        tag(
            "tr",
            tag("th", one.task, scope="row"),
            tag("td", MEANINGS[finding.kind]),
            tag("td", f"{finding.count:,}", class_="number"),
            tag("td", f"{finding.total:,}", class_="number"),
            tag(
                "td",
                "; ".join(
                    ", ".join(f"{key} {value}" for key, value in example.items()) for example in finding.examples[:3]
                ),
            ),
        )
        for one in audits
        for finding in one.overlaps
        if finding.count
    ]
    if not rows:
        return tag("p", "No set repeats anything of itself.")
    heads = tag("tr", *map(th, ("Task", "Finding", "Count", "Of", "First ones")))
    return table("Findings within each set", [heads], rows)


def _matrix(between: BetweenAudit, side: str) -> Markup:
    """Return the share of each row's texts that are in each column's task."""
    shares = between.near[side]
    rows = []
    for row, name in enumerate(between.tasks):
        cells = (
            tag("td", "-" if row == column else _percent(float(shares[row, column])), class_="number")
            for column in range(len(between.tasks))
        )
        rows.append(tag("tr", tag("th", f"{row + 1}. {name}", scope="row"), *cells))
    heads = tag("tr", th("Of these, equal or near-duplicate in"), *(th(str(row + 1)) for row in range(len(rows))))
    return join(table(TITLES[side], [heads], rows))


def _percent(share: float) -> str:
    """Return a share for a cell; nothing at all is left blank.

    >>> _percent(0.0), _percent(0.004), _percent(1.0)
    ('', '0.4%', '100.0%')
    """
    return f"{share:.1%}" if share else ""
