"""The plan of a batch: conditions, models, evaluations, and the look-up of stored results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from operator import index
from pathlib import Path
from typing import Any, Literal

from steelyard.config import Settings
from steelyard.datasets.options import Generation
from steelyard.errors import SteelyardError, UsageError
from steelyard.metrics import DEFAULT_METRICS, Metric, parse
from steelyard.metrics.scoring import resolve
from steelyard.results import Failure, NewerResult, Result, ResultStore, TaskFacts
from steelyard.results.keys import model_slug, result_key, settings_hash, task_slug
from steelyard.results.provenance import provenance
from steelyard.results.query_scores import has_both_ends, queries_path
from steelyard.results.store import attachment_path
from steelyard.spec import ModelSpec
from steelyard.types import Task, TaskInfo
from steelyard.types.protocols import Retriever
from steelyard.types.samples import AnyTask
from steelyard.types.task_info import SEARCHED

OverwriteStrategy = Literal["always", "never", "only-missing", "only-cache"]
STRATEGIES: tuple[OverwriteStrategy, ...] = ("always", "never", "only-missing", "only-cache")

SaveRuns = Literal["parquet", "trec"]

Profile = Literal["mteb-2.26", "mteb-1.14"]
PROFILES: tuple[Profile, ...] = ("mteb-2.26", "mteb-1.14")
"""The mteb version whose names, formulas and random draws the `mteb` scores of a result follow; default: the first."""

TOP_K = 1000


@dataclass(frozen=True)
class Conditions:
    """What is the same for every model and task of a batch and could change a score."""

    top_k: int = TOP_K
    metrics: tuple[str, ...] = ()
    """Canonical names of metrics beyond the default ones."""
    limit: int | None = None
    seed: int = 0
    profile: Profile = PROFILES[0]
    limit_documents: bool = False
    """Whether a limit also samples the documents; judged ones and candidates stay."""

    @classmethod
    def of(
        cls,
        *,
        top_k: int = TOP_K,
        metrics: Iterable[str | Metric] = (),
        limit: int | None = None,
        seed: int = 0,
        profile: Profile = PROFILES[0],
        limit_documents: bool = False,
    ) -> Conditions:
        """Return checked conditions; metrics in any spelling.

        >>> Conditions.of(metrics=["nDCG@10", "ndcg_cut_7"]).metrics
        ('ndcg_at_7',)
        """
        top_k, seed = _integer("top_k", top_k, 1), _integer("seed", seed, 0)
        limit = None if limit is None else _integer("limit", limit, 1)
        if profile not in PROFILES:
            raise UsageError.invalid(
                "profile", expected=f"one of {', '.join(PROFILES)}", found=profile, option="profile"
            )
        extra = tuple(str(metric) for metric in resolve(metrics) if metric not in DEFAULT_METRICS)
        return cls(top_k, extra, limit, seed, profile, limit_documents)

    def relevant(self, *, lists: bool) -> Conditions:
        """Return the conditions that change scores: without ranked lists, their depth and metrics do not.

        >>> Conditions.of(top_k=5, metrics=["ndcg@7"], limit=3).relevant(lists=False)
        Conditions(top_k=1000, metrics=(), limit=3, seed=0, profile='mteb-2.26', limit_documents=False)
        """
        return self if lists else replace(self, top_k=TOP_K, metrics=())

    @property
    def generation(self) -> Generation:
        """The repositories of published tasks: each version of mteb reads its own."""
        return "v1" if self.profile == "mteb-1.14" else "v2"

    @property
    def settings(self) -> dict[str, Any]:
        """The part of the key: the seed only with a limit, metrics in a fixed order."""
        sample: dict[str, Any] = {} if self.limit is None else {"limit": self.limit, "seed": self.seed}
        if sample and self.limit_documents:
            sample["limit_documents"] = True
        profile = {} if self.profile == PROFILES[0] else {"profile": self.profile}
        sources = {name: source for name in sorted(self.metrics) if (source := parse(name).definition.source)}
        functions = {"metric_functions": sources} if sources else {}
        metrics = ["default", *sorted(self.metrics)]
        return {"top_k": self.top_k, "metrics": metrics, **functions, **sample, **profile}


def _integer(name: str, number: int, least: int) -> int:
    """Return the number as a Python integer; a UsageError if it is not one, or below the least."""
    try:
        value = index(number)
    except TypeError:
        value = least - 1
    if value < least:
        expected = f"a whole number of at least {least}"
        raise UsageError.invalid(name, expected=expected, found=number, hint=f"for example {name}=10", option=name)
    return value


@dataclass(frozen=True, eq=False)
class Model:
    """A model of the batch: loaded, or with the reason why it is not."""

    name: str
    retriever: Retriever | None = None
    failure: Failure | None = None
    spec: ModelSpec | None = None
    """The name that it was loaded by; None for an object of a program."""
    label: str | None = None
    """The name that the user gave to it, or one that distinguishes it from another; its results are stored under
    `name`."""

    @property
    def shown(self) -> str:
        """The name in tables."""
        return self.label or self.name

    @property
    def settings(self) -> dict[str, Any]:
        """Its name and everything that could change its scores."""
        return {"model": self.name, "model_settings": dict(self.retriever.settings) if self.retriever else None}

    def on(self, info: TaskInfo) -> Model:
        """Return the model for a task: some have prompts for each."""
        if self.retriever is None:
            return self
        from steelyard.retrievers.composite import for_task

        return replace(self, retriever=for_task(self.retriever, info))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """One model on one task; `stored` is its result if there is nothing left to do."""

    model: Model
    task: str
    settings: dict[str, Any]
    facts: TaskFacts
    key: str
    stored: Result | None = None

    def result(self, *, resampling: Mapping[str, Any] | None = None, **fields: Any) -> Result:
        """Return a new result of this evaluation with these scores and costs.

        `resampling` records how its intervals were computed.
        """
        return Result(
            task=self.task,
            model=self.model.name,
            settings=self.settings,
            key=self.key,
            facts=self.facts,
            provenance=provenance() | ({"intervals": dict(resampling)} if resampling else {}),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            **fields,
        )


def size(task: AnyTask) -> int:
    """Return what a limit counts: queries, or samples of a task without a corpus."""
    return len(task.queries) if isinstance(task, Task) else len(task)


def facts_of(task: AnyTask, conditions: Conditions, whole: AnyTask) -> TaskFacts:
    """Return the facts of a task, which may be a sample of the `whole`."""
    info = task.info
    limit = conditions.limit if size(task) < size(whole) else None
    counts: dict[str, int]
    if isinstance(task, Task):
        positives = int(task.qrels.positives.sum())
        counts = {"queries": len(task.queries), "documents": len(task.corpus), "positives": positives}
        assert isinstance(whole, Task)
        counts |= {"queries_in_full": len(whole.queries), "documents_in_full": len(whole.corpus)}
    else:
        counts = {"samples": len(task), "samples_in_full": size(whole)}
    return TaskFacts(
        language=info.language,
        languages=info.languages,
        language_tags=info.language_tags,
        category=info.category,
        type=info.type,
        split=info.split,
        source=info.source,
        revision=info.revision,
        data_hash=task.content_hash,
        reference=dict(info.reference),
        limit=limit,
        ignore_identical_ids=info.ignore_identical_ids,
        **counts,
    )


@dataclass(frozen=True, eq=False)
class ResultLookup:
    """Finds stored results, and decides which of them are used instead of evaluating again."""

    store: ResultStore | None
    strategy: OverwriteStrategy = "only-missing"
    save_runs: SaveRuns | None = None

    def evaluation(self, model: Model, task: str, facts: TaskFacts, conditions: Conditions) -> Evaluation:
        """Return the evaluation, with its stored result if that is used."""
        settings = {**model.settings, **conditions.relevant(lists=facts.samples is None).settings}
        return self.look_up(Evaluation(model, task, settings, facts, result_key(settings, task, facts)))

    def look_up(self, evaluation: Evaluation) -> Evaluation:
        """Return the same with its stored result, if that is used; a failure if a later version wrote it."""
        if self.store is None:
            return evaluation
        model, data_hash = evaluation.model.name, evaluation.facts.data_hash
        path = self.store.path(model, evaluation.settings, evaluation.task, data_hash)
        try:
            stored = self._usable(self.store.load(path, evaluation.key), path)
        except NewerResult as error:
            failure = Failure(type(error).__name__, error.message, error.hint)
            stored = evaluation.result(status="failed", error=failure)
        return replace(evaluation, stored=stored)

    def remove_failures(self, result: Result) -> None:
        """Remove failures that are newer than a stored result that is used, unless nothing may be changed."""
        if self.store is not None and result.done and self.strategy != "never":
            self.store.remove_failures(result)

    def _usable(self, result: Result | None, path: Path) -> Result | None:
        """Return the result if it is used: failures only with the strategy `never`, and with its run if that is saved.

        A task without a corpus has no run.
        """
        if result is None or self.strategy == "always" or (self.strategy != "never" and not result.done):
            return None
        return result if not result.done or result.facts.samples is not None or self._has_run(path) else None

    def _has_run(self, path: Path) -> bool:
        if self.save_runs == "parquet":
            return has_both_ends(attachment_path(path, "run.parquet"))
        return self.save_runs is None or attachment_path(path, f"run.{self.save_runs}").exists()

    def count_stored(self, models: Sequence[Model], tasks: Sequence[str | AnyTask], conditions: Conditions) -> int:
        """Return the number of evaluations that seem to be stored."""
        return len(self.seem_stored(models, tasks, conditions))

    def seem_stored(
        self, models: Sequence[Model], tasks: Sequence[str | AnyTask], conditions: Conditions
    ) -> list[tuple[str, int]]:
        """Return the evaluations that seem to be stored, by file names alone: no data has been read yet.

        Each is the name of a model in tables and the place of a task.
        """
        if self.store is None or self.strategy == "always" or not self.store.folder.is_dir():
            return []
        cells: list[tuple[str, int]] = []
        stored: dict[Path, set[str]] = {}
        for place, task in enumerate(tasks):
            info = known_info(task)
            slug = task_slug(info.name if info else str(task))
            relevant = conditions.relevant(lists=info is None or info.type in SEARCHED)
            for model in models:
                settings = {**(model.on(info) if info else model).settings, **relevant.settings}
                folder = self.store.folder / model_slug(model.name) / settings_hash(settings)
                if folder not in stored:
                    paths = (path for path in folder.glob("*@*.json") if self._seems_usable(path))
                    stored[folder] = {path.name.rpartition("@")[0] for path in paths}
                cells += [(model.shown, place)] * (slug in stored[folder])
        return cells

    def _seems_usable(self, path: Path) -> bool:
        """Return what `_usable` would, without reading the file. A failure has no scores by query."""
        return self._has_run(path) if queries_path(path).exists() else self.strategy == "never"


def known_sizes(
    tasks: Sequence[str | AnyTask], conditions: Conditions, settings: Settings
) -> list[tuple[int, int] | None]:
    """Return the documents (or samples) and queries of each task; None if they are not known before it is loaded."""
    from steelyard.datasets.names import task_counts

    sizes: list[tuple[int, int] | None] = []
    for task in tasks:
        try:
            counts = task_counts(task, settings) if isinstance(task, str) else None
        except SteelyardError:
            counts = None
        if isinstance(task, Task):
            counts = len(task.corpus), len(task.queries)
        elif not isinstance(task, str):
            counts = len(task), 0
        if counts is not None and conditions.limit is not None:
            documents, queries = counts
            if conditions.limit_documents and queries:
                counts = None
            else:
                limit = conditions.limit
                counts = (documents, min(queries, limit)) if queries else (min(documents, limit), 0)
        sizes.append(counts)
    return sizes


def known_lengths(tasks: Sequence[str | AnyTask], settings: Settings) -> list[float | None]:
    """Return about how long a document of each task is; None if it is not known before the task is loaded."""
    from steelyard.datasets.names import document_length

    lengths: list[float | None] = []
    for task in tasks:
        try:
            lengths.append(document_length(task, settings) if isinstance(task, str) else None)
        except SteelyardError:
            lengths.append(None)
    return lengths


def known_info(task: str | AnyTask) -> TaskInfo | None:
    """Return what is known of a task without loading it; None if nothing is, or it cannot be read."""
    if not isinstance(task, str):
        return task.info
    from steelyard.datasets import task_facts

    try:
        return task_facts(task)
    except SteelyardError:
        return None
