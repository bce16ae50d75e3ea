"""Pipelines: a first stage retrieves candidates, and each further stage reranks the best of them.

In `[bm25, dense] > rerank:X?depth=50 > rerank:Y?depth=10` the last stage reranks the output of the stages before it,
which are a pipeline of their own with their own results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from steelyard.config import Settings
from steelyard.errors import UnknownName, UsageError
from steelyard.options import Options
from steelyard.retrievers import load_retriever
from steelyard.retrievers.candidates import CandidateRetriever
from steelyard.retrievers.chunking.passage_scorer import PassageScorer
from steelyard.retrievers.composite import CompositeIndex, for_task
from steelyard.retrievers.model_names import RERANK_DEPTH, canonical, stage_name
from steelyard.retrievers.model_variants import with_depth
from steelyard.retrievers.rerank.load import shared_scorer
from steelyard.retrievers.rerank.pair_scores import PairScorer
from steelyard.spec import ModelSpec, parse
from steelyard.types import Corpus, Float32, Run, TaskInfo
from steelyard.types.protocols import Combined, ModelSettings, Reranker, Retriever, Tick, Unjudged, no_tick

Tail = Literal["keep", "cut"]
STAGE_OPTIONS = ("depth", "tail")


@dataclass(frozen=True, eq=False)
class RerankedRetriever:
    """The best `depth` documents of a first stage in the order of a reranker. The other documents keep their order
    after them (`tail="keep"`) or are dropped (`tail="cut"`). Ties are broken by row, never by the first stage.
    """

    name: str
    first: Retriever
    scorer: PairScorer | PassageScorer
    depth: int | None = RERANK_DEPTH
    """None reranks all candidates."""
    tail: Tail = "keep"

    @property
    def parts(self) -> tuple[Retriever, ...]:
        """Return the first stage."""
        return (self.first,)

    @property
    def reads(self) -> int | None:
        """Return how many documents of the first stage are read; None for all."""
        return self.depth

    @property
    def settings(self) -> ModelSettings:
        """Return the settings of both stages, and how they are joined."""
        return {
            "first": dict(self.first.settings),
            "reranker": dict(self.scorer.settings),
            "depth": self.depth,
            "tail": self.tail,
        }

    def steps(self, task: Unjudged) -> int:
        """Return the number of pairs to score."""
        return len(task.queries) * (len(task.corpus) if self.depth is None else min(self.depth, len(task.corpus)))

    def combine(self, task: Unjudged, runs: Sequence[Run], top_k: int, tick: Tick = no_tick) -> Combined:
        """Return the list of the first stage with its best documents reranked."""
        (first,) = runs
        head = first if self.depth is None else first.top(self.depth)
        scored = self.scorer.score(task, head.rows, tick)
        best = Run.of(head.rows, scored.scores)
        run = best if self.tail == "cut" else with_tail(best, first.rows[:, head.depth :])
        return Combined(run.top(top_k), {"rerank": dict(scored.notes)}, scored.reused)

    def for_task(self, info: TaskInfo) -> RerankedRetriever:
        """Return the pipeline with both stages for that task."""
        return replace(self, first=for_task(self.first, info), scorer=self.scorer.for_task(info))

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> CompositeIndex:
        """Index the corpus with the first stage."""
        return CompositeIndex.of(self, corpus, info, tick)

    def at_depth(self, depth: int) -> RerankedRetriever:
        """Return the same pipeline with another depth; both share the scores of pairs."""
        stage = with_depth(parse(self.name.removeprefix(f"{self.first.name} > ")), depth)
        name = f"{self.first.name} > {stage_name(stage, _default_depth(self.first))}"
        return replace(self, name=name, depth=depth)


def with_tail(head: Run, rows: np.ndarray) -> Run:
    """Append these rows in their order, with scores that fall in small steps from the lowest score of the head."""
    if not rows.shape[1]:
        return head
    lowest = np.where(head.rows >= 0, head.scores, np.inf).min(axis=1, initial=np.inf, keepdims=True)
    lowest = np.where(np.isfinite(lowest), lowest, 0)
    step = np.maximum(np.abs(lowest), 1) / 1024  # large enough for float32 at any scale of scores
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
    """Return a pipeline of models by name or as objects. `depth` and `tail` apply to rerankers given as objects.

    >>> from steelyard.retrievers.rerank.load import from_function
    >>> longer = from_function(lambda query, texts: [len(text) for text in texts], "longer")
    >>> pipeline("bm25", longer, depth=10).name
    'bm25 > rerank:longer?depth=10'
    """
    if not rerankers:
        raise UsageError("a pipeline must have a reranker", hint="add one, such as rerank:BAAI/bge-reranker-v2-m3")
    if depth is not None and depth < 1:
        raise UsageError.invalid("the depth of a pipeline", expected="at least 1", found=depth, option="depth")
    if tail not in get_args(Tail):
        raise UnknownName("tail", tail, get_args(Tail), hint="choose keep or cut", option="tail")
    settings = settings or Settings.load()
    stage = load_retriever(first, settings) if isinstance(first, str) else first
    for reranker in rerankers:
        if isinstance(reranker, str):
            stage = _stage(stage, canonical(reranker), settings)
        else:
            options = {**({"depth": str(depth)} if depth else {}), **({"tail": tail} if tail != "keep" else {})}
            spec = ModelSpec("rerank", reranker.name.removeprefix("rerank:"), options=options)
            name = f"{stage.name} > {stage_name(spec, _default_depth(stage))}"
            stage = RerankedRetriever(name, stage, PairScorer(reranker, settings), depth or _default_depth(stage), tail)
    assert isinstance(stage, RerankedRetriever)
    return stage


def from_spec(spec: ModelSpec, settings: Settings) -> RerankedRetriever:
    """Return the model of `bm25 > rerank:X?depth=50&tail=cut`."""
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
    depth, tail = options.whole("depth", _default_depth(first)), options.choice("tail", get_args(Tail))
    try:
        scorer = shared_scorer(model, settings)
    except UnknownName as error:
        if error.name not in model.options or error.near:
            raise
        hint = f"{error.hint}; options of a stage: {', '.join(STAGE_OPTIONS)}"
        raise UnknownName(error.kind, error.name, STAGE_OPTIONS, hint=hint, option=error.name) from error
    name = f"{first.name} > {stage_name(spec, _default_depth(first))}"
    return RerankedRetriever(name, first, scorer, depth, "cut" if tail == "cut" else "keep")


def _default_depth(first: Retriever) -> int | None:
    """Return None (all) for candidate lists of a task, which were made to be reranked, and 100 otherwise."""
    return None if isinstance(first, CandidateRetriever) else RERANK_DEPTH
