"""One task: its data is read once, each model indexes and searches once, and fusions join the lists that are there."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from steelyard.engine.check import check_run
from steelyard.engine.measure import Clock, peak_memory_bytes, reset_peak_memory
from steelyard.engine.plan import Evaluation
from steelyard.engine.scoring import RESAMPLING, figures
from steelyard.metrics.scoring import leave_out
from steelyard.protocols import Retriever, Settings, Tick, no_tick
from steelyard.results import Result
from steelyard.results.keys import digest
from steelyard.results.provenance import provenance
from steelyard.retrievers.fusion import FusedRetriever
from steelyard.types import Run, Task


@dataclass(frozen=True, eq=False)
class Retrieval:
    """A run, and what it cost. `reused` seconds of it were paid for by an earlier model of the same task."""

    run: Run
    index: float
    search: float
    reused: float
    index_bytes: int
    peak_memory_bytes: int | None
    notes: Settings


class Bench:
    """A task on which models are weighed, one after the other; keeps the lists that a fusion may want.

    `depth` is how deep every model is searched: as deep as the result or any fusion of the batch reads.
    """

    def __init__(self, task: Task, depth: int, load_seconds: float) -> None:
        self.task = task
        self.depth = depth
        self.load_seconds = load_seconds
        self._kept: dict[str, Retrieval] = {}

    def weigh(self, evaluation: Evaluation, top_k: int, extra: Sequence[str] = (), tick: Tick = no_tick) -> Result:
        """The result of one model, with its run in `self.run_of`."""
        retriever = evaluation.model.retriever
        assert retriever is not None, "a model that did not load is no evaluation"
        found = self.retrieve(retriever, tick)
        timings = {"load": self.load_seconds, "index": found.index, "search": found.search}
        started = scored_result(evaluation, found.run.cut(top_k), self.task, timings, extra)
        return replace(
            started,
            timings={**started.timings, "reused": found.reused},
            index_bytes=found.index_bytes,
            peak_memory_bytes=found.peak_memory_bytes,
            notes=found.notes,
        )

    def retrieve(self, retriever: Retriever, tick: Tick = no_tick) -> Retrieval:
        """The retriever's lists for every query, from memory if it has been here before."""
        key = digest([retriever.name, retriever.settings])
        if key in self._kept:
            kept = self._kept[key]
            return replace(kept, reused=kept.index + kept.search)
        fresh = self._fuse(retriever, tick) if isinstance(retriever, FusedRetriever) else self._search(retriever, tick)
        self._kept[key] = fresh
        return fresh

    def _search(self, retriever: Retriever, tick: Tick) -> Retrieval:
        task, clock = self.task, Clock()
        reset_peak_memory()
        with clock.phase("index"):
            index = retriever.index(task.corpus, task.info, tick)
        own = task.info.ignore_identical_ids
        with clock.phase("search"):
            run = index.search(task.queries, self.depth + own)
        run = check_run(run, task, retriever.name)
        if own:  # one deeper, so that the list is full without the document that is the query itself
            themselves = np.array([task.corpus.row_of.get(query, -1) for query in task.queries.ids], dtype=np.int32)
            run = leave_out(run, themselves).cut(self.depth)
        seconds = clock.seconds
        return Retrieval(
            run, seconds["index"], seconds["search"], 0.0, index.size_bytes, peak_memory_bytes(), dict(index.notes)
        )

    def _fuse(self, retriever: FusedRetriever, tick: Tick) -> Retrieval:
        """What the fusion would cost alone is the cost of its parts and of the joining."""
        parts = [self.retrieve(part, tick) for part in retriever.parts]
        start = time.perf_counter()
        run = retriever.fusion.fuse([part.run for part in parts], self.depth)
        joined = time.perf_counter() - start
        peaks = [part.peak_memory_bytes for part in parts if part.peak_memory_bytes is not None]
        return Retrieval(
            run,
            index=sum(part.index for part in parts),
            search=sum(part.search for part in parts) + joined,
            reused=sum(part.reused for part in parts),
            index_bytes=sum(part.index_bytes for part in parts),
            peak_memory_bytes=max(peaks, default=None),
            notes={part.name: dict(found.notes) for part, found in zip(retriever.parts, parts, strict=True)},
        )

    def run_of(self, evaluation: Evaluation, top_k: int) -> Run:
        """The lists behind a result that was weighed here."""
        assert evaluation.model.retriever is not None
        return self.retrieve(evaluation.model.retriever).run.cut(top_k)


def depth_for(retrievers: Sequence[Retriever], top_k: int) -> int:
    """How deep to search, so that every fusion finds as much of each list as it reads."""
    return max([top_k, *(_fusion_depth(retriever) for retriever in retrievers)])


def _fusion_depth(retriever: Retriever) -> int:
    if not isinstance(retriever, FusedRetriever):
        return 0
    return max(retriever.fusion.depth, *(_fusion_depth(part) for part in retriever.parts))


def scored_result(
    evaluation: Evaluation, run: Run, task: Task, timings: dict[str, float], extra: Sequence[str]
) -> Result:
    """The run's figures, as a result that knows what it cost so far."""
    clock = Clock(dict(timings))
    with clock.phase("score"):
        scored = figures(run, task, extra)
    return Result(
        task=evaluation.task,
        model=evaluation.model.name,
        settings=evaluation.settings,
        key=evaluation.key,
        metrics=scored.metrics,
        mteb=scored.mteb,
        intervals=scored.intervals,
        facts=evaluation.facts,
        timings={**clock.seconds, "total": sum(clock.seconds.values())},
        misses=scored.misses,
        provenance={**provenance(), "intervals": dict(RESAMPLING)},
        created=now(),
        queries=scored.queries,
    )


def now() -> str:
    """The time of a result: UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
