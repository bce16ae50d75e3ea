"""Hand-written notes: a Markdown file whose headings are those of the page."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from steelyard.errors import DataError
from steelyard.reports.pages.measure.part_values import NoteText
from steelyard.reports.pages.render.blocks import Block, Note, Page, Section

FOLDER = "notes"
FIRST = "Overview"
"""The section of text before the first heading."""
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$")
_FENCE = re.compile(r"^(```|~~~)")


def parse_notes(text: str, origin: str) -> tuple[NoteText, ...]:
    r"""Return the text of each heading; text before the first one belongs to the overview.

    >>> parse_notes("Hand-made.\n\n## Example Data\nChosen by hand.", "notes/a.md")[1]
    NoteText(heading='Example Data', text='Chosen by hand.', origin='notes/a.md')
    """
    parts: dict[str, list[str]] = {FIRST: []}
    heading, fenced = FIRST, False
    for line in text.lstrip("\ufeff").splitlines():
        fenced ^= bool(_FENCE.match(line))
        match = None if fenced else _HEADING.match(line)
        if match:
            heading = match[1]
            parts.setdefault(heading, [])
        else:
            parts[heading].append(line)
    joined = {name: "\n".join(lines).strip() for name, lines in parts.items()}
    return tuple(NoteText(name, body, origin) for name, body in joined.items() if body)


def read_notes(path: Path, origin: str) -> tuple[NoteText, ...]:
    """Return the notes in a file; nothing if there is no such file."""
    if not path.is_file():
        return ()
    try:
        return parse_notes(path.read_text(encoding="utf-8"), origin)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"the notes cannot be read: {error}", path=path, hint="store the file as UTF-8, or remove it"
        ) from error


def with_notes(page: Page, notes: Sequence[NoteText]) -> Page:
    """Return the page with each note at the start of its section; other headings are sections at the end."""
    sections = list(page.sections)
    for note in notes:
        block: Block = Note(note.text, note.origin)
        at = next((n for n, one in enumerate(sections) if one.heading.casefold() == note.heading.casefold()), None)
        if at is None:
            sections.append(Section(note.heading, (block,)))
        else:
            earlier = sections[at].blocks
            count = next((n for n, one in enumerate(earlier) if not isinstance(one, Note)), len(earlier))
            sections[at] = replace(sections[at], blocks=(*earlier[:count], block, *earlier[count:]))
    return replace(page, sections=tuple(sections))


def similar_headings(page: Page, notes: Sequence[NoteText]) -> dict[str, str]:
    """Return the headings of notes that are not on the page but nearly are, with that of the page."""
    known = {one.heading.casefold(): one.heading for one in page.sections}
    similar = {}
    for note in notes:
        name = note.heading.casefold()
        near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.8) if name not in known else []
        if near:
            similar[note.heading] = known[near[0]]
    return similar
