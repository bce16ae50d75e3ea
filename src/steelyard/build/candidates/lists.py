"""Make candidate lists of a task: the best documents of each model, and hybrids of them, with every choice recorded.

Their coverage is measured with and without safeguards, as in the tables "Candidate Subsets".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from steelyard.build.candidates.hybrid import Hybrid
from steelyard.config import Settings
from steelyard.errors import UnknownName, UsageError
from steelyard.metrics import score
from steelyard.metrics.scoring import leave_out
from steelyard.retrievers import canonical, load_retriever
from steelyard.retrievers.candidates import drop_last, safeguarded
from steelyard.types import Guarded, Ragged, Run, Task
from steelyard.types.protocols import Tick, no_tick

DEPTH = 500
HYBRIDS: Mapping[str, Hybrid] = {"reranking_hybrid": Hybrid.hakari(), "hybrid": Hybrid()}
"""The hybrid lists by name: the published recipe, and our default."""


@dataclass(frozen=True)
class CandidatePlan:
    """Which lists to make: of which models, how deep, and which hybrids of them."""

    models: tuple[str, ...] = ()
    depth: int = DEPTH
    hybrids: Mapping[str, Hybrid] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    """Names of the lists that the hybrids join; empty: those of the models, or the stored ones if there are none."""

    def __post_init__(self) -> None:
        if not self.models and not self.hybrids:
            raise UsageError(
                "a plan must have at least one model or hybrid, got none", hint="give --bm25, --dense MODEL or --hybrid"
            )
        if self.depth < 1:
            raise UsageError.invalid("--depth", expected="at least 1", found=self.depth, option="--depth")


@dataclass(frozen=True, eq=False)
class Candidates:
    """A task with its lists, how each was made, and the coverage of each."""

    task: Task
    made: Mapping[str, dict[str, Any]]
    coverage: Mapping[str, Coverage]


def make_candidates(
    task: Task,
    plan: CandidatePlan,
    begin: Callable[[Task, str], Tick] = lambda task, model: no_tick,
    settings: Settings | None = None,
) -> Candidates:
    """Return the task with the lists of the plan added; a list of the same name is replaced.

    `begin` is called with the task and each model, and returns a function that counts documents.
    """
    lists: dict[str, Ragged] = dict(task.candidates)
    facts_of: dict[str, dict[str, Any]] = {}
    names = config_names(plan.models)
    for name, model in zip(names, plan.models, strict=True):
        lists[name], facts_of[name] = _search(task, model, plan.depth, begin(task, model), settings or Settings.load())
    sources = plan.sources or names or _stored_sources(task)
    for name, hybrid in plan.hybrids.items():
        parts = _pick(task, lists, sources)
        built = hybrid.build(task, parts, task.info.task)
        lists[name] = built.lists
        facts_of[name] = {
            "kind": "hybrid",
            "lists": list(sources),
            **hybrid.settings,
            "seeded_with": task.info.task,
            "safeguards": {task.queries.ids[q]: task.corpus.ids[row] for q, row in built.safeguards.items()},
        }
    enriched = replace(task, candidates=lists)
    coverage = {name: measure(enriched, name) for name in facts_of}
    return Candidates(
        enriched, {name: facts | {"figures": coverage[name].to_dict()} for name, facts in facts_of.items()}, coverage
    )


def config_names(models: Sequence[str]) -> tuple[str, ...]:
    """Return the name of each model's list, as in the published sets.

    >>> config_names(["bm25", "dense:microsoft/harrier-oss-v1-270m"])
    ('bm25', 'harrier_oss_v1_270m')
    """
    names: list[str] = []
    for model in models:
        spec = canonical(model)
        short = spec.id.rpartition("/")[2] or spec.family if not spec.parts else str(spec)
        full = str(spec)
        for text in (short, full):
            name = re.sub(r"\W+", "_", text).strip("_").lower()
            if name not in names:
                break
        else:
            raise UsageError(f"the model {full} was given twice", hint="name each model once")
        names.append(name)
    return tuple(names)


def _search(task: Task, model: str, depth: int, tick: Tick, settings: Settings) -> tuple[Ragged, dict[str, Any]]:
    retriever = load_retriever(model, settings)
    index = retriever.index(task.corpus, task.info, tick)
    own = task.info.ignore_identical_ids
    run = index.search(task.queries, depth + own)
    if own:
        themselves = np.array([task.corpus.row_of.get(query, -1) for query in task.queries.ids], dtype=np.int32)
        run = leave_out(run, themselves).top(depth)
    facts = {
        "kind": "retriever",
        "model": retriever.name,
        "settings": dict(retriever.settings),
        "notes": dict(index.notes),
        "depth": depth,
        "padding": "none: a list ends where nothing more matches",
        "safeguards": {},
    }
    lists = as_lists(run)
    return Guarded(lists.offsets, lists.rows, np.empty(0, dtype=np.int64)), facts


def as_lists(run: Run) -> Ragged:
    """Return the rows of a run, without its padding.

    >>> as_lists(Run.of([[4, -1], [2, 1]], [[0.5, 0.0], [0.1, 0.9]])).rows.tolist()
    [4, 1, 2]
    """
    real = run.rows >= 0
    return Ragged(np.concatenate(([0], np.cumsum(real.sum(axis=1)))).astype(np.int64), run.rows[real])


def _stored_sources(task: Task) -> tuple[str, ...]:
    """Return the lists that a hybrid joins by default: `bm25`, and the only other list that is not a hybrid."""
    others = [name for name in task.candidates if name != "bm25" and "hybrid" not in name]
    if "bm25" not in task.candidates or len(others) != 1:
        known = ", ".join(task.candidates) or "none"
        raise UsageError(
            f"{task.name} must have `bm25` and one other list for a hybrid, got {known}",
            hint="give --bm25 and --dense MODEL, or name two stored lists with --from",
        )
    return ("bm25", others[0])


def _pick(task: Task, lists: Mapping[str, Ragged], sources: Sequence[str]) -> list[Ragged]:
    if len(sources) < 2:
        raise UsageError(
            f"a hybrid must join two lists, got {', '.join(sources) or 'none'}",
            hint="add one: --bm25 --dense MODEL --hybrid",
        )
    for name in sources:
        if name not in lists:
            known = ", ".join(lists) or "none"
            raise UnknownName(f"candidate list of {task.name}", name, lists, hint=f"it has: {known}")
    return [lists[name] for name in sources]


def stored_coverage(task: Task) -> dict[str, Coverage]:
    """Return the coverage of the lists that the task has."""
    return {name: measure(task, name) for name in task.candidates}


METRICS = ("nDCG@10", "hit_rate@10", "recall@100")


@dataclass(frozen=True)
class Coverage:
    """The metrics of one candidate subset; shares are between 0 and 1.

    `recall_at_100` is the mean over queries; `pooled_recall_at_100` counts all positives together, as the published
    tables do. A safeguard has rank 101, so it changes neither.
    """

    config: str
    ndcg_at_10: float
    hit_rate_at_10: float
    recall_at_100: float
    pooled_recall_at_100: float | None
    candidates_min: int
    candidates_max: int
    candidates_mean: float
    safeguard_rows: int
    query_coverage: float
    """Share of queries with at least one candidate."""
    covered_queries: float
    """Share of queries with a relevant candidate, of those that have a relevant document."""
    relevant_coverage: float | None
    """Share of relevant documents among the candidates: the upper bound of a reranker's recall."""
    without_safeguards: Mapping[str, float | None] | None = None
    """`covered_queries` and `relevant_coverage` of the lists without safeguards."""

    def to_dict(self) -> dict[str, Any]:
        """Return the coverage, JSON-ready."""
        return asdict(self)

    @property
    def label(self) -> str:
        """Return the depth of the lists without safeguards, such as `top-500`."""
        return f"top-{self.candidates_max - bool(self.safeguard_rows)}"


