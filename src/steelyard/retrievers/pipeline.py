"""Pipelines: a first stage finds candidates, each further stage reranks the best of them.

`[bm25, dense] > rerank:X?depth=50 > rerank:Y?depth=10` is a list inside a list: the last stage reads what the stages
before it make, and they are models of their own, whose lists are there for whoever wants them, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args
from weakref import WeakValueDictionary

import numpy as np

from steelyard.config import Settings
from steelyard.errors import UnknownName, UsageError
from steelyard.options import Options
from steelyard.retrievers import canonical, load_retriever
from steelyard.retrievers.by_task import for_task
from steelyard.retrievers.candidates import SAFEGUARDS, CandidateRetriever
from steelyard.retrievers.composite import CompositeIndex
from steelyard.retrievers.defaults import DEPTH
from steelyard.retrievers.model_names import stage_name
from steelyard.retrievers.model_variants import variants as grid
from steelyard.retrievers.rerank.load import load_reranker
from steelyard.retrievers.rerank.pair_scores import PairScorer
from steelyard.spec import ModelSpec, parse
from steelyard.types import Corpus, Float32, Run, TaskInfo
from steelyard.types.protocols import Combined, ModelSettings, Reranker, Retriever, Tick, Unjudged, no_tick

Tail = Literal["keep", "cut"]
STAGE_OPTIONS = ("depth", "tail")
HYBRID = "hybrid"
"""Part of the name of lists that may hold safeguards, in published sets and in ours."""

_LOADED: WeakValueDictionary[tuple[str, Settings], PairScorer] = WeakValueDictionary()
"""Rerankers in use, by name: pipelines that name the same one share it, and its scores."""


@dataclass(frozen=True, eq=False)
class RerankedRetriever:
    """The best `depth` documents of a first stage in the order of a reranker; those below keep theirs, or are cut.

    Ties go by row, never by the order of the first stage.
    """

    name: str
    first: Retriever
    scorer: PairScorer
    depth: int | None = DEPTH
    """None: all candidates."""
    tail: Tail = "keep"

    @property
    def parts(self) -> tuple[Retriever, ...]:
        """The first stage."""
        return (self.first,)

    @property
    def reads(self) -> int | None:
        """The depth, where the rest is cut; else all, as it comes after."""
        return self.depth

    @property
    def settings(self) -> ModelSettings:
        """Both stages, and how they are joined."""
        return {
            "first": dict(self.first.settings),
            "reranker": dict(self.scorer.reranker.settings),
            "depth": self.depth,
            "tail": self.tail,
        }

    def steps(self, task: Unjudged) -> int:
        """The pairs to score."""
        return len(task.queries) * (len(task.corpus) if self.depth is None else min(self.depth, len(task.corpus)))

    def combine(self, task: Unjudged, runs: Sequence[Run], top_k: int, tick: Tick = no_tick) -> Combined:
        """The first stage's list, its head reranked."""
        (before,) = runs
        head = before if self.depth is None else before.cut(self.depth)
        scored = self.scorer.score(task, head.rows, tick)
        best = Run.of(head.rows, scored.scores)
        run = best if self.tail == "cut" else with_tail(best, before.rows[:, head.depth :])
        return Combined(run.cut(top_k), {"rerank": dict(scored.notes)}, scored.reused)

    def for_task(self, info: TaskInfo) -> RerankedRetriever:
        """The pipeline with the first stage as it is for that task."""
        return replace(self, first=for_task(self.first, info))

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> CompositeIndex:
        """Index the corpus with the first stage."""
        return CompositeIndex.of(self, corpus, info, tick)

    def at_depth(self, depth: int) -> RerankedRetriever:
        """The same with another depth; both share the scores of pairs."""
        stage = _at_depth(parse(self.name.removeprefix(f"{self.first.name} > ")), depth)
        name = f"{self.first.name} > {stage_name(stage, _usual_depth(self.first))}"
        return replace(self, name=name, depth=depth)


def with_tail(head: Run, rows: np.ndarray) -> Run:
    """The head, then these rows in their order, under scores that fall from the head's lowest in small even steps."""
    if not rows.shape[1]:
        return head
    lowest = np.where(head.rows >= 0, head.scores, np.inf).min(axis=1, initial=np.inf, keepdims=True)
    lowest = np.where(np.isfinite(lowest), lowest, 0)
    step = np.maximum(np.abs(lowest), 1) / 1024  # wide enough for float32, whatever the scale of the scores
    falling: Float32 = (lowest - step * np.arange(1, rows.shape[1] + 1)).astype(np.float32)
    scores = np.where(rows >= 0, falling, np.float32(-np.inf))
    return Run(np.concatenate([head.rows, rows], axis=1), np.concatenate([head.scores, scores], axis=1))


def pipeline(
    first: str | Retriever,
    *rerankers: str | Reranker,
    depth: int | None = None,
    tail: Tail = "keep",
    settings: Settings | None = None,
) -> RerankedRetriever:
    """A pipeline of models by name or as objects. `depth` and `tail` hold for the rerankers that are objects.

    >>> from steelyard.retrievers.rerank.load import from_function
    >>> longer = from_function(lambda query, texts: [len(text) for text in texts], "longer")
    >>> pipeline("bm25", longer, depth=10).name
    'bm25 > rerank:longer?depth=10'
    """
    if not rerankers:
        raise UsageError("a pipeline needs a reranker", hint="such as rerank:BAAI/bge-reranker-v2-m3")
    if depth is not None and depth < 1:
        raise UsageError(f"the depth is {depth}", hint="how many candidates are reranked: a whole number from 1 up")
    if tail not in get_args(Tail):
        raise UnknownName("tail", tail, get_args(Tail), hint=f"known: {', '.join(get_args(Tail))}")
    settings = settings or Settings.load()
    stage = load_retriever(first, settings) if isinstance(first, str) else first
    for reranker in rerankers:
        if isinstance(reranker, str):
            stage = _stage(stage, canonical(reranker), settings)
        else:
            options = {**({"depth": str(depth)} if depth else {}), **({"tail": tail} if tail != "keep" else {})}
            named = ModelSpec("rerank", reranker.name.removeprefix("rerank:"), options=options)
            most = depth or _usual_depth(stage)
            name = f"{stage.name} > {stage_name(named, _usual_depth(stage))}"
            stage = RerankedRetriever(name, stage, PairScorer(reranker, settings), most, tail)
    assert isinstance(stage, RerankedRetriever)
    return stage


