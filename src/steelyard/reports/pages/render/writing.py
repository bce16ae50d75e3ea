"""Write pages to files: a folder per group with `index` and a file per task, and an `index` of all groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import UsageError
from steelyard.files import write_output
from steelyard.reports.pages.findings.sentences import finding
from steelyard.reports.pages.measure.page_inputs import KINDS
from steelyard.reports.pages.measure.page_values import GroupValues, TaskValues
from steelyard.reports.pages.render.blocks import Links, Page, Picture, Section, paragraph_of, section, table
from steelyard.reports.pages.render.group_page import group_page
from steelyard.reports.pages.render.html_page import html_page, standalone
from steelyard.reports.pages.render.json_page import HIDDEN, json_file, json_page, read_any, read_page, read_values
from steelyard.reports.pages.render.markdown import markdown, picture_file
from steelyard.reports.pages.render.tables import NDCG_COLUMNS, decimals
from steelyard.reports.pages.render.task_page import file_name, slug_of, task_page

Values = TaskValues | GroupValues

FORMATS: Mapping[str, Callable[[Page, Values], str]] = {
    "md": lambda page, values: markdown(page),
    "html": lambda page, values: html_page(page),
    "json": json_page,
}
"""The formats of a page, by the ending of the file."""
CONTENTS_TITLE = "Task and group pages"


def parse_formats(text: str) -> tuple[str, ...]:
    """Return the requested formats, each once.

    >>> parse_formats("html,md,html")
    ('html', 'md')
    """
    formats = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not formats or any(part not in FORMATS for part in formats):
        raise UsageError.invalid(
            "--format", expected=f"one or more of {', '.join(FORMATS)}", found=text, option="--format"
        )
    return formats


def write_pages(
    group: GroupValues, folder: Path, formats: Iterable[str] = tuple(FORMATS), *, with_group: bool = True
) -> list[Path]:
    """Write the page of a group and those of its tasks to `folder/<group>`; return the files, the group's first.

    Without `with_group` an existing page of the group is kept.

    A file with the same content is not written again. Without `json` among the formats, that file is kept in a hidden
    folder, so that the next build knows what has not changed.
    """
    home = folder / file_name(group.name)
    endings = tuple(formats)
    files = _write(home, group_page(group), group, endings) if with_group else []
    for task in group.tasks:
        files += _write(home, task_page(task, group.tasks), task, endings)
    return files


def old_formats(groups: Iterable[GroupValues], folder: Path, formats: Iterable[str]) -> list[str]:
    """Return the formats that were not requested, but that the groups have from an earlier build."""
    homes = [folder / file_name(group.name) for group in groups]
    others = [ending for ending in FORMATS if ending not in tuple(formats)]
    return [ending for ending in others if any((home / f"index.{ending}").is_file() for home in homes)]


def write_contents(groups: Sequence[GroupValues], folder: Path, formats: Iterable[str]) -> list[Path]:
    """Write the page that links to all groups of the folder, as Markdown and HTML; return the files."""
    page = contents_page(entries(folder, groups))
    forms = {"md": markdown, "html": html_page}
    written = []
    for ending in formats:
        if ending in forms:
            path = folder / f"{page.slug}.{ending}"
            _put(path, forms[ending](page))
            written.append(path)
    return written


def earlier_count(group: str, folder: Path) -> int:
    """Return the number of tasks that the group's page in the folder measures, of any version; 0 without a page."""
    page = read_any(json_file(folder / file_name(group), "index"))
    tasks = page.get("figures", {}).get("tasks") if isinstance(page.get("figures"), dict) else None
    return len(tasks) if isinstance(tasks, list) else 0


def earlier_tasks(group: str, folder: Path, settings: Mapping[str, str]) -> tuple[list[TaskValues], list[str]]:
    """Return the tasks of the group's page in the folder, and the names of those made with other settings."""
    home = folder / file_name(group)
    page = read_page(json_file(home, "index"), "group")
    names = page["figures"]["tasks"] if page else []
    read = [read_values(json_file(home, slug_of(name, group))) for name in names]
    tasks = [task for task in read if task is not None]
    return (
        [task for task in tasks if task.settings == settings],
        [task.name for task in tasks if task.settings != settings],
    )


def _write(home: Path, page: Page, values: Values, formats: tuple[str, ...]) -> list[Path]:
    written = []
    for ending in formats:
        path = home / f"{page.slug}.{ending}"
        _put(path, FORMATS[ending](page, values))
        written.append(path)
    hidden = home / HIDDEN / f"{page.slug}.json"
    if "json" in formats:
        hidden.unlink(missing_ok=True)
    else:
        _put(hidden, json_page(page, values))
    if "md" in formats:
        for picture in (block for part in page.sections for block in part.blocks if isinstance(block, Picture)):
            _put(home / picture_file(page, picture), standalone(picture.svg))
    return written


def _put(path: Path, text: str) -> None:
    content = text.encode("utf-8", "replace")
    if not path.is_file() or path.read_bytes() != content:
        write_output(path, content)


@dataclass(frozen=True)
class GroupEntry:
    """The values of a group on the page of all groups."""

    name: str
    folder: str
    tasks: tuple[str, ...]
    queries: int
    documents: int
    means: Mapping[str, float]
    missing: int = 0
    """Tasks of the group without a page."""


def entries(folder: Path, groups: Iterable[GroupValues]) -> list[GroupEntry]:
    """Return the groups that were written now, and those with a JSON file in the folder, by name."""
    known = {file_name(one.name): _entry(one) for one in groups}
    for home in sorted(path for path in folder.glob("*") if path.is_dir() and path.name not in known):
        value = read_page(json_file(home, "index"), "group")
        if value is not None:
            figures = value["figures"]
            counts = (figures["queries"], figures["documents"])
            missing = len(figures.get("missing", ()))
            known[home.name] = GroupEntry(
                figures["name"], home.name, tuple(figures["tasks"]), *counts, figures["means"], missing
            )
    return sorted(known.values(), key=lambda one: one.name)


def _entry(group: GroupValues) -> GroupEntry:
    names = tuple(task.name for task in group.tasks)
    means = {str(kind): mean for kind, mean in group.means.items()}
    return GroupEntry(
        group.name, file_name(group.name), names, group.queries, group.documents, means, len(group.missing)
    )


def contents_page(groups: Sequence[GroupEntry]) -> Page:
    """Return the page that links to all groups and their tasks."""
    return Page(CONTENTS_TITLE, "index", tuple(_sections(groups)))


def _sections(groups: Sequence[GroupEntry]) -> Iterator[Section]:
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
    for group in groups:
        links = tuple((_short(name, group), f"{group.folder}/{slug_of(name, group.name)}") for name in group.tasks)
        yield section(group.name, Links(links))


def _tasks(entry: GroupEntry) -> str:
    count = f"{len(entry.tasks):,}"
    return f"{count} of {len(entry.tasks) + entry.missing:,}" if entry.missing else count


def _short(name: str, entry: GroupEntry) -> str:
    return name.removeprefix(f"{entry.name}/")
