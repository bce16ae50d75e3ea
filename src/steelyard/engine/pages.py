"""Build task and group pages: load tasks, make missing ranked lists, measure what changed, write the files."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from steelyard import __version__
from steelyard.config import Settings
from steelyard.engine.page_inputs import (
    SEARCHED,
    PageRuns,
    Published,
    audit_of,
    group_members,
    leakage_signs,
    missing_task,
    own_scores,
    published_scores,
    task_notes,
)
from steelyard.errors import SteelyardError, UsageError

if TYPE_CHECKING:
    from steelyard.engine.events import Listener
    from steelyard.reports.pages import GroupValues, TaskValues
    from steelyard.reports.pages.measure.page_inputs import Context, Kind
    from steelyard.reports.pages.measure.part_values import MissingTask, NoteText
    from steelyard.reports.pages.prose.drafting import Writer
    from steelyard.results import Result
    from steelyard.types import Task, TaskInfo

__all__ = ["BuiltPages", "PageObserver", "build_pages"]

NOT_BUILT = "not part of this build"
"""Why a task is missing that was not requested."""


@dataclass(frozen=True)
class PageObserver:
    """Functions that `build_pages` calls while it works; by default they do nothing."""

    note: Callable[[str], None] = lambda text: None
    failure: Callable[[str], None] = lambda text: None
    step: Callable[[float, str], None] = lambda share, text: None
    """Called with the share of the work that is done, and what is being done."""
    evaluation: Callable[[bool], AbstractContextManager[Listener]] = lambda stored: nullcontext(lambda event: None)
    """Returns the listener to an evaluation; called with True if all of its results are stored already."""


@dataclass
class BuiltPages:
    """The pages that were written."""

    folder: Path
    contents: list[Path] = field(default_factory=list)
    """The files of the page that links to all groups."""
    groups: dict[str, list[Path]] = field(default_factory=dict)
    """The files of each group, its own page first."""
    tasks: int = 0
    up_to_date: list[str] = field(default_factory=list)
    """Tasks whose page did not have to be measured again."""
    failures: list[str] = field(default_factory=list)
    old_formats: list[str] = field(default_factory=list)
    """Formats that the folder has from an earlier build and that were not written now."""
    interrupted: bool = False

    @property
    def files(self) -> list[Path]:
        """All files, contents first."""
        return [path for paths in (self.contents, *self.groups.values()) for path in paths]


def build_pages(
    sets: str | Sequence[str],
    folder: str | Path = "pages",
    *,
    formats: str = "md,html,json",
    against: str | None = None,
    dense: str = "dense",
    lists: Literal["stored", "searched"] = "stored",
    languages: Sequence[str] = (),
    type: str | None = None,
    rebuild: bool = False,
    write_with: str | None = None,
    results: str | Path | None = None,
    settings: Settings | None = None,
    observer: PageObserver | None = None,
) -> BuiltPages:
    """Write a page for every task of the sets and for every group, and return what was written.

    A task whose page was made from the same data, lists and settings is not measured again, unless `rebuild` is set. A
    task that fails is recorded in `failures`, and the others are written. `against` adds the difference from published
    scores: of a group or task of the catalogue, or 'published' for each task's own. `write_with` names a chat model,
    such as `api/NAME?url=http://localhost:8000/v1`, that drafts prose from the values; what fails a check is left out.
    """
    from steelyard.reports.pages.prose.drafting import Writer
    from steelyard.reports.pages.render.writing import old_formats, parse_formats, write_contents, write_pages
    from steelyard.results import ResultStore

    observer, settings = observer or PageObserver(), settings or Settings.load()
    folder = Path(folder)
    endings = parse_formats(formats)
    names = _page_tasks([sets] if isinstance(sets, str) else sets, languages, type, settings, observer)
    published = published_scores(against, names) if against else {}
    ResultStore(folder).ready()  # raises before the work if the folder cannot be written
    writer = Writer.of(write_with, settings) if write_with else None
    builder = _Builder(folder, dense, lists, Path(results or settings.results), settings, rebuild, observer, writer)
    groups = builder.groups(names, published)
    built = builder.built
    built.groups = {
        group.name: write_pages(group, folder, endings, with_group=group.name not in builder.kept) for group in groups
    }
    listed = [group for group in groups if group.name not in builder.kept]
    built.contents = write_contents(listed, folder, endings) if groups else []
    built.tasks = sum(len(group.tasks) for group in groups)
    built.old_formats = old_formats(groups, folder, endings)
    return built


def _page_tasks(
    sets: Iterable[str], languages: Sequence[str], type: str | None, settings: Settings, observer: PageObserver
) -> list[str]:
    """Return the tasks of the sets that have documents to search; note the others."""
    from steelyard.datasets import task_facts, task_names
    from steelyard.engine import nothing_left

    sets = list(sets)
    names = task_names(sets, languages=languages, type=type, settings=settings)
    facts = {name: task_facts(name) for name in names}
    types = {name: info.type for name, info in facts.items() if info is not None and info.type not in SEARCHED}
    searched = [name for name in names if name not in types]
    kinds = ", ".join(dict.fromkeys(types.values()))
    if types and searched:
        observer.note(f"skipped, as tasks of type {kinds} have no pages: {', '.join(types)}")
    elif types:
        raise UsageError(
            f"the task must be of type {' or '.join(SEARCHED)}, got {kinds}: {', '.join(types)}",
            hint="evaluate it with `steelyard run MODEL -t NAME`, which writes report.html",
            found=kinds,
            expected=" or ".join(SEARCHED),
        )
    elif not names:
        raise nothing_left(sets, languages, type)
    return searched


class _Builder:
    """Measures the tasks of one build."""

    def __init__(
        self,
        folder: Path,
        dense: str,
        lists: str,
        results: Path,
        settings: Settings,
        rebuild: bool,
        observer: PageObserver,
        writer: Writer | None = None,
    ) -> None:
        self.built = BuiltPages(folder)
        self.kept: set[str] = set()
        """Groups whose earlier page is not replaced."""
        self._writer = writer
        self._lists, self._settings, self._rebuild, self._observer = lists, settings, rebuild, observer
        self._runs = PageRuns(dense, results, settings, self._fail, observer.evaluation)
        self._page_settings = {"dense": dense, "lists": lists}

    def groups(self, names: Sequence[str], published: Mapping[str, Published]) -> list[GroupValues]:
        """Return the measurements of every group, with the tasks that its page has from earlier builds.

        An interrupt ends the work after the tasks that are finished.
        """
        from steelyard.reports.pages import measure_group

        measured: dict[str, list[TaskValues]] = {}
        reasons: dict[str, str] = {}
        members: dict[str, Mapping[str, TaskInfo]] = {}
        try:
            for number, name in enumerate(names):
                reasons[name] = "the build was interrupted"
                try:
                    task = self._measure(name, published.get(name), self._steps(name, number, len(names)))
                except SteelyardError as error:
                    if error is self._runs.model_error and not measured:
                        raise
                    reasons[name] = str(error)
                    self._fail(f"{name}: {error}")
                else:
                    measured.setdefault(task.nano_set, []).append(task)
                    if task.nano_set not in members:
                        members[task.nano_set] = group_members(name, self._settings)
        except KeyboardInterrupt:
            self.built.interrupted = True
        groups = []
        for name, tasks in measured.items():
            values = measure_group(name, self._joined(name, tasks))
            missing = self._missing(values, members[name], reasons)
            groups.append(dataclasses.replace(values, notes=self._group_notes(name), missing=missing))
            self._keep_larger(groups[-1], all(reference in names for reference in members[name]))
        return groups

    def _missing(
        self, group: GroupValues, members: Mapping[str, TaskInfo], reasons: Mapping[str, str]
    ) -> tuple[MissingTask, ...]:
        """Return the tasks of the group that the page does not measure."""
        shown = {task.name for task in group.tasks}
        return tuple(
            missing_task(info, reasons.get(reference, NOT_BUILT))
            for reference, info in members.items()
            if info.name not in shown
        )

    def _keep_larger(self, group: GroupValues, whole: bool) -> None:
        """Keep an earlier page of a group that measures more tasks, unless this build was of the whole group."""
        from steelyard.reports.pages.render.writing import earlier_count

        earlier = earlier_count(group.name, self.built.folder)
        if whole or earlier <= len(group.tasks):
            return
        self.kept.add(group.name)
        self._observer.note(
            f"the page of {group.name} was not changed: it measures {earlier} tasks, with other settings or by another "
            f"version, and a new one would measure {len(group.tasks)}; build the whole group to replace it"
        )

    def _group_notes(self, group: str) -> tuple[NoteText, ...]:
        from steelyard.reports.pages.prose.notes import FOLDER, read_notes
        from steelyard.reports.pages.render.task_page import file_name

        return read_notes(self.built.folder / file_name(group) / FOLDER / "index.md", f"{FOLDER}/index.md")

    def _steps(self, name: str, number: int, tasks: int) -> Callable[[str], None]:
        """Return a function to call with each step of a task."""
        from steelyard.reports.pages.measure.measure_pages import STEPS

        total, done = len(STEPS) + 2, 0

        def begin(step: str) -> None:
            nonlocal done
            share = (number + min(done / total, 1.0)) / max(tasks, 1)
            done += 1
            self._observer.step(share, f"{number + 1:,}/{tasks:,}  {name}: {step}")

        return begin

    def _joined(self, group: str, tasks: Sequence[TaskValues]) -> list[TaskValues]:
        """Return these tasks and the others of the group's page, in the order of the page."""
        from steelyard.reports.pages.render.writing import earlier_tasks

        new = {task.name: task for task in tasks}
        earlier, different = earlier_tasks(group, self.built.folder, self._page_settings)
        omitted = [name for name in different if name not in new]
        if omitted:
            self._observer.note(f"omitted from the page of {group}, as made with other settings: {', '.join(omitted)}")
        order = {task.name: new.get(task.name, task) for task in earlier}
        return [*order.values(), *(task for name, task in new.items() if name not in order)]

    def _measure(self, name: str, published: Published | None, begin: Callable[[str], None]) -> TaskValues:
        from steelyard.datasets import load_task
        from steelyard.reports.pages import measure_task, stored_profiles
        from steelyard.reports.pages.findings.published_findings import data_differ
        from steelyard.reports.pages.findings.sentences import finding
        from steelyard.reports.pages.measure.page_inputs import KINDS, LABELS

        begin("reading")
        task = load_task(name, settings=self._settings)
        stored = stored_profiles(task) if self._lists == "stored" else []
        begin("lists")
        results = self._runs.results(task, [kind for kind in KINDS if all(one.kind != kind for one in stored)])
        context = self._context(name, task, published, results)
        measured = self._unchanged(task, context)
        if measured is None:
            order = list(LABELS)
            profiles = sorted([*stored, *self._runs.profiles(task, results)], key=lambda one: order.index(one.kind))
            measured = measure_task(task, profiles, context, begin, self._settings)
        else:
            self.built.up_to_date.append(measured.name)
        measured = self._written(name, task, measured)
        missing = measured.published_name and not measured.published
        note = finding("not_published", name=measured.published_name).sentence if missing else data_differ(measured)
        if note:
            self._observer.note(f"{measured.name}: {note}")
        return measured

    def _written(self, name: str, task: Task, measured: TaskValues) -> TaskValues:
        """Return the values with the notes of today, and with a draft if a writer is given."""
        from steelyard.reports.pages.measure.origins import set_of
        from steelyard.reports.pages.prose.notes import similar_headings
        from steelyard.reports.pages.render.task_page import file_name, slug_of, task_page

        slug = slug_of(task.name, set_of(task.info))
        notes = task_notes(name, task, self.built.folder / file_name(set_of(task.info)), slug)
        measured = dataclasses.replace(measured, notes=notes)
        page = task_page(dataclasses.replace(measured, notes=(), draft=None))
        for heading, near in similar_headings(page, notes).items():
            self._observer.note(f"{measured.name}: the notes have the heading {heading!r}; did you mean {near!r}?")
        draft, writer = measured.draft, self._writer
        if writer is None or (draft and (draft.model, draft.made_from) == (writer.model, measured.made_from)):
            return measured
        try:
            return dataclasses.replace(measured, draft=writer.draft(measured, page))
        except SteelyardError as error:
            self._fail(f"{measured.name}: the draft of {writer.model} failed: {error}")
            return measured

    def _context(self, name: str, task: Task, published: Published | None, results: Mapping[Kind, Result]) -> Context:
        """Return what is on the page besides data and lists, with the hash of everything it depends on."""
        from steelyard.datasets.cards import task_cards
        from steelyard.reports.pages import PAGE_SCHEMA
        from steelyard.reports.pages.measure.page_inputs import Context
        from steelyard.reports.pages.render.json_page import limits

        published = own_scores(task, published) if published else Published()
        audit, signs = audit_of(name), leakage_signs(name)
        cards = task_cards(name, task.info, settings=self._settings)
        made_from = {
            "data": task.content_hash,
            "info": dataclasses.asdict(task.info),
            "lists": {kind: [one.model, one.path and "/".join(one.path.parts[-3:])] for kind, one in results.items()},
            "audit": audit and dataclasses.asdict(audit),
            "signs": signs,
            "cards": [[one.name, one.role, one.quote, one.url] for one in cards.cards] + [dict(cards.unread)],
            "published": dataclasses.asdict(published),
            "settings": self._page_settings,
            "made by": [__version__, PAGE_SCHEMA, limits()],
        }
        text = json.dumps(made_from, sort_keys=True, default=dict)
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        scores = (published.scores, published.name, published.counts)
        return Context(audit, *scores, digest, self._page_settings, signs, cards.cards, cards.unread)

    def _unchanged(self, task: Task, context: Context) -> TaskValues | None:
        """Return the measurements of the page in the folder if it was made from the same inputs."""
        from steelyard.reports.pages.measure.origins import set_of
        from steelyard.reports.pages.render.json_page import json_file, read_values
        from steelyard.reports.pages.render.task_page import file_name, slug_of

        if self._rebuild:
            return None
        home = self.built.folder / file_name(set_of(task.info))
        earlier = read_values(json_file(home, slug_of(task.name, set_of(task.info))))
        return earlier if earlier is not None and earlier.made_from == context.made_from else None

    def _fail(self, text: str) -> None:
        self.built.failures.append(text)
        self._observer.failure(text)
