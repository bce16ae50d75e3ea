"""What a task's page needs besides its data: ranked lists, published scores, and the record of an audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.errors import DataError, SteelyardError, UnknownName, UsageError

if TYPE_CHECKING:
    from steelyard.config import Settings
    from steelyard.datasets.formats.task_files import TaskLocation
    from steelyard.engine.events import Listener
    from steelyard.engine.plan import Model
    from steelyard.reports.pages import Audit, Profile
    from steelyard.reports.pages.measure.page_inputs import Kind
    from steelyard.reports.pages.measure.part_values import MissingTask, NoteText
    from steelyard.results import Result
    from steelyard.types import Task, TaskInfo

PUBLISHED = "published"
"""The reference that means each task's own published scores."""
SEARCHED = ("retrieval", "reranking")
"""The types of tasks that have pages."""


class PageRuns:
    """The ranked lists of BM25, a dense model and their fusion; `fail` is called for each that cannot be made."""

    def __init__(
        self,
        dense: str,
        results: Path,
        settings: Settings,
        fail: Callable[[str], None],
        evaluation: Callable[[bool], AbstractContextManager[Listener]],
    ) -> None:
        self.dense = dense
        self.model_error: SteelyardError | None = None
        """Why the models cannot be loaded: a wrong name, which is wrong for every task."""
        self._results, self._settings = results, settings
        self._fail = fail
        self._evaluation = evaluation
        self._models: dict[str, Model] = {}

    def results(self, task: Task, kinds: Sequence[Kind]) -> dict[Kind, Result]:
        """Return the results of the models of these profiles, stored ones and new ones."""
        if not kinds:
            return {}
        from steelyard.engine.batch import Batch
        from steelyard.engine.plan import Conditions, ResultLookup
        from steelyard.results import ResultStore

        models = self._load()
        lookup = ResultLookup(ResultStore(self._results), "only-missing", "parquet")
        needed, conditions = [models[kind] for kind in kinds], Conditions.of()
        stored = lookup.count_stored(needed, [task], conditions) == len(needed)
        with self._evaluation(stored) as listen:
            results = list(Batch(needed, [task], conditions, lookup, listen, self._settings).run())
        for result in results:
            if not result.done:
                self._fail(f"{result.model} on {result.task}: {result.error}")
        return {kind: result for kind, result in zip(kinds, results, strict=True) if result.done}

    def profiles(self, task: Task, results: Mapping[Kind, Result]) -> list[Profile]:
        """Return the ranked lists that were stored with the results."""
        from steelyard.engine.runs import saved_run
        from steelyard.reports.pages import Profile

        profiles = []
        for kind, result in results.items():
            run = saved_run(result.path, task) if result.path is not None else None
            if run is None:
                self._fail(f"{result.model} on {result.task}: the ranked lists were not stored")
            else:
                profiles.append(Profile(kind, result.model, run))
        return profiles

    def _load(self) -> dict[str, Model]:
        """Return the models by profile, loaded once for all tasks."""
        from steelyard.engine.batch import load_models

        if self.model_error is not None:
            raise self.model_error
        if not self._models:
            names = {"bm25": "bm25", "dense": self.dense, "hybrid": f"[bm25, {self.dense}]"}
            try:
                models = load_models(list(names.values()), settings=self._settings)
                if len(models) < len(names):
                    raise UsageError.invalid(
                        "--dense", expected="a model other than BM25 and its fusion", found=self.dense, option="--dense"
                    )
            except SteelyardError as error:
                self.model_error = error
                raise
            self._models = dict(zip(names, models, strict=True))
        return self._models


@dataclass(frozen=True)
class Published:
    """Published scores of a task, the name of that task, and the counts of its data."""

    name: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)


def published_scores(reference: str, names: Sequence[str]) -> dict[str, Published]:
    """Return the published scores for each task: its own, or those of the catalogue's task of the same last name."""
    from steelyard.datasets import catalogue
    from steelyard.datasets.options import LoadOptions
    from steelyard.datasets.sources import CatalogueSource

    if reference == PUBLISHED:
        return dict.fromkeys(names, Published(PUBLISHED))
    known = CatalogueSource(LoadOptions()).names(reference)
    if not known:
        groups = [PUBLISHED, *catalogue.groups(), *catalogue.entries()]
        hint = "name a group or a task of the catalogue, or 'published'"
        raise UnknownName("reference", reference, groups, hint=hint, option="--against")
    entries = [catalogue.entries()[name] for name in known]
    if not any(entry.reference for entry in entries):
        hint = "run `steelyard show NAME` to see the published scores of a task"
        raise UsageError(f"{reference} has no published scores", hint=hint, option="--against", found=reference)
    by_task = {entry.name.rpartition("/")[2]: entry for entry in entries}
    scores: dict[str, Published] = {}
    for name in names:
        last = name.rpartition("::")[2].rpartition("/")[2]
        entry = entries[0] if len(entries) == 1 else by_task.get(last)
        scores[name] = Published(entry.name, entry.reference, entry.counts) if entry else Published(reference)
    return scores


