"""`steelyard pages`: a page for a group and each of its tasks, computed from the data and the runs."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard import config
from steelyard.errors import DataError, SteelyardError, UnknownName, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from steelyard.cli.output import Output
    from steelyard.engine.plan import Model
    from steelyard.reports.pages import Audit, GroupFigures, Profile, TaskFigures
    from steelyard.types import Task

PUBLISHED = "published"
"""The reference that stands for each task's own published figures."""


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of the verb."""
    add = parser.add_argument
    add("set", metavar="SET", help="a group, a task, a folder, a pattern, builtin, or hf://owner/dataset")
    add("-o", "--output", type=Path, metavar="DIR", default=Path("pages"), help="folder of the pages (default: pages)")
    add("--format", default="md,html,json", metavar="LIST", help="any of md, html, json (default: all three)")
    add(
        "--against",
        metavar="REFERENCE",
        help="show the difference from published figures: those of a group or task of the catalogue, or 'published' "
        "for each task's own",
    )
    add("--dense", default="dense", metavar="MODEL", help="the dense model where the set has no lists of one")
    add(
        "--lists",
        choices=["stored", "searched"],
        default="stored",
        help="use the lists that came with the set where it has them (default), or search anew",
    )
    add("--results", type=Path, metavar="DIR", help="folder of results and runs (default: as of steelyard run)")
    add("--offline", action="store_true", help="never reach for the network")


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Write the pages; 1 if a task or a model failed, with the pages of the others written."""
    if arguments.offline:
        os.environ["STEELYARD_OFFLINE"] = os.environ["HF_HUB_OFFLINE"] = "1"
    from steelyard.datasets import task_names
    from steelyard.reports.pages.writing import parse_formats, write_pages

    formats = parse_formats(arguments.format)
    names = task_names([arguments.set], offline=arguments.offline or None)
    published = _published(arguments.against, names) if arguments.against else {}
    maker = PageMaker(arguments, output)
    groups = maker.groups(names, published)
    written = [write_pages(group, arguments.output, formats) for group in groups]
    files = [path for paths in written for path in paths]
    if output.json:
        output.data({"pages": [str(path) for path in files], "failed": maker.failures})
    else:
        for paths in written:
            output.line(str(paths[0]))
    tasks = sum(len(group.tasks) for group in groups)
    output.note(f"{len(groups)} group and {tasks} task pages in {arguments.output}")
    return 1 if maker.failures else 0


class PageMaker:
    """Reads tasks, gets the runs that their pages need, and measures them; what fails is told and left out."""

    def __init__(self, arguments: argparse.Namespace, output: Output) -> None:
        self._arguments = arguments
        self._output = output
        self._models: dict[str, Model] = {}
        self.failures: list[str] = []

    def groups(self, names: Sequence[str], published: Mapping[str, Published]) -> list[GroupFigures]:
        """The figures of every group that has a task left."""
        from steelyard.reports.pages import group_figures

        found: dict[str, list[TaskFigures]] = {}
        for name in names:
            try:
                figures = self._figures(name, published.get(name))
            except SteelyardError as error:
                self._fail(f"{name}: {error}")
            else:
                found.setdefault(figures.nano_set, []).append(figures)
        return [group_figures(name, tasks) for name, tasks in found.items()]

    def _figures(self, name: str, published: Published | None) -> TaskFigures:
        from steelyard.datasets import load_task
        from steelyard.reports.pages import task_figures
        from steelyard.reports.pages.inputs import Context

        task = load_task(name, offline=self._arguments.offline or None)
        figures, origin = (published.figures, published.name) if published else ({}, "")
        if origin == PUBLISHED:
            figures, origin = task.info.reference, task.name
        return task_figures(task, self._profiles(task), Context(_audit(name), figures, origin))

    def _profiles(self, task: Task) -> list[Profile]:
        from steelyard.reports.pages import stored_profiles
        from steelyard.reports.pages.inputs import KINDS, LABELS

        found = stored_profiles(task) if self._arguments.lists == "stored" else []
        missing = [kind for kind in KINDS if all(profile.kind != kind for profile in found)]
        order = list(LABELS)
        return sorted([*found, *self._searched(task, missing)], key=lambda profile: order.index(profile.kind))

    def _searched(self, task: Task, kinds: Sequence[str]) -> list[Profile]:
        """Runs of the profiles' models: those that are stored, and those that have to be made."""
        if not kinds:
            return []
        from steelyard.cli.progress import Progress
        from steelyard.engine.batch import Batch
        from steelyard.engine.plan import Conditions, Shelf
        from steelyard.engine.runs import saved_run
        from steelyard.reports.pages import Profile
        from steelyard.results import ResultStore

        models = self._load()
        folder = self._arguments.results or config.results_folder()
        shelf = Shelf(ResultStore(folder), "only-missing", "parquet")
        wanted, conditions = [models[kind] for kind in kinds], Conditions.of()
        stored = shelf.outlook(wanted, [task.name], conditions) == len(wanted)
        progress = Progress(sys.stderr, terminal=sys.stderr.isatty(), silent=self._output.quiet or stored)
        try:
            results = list(Batch(wanted, [task], conditions, shelf, progress).run())
        finally:
            progress.close()
        profiles = []
        for kind, result in zip(kinds, results, strict=True):
            run = saved_run(result.path, task) if result.done and result.path is not None else None
            if run is None:
                self._fail(f"{result.model} on {result.task}: {result.error or 'no run was kept'}")
            else:
                profiles.append(Profile(kind, result.model, run))  # type: ignore[arg-type]
        return profiles

    def _load(self) -> dict[str, Model]:
        """The models by profile, loaded once for all tasks."""
        from steelyard.engine.batch import load_models

        if not self._models:
            names = {"bm25": "bm25", "dense": self._arguments.dense, "hybrid": f"[bm25, {self._arguments.dense}]"}
            self._models = dict(zip(names, load_models(list(names.values())), strict=True))
        return self._models

    def _fail(self, what: str) -> None:
        self.failures.append(what)
        self._output.note(f"failed: {what}")


@dataclass(frozen=True)
class Published:
    """Published figures of a task, and whose they are."""

    name: str
    figures: Mapping[str, float]


def _published(reference: str, names: Sequence[str]) -> dict[str, Published]:
    """The published figures for each task: its own, or those of the catalogue's task of the same last name."""
    from steelyard.datasets import catalogue
    from steelyard.datasets.options import LoadOptions
    from steelyard.datasets.sources import CatalogueSource

    if reference == PUBLISHED:
        return dict.fromkeys(names, Published(PUBLISHED, {}))
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
        found[name] = Published(entry.name, entry.reference) if entry else Published(reference, {})
    return found


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
