"""From names of tasks to the figures of their pages: reads, searches what is missing, measures what has changed."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from steelyard import __version__, config
from steelyard.cli.output import can_redraw
from steelyard.cli.page_progress import PageProgress
from steelyard.cli.progress import Progress
from steelyard.cli.values import dense_model
from steelyard.errors import DataError, SteelyardError, UnknownName, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from steelyard.cli.output import Output
    from steelyard.engine.plan import Model
    from steelyard.reports.pages import Audit, GroupFigures, Profile, TaskFigures
    from steelyard.reports.pages.inputs import Context, Kind
    from steelyard.results import Result
    from steelyard.types import Task

PUBLISHED = "published"
"""The reference that stands for each task's own published figures."""


class PageMaker:
    """Reads tasks, gets the runs that their pages need, and measures them; what fails is told and left out.

    A task whose page in the folder was made from the same data, lists and settings is not measured again.
    """

    def __init__(self, arguments: argparse.Namespace, output: Output) -> None:
        self._arguments = arguments
        self._output = output
        self._models: dict[str, Model] = {}
        self._dense = dense_model(arguments.dense)
        self._settings = {"dense": self._dense, "lists": str(arguments.lists)}
        self._unusable: SteelyardError | None = None
        """Why the models cannot be had: a slip in `--dense`, which no task can mend."""
        self.failures: list[str] = []
        self.up_to_date: list[str] = []
        self.interrupted = False

    def groups(self, names: Sequence[str], published: Mapping[str, Published]) -> list[GroupFigures]:
        """The figures of every group that has a task left, with the tasks that its page has from before.

        Interrupted, it leaves it at the tasks that are done.
        """
        from steelyard.reports.pages import group_figures
        from steelyard.reports.pages.measure import STEPS

        silent = self._output.quiet
        steps = len(STEPS) + 2
        progress = PageProgress(
            sys.stderr, tasks=len(names), steps=steps, terminal=can_redraw(sys.stderr), silent=silent
        )
        found: dict[str, list[TaskFigures]] = {}
        try:
            for name in names:
                try:
                    figures = self._figures(name, published.get(name), progress)
                except SteelyardError as error:
                    progress.close()
                    if error is self._unusable and not found:
                        raise
                    self._fail(f"{name}: {error}")
                else:
                    found.setdefault(figures.nano_set, []).append(figures)
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            progress.close()
        return [group_figures(name, self._joined(name, tasks)) for name, tasks in found.items()]

    def _joined(self, group: str, tasks: Sequence[TaskFigures]) -> list[TaskFigures]:
        """These tasks among the others that the group's page has, in the order that it has."""
        from steelyard.reports.pages.writing import earlier_tasks

        new = {task.name: task for task in tasks}
        earlier, odd = earlier_tasks(group, self._arguments.output, self._settings)
        left_out = [name for name in odd if name not in new]
        if left_out:
            self._output.note(f"not on the page of {group}, as made with other settings: {', '.join(left_out)}")
        order = {task.name: new.get(task.name, task) for task in earlier}
        return [*order.values(), *(task for name, task in new.items() if name not in order)]

    def _figures(self, name: str, published: Published | None, progress: PageProgress) -> TaskFigures:
        from steelyard.datasets import load_task
        from steelyard.reports.pages import stored_profiles, task_figures
        from steelyard.reports.pages.inputs import KINDS, LABELS
        from steelyard.reports.pages.published_findings import data_differ
        from steelyard.reports.pages.sentences import finding

        progress.at(name, "reading")
        task = load_task(name, offline=self._arguments.offline or None)
        stored = stored_profiles(task) if self._arguments.lists == "stored" else []
        progress.at(name, "lists")
        results = self._search(task, [kind for kind in KINDS if all(one.kind != kind for one in stored)])
        context = self._context(name, task, published, results)
        figures = self._unchanged(task, context)
        if figures is None:
            order = list(LABELS)
            profiles = sorted([*stored, *self._runs(task, results)], key=lambda one: order.index(one.kind))
            figures = task_figures(task, profiles, context, lambda step: progress.at(name, step))
        else:
            self.up_to_date.append(figures.name)
        missing = figures.published_name and not figures.published
        told = finding("not_published", name=figures.published_name).sentence if missing else data_differ(figures)
        if told:
            progress.close()
            self._output.note(f"{figures.name}: {told}")
        return figures

    def _context(self, name: str, task: Task, published: Published | None, results: Mapping[Kind, Result]) -> Context:
        """What goes onto the page beside data and runs, and the hash of all that it follows from."""
        from steelyard.reports.pages import PAGE_SCHEMA
        from steelyard.reports.pages.inputs import Context
        from steelyard.reports.pages.json_page import limits

        published = _own(task, published) if published else Published()
        audit = _audit(name)
        made_from = {
            "data": task.content_hash,
            "info": dataclasses.asdict(task.info),
            "lists": {kind: [one.model, one.path and "/".join(one.path.parts[-3:])] for kind, one in results.items()},
            "audit": audit and dataclasses.asdict(audit),
            "published": dataclasses.asdict(published),
            "settings": self._settings,
            "made by": [__version__, PAGE_SCHEMA, limits()],
        }
        text = json.dumps(made_from, sort_keys=True, default=dict)
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return Context(audit, published.figures, published.name, published.counts, digest, self._settings)

    def _unchanged(self, task: Task, context: Context) -> TaskFigures | None:
        """The figures of the page that stands in the folder, where it was made from the same."""
        from steelyard.reports.pages.measure import set_of
        from steelyard.reports.pages.reading import json_file, read_figures
        from steelyard.reports.pages.task_page import file_name, slug_of

        if self._arguments.rebuild:
            return None
        home = self._arguments.output / file_name(set_of(task.info))
        found = read_figures(json_file(home, slug_of(task.name, set_of(task.info))))
        return found if found is not None and found.made_from == context.made_from else None

    def _search(self, task: Task, kinds: Sequence[Kind]) -> dict[Kind, Result]:
        """Results of the profiles' models: those that are stored, and those that have to be made."""
        if not kinds:
            return {}
        from steelyard.engine.batch import Batch
        from steelyard.engine.plan import Conditions, Shelf
        from steelyard.results import ResultStore

        models = self._load()
        folder = self._arguments.results or config.results_folder()
        shelf = Shelf(ResultStore(folder), "only-missing", "parquet")
        wanted, conditions = [models[kind] for kind in kinds], Conditions.of()
        stored = shelf.outlook(wanted, [task], conditions) == len(wanted)
        progress = Progress(sys.stderr, terminal=can_redraw(sys.stderr), silent=self._output.quiet or stored)
        try:
            results = list(Batch(wanted, [task], conditions, shelf, progress).run())
        finally:
            progress.close()
        for result in results:
            if not result.done:
                self._fail(f"{result.model} on {result.task}: {result.error}")
        return {kind: result for kind, result in zip(kinds, results, strict=True) if result.done}

    def _runs(self, task: Task, results: Mapping[Kind, Result]) -> list[Profile]:
        from steelyard.engine.runs import saved_run
        from steelyard.reports.pages import Profile

        profiles = []
        for kind, result in results.items():
            run = saved_run(result.path, task) if result.path is not None else None
            if run is None:
                self._fail(f"{result.model} on {result.task}: no run was kept")
            else:
                profiles.append(Profile(kind, result.model, run))
        return profiles

    def _load(self) -> dict[str, Model]:
        """The models by profile, loaded once for all tasks."""
        from steelyard.engine.batch import load_models

        if self._unusable is not None:
            raise self._unusable
        if not self._models:
            names = {"bm25": "bm25", "dense": self._dense, "hybrid": f"[bm25, {self._dense}]"}
            try:
                models = load_models(list(names.values()))
                if len(models) < len(names):
                    raise UsageError(
                        f"--dense {self._arguments.dense} is a profile of every page already",
                        hint="name another model: the dense one, which is set beside BM25",
                    )
            except SteelyardError as error:
                self._unusable = error
                raise
            self._models = dict(zip(names, models, strict=True))
        return self._models

    def _fail(self, what: str) -> None:
        self.failures.append(what)
        self._output.complain(f"failed: {what}")