def measure(task: Task, config: str) -> Coverage:
    """Return the coverage of the task's lists of that name."""
    lists = task.candidates[config]
    guarded = safeguarded(lists)
    scores = score(as_run(lists), task.qrels, METRICS)
    counts = lists.counts
    covered, relevant = _covered(task, lists)
    plain: dict[str, float | None] | None = None
    if len(guarded):
        without = _covered(task, drop_last(lists, guarded))
        plain = {"covered_queries": without[0], "relevant_coverage": without[1]}
    return Coverage(
        config=config,
        ndcg_at_10=scores.means["ndcg_at_10"],
        hit_rate_at_10=scores.means["hit_rate_at_10"],
        recall_at_100=scores.means["recall_at_100"],
        pooled_recall_at_100=scores.whole["pooled_recall_at_100"],
        candidates_min=int(counts.min()),
        candidates_max=int(counts.max()),
        candidates_mean=round(float(counts.mean()), 4),
        safeguard_rows=len(guarded),
        query_coverage=float((counts > 0).mean()),
        covered_queries=covered,
        relevant_coverage=relevant,
        without_safeguards=plain,
    )


def as_run(lists: Ragged) -> Run:
    """Return the lists as a run whose scores only express the order."""
    depth = int(lists.counts.max(initial=0))
    place = np.arange(depth)
    real = place < lists.counts[:, None]
    rows = np.full(real.shape, -1, dtype=np.int32)
    rows[real] = lists.rows
    return Run(rows, np.where(real, -place.astype(np.float32), np.float32(-np.inf)))


def _covered(task: Task, lists: Ragged) -> tuple[float, float | None]:
    """Return the share of queries with a relevant candidate, and of relevant documents among the candidates."""
    qrels, width = task.qrels, len(task.corpus)
    shown = np.repeat(np.arange(len(lists)), lists.counts) * width + lists.rows
    owner = np.repeat(np.arange(len(qrels)), qrels.counts)
    positive = (qrels.grades > 0) & (qrels.rows >= 0)
    covered = np.isin(owner[positive] * width + qrels.rows[positive], shown)
    answerable = int((qrels.positives > 0).sum())
    total = int(qrels.positives.sum())
    queries = len(np.unique(owner[positive][covered]))
    return (queries / answerable if answerable else 0.0), (float(covered.sum()) / total if total else None)
