"""One task: its data is read once, each model indexes and searches once, composites use the lists that are there."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from steelyard.engine.check import check_run
from steelyard.engine.measure import Clock, peak_memory_bytes, reset_peak_memory
from steelyard.engine.plan import Conditions, Evaluation
from steelyard.engine.scoring import RESAMPLING, figures
from steelyard.engine.stages import stage_notes
from steelyard.metrics import DEFAULT_METRICS, parse, score
from steelyard.metrics.scoring import leave_out
from steelyard.results import Result
from steelyard.results.keys import digest
from steelyard.retrievers.candidates import own_lists
from steelyard.retrievers.ranking import rank
from steelyard.types import Ragged, Run, Task
from steelyard.types.protocols import Composite, ModelSettings, Retriever, Tick, Unjudged, no_tick


@dataclass(frozen=True, eq=False)
class Retrieval:
    """A run, and what it cost. `reused` seconds of it were paid for by an earlier model of the same task."""

    run: Run
    index: float
    search: float
    reused: float
    index_bytes: int
    peak_memory_bytes: int | None
    notes: ModelSettings


class Bench:
    """A task on which models are weighed, one after the other; keeps the lists that a composite may want.

    On a reranking task every model ranks the task's own candidates, and nothing else. On any other, `depth` is how
    deep every model is searched: as deep as the result or any composite of the batch reads.
    """

    def __init__(self, task: Task, conditions: Conditions, depth: int, load_seconds: float = 0.0) -> None:
        self.task = task
        self.conditions = conditions
        self.depth = depth
        self.load_seconds = load_seconds
        self._unjudged = Unjudged.of(task)
        self._kept: dict[str, Retrieval] = {}

    @cached_property
    def _own(self) -> Ragged | None:
        return own_lists(self._unjudged)

    def weigh(self, evaluation: Evaluation, tick: Tick = no_tick) -> Result:
        """The result of one model, with its run in `self.run_of`."""
        retriever = evaluation.model.retriever
        assert retriever is not None, "a model that did not load is no evaluation"
        found = self.retrieve(retriever, tick)
        timings = {"load": self.load_seconds, "index": found.index, "search": found.search}
        top_k = self.conditions.top_k
        scored = scored_result(evaluation, found.run.cut(top_k), self.task, self.conditions, timings)
        stages = stage_notes(retriever, lambda part: self.retrieve(part).run, self.task, top_k)
        return replace(
            scored,
            timings={**scored.timings, "reused": found.reused},
            index_bytes=found.index_bytes,
            peak_memory_bytes=found.peak_memory_bytes,
            notes={**found.notes, "stages": stages} if stages else found.notes,
        )

    def steps(self, retriever: Retriever) -> int:
        """How many items the model will tick: documents to index, pairs to rerank; none for what is there already."""
        if digest([retriever.name, retriever.settings]) in self._kept:
            return 0
        if not isinstance(retriever, Composite):
            return len(self.task.corpus)
        return sum(map(self.steps, retriever.parts)) + retriever.steps(self._unjudged)

    def retrieve(self, retriever: Retriever, tick: Tick = no_tick) -> Retrieval:
        """The retriever's lists for every query, from memory if it has been here before."""
        key = digest([retriever.name, retriever.settings])
        if key in self._kept:
            kept = self._kept[key]
            return replace(kept, reused=kept.index + kept.search)
        fresh = self._combine(retriever, tick) if isinstance(retriever, Composite) else self._search(retriever, tick)
        self._kept[key] = fresh
        return fresh

    def _search(self, retriever: Retriever, tick: Tick) -> Retrieval:
        task, clock = self.task, Clock()
        reset_peak_memory()
        with clock.phase("index"):
            index = retriever.index(task.corpus, task.info, tick)
        one_more = task.info.ignore_identical_ids  # so that the list is full without the query's own document
        with clock.phase("search"):
            if self._own is None:
                run = index.search(task.queries, self.depth + one_more)
            else:
                run = rank(index, task.queries, self._own, len(task.corpus))
        run = self._without_own(check_run(run, task, retriever.name)).cut(self.depth)
        seconds = clock.seconds
        return Retrieval(
            run, seconds["index"], seconds["search"], 0.0, index.size_bytes, peak_memory_bytes(), dict(index.notes)
        )

    def _combine(self, retriever: Composite, tick: Tick) -> Retrieval:
        """What the composite would cost alone is the cost of its parts and of its own work."""
        parts = [self.retrieve(part, tick) for part in retriever.parts]
        depth = self.depth if parts else len(self.task.corpus)  # lists that the task brings are taken whole
        reset_peak_memory()
        start = time.perf_counter()
        combined = retriever.combine(self._unjudged, [part.run for part in parts], depth, tick)
        seconds = time.perf_counter() - start
        run = check_run(combined.run, self.task, retriever.name)
        peaks = [peak_memory_bytes(), *(part.peak_memory_bytes for part in parts)]
        notes = {part.name: dict(found.notes) for part, found in zip(retriever.parts, parts, strict=True)}
        return Retrieval(
            run if parts else self._without_own(run),
            index=sum(part.index for part in parts),
            search=sum(part.search for part in parts) + seconds + combined.reused,
            reused=sum(part.reused for part in parts) + combined.reused,
            index_bytes=sum(part.index_bytes for part in parts),
            peak_memory_bytes=max((peak for peak in peaks if peak is not None), default=None),
            notes={**notes, **combined.notes},
        )

    def _without_own(self, run: Run) -> Run:
        """The run without documents that are the query itself, where the task asks for that."""
        task = self.task
        if not task.info.ignore_identical_ids:
            return run
        themselves = np.array([task.corpus.row_of.get(query, -1) for query in task.queries.ids], dtype=np.int32)
        return leave_out(run, themselves)

    def run_of(self, evaluation: Evaluation) -> Run:
        """The lists behind a result that was weighed here."""
        assert evaluation.model.retriever is not None
        return self.retrieve(evaluation.model.retriever).run.cut(self.conditions.top_k)


def depth_for(retrievers: Sequence[Retriever], top_k: int) -> int:
    """How deep to search, so that every composite finds as much of each list as it reads."""
    return max([top_k, *map(_reads, retrievers)])


def _reads(retriever: Retriever) -> int:
    if not isinstance(retriever, Composite):
        return 0
    return max([retriever.reads or 0, *map(_reads, retriever.parts)])


def scored_result(
    evaluation: Evaluation, run: Run, task: Task, conditions: Conditions, timings: Mapping[str, float]
) -> Result:
    """The run's figures, as a result that knows what it cost so far."""
    clock = Clock(dict(timings))
    with clock.phase("score"):
        scores = score(run, task.qrels, (*DEFAULT_METRICS, *map(parse, conditions.metrics)), documents=len(task.corpus))
        told = figures(run, task, scores, conditions.profile)
    return evaluation.result(
        main_metric=told.main_metric,
        metrics=told.metrics,
        mteb=told.mteb,
        intervals=told.intervals,
        timings={**clock.seconds, "total": sum(clock.seconds.values())},
        misses=told.misses,
        queries=told.queries,
        resampling=RESAMPLING,
    )