def own_scores(task: Task, published: Published) -> Published:
    """Return the task's own published scores where those are meant, with the counts of the catalogue."""
    from steelyard.datasets import catalogue

    if published.name != PUBLISHED:
        return published
    entry = catalogue.entries().get(task.name)
    return Published(task.name, task.info.reference, entry.counts if entry else {})


def place_of(name: str) -> TaskLocation | None:
    """Return the folder and task of a set on this machine; None for other sets."""
    from steelyard.datasets.formats.folder import locate
    from steelyard.datasets.options import LoadOptions
    from steelyard.datasets.sources import FolderSource, source_of

    if not isinstance(source_of(name, LoadOptions()), FolderSource) or "," in name:
        return None
    return locate(name)[0]


def leakage_signs(name: str) -> dict[str, int]:
    """Return the signs of leakage that `build` counted in a set on this machine, `metadata/<task>.json`."""
    from steelyard.datasets.formats.sidecar import read_json_object

    place = place_of(name)
    facts = read_json_object(place.folder / "metadata" / f"{place.task}.json").get("leakage") if place else None
    return {str(sign): count for sign, count in facts.items() if type(count) is int} if isinstance(facts, dict) else {}


def task_notes(name: str, task: Task, home: Path, slug: str) -> tuple[NoteText, ...]:
    """Return the hand-written notes of a task: `notes/<task>.md` of its set on this machine, then of the pages."""
    from steelyard.reports.pages.prose.notes import FOLDER, read_notes

    place = place_of(name)
    own = f"{FOLDER}/{task.info.task}.md"
    of_set = read_notes(place.folder / own, f"{own} of the set") if place is not None else ()
    return (*of_set, *read_notes(home / FOLDER / f"{slug}.md", f"{FOLDER}/{slug}.md"))


def audit_of(name: str) -> Audit | None:
    """Return the record of an audit next to a set on this machine, `metadata/<task>.audit.json`, if there is one."""
    from steelyard.datasets.formats.sidecar import read_json_object
    from steelyard.reports.pages import Audit

    place = place_of(name)
    if place is None:
        return None
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
            verdict=str(facts.get("verdict", "")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"the file is not a valid audit record ({type(error).__name__}: {error})",
            path=path,
            hint="write training_data as text, queries_found and documents_found as numbers",
        ) from error


def group_members(name: str, settings: Settings) -> dict[str, TaskInfo]:
    """Return every task of the group that a task belongs to: facts by reference; nothing if the group is not known."""
    from steelyard.datasets import builtin, catalogue
    from steelyard.datasets.formats.folder import locate
    from steelyard.datasets.hubs import published
    from steelyard.datasets.options import LoadOptions
    from steelyard.datasets.sources import FolderSource, source_of

    if name in builtin.infos():
        group = name.partition("/")[0]
        return {one: builtin.infos()[one] for one in builtin.names() if one.partition("/")[0] == group}
    if (match := published.entry_of(name)) is not None:
        return {entry.name: entry.info for entry in catalogue.groups()[match[0].group] if entry.type in SEARCHED}
    if "::" in name and isinstance(source_of(name, LoadOptions(settings=settings)), FolderSource):
        return {location.reference: location.info for location in locate(name.partition("::")[0])}
    return {}


def missing_task(info: TaskInfo, reason: str) -> MissingTask:
    """Return a task that has no page, with the counts and scores of the catalogue."""
    from steelyard.datasets import catalogue
    from steelyard.reports.pages.measure.page_inputs import KINDS
    from steelyard.reports.pages.measure.part_values import MissingTask

    entry = catalogue.entries().get(info.name)
    counts = entry.counts if entry else {}
    return MissingTask(
        name=info.name,
        task=info.task,
        reason=reason,
        language=info.language,
        queries=int(counts["queries"]) if "queries" in counts else None,
        documents=int(counts["documents"]) if "documents" in counts else None,
        published={
            kind: info.reference[f"{kind}_ndcg_at_10"] for kind in KINDS if f"{kind}_ndcg_at_10" in info.reference
        },
    )
