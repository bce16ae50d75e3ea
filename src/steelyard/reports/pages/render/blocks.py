"""A page as a value: sections of blocks, which each writer puts into its own form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.reports.components.markup import Markup
from steelyard.reports.pages.findings.sentences import Finding


@dataclass(frozen=True)
class Paragraph:
    """Sentences that findings made."""

    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Quote:
    """Words of somebody else, marked as theirs."""

    text: str
    source: str


@dataclass(frozen=True)
class Table:
    """Cells as they are read; the columns are named."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    links: tuple[str, ...] = ()
    """For each row the slug of the page that its first cell names; empty: no links."""


@dataclass(frozen=True)
class Bullets:
    """Points of a list: a name and its value."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Picture:
    """A drawing; `name` is that of its file where a form needs one, `caption` says what is seen."""

    name: str
    caption: str
    svg: Markup
    legend: tuple[str, ...] = ()
    small: bool = False
    """Whether two of them go side by side."""


@dataclass(frozen=True)
class Links:
    """Ways to other pages: a label and the slug of the page, which may lead through folders."""

    items: tuple[tuple[str, str], ...]


Block = Paragraph | Quote | Table | Bullets | Picture | Links


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    heading: str
    blocks: tuple[Block, ...]
    level: int = 2


@dataclass(frozen=True)
class Page:
    """A whole page."""

    title: str
    slug: str
    sections: tuple[Section, ...]
    made_from: str = ""
    """The hash of what it was made from, by which a stale page is known."""

    @property
    def findings(self) -> list[tuple[str, Finding]]:
        """Every finding with the heading it stands under."""
        return [
            (section.heading, one)
            for section in self.sections
            for block in section.blocks
            if isinstance(block, Paragraph)
            for one in block.findings
        ]

    def table(self, heading: str) -> Table:
        """The first table under a heading."""
        blocks = (block for section in self.sections if section.heading == heading for block in section.blocks)
        return next(block for block in blocks if isinstance(block, Table))


def section(heading: str, *blocks: Block | None, level: int = 2) -> Section:
    """A section of the blocks that are there."""
    return Section(heading, tuple(block for block in blocks if block is not None), level)


def said(findings: Iterable[Finding]) -> Paragraph | None:
    """A paragraph of findings; None without any."""
    found = tuple(findings)
    return Paragraph(found) if found else None


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], note: str = "", links: Iterable[str] = ()
) -> Table | None:
    """A table; None without rows."""
    filled = tuple(tuple(row) for row in rows)
    return Table(tuple(columns), filled, note, tuple(links)) if filled else None
