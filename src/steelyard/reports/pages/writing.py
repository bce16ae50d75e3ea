"""Pages to files: a folder for each group, `index` for its page, a file for each task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from steelyard.errors import UsageError
from steelyard.reports.pages.blocks import Page, Picture
from steelyard.reports.pages.figures import GroupFigures, TaskFigures
from steelyard.reports.pages.group_page import group_page
from steelyard.reports.pages.html_page import html_page, standalone
from steelyard.reports.pages.json_page import json_page
from steelyard.reports.pages.markdown import markdown, picture_file
from steelyard.reports.pages.task_page import file_name, task_page
from steelyard.results.atomic import write_whole

Figures = TaskFigures | GroupFigures

FORMATS: Mapping[str, Callable[[Page, Figures], str]] = {
    "md": lambda page, figures: markdown(page),
    "html": lambda page, figures: html_page(page),
    "json": json_page,
}
"""The forms of a page, by the ending of the file."""


def parse_formats(text: str) -> tuple[str, ...]:
    """The forms that were asked for, each once.

    >>> parse_formats("html,md,html")
    ('html', 'md')
    """
    asked = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    odd = [part for part in asked if part not in FORMATS]
    if odd or not asked:
        raise UsageError(f"unknown format {', '.join(odd) or text!r}", hint=f"one or more of {', '.join(FORMATS)}")
    return asked


def write_pages(group: GroupFigures, folder: Path, formats: Iterable[str] = tuple(FORMATS)) -> list[Path]:
    """Write the page of a group and those of its tasks under `folder/<group>`; the files, the group's first."""
    home = folder / file_name(group.name)
    wanted = tuple(formats)
    files = _write(home, group_page(group), group, wanted)
    for task in group.tasks:
        files += _write(home, task_page(task), task, wanted)
    return files


def _write(home: Path, page: Page, figures: Figures, formats: tuple[str, ...]) -> list[Path]:
    written = []
    for ending in formats:
        path = home / f"{page.slug}.{ending}"
        write_whole(path, FORMATS[ending](page, figures).encode("utf-8", "replace"))
        written.append(path)
    if "md" in formats:
        for picture in (block for part in page.sections for block in part.blocks if isinstance(block, Picture)):
            write_whole(home / picture_file(page, picture), standalone(picture.svg).encode("utf-8", "replace"))
    return written
