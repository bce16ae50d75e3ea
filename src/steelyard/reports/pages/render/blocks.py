"""A page as a value: sections of blocks, which each format renders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.reports.components.markup import Markup
from steelyard.reports.pages.findings.sentences import Finding


@dataclass(frozen=True)
class Paragraph:
    """The sentences of findings."""

    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Points:
    """The sentences of findings as a list."""

    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Note:
    """Text that a person or a model wrote, as paragraphs and lists, with its origin."""

    text: str
    origin: str


@dataclass(frozen=True)
class Code:
    """Text in a fixed-width font, such as BibTeX entries."""

    text: str
    language: str = ""


@dataclass(frozen=True)
class Quote:
    """A quotation with its source."""

    text: str
    source: str


@dataclass(frozen=True)
class Table:
    """A table of formatted cells."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    links: tuple[str, ...] = ()
    """For each row the slug of the page that its first cell links to; empty: no links."""


@dataclass(frozen=True)
class Bullets:
    """A list of names and values."""

    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Picture:
    """An SVG figure; `name` is that of its file, `caption` describes it."""

    name: str
    caption: str
    svg: Markup
    legend: tuple[str, ...] = ()
    small: bool = False
    """Whether two of them are placed next to each other."""


@dataclass(frozen=True)
class Links:
    """Links to other pages: a label and the slug or relative path of the page."""

    items: tuple[tuple[str, str], ...]


Block = Paragraph | Points | Note | Code | Quote | Table | Bullets | Picture | Links


@dataclass(frozen=True)
class Section:
    """A heading and its blocks."""

    heading: str
    blocks: tuple[Block, ...]
    level: int = 2


@dataclass(frozen=True)
class Page:
    """A page."""

    title: str
    slug: str
    sections: tuple[Section, ...]
    made_from: str = ""
    """The hash of its inputs, which shows whether the page is up to date."""

    @property
    def findings(self) -> list[tuple[str, Finding]]:
        """Every finding with the heading of its section."""
        return [
            (section.heading, one)
            for section in self.sections
            for block in section.blocks
            if isinstance(block, Paragraph | Points)
            for one in block.findings
        ]

    def table(self, heading: str) -> Table:
        """Return the first table of a section."""
        blocks = (block for section in self.sections if section.heading == heading for block in section.blocks)
        return next(block for block in blocks if isinstance(block, Table))


def section(heading: str, *blocks: Block | None, level: int = 2) -> Section:
    """Return a section of the blocks that are not None."""
    return Section(heading, tuple(block for block in blocks if block is not None), level)


def paragraph_of(findings: Iterable[Finding]) -> Paragraph | None:
    """Return a paragraph of findings; None without any."""
    sentences = tuple(findings)
    return Paragraph(sentences) if sentences else None


def points_of(findings: Iterable[Finding]) -> Points | None:
    """Return a list of findings; None without any."""
    sentences = tuple(findings)
    return Points(sentences) if sentences else None


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], note: str = "", links: Iterable[str] = ()
) -> Table | None:
    """Return a table; None without rows."""
    filled = tuple(tuple(row) for row in rows)
    return Table(tuple(columns), filled, note, tuple(links)) if filled else None