def from_spec(spec: ModelSpec, settings: Settings) -> RerankedRetriever:
    """The model of `bm25 > rerank:X?depth=50&tail=cut`."""
    first, *rerankers = spec.parts
    stage = load_retriever(first, settings)
    for reranker in rerankers:
        stage = _stage(stage, reranker, settings)
    assert isinstance(stage, RerankedRetriever)
    return stage


def _stage(first: Retriever, spec: ModelSpec, settings: Settings) -> RerankedRetriever:
    own = {name: value for name, value in spec.options.items() if name in STAGE_OPTIONS}
    model = replace(spec, options={name: value for name, value in spec.options.items() if name not in STAGE_OPTIONS})
    options = Options(str(spec), own, STAGE_OPTIONS)
    depth, tail = options.whole("depth", _usual_depth(first)), options.choice("tail", get_args(Tail))
    try:
        scorer = shared_scorer(model, settings)
    except UnknownName as error:
        if error.name not in model.options or error.near:
            raise
        hint = f"{error.hint}; of a stage: {', '.join(STAGE_OPTIONS)}"
        raise UnknownName(error.kind, error.name, STAGE_OPTIONS, hint=hint) from error
    name = f"{first.name} > {stage_name(spec, _usual_depth(first))}"
    return RerankedRetriever(name, first, scorer, depth, "cut" if tail == "cut" else "keep")


def _usual_depth(first: Retriever) -> int | None:
    """Of lists that were made to be reranked, all; of any other, 100."""
    return None if isinstance(first, CandidateRetriever) else DEPTH


def shared_scorer(spec: ModelSpec, settings: Settings) -> PairScorer:
    """The scorer of a reranker; one object while it is in use."""
    key = (str(spec), settings)
    scorer = _LOADED.get(key)
    if scorer is None:
        scorer = _LOADED[key] = PairScorer(load_reranker(spec, settings), settings)
    return scorer


def in_full(
    models: Sequence[str | ModelSpec | Retriever], candidates: str | None = None, depths: Sequence[int] = ()
) -> list[ModelSpec | Retriever]:
    """The models in full: rerankers alone behind a task's `candidates`, pipelines once for each of the `depths`.

    Hybrid lists may end in a safeguard, so a reranker ranks them with and without, from one scoring of the pairs.

    >>> [str(model) for model in in_full(["rerank:X"], "bm25", [10, 20])]
    ['candidates:bm25 > rerank:X?depth=10', 'candidates:bm25 > rerank:X?depth=20']
    >>> [str(model) for model in in_full(["rerank:X"], "reranking_hybrid")]
    ['candidates:reranking_hybrid > rerank:X', 'candidates:reranking_hybrid?safeguards=drop > rerank:X']
    """
    known: list[ModelSpec | Retriever] = []
    for model in models:
        known += grid(canonical(model)) if isinstance(model, str | ModelSpec) else [model]
    placed = [one for model in known for one in ([model] if candidates is None else _over(model, candidates))]
    if candidates is not None and placed == known:
        raise UsageError(
            f"none of the models ranks the candidates {candidates!r}", hint="name a reranker alone, such as rerank:ID"
        )
    if any(depth < 1 for depth in depths):
        raise UsageError(f"the depths are {', '.join(map(str, depths))}", hint="whole numbers from 1 up")
    if depths and not any(map(_has_depth, placed)):
        raise UsageError("none of the models has a depth to vary", hint="a pipeline has: 'bm25 > rerank:ID'")
    return [variant for model in placed for variant in _sweep(model, depths)]


def _over(model: ModelSpec | Retriever, candidates: str) -> list[ModelSpec | Retriever]:
    if not isinstance(model, ModelSpec) or model.family != "rerank":
        return [model]
    lists = parse(f"candidates:{candidates}" if candidates else "candidates")
    plain = replace(lists, options=dict(sorted({**lists.options, SAFEGUARDS: "drop"}.items())))
    both = HYBRID in lists.id and SAFEGUARDS not in lists.options and "depth" not in lists.options
    return [ModelSpec("pipeline", parts=(first, model)) for first in ([lists, plain] if both else [lists])]


def _has_depth(model: ModelSpec | Retriever) -> bool:
    return isinstance(model, RerankedRetriever) or (isinstance(model, ModelSpec) and model.family == "pipeline")


def _sweep(model: ModelSpec | Retriever, depths: Sequence[int]) -> Sequence[ModelSpec | Retriever]:
    if not depths or not _has_depth(model):
        return [model]
    if isinstance(model, RerankedRetriever):
        return [model.at_depth(depth) for depth in depths]
    assert isinstance(model, ModelSpec)
    *before, last = model.parts
    return [replace(model, parts=(*before, _at_depth(last, depth))) for depth in depths]


def _at_depth(stage: ModelSpec, depth: int) -> ModelSpec:
    return replace(stage, options=dict(sorted({**stage.options, "depth": str(depth)}.items())))
