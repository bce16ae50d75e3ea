"""Every number that a page prints, with its place: the sentences of findings, cells, captions and labels of figures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from steelyard.reports.pages.render import blocks

CONSTANT = re.compile(
    r"nDCG@10|hit@10|Hit@10|recall@100|Recall@100|[Tt]op 100?\b|first 100\b|95 %|list of 100\b|reranker of 100\b"
    r"|at least 50 candidates|add up to 1\b|each task counts once|use-multilingual-v3"
)
"""Names of metrics and depths: numbers that are not measured."""
NONE = re.compile(r"(?<=on|or) no (?=query)")
"""`better on no query`, `first for no query`."""
NUMBER = re.compile(r"(?:(?P<below><) )?(?P<digits>(?<![\w.,])[+-]?\d[\d,]*(?:\.\d+)?|(?<=\d-)\d+)(?P<percent>%?)")
TEXT_COLUMNS = ("Query", "Positive document", "Snippet of a positive document")
LENGTH = re.compile(r" \[(\d+) chars\]$")


@dataclass(frozen=True)
class Printed:
    """A number as it is printed."""

    text: str
    value: float
    error: float
    """Half a unit of its last digit."""
    below: bool
    """Whether it is an upper end: `< 0.0001`."""


def numbers(text: str) -> list[Printed]:
    """The numbers in a text, from left to right, without constants; `no query` where a number is counted is 0."""
    found = []
    for match in NUMBER.finditer(NONE.sub(" 0 ", CONSTANT.sub("", text))):
        digits, unit = match["digits"].replace(",", ""), 100 if match["percent"] else 1
        decimals = len(digits.partition(".")[2])
        error = 0.5001 * 10.0**-decimals / unit
        found.append(Printed(match[0], float(digits) / unit, error, bool(match["below"])))
    return found


@dataclass(frozen=True)
class Place:
    """A text of a page with numbers: where it is, and what identifies it there."""

    section: str
    kind: str
    """The kind of a finding, `table`, `bullet`, `caption`, `figure` or `note`."""
    key: tuple[str, ...]
    """The texts of a row before its numbers with the columns, the name of a bullet or figure; of a finding, nothing."""
    text: str
    figures: dict[str, object]


def places(page: blocks.Page) -> Iterator[Place]:
    """Everything that the page prints."""
    for section in page.sections:
        for block in section.blocks:
            match block:
                case blocks.Paragraph() | blocks.Points():
                    for one in block.findings:
                        yield Place(section.heading, one.kind, (), one.sentence, one.values)
                case blocks.Table():
                    for row in block.rows:
                        yield Place(section.heading, "table", row, "", {"columns": block.columns})
                    yield Place(section.heading, "note", (), block.note, {})
                case blocks.Bullets():
                    for name, value in block.items:
                        yield Place(section.heading, "bullet", (name,), value, {})
                case blocks.Picture():
                    yield Place(section.heading, "caption", (block.name,), block.caption, {})
                    yield Place(section.heading, "figure", (block.name,), block.svg, {})
                case blocks.Links() | blocks.Quote() | blocks.Note() | blocks.Code():
                    pass  # text of others: cards, notes and references


def mismatch(printed: Sequence[Printed], expected: Sequence[object]) -> str:
    """Why the printed numbers are not the expected ones; empty if they are.

    An expected value is a number, or a range of a p-value with its Monte Carlo error.
    """
    if len(printed) != len(expected):
        return f"{[one.text for one in printed]} are {len(printed)} numbers, expected {list(expected)}"
    for one, value in zip(printed, expected, strict=True):
        low, high = value if isinstance(value, tuple) else (value, value)
        near = low - one.error - 1e-12 <= one.value <= high + one.error + 1e-12
        matches = low < one.value if one.below else near
        if not matches:
            return f"{one.text} is not {value}, of {[other.text for other in printed]} and {list(expected)}"
    return ""


def figure_texts(svg: str) -> dict[str, list[str]]:
    """The titles of marks, the cells and the labels of an SVG figure."""
    return {
        "titles": re.findall(r"<title>([^<]*)</title>", svg)[1:],
        "cells": re.findall(r'<text[^>]*class="cell"[^>]*>([^<]*)</text>', svg),
        "ticks": re.findall(r'<text[^>]*class="tick"[^>]*>([^<]*)</text>', svg),
        "labels": re.findall(r'<text[^>]*class="label"[^>]*>(?:<title>[^<]*</title>)?([^<]*)</text>', svg),
    }
