"""What there is to do: which model on which task, under which conditions, and what is stored already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from operator import index
from pathlib import Path
from typing import Any, Literal

from steelyard.datasets.options import Generation
from steelyard.errors import SteelyardError, UsageError
from steelyard.metrics import DEFAULT_METRICS, Metric
from steelyard.metrics.scoring import resolve
from steelyard.results import Failure, NewerResult, Result, ResultStore, TaskFacts
from steelyard.results.keys import model_slug, result_key, settings_hash, task_slug
from steelyard.results.provenance import provenance
from steelyard.results.query_scores import has_both_ends, queries_path
from steelyard.results.store import attachment_path
from steelyard.types import Task, TaskInfo
from steelyard.types.protocols import Retriever
from steelyard.types.samples import AnyTask

OverwriteStrategy = Literal["always", "never", "only-missing"]
STRATEGIES: tuple[OverwriteStrategy, ...] = ("always", "never", "only-missing")

SaveRuns = Literal["parquet", "trec"]

Profile = Literal["mteb-2.26", "mteb-1.14"]
PROFILES: tuple[Profile, ...] = ("mteb-2.26", "mteb-1.14")
"""Whose names, formulas and random draws the `mteb` figures of a result follow; the first unless asked for."""

TOP_K = 1000
SEARCHED = ("retrieval", "reranking")
"""The types of tasks that are weighed by lists."""


@dataclass(frozen=True)
class Conditions:
    """What is the same for every model and task of a batch and could change a figure."""

    top_k: int = TOP_K
    metrics: tuple[str, ...] = ()
    """Canonical names of the metrics asked for beyond the default ones."""
    limit: int | None = None
    seed: int = 0
    profile: Profile = PROFILES[0]
    limit_documents: bool = False
    """Whether a limit leaves out documents, too, but for those that are judged or candidates."""

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
        """Checked conditions; metrics in any spelling.

        >>> Conditions.of(metrics=["nDCG@10", "ndcg_cut_7"]).metrics
        ('ndcg_at_7',)
        """
        top_k, seed = _whole("top_k", top_k), _whole("seed", seed)
        limit = None if limit is None else _whole("limit", limit)
        if top_k < 1:
            raise UsageError(f"a top-k of {top_k} leaves nothing to score", hint="give 1 or more; 1000 is usual")
        if limit is not None and limit < 1:
            raise UsageError(f"a limit of {limit} queries leaves nothing", hint="give 1 or more")
        if profile not in PROFILES:
            raise UsageError(f"unknown profile {profile!r}", hint=f"one of {', '.join(PROFILES)}")
        extra = tuple(str(metric) for metric in resolve(metrics) if metric not in DEFAULT_METRICS)
        return cls(top_k, extra, limit, seed, profile, limit_documents)

    def heeded(self, *, lists: bool) -> Conditions:
        """What of them changes figures: where there are no lists, neither their depth nor the metrics of lists.

        >>> Conditions.of(top_k=5, metrics=["ndcg@7"], limit=3).heeded(lists=False)
        Conditions(top_k=1000, metrics=(), limit=3, seed=0, profile='mteb-2.26', limit_documents=False)
        """
        return self if lists else replace(self, top_k=TOP_K, metrics=())

    @property
    def generation(self) -> Generation:
        """Whose repositories published tasks come from: each version of mteb reads its own."""
        return "v1" if self.profile == "mteb-1.14" else "v2"

    @property
    def settings(self) -> dict[str, Any]:
        """For the key. The seed is in it only where something is drawn; metrics are the same in any order."""
        drawn: dict[str, Any] = {} if self.limit is None else {"limit": self.limit, "seed": self.seed}
        if drawn and self.limit_documents:
            drawn["limit_documents"] = True
        other = {} if self.profile == PROFILES[0] else {"profile": self.profile}
        return {"top_k": self.top_k, "metrics": ["default", *sorted(self.metrics)], **drawn, **other}


def _whole(name: str, number: int) -> int:
    """The number as one of Python's own: numpy's would do, fractions and words would fail in every task."""
    try:
        return index(number)
    except TypeError:
        raise UsageError(
            f"{name} is {number!r}, where a whole number was expected", hint=f"such as {name}=10"
        ) from None


@dataclass(frozen=True, eq=False)
class Model:
    """A model of the batch: ready, or with the reason why it is not."""

    name: str
    retriever: Retriever | None = None
    failure: Failure | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """Its name and all that could change its figures."""
        return {"model": self.name, "model_settings": dict(self.retriever.settings) if self.retriever else None}

    def on(self, info: TaskInfo) -> Model:
        """The model for a task: some have prompts for each."""
        if self.retriever is None:
            return self
        from steelyard.retrievers.composite import for_task

        return replace(self, retriever=for_task(self.retriever, info))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """One model on one task; with `stored` if there is nothing left to do."""

    model: Model
    task: str
    settings: dict[str, Any]
    facts: TaskFacts
    key: str
    stored: Result | None = None

    def result(self, *, resampling: Mapping[str, Any] | None = None, **figures: Any) -> Result:
        """A result of this evaluation, made here and now, with these figures and costs.

        `resampling` is how its intervals were made.
        """
        return Result(
            task=self.task,
            model=self.model.name,
            settings=self.settings,
            key=self.key,
            facts=self.facts,
            provenance=provenance() | ({"intervals": dict(resampling)} if resampling else {}),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            **figures,
        )


def size(task: AnyTask) -> int:
    """What a limit counts: queries, or samples where nothing is searched."""
    return len(task.queries) if isinstance(task, Task) else len(task)


def facts_of(task: AnyTask, conditions: Conditions, whole: AnyTask) -> TaskFacts:
    """What a result says of its task, which may be a part of the `whole`."""
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
class Shelf:
    """What is stored, and when that is good enough."""

    store: ResultStore | None
    strategy: OverwriteStrategy = "only-missing"
    save_runs: SaveRuns | None = None

    def evaluation(self, model: Model, task: str, facts: TaskFacts, conditions: Conditions) -> Evaluation:
        """The evaluation, with its stored result if that may stay."""
        settings = {**model.settings, **conditions.heeded(lists=facts.samples is None).settings}
        return self.look_up(Evaluation(model, task, settings, facts, result_key(settings, task, facts)))

    def look_up(self, evaluation: Evaluation) -> Evaluation:
        """The same, with its stored result if that may stay; a failure where only a later version can read it."""
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

    def settle(self, result: Result) -> None:
        """A finished result that stays is the last word: what failed since it was made (data that could not be read for
        a while) is forgotten, unless nothing may be touched.
        """
        if self.store is not None and result.done and self.strategy != "never":
            self.store.remove_failures(result)

    def _usable(self, result: Result | None, path: Path) -> Result | None:
        """A failure is tried again unless nothing may be overwritten; a run that is to be kept must be there.

        Where nothing is searched, there is none to keep.
        """
        if result is None or self.strategy == "always" or (self.strategy == "only-missing" and not result.done):
            return None
        return result if not result.done or result.facts.samples is not None or self._has_run(path) else None

    def _has_run(self, path: Path) -> bool:
        if self.save_runs == "parquet":
            return has_both_ends(attachment_path(path, "run.parquet"))
        return self.save_runs is None or attachment_path(path, f"run.{self.save_runs}").exists()

    def outlook(self, models: Sequence[Model], tasks: Sequence[str | AnyTask], conditions: Conditions) -> int:
        """How many evaluations seem to be stored, judged by file names alone: the data has not been read yet."""
        if self.store is None or self.strategy == "always":
            return 0
        there, known = 0, {}
        for task in tasks:
            info = known_info(task)
            slug = task_slug(info.name if info else str(task))
            for model in models:
                heeded = conditions.heeded(lists=info is None or info.type in SEARCHED)
                settings = {**(model.on(info) if info else model).settings, **heeded.settings}
                folder = self.store.folder / model_slug(model.name) / settings_hash(settings)
                if folder not in known:
                    known[folder] = {
                        path.name.rpartition("@")[0] for path in folder.glob("*@*.json") if self._stays(path)
                    }
                there += slug in known[folder]
        return there

    def _stays(self, path: Path) -> bool:
        """Whether the result of that file will do: `_usable` without reading it. A failure has no queries beside it."""
        return self._has_run(path) if queries_path(path).exists() else self.strategy == "never"


def known_info(task: str | AnyTask) -> TaskInfo | None:
    """What is known of a task that need not be in memory; None where nothing is, or where it will not load."""
    if not isinstance(task, str):
        return task.info
    from steelyard.datasets import task_facts

    try:
        return task_facts(task)
    except SteelyardError:
        return None
