"""One task: models are indexed and searched, or encode its texts, one after the other, and are scored."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.engine.check import check_index, check_run
from steelyard.engine.plan import Conditions, Evaluation
from steelyard.engine.run_scores import RESAMPLING, score_run, stage_notes
from steelyard.engine.timing import Clock
from steelyard.errors import UsageError
from steelyard.metrics import DEFAULT_METRICS, parse, score
from steelyard.metrics.scoring import leave_out
from steelyard.results import Result
from steelyard.results.keys import digest
from steelyard.retrievers.candidates import own_lists
from steelyard.retrievers.ranking import rank
from steelyard.tasks import score_task, texts_of
from steelyard.types import Ragged, Run, Task
from steelyard.types.protocols import Composite, Embeds, ModelSettings, Retriever, Tick, Unjudged, no_tick
from steelyard.types.samples import SampleTask


@dataclass(frozen=True, eq=False)
class Retrieval:
    """A run and its costs. `reused` seconds of them were spent by an earlier model of the same task."""

    run: Run
    index: float
    search: float
    reused: float
    index_bytes: int
    notes: ModelSettings


class TaskEvaluator:
    """Evaluates models on a retrieval or reranking task, one after the other; keeps the lists that a composite reads.

    On a reranking task every model ranks the candidates of the task. On any other, `depth` is the depth of every
    search: as deep as the result, or any composite of the batch, reads.
    """

    def __init__(self, task: Task, conditions: Conditions, depth: int, load_seconds: float = 0.0) -> None:
        self.task = task
        self.conditions = conditions
        self.depth = depth
        self.load_seconds = load_seconds
        self._unjudged = Unjudged.of(task)
        self._retrievals: dict[str, Retrieval] = {}

    @cached_property
    def _own_lists(self) -> Ragged | None:
        return own_lists(self._unjudged)

    def evaluate(self, evaluation: Evaluation, tick: Tick = no_tick) -> Result:
        """Return the result of one model; `run_of` has its run."""
        retriever = evaluation.model.retriever
        assert retriever is not None, "a model that failed to load is not evaluated"
        retrieval = self.retrieve(retriever, tick)
        timings = {"load": self.load_seconds, "index": retrieval.index, "search": retrieval.search}
        top_k = self.conditions.top_k
        scored = scored_result(evaluation, retrieval.run.top(top_k), self.task, self.conditions, timings)
        stages = stage_notes(retriever, lambda part: self.retrieve(part).run, self.task, top_k)
        return replace(
            scored,
            timings={**scored.timings, "reused": retrieval.reused},
            index_bytes=retrieval.index_bytes,
            notes={**retrieval.notes, "stages": stages} if stages else retrieval.notes,
        )

    def steps(self, retriever: Retriever) -> int:
        """Return the number of items that the model will tick: documents to index, pairs to rerank; 0 if reused."""
        if digest([retriever.name, retriever.settings]) in self._retrievals:
            return 0
        if not isinstance(retriever, Composite):
            return len(self.task.corpus)
        return sum(map(self.steps, retriever.parts)) + retriever.steps(self._unjudged)

    def retrieve(self, retriever: Retriever, tick: Tick = no_tick) -> Retrieval:
        """Return the retriever's lists for every query; those of an earlier model are reused."""
        key = digest([retriever.name, retriever.settings])
        if key in self._retrievals:
            earlier = self._retrievals[key]
            return replace(earlier, reused=earlier.index + earlier.search)
        retrieval = (
            self._combine(retriever, tick) if isinstance(retriever, Composite) else self._search(retriever, tick)
        )
        self._retrievals[key] = retrieval
        return retrieval

    def _search(self, retriever: Retriever, tick: Tick) -> Retrieval:
        task, clock = self.task, Clock()
        with clock.phase("index"):
            index = check_index(retriever.index(task.corpus, task.info, tick), retriever.name)
        one_more = task.info.ignore_identical_ids  # so that the list is full without the query's own document
        with clock.phase("search"):
            if self._own_lists is None:
                run = index.search(task.queries, self.depth + one_more)
            else:
                run = rank(index, task.queries, self._own_lists, len(task.corpus))
        run = self._without_own(check_run(run, task, retriever.name)).top(self.depth)
        seconds = clock.seconds
        return Retrieval(run, seconds["index"], seconds["search"], 0.0, index.size_bytes, dict(index.notes))

    def _combine(self, retriever: Composite, tick: Tick) -> Retrieval:
        """Combine the lists of the parts; the costs are those of the parts and of the combination."""
        parts = [self.retrieve(part, tick) for part in retriever.parts]
        depth = self.depth if parts else len(self.task.corpus)  # lists of the task are read to their end
        start = time.perf_counter()
        combined = retriever.combine(self._unjudged, [part.run for part in parts], depth, tick)
        seconds = time.perf_counter() - start
        run = check_run(combined.run, self.task, retriever.name)
        notes = {part.name: dict(retrieval.notes) for part, retrieval in zip(retriever.parts, parts, strict=True)}
        return Retrieval(
            run if parts else self._without_own(run),
            index=sum(part.index for part in parts),
            search=sum(part.search for part in parts) + seconds + combined.reused,
            reused=sum(part.reused for part in parts) + combined.reused,
            index_bytes=sum(part.index_bytes for part in parts),
            notes={**notes, **combined.notes},
        )

    def _without_own(self, run: Run) -> Run:
        """Return the run without documents that are the query itself, if the task asks for that."""
        task = self.task
        if not task.info.ignore_identical_ids:
            return run
        own_rows = np.array([task.corpus.row_of.get(query, -1) for query in task.queries.ids], dtype=np.int32)
        return leave_out(run, own_rows)

    def run_of(self, evaluation: Evaluation) -> Run:
        """Return the run of a result that was evaluated here."""
        assert evaluation.model.retriever is not None
        return self.retrieve(evaluation.model.retriever).run.top(self.conditions.top_k)


