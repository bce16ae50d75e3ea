"""A reranker without a first stage: it ranks the candidates that a reranking task brings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.config import Settings
from steelyard.retrievers.candidates import own_lists, run_of
from steelyard.retrievers.model_names import result_name
from steelyard.retrievers.pipeline import shared_scorer
from steelyard.retrievers.rerank.load import lacks_candidates
from steelyard.retrievers.rerank.pair_scores import PairScorer
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Ragged, Run, TaskInfo
from steelyard.types.protocols import Combined, Index, ModelSettings, Retriever, Tick, Unjudged, no_tick


@dataclass(frozen=True, eq=False)
class LoneReranker:
    """Ranks all candidates of a reranking task; on a task of any other type it says what it lacks."""

    name: str
    scorer: PairScorer
    parts: tuple[Retriever, ...] = ()
    reads: int | None = None

    @property
    def settings(self) -> ModelSettings:
        """The reranker's; which candidates belongs to the task."""
        return {"reranker": dict(self.scorer.reranker.settings)}

    def _lists(self, task: Unjudged) -> Ragged:
        lists = own_lists(task)
        if lists is None:
            raise lacks_candidates(self.name)
        return lists

    def steps(self, task: Unjudged) -> int:
        """The pairs to score, at most."""
        return max((len(lists.rows) for lists in task.candidates.values()), default=0)

    def combine(self, task: Unjudged, runs: Sequence[Run], top_k: int, tick: Tick = no_tick) -> Combined:
        """The candidates of each query, best first; ties by row."""
        rows = run_of(self._lists(task)).rows
        scored = self.scorer.score(task, rows, tick)
        return Combined(Run.of(rows, scored.scores).cut(top_k), {"rerank": dict(scored.notes)}, scored.reused)

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> Index:
        """Not without a task: the candidates belong to its queries."""
        raise lacks_candidates(self.name)


def from_spec(spec: ModelSpec, settings: Settings) -> LoneReranker:
    """The model of `rerank:X`."""
    return LoneReranker(result_name(spec), shared_scorer(spec, settings))
