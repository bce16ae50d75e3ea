"""Latency of queries: warm-up, many samples, percentiles; nothing is read from a store of vectors or scores."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Any

import numpy as np

from steelyard.errors import UsageError
from steelyard.retrievers.chunking.retriever import ChunkedIndex, ChunkedRetriever
from steelyard.retrievers.composite import CompositeIndex
from steelyard.retrievers.dense import DenseIndex, DenseRetriever, SharedVectors
from steelyard.retrievers.fusion.retriever import FusedRetriever
from steelyard.retrievers.pipeline import RerankedRetriever
from steelyard.retrievers.ragged_index import RaggedIndex
from steelyard.types import Corpus, TaskInfo
from steelyard.types.protocols import Index, Retriever

SAMPLES, WARM_UP = 100, 5
BUDGET = 10.0
"""Seconds after which no further sample is taken, once there are `FEWEST`."""
FEWEST = 5
BATCH = 32


@dataclass(frozen=True)
class Sampling:
    """How latencies are measured."""

    samples: int = SAMPLES
    """Queries that are timed one at a time."""
    warm_up: int = WARM_UP
    """Queries before those."""
    batch_size: int = BATCH
    """Queries of a batch."""
    budget: float = BUDGET
    """Seconds after which sampling ends, once there are 5 samples."""


@dataclass(frozen=True)
class Latency:
    """Percentiles of the seconds that one call took, and how they were measured.

    >>> Latency.of([0.001 * n for n in range(1, 101)], batch_size=1, warm_up=5).p95
    0.095
    """

    p50: float
    p95: float
    p99: float
    samples: int
    warm_up: int
    batch_size: int = 1

    @classmethod
    def of(cls, seconds: Sequence[float], *, batch_size: int, warm_up: int) -> Latency:
        """Return the percentiles of some samples: each is a value that was measured, none is interpolated."""
        p50, p95, p99 = np.quantile(np.asarray(seconds, dtype=np.float64), [0.5, 0.95, 0.99], method="inverted_cdf")
        return cls(float(p50), float(p95), float(p99), len(seconds), warm_up, batch_size)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Latency:
        """Return what `to_dict` has written."""
        p50, p95, p99 = (float(values[name]) / 1e3 for name in ("p50_ms", "p95_ms", "p99_ms"))
        return cls(p50, p95, p99, int(values["samples"]), int(values["warm_up"]), int(values["batch_size"]))

    @property
    def queries_per_second(self) -> float | None:
        """Queries answered each second, by the median call."""
        return self.batch_size / self.p50 if self.p50 else None

    @property
    def per_query(self) -> float:
        """Median seconds of one query of the batch."""
        return self.p50 / self.batch_size

    def to_dict(self) -> dict[str, Any]:
        """Return every field, JSON-ready, in milliseconds."""
        return {
            "p50_ms": self.p50 * 1e3,
            "p95_ms": self.p95 * 1e3,
            "p99_ms": self.p99 * 1e3,
            "samples": self.samples,
            "warm_up": self.warm_up,
            "batch_size": self.batch_size,
        }


def measure_latency(
    call: Callable[[list[str]], object],
    texts: Sequence[str],
    *,
    batch_size: int = 1,
    samples: int = SAMPLES,
    warm_up: int = WARM_UP,
    budget: float = BUDGET,
    clock: Callable[[], float] = time.perf_counter,
) -> Latency:
    """Call with batches of the texts, in turn and over again, and return the percentiles of the time taken.

    The first `warm_up` calls are not counted. Sampling ends early when `budget` seconds have passed, but not before
    there are 5 samples; the result has the number.

    >>> measure_latency(lambda batch: None, ["a", "b"], samples=20).samples
    20
    """
    if not texts:
        raise UsageError("a latency needs at least one query, got none", hint="use a task that has queries")
    for name, value in (("batch_size", batch_size), ("samples", samples)):
        if value < 1:
            raise UsageError.invalid(name, expected="at least 1", found=value, option=name)
    stream = cycle(texts)
    begin = clock()
    for _ in range(warm_up):
        call(list(islice(stream, batch_size)))
    seconds: list[float] = []
    while len(seconds) < samples and (len(seconds) < min(FEWEST, samples) or clock() - begin < budget):
        batch = list(islice(stream, batch_size))
        start = clock()
        call(batch)
        seconds.append(clock() - start)
    return Latency.of(seconds, batch_size=batch_size, warm_up=warm_up)


def without_stores(retriever: Retriever) -> Retriever:
    """Return the retriever without stored vectors or scores: everything it is asked for is computed.

    A retriever of another kind is returned as it is: services that search have nothing stored here.
    """
    if isinstance(retriever, DenseRetriever):
        return replace(retriever, store=None, shared=SharedVectors(retriever.encoder, None))
    if isinstance(retriever, FusedRetriever):
        return replace(retriever, parts=tuple(map(without_stores, retriever.parts)))
    if isinstance(retriever, RerankedRetriever):
        return replace(retriever, first=without_stores(retriever.first), scorer=retriever.scorer.without_store())
    if isinstance(retriever, ChunkedRetriever):
        return replace(retriever, inner=without_stores(retriever.inner))
    if hasattr(retriever, "store") and hasattr(type(retriever), "__dataclass_fields__"):
        return replace(retriever, store=None)  # type: ignore[type-var]
    return retriever


def fresh_index(retriever: Retriever, index: Index, info: TaskInfo) -> Index:
    """Return an index of the same documents whose queries are computed each time, as a service would."""
    if isinstance(index, DenseIndex):
        return replace(index, vectors=SharedVectors(index.vectors.encoder, None))
    if isinstance(index, ChunkedIndex) and isinstance(retriever, ChunkedRetriever):
        return replace(index, inner=fresh_index(retriever.inner, index.inner, info))
    if isinstance(index, RaggedIndex):
        corpus = Corpus.of(["d"], ["a document"])
        without = without_stores(retriever).index(corpus, info)
        assert isinstance(without, RaggedIndex)
        return replace(index, encode=without.encode)
    if isinstance(index, CompositeIndex) and isinstance(retriever, FusedRetriever | RerankedRetriever):
        composite = without_stores(retriever)
        assert isinstance(composite, FusedRetriever | RerankedRetriever)
        parts = [fresh_index(part, own, info) for part, own in zip(retriever.parts, index.parts, strict=True)]
        return replace(index, composite=composite, parts=tuple(parts))
    return index
