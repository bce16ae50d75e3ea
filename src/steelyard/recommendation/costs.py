"""What a model costs: latency, encoding rate, index size, memory, price."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from steelyard.engine.timing import peak_memory_bytes, reset_peak_memory
from steelyard.recommendation.latency import Latency, Sampling, fresh_index, measure_latency, without_stores
from steelyard.retrievers.composite import CompositeIndex, for_task
from steelyard.retrievers.model_names import SEARCH_SERVICES
from steelyard.types import Corpus, Queries, Task
from steelyard.types.protocols import Index, Retriever

TOP_K = 100
FEWEST_BATCHES = 5
DOCUMENTS = "documents"
"""Part of the notes of an index that is about its documents, not about queries."""
SAMPLE_DOCUMENTS = 64
"""Documents that are encoded to measure the rate; few, as a service has its price."""


@dataclass(frozen=True)
class Costs:
    """What a model costs on one task; a value that cannot be measured is None."""

    latency: Latency
    """One query at a time."""
    batch_latency: Latency
    documents_per_second: float | None = None
    """Documents encoded and indexed each second, nothing read from a store."""
    bytes_per_document: float | None = None
    """Size of the index divided by the number of documents; None for a service that keeps it."""
    peak_memory_bytes: int | None = None
    """Most memory that the model, its index and its queries took, measured in a process of its own; None otherwise."""
    stages: Mapping[str, float] = field(default_factory=dict)
    """Median seconds of one query by stage: `encode`, `search`, `rerank`."""
    stored: bool = False
    """Whether this was measured in an earlier run."""
    price_per_thousand_queries: float | None = None
    price_per_million_documents: float | None = None
    task: str = ""
    documents: int = 0
    notes: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return every cost, JSON-ready."""
        size, rate = self.bytes_per_document, self.documents_per_second
        return {
            "latency": self.latency.to_dict(),
            "batch_latency": self.batch_latency.to_dict(),
            "stages_ms": {name: seconds * 1e3 for name, seconds in self.stages.items()},
            "queries_per_second": self.batch_latency.queries_per_second,
            "documents_per_second": rate,
            "hours_per_million_documents": None if not rate else 1e6 / rate / 3600,
            "bytes_per_document": size,
            "bytes_per_million_documents": None if size is None else size * 1e6,
            "peak_memory_bytes": self.peak_memory_bytes,
            "price_per_thousand_queries": self.price_per_thousand_queries,
            "price_per_million_documents": self.price_per_million_documents,
            "measured_on": {"task": self.task, "documents": self.documents},
            "stored": self.stored,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Costs:
        """Return costs that were stored by `to_dict`, marked as such."""
        names = ("documents_per_second", "bytes_per_document", "peak_memory_bytes")
        prices = ("price_per_thousand_queries", "price_per_million_documents")
        return cls(
            Latency.from_dict(values["latency"]),
            Latency.from_dict(values["batch_latency"]),
            **{name: values[name] for name in (*names, *prices)},
            stages={name: milliseconds / 1e3 for name, milliseconds in values["stages_ms"].items()},
            task=values["measured_on"]["task"],
            documents=values["measured_on"]["documents"],
            stored=True,
        )


def measure_costs(
    retriever: Retriever,
    task: Task,
    sampling: Sampling | None = None,
    *,
    top_k: int = TOP_K,
    memory_before: int | None = None,
) -> Costs:
    """Measure what a retriever costs on a task: its documents are indexed once, its queries are computed each time.

    `memory_before` is what a process that was started for this model held before; without it, memory is not measured.

    >>> from steelyard.retrievers import load_retriever
    >>> task = Task.of("Mine/x", {"a": "red fox", "b": "blue whale"}, {"q": "fox"}, {"q": {"a": 1}}, language="en")
    >>> costs = measure_costs(load_retriever("bm25"), task, Sampling(samples=10))
    >>> costs.latency.samples, costs.bytes_per_document > 0, costs.price_per_thousand_queries
    (10, True, None)
    """
    reset_peak_memory()
    model = for_task(retriever, task.info)
    index = fresh_index(model, model.index(task.corpus, task.info), task.info)
    prices: list[float] = []
    stages: dict[str, list[float]] = {}

    def search(texts: list[str]) -> None:
        # Every call has queries of its own, so that nothing is remembered from the last one.
        start = time.perf_counter()
        index.search(Queries(tuple(f"q{place}" for place in range(len(texts))), tuple(texts)), top_k)
        if (price := _price(index.notes, without=DOCUMENTS)) is not None:
            prices.append(price / len(texts))
        if len(texts) == 1:
            for name, seconds in query_stages(index, time.perf_counter() - start).items():
                stages.setdefault(name, []).append(seconds)

    plan, texts = sampling or Sampling(), task.queries.texts
    latency = measure_latency(search, texts, samples=plan.samples, warm_up=plan.warm_up, budget=plan.budget)
    batches = max(FEWEST_BATCHES, plan.samples // plan.batch_size)
    batch = measure_latency(search, texts, batch_size=plan.batch_size, samples=batches, warm_up=1, budget=plan.budget)
    peak = peak_memory_bytes()
    memory = None if peak is None or memory_before is None else max(0, peak - memory_before)
    rate, document_price = _encoding(model, task)
    return Costs(
        latency,
        batch,
        documents_per_second=rate,
        bytes_per_document=_bytes_per_document(model, index, len(task.corpus)),
        peak_memory_bytes=memory,
        price_per_thousand_queries=1e3 * sum(prices) / len(prices) if prices else None,
        price_per_million_documents=document_price,
        stages={name: float(median(seconds)) for name, seconds in stages.items()},
        task=task.name,
        documents=len(task.corpus),
    )


def query_stages(index: Index, seconds: float) -> dict[str, float]:
    """Return the seconds of a search by stage, from what the index has noted about the last one."""
    if isinstance(index, CompositeIndex):
        own = float(index.combine_notes.get("combine_seconds", 0.0))
        split: dict[str, float] = {}
        for part, taken in zip(index.parts, index.combine_notes.get("part_seconds", ()), strict=False):
            for name, value in query_stages(part, taken).items():
                split[name] = split.get(name, 0.0) + value
        return {**split, "rerank" if len(index.parts) == 1 else "fuse": own}
    search = index.notes.get("search_seconds")
    if not isinstance(search, int | float) or search > seconds:
        return {"search": seconds}
    return {"encode": seconds - search, "search": float(search)}


def _bytes_per_document(retriever: Retriever, index: Index, documents: int) -> float | None:
    if retriever.name.partition(":")[0] in SEARCH_SERVICES or not documents:
        return None
    return index.size_bytes / documents


def _encoding(retriever: Retriever, task: Task) -> tuple[float | None, float | None]:
    """Return documents each second and the price of a million of them, from a sample that is indexed anew."""
    if retriever.name.partition(":")[0] in SEARCH_SERVICES or not len(task.corpus):
        return None, None
    step = max(1, len(task.corpus) // SAMPLE_DOCUMENTS)
    rows = range(0, len(task.corpus), step)[:SAMPLE_DOCUMENTS]
    corpus = task.corpus
    sample = Corpus.of([corpus.ids[row] for row in rows], [corpus.texts[row] for row in rows])
    model = without_stores(retriever)
    start = time.perf_counter()
    index = model.index(sample, task.info)
    seconds = time.perf_counter() - start
    price = _price(index.notes)
    return len(sample) / seconds, None if price is None else 1e6 * price / len(sample)


def _price(notes: Any, *, without: str = "") -> float | None:
    """Return the sum of what services have charged, wherever the notes have it; None if nobody names a price."""
    if not isinstance(notes, Mapping):
        return None
    parts = [float(notes["cost"])] if isinstance(notes.get("cost"), int | float) else []
    others = (value for name, value in notes.items() if name != without)
    parts += [price for value in others if (price := _price(value, without=without)) is not None]
    return sum(parts) if parts else None
