"""The page that links to all groups and tasks of a folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.reports.pages.findings.sentences import finding
from steelyard.reports.pages.measure.page_inputs import KINDS
from steelyard.reports.pages.measure.page_values import GroupValues
from steelyard.reports.pages.render.blocks import Links, Page, Section, paragraph_of, section, table
from steelyard.reports.pages.render.reading import json_file, read_page
from steelyard.reports.pages.render.tables import NDCG_COLUMNS, decimals
from steelyard.reports.pages.render.task_page import file_name, slug_of

TITLE = "Task and group pages"


@dataclass(frozen=True)
class Entry:
    """The values of a group on the page."""

    name: str
    folder: str
    tasks: tuple[str, ...]
    queries: int
    documents: int
    means: Mapping[str, float]
    missing: int = 0
    """Tasks of the group without a page."""


def entries(folder: Path, groups: Iterable[GroupValues]) -> list[Entry]:
    """Return the groups that were written now, and those with a JSON file in the folder, by name."""
    known = {file_name(one.name): _entry(one) for one in groups}
    for home in sorted(path for path in folder.glob("*") if path.is_dir() and path.name not in known):
        value = read_page(json_file(home, "index"), "group")
        if value is not None:
            one = value["figures"]
            counts = (one["queries"], one["documents"])
            missing = len(one.get("missing", ()))
            known[home.name] = Entry(one["name"], home.name, tuple(one["tasks"]), *counts, one["means"], missing)
    return sorted(known.values(), key=lambda one: one.name)


def _entry(group: GroupValues) -> Entry:
    names = tuple(task.name for task in group.tasks)
    means = {str(kind): mean for kind, mean in group.means.items()}
    return Entry(group.name, file_name(group.name), names, group.queries, group.documents, means, len(group.missing))


def contents_page(groups: Sequence[Entry]) -> Page:
    """Return the page of these groups."""
    return Page(TITLE, "index", tuple(_sections(groups)))


def _sections(groups: Sequence[Entry]) -> Iterator[Section]:
    summary = paragraph_of([finding("contents", groups=len(groups), tasks=sum(len(one.tasks) for one in groups))])
    columns = ("Group", "Tasks", "Queries", "Split-local documents", *(f"Mean {name}" for name in NDCG_COLUMNS))
    rows = (
        (
            *(one.name, _tasks(one), f"{one.queries:,}", f"{one.documents:,}"),
            *(decimals(one.means.get(kind)) for kind in KINDS),
        )
        for one in groups
    )
    yield section("Groups", summary, table(columns, rows, links=[f"{one.folder}/index" for one in groups]))
    for one in groups:
        links = tuple((_short(name, one), f"{one.folder}/{slug_of(name, one.name)}") for name in one.tasks)
        yield section(one.name, Links(links))


def _tasks(entry: Entry) -> str:
    count = f"{len(entry.tasks):,}"
    return f"{count} of {len(entry.tasks) + entry.missing:,}" if entry.missing else count


def _short(name: str, entry: Entry) -> str:
    return name.removeprefix(f"{entry.name}/")
