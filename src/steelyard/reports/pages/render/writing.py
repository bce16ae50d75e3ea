"""Pages to files: a folder for each group, `index` for its page, a file for each task; `index` above for them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from steelyard.errors import UsageError
from steelyard.files import write_output
from steelyard.reports.pages.measure.page_values import GroupFigures, TaskFigures
from steelyard.reports.pages.render.blocks import Page, Picture
from steelyard.reports.pages.render.contents import contents_page, entries
from steelyard.reports.pages.render.group_page import group_page
from steelyard.reports.pages.render.html_page import html_page, standalone
from steelyard.reports.pages.render.json_page import json_page
from steelyard.reports.pages.render.markdown import markdown, picture_file
from steelyard.reports.pages.render.reading import ASIDE, json_file, read_figures, read_page
from steelyard.reports.pages.render.task_page import file_name, slug_of, task_page

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
    """Write the page of a group and those of its tasks under `folder/<group>`; the files, the group's first.

    A file that says the same already is left as it is. Without `json` among the formats that form is set aside, in a
    hidden folder, so that the next time what has not changed is known.
    """
    home = folder / file_name(group.name)
    wanted = tuple(formats)
    files = _write(home, group_page(group), group, wanted)
    for task in group.tasks:
        files += _write(home, task_page(task), task, wanted)
    return files


def left_behind(groups: Iterable[GroupFigures], folder: Path, formats: Iterable[str]) -> list[str]:
    """Formats that were not asked for, of which the groups have pages from before."""
    homes = [folder / file_name(group.name) for group in groups]
    unasked = [ending for ending in FORMATS if ending not in tuple(formats)]
    return [ending for ending in unasked if any((home / f"index.{ending}").is_file() for home in homes)]


def write_contents(groups: Sequence[GroupFigures], folder: Path, formats: Iterable[str]) -> list[Path]:
    """Write the page that leads to all groups of the folder, in the forms that people read; the files."""
    page = contents_page(entries(folder, groups))
    forms = {"md": markdown, "html": html_page}
    written = []
    for ending in formats:
        if ending in forms:
            path = folder / f"{page.slug}.{ending}"
            _put(path, forms[ending](page))
            written.append(path)
    return written


def earlier_tasks(group: str, folder: Path, settings: Mapping[str, str]) -> tuple[list[TaskFigures], list[str]]:
    """The tasks on the group's page as it stands in the folder, and the names of those made with other settings.

    They are read from their JSON form; a task without one is not there.
    """
    home = folder / file_name(group)
    page = read_page(json_file(home, "index"), "group")
    names = page["figures"]["tasks"] if page else []
    found = [read_figures(json_file(home, slug_of(name, group))) for name in names]
    there = [one for one in found if one is not None]
    return (
        [one for one in there if one.settings == settings],
        [one.name for one in there if one.settings != settings],
    )


def _write(home: Path, page: Page, figures: Figures, formats: tuple[str, ...]) -> list[Path]:
    written = []
    for ending in formats:
        path = home / f"{page.slug}.{ending}"
        _put(path, FORMATS[ending](page, figures))
        written.append(path)
    aside = home / ASIDE / f"{page.slug}.json"
    if "json" in formats:
        aside.unlink(missing_ok=True)
    else:
        _put(aside, json_page(page, figures))
    if "md" in formats:
        for picture in (block for part in page.sections for block in part.blocks if isinstance(block, Picture)):
            _put(home / picture_file(page, picture), standalone(picture.svg))
    return written


def _put(path: Path, text: str) -> None:
    content = text.encode("utf-8", "replace")
    if not path.is_file() or path.read_bytes() != content:
        write_output(path, content)