@dataclass(frozen=True)
class Published:
    """Published figures of a task, whose they are, and the counts of the data behind them."""

    name: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)


def published_figures(reference: str, names: Sequence[str]) -> dict[str, Published]:
    """The published figures for each task: its own, or those of the catalogue's task of the same last name."""
    from steelyard.datasets import catalogue
    from steelyard.datasets.options import LoadOptions
    from steelyard.datasets.sources import CatalogueSource

    if reference == PUBLISHED:
        return dict.fromkeys(names, Published(PUBLISHED))
    known = CatalogueSource(LoadOptions()).names(reference)
    if not known:
        groups = [PUBLISHED, *catalogue.groups(), *catalogue.entries()]
        raise UnknownName("reference", reference, groups, hint="a group or a task of the catalogue, or 'published'")
    entries = [catalogue.entries()[name] for name in known]
    if not any(entry.reference for entry in entries):
        raise UsageError(f"{reference} has no published figures", hint="steelyard show NAME tells which a task has")
    by_task = {entry.name.rpartition("/")[2]: entry for entry in entries}
    found: dict[str, Published] = {}
    for name in names:
        last = name.rpartition("::")[2].rpartition("/")[2]
        entry = entries[0] if len(entries) == 1 else by_task.get(last)
        found[name] = Published(entry.name, entry.reference, entry.counts) if entry else Published(reference)
    return found


def _own(task: Task, published: Published) -> Published:
    """The task's own figures, where those were asked for, with the counts that the catalogue has of it."""
    from steelyard.datasets import catalogue

    if published.name != PUBLISHED:
        return published
    entry = catalogue.entries().get(task.name)
    return Published(task.name, task.info.reference, entry.counts if entry else {})


def _audit(name: str) -> Audit | None:
    """What an audit left beside a set on this machine: `metadata/<task>.audit.json`."""
    from steelyard.datasets.folder import places
    from steelyard.datasets.options import LoadOptions
    from steelyard.datasets.sidecar import read_json_object
    from steelyard.datasets.sources import FolderSource, source_of
    from steelyard.reports.pages import Audit

    if not isinstance(source_of(name, LoadOptions()), FolderSource) or "," in name:
        return None
    place = places(name)[0]
    path = place.folder / "metadata" / f"{place.task or 'task'}.audit.json"
    facts = read_json_object(path)
    if not facts:
        return None
    try:
        return Audit(
            training_data=str(facts["training_data"]),
            queries_found=int(facts["queries_found"]),
            documents_found=int(facts["documents_found"]),
            method=str(facts.get("method", "")),
            date=str(facts.get("date", "")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"not the record of an audit ({type(error).__name__}: {error})",
            where=str(path),
            hint="training_data is a text, queries_found and documents_found are numbers",
        ) from error