class SampleEvaluator:
    """Evaluates models on a task without a corpus, by the vectors of its texts."""

    def __init__(self, task: SampleTask, conditions: Conditions, load_seconds: float = 0.0) -> None:
        self.task = task
        self.profile = conditions.profile
        self.load_seconds = load_seconds
        self.predictions: Any = None
        """The outputs of the last model that its result does not have by sample."""

    @cached_property
    def _texts(self) -> list[str]:
        return texts_of(self.task, self.profile)

    def steps(self, retriever: Retriever) -> int:
        """Return the number of texts that the model will tick."""
        return len(self._texts) if isinstance(retriever, Embeds) else 0

    def evaluate(self, evaluation: Evaluation, tick: Tick = no_tick) -> Result:
        """Return the result of one model."""
        model: object = evaluation.model.retriever
        if not isinstance(model, Embeds):
            raise UsageError(
                f"a task of type {self.task.info.type} needs a model with vectors, got {evaluation.model.name}",
                hint="use a dense model, such as dense:ID",
            )
        clock = Clock({"load": self.load_seconds})
        with clock.phase("encode"):
            vectors, notes = model.embed(self._texts, "text", tick)
        with clock.phase("score"):
            scored = score_task(self.task, self._texts, vectors, model.similarity, self.profile)
        self.predictions = scored.predictions
        return evaluation.result(
            main_metric=scored.main_metric,
            metrics=scored.metrics,
            mteb=scored.mteb,
            intervals=scored.intervals,
            timings={**clock.seconds, "total": sum(clock.seconds.values())},
            notes={"texts": dict(notes), **scored.notes},
            resampling=scored.resampling,
            queries=scored.samples,
        )


def depth_for(retrievers: Sequence[Retriever], top_k: int) -> int:
    """Return the depth of every search: that of the result, or the deepest that a composite reads."""
    return max([top_k, *map(_depth_read, retrievers)])


def _depth_read(retriever: Retriever) -> int:
    if not isinstance(retriever, Composite):
        return 0
    return max([retriever.reads or 0, *map(_depth_read, retriever.parts)])


def scored_result(
    evaluation: Evaluation, run: Run, task: Task, conditions: Conditions, timings: Mapping[str, float]
) -> Result:
    """Return the scores of the run as a result, with the costs so far."""
    clock = Clock(dict(timings))
    with clock.phase("score"):
        scores = score(run, task.qrels, (*DEFAULT_METRICS, *map(parse, conditions.metrics)), documents=len(task.corpus))
        scored = score_run(run, task, scores, conditions.profile)
    return evaluation.result(
        main_metric=scored.main_metric,
        metrics=scored.metrics,
        mteb=scored.mteb,
        intervals=scored.intervals,
        timings={**clock.seconds, "total": sum(clock.seconds.values())},
        misses=scored.misses,
        queries=scored.queries,
        resampling=RESAMPLING,
    )
