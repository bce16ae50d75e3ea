"""From names of tasks to the figures of their pages: reads, searches what is missing, measures what has changed."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
from typing import TYPE_CHECKING

from steelyard import __version__
from steelyard.cli._ui.output import can_redraw
from steelyard.cli.pages.audit import audit_of
from steelyard.cli.pages.progress import PageProgress
from steelyard.cli.pages.published import Published, own_figures
from steelyard.cli.pages.runs import PageRuns
from steelyard.errors import SteelyardError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from steelyard.cli._ui.output import Output
    from steelyard.reports.pages import GroupFigures, TaskFigures
    from steelyard.reports.pages.measure.inputs import Context, Kind
    from steelyard.results import Result
    from steelyard.types import Task


class PageMaker:
    """Reads tasks, gets the runs that their pages need, and measures them; what fails is told and left out.

    A task whose page in the folder was made from the same data, lists and settings is not measured again.
    """

    def __init__(self, arguments: argparse.Namespace, output: Output) -> None:
        self._arguments = arguments
        self._output = output
        self._runs = PageRuns(arguments, output, self._fail)
        self._settings = {"dense": self._runs.dense, "lists": str(arguments.lists)}
        self.failures: list[str] = []
        self.up_to_date: list[str] = []
        self.interrupted = False

    def groups(self, names: Sequence[str], published: Mapping[str, Published]) -> list[GroupFigures]:
        """The figures of every group that has a task left, with the tasks that its page has from before.

        Interrupted, it leaves it at the tasks that are done.
        """
        from steelyard.reports.pages import group_figures
        from steelyard.reports.pages.measure.task import STEPS

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
                    if error is self._runs.unusable and not found:
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
        from steelyard.reports.pages.render.writing import earlier_tasks

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
        from steelyard.reports.pages.findings.published import data_differ
        from steelyard.reports.pages.findings.sentences import finding
        from steelyard.reports.pages.measure.inputs import KINDS, LABELS

        progress.at(name, "reading")
        task = load_task(name, settings=self._arguments.settings)
        stored = stored_profiles(task) if self._arguments.lists == "stored" else []
        progress.at(name, "lists")
        results = self._runs.results(task, [kind for kind in KINDS if all(one.kind != kind for one in stored)])
        context = self._context(name, task, published, results)
        figures = self._unchanged(task, context)
        if figures is None:
            order = list(LABELS)
            profiles = sorted([*stored, *self._runs.profiles(task, results)], key=lambda one: order.index(one.kind))
            figures = task_figures(
                task, profiles, context, lambda step: progress.at(name, step), self._arguments.settings
            )
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
        from steelyard.reports.pages.measure.inputs import Context
        from steelyard.reports.pages.render.json_page import limits

        published = own_figures(task, published) if published else Published()
        audit = audit_of(name)
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
        from steelyard.reports.pages.measure.origins import set_of
        from steelyard.reports.pages.render.reading import json_file, read_figures
        from steelyard.reports.pages.render.task_page import file_name, slug_of

        if self._arguments.rebuild:
            return None
        home = self._arguments.output / file_name(set_of(task.info))
        found = read_figures(json_file(home, slug_of(task.name, set_of(task.info))))
        return found if found is not None and found.made_from == context.made_from else None

    def _fail(self, what: str) -> None:
        self.failures.append(what)
        self._output.complain(f"failed: {what}")
