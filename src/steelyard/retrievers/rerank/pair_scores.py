"""Scores of pairs of query and document, each pair of texts scored once: in a run, in a batch of models, and later.

During a task, scores are kept by row, so that pipelines with the same reranker share them. On disk, scores are stored
by content, like vectors: a second run scores nothing.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from steelyard.config import Settings
from steelyard.encoders.batching import excerpt
from steelyard.encoders.cache.cached_encoder import open_model
from steelyard.encoders.cache.cost_log import record_cost, stored_seconds
from steelyard.encoders.cache.vector_store import KEY, Keys, VectorStore, keys_of
from steelyard.encoders.float_arrays import as_floats
from steelyard.encoders.streaming import ReportsUsage
from steelyard.errors import ModelError
from steelyard.types import Float32, Float64, Int32, Int64, Role, TaskInfo
from steelyard.types.protocols import ModelSettings, Reranker, Tick, Unjudged, no_tick

PAIRS = "pairs"
"""The name of pairs in the log of costs."""
PART = 4096
"""Pairs that each worker of the reranker scores between two writes to the store: the most that is lost on interrupt."""


@runtime_checkable
class ReranksInParts(Protocol):
    """A reranker that can return scores before all of them are computed."""

    def rerank_parts(
        self, queries: Sequence[str], documents: Sequence[Sequence[str]]
    ) -> Generator[tuple[int, Int64, Float32], None, None]:
        """Yield scores as they are ready, in any order: which query, which of its documents, and their scores."""
        ...


@dataclass(frozen=True)
class _PairEncoder:
    """A reranker as the store needs it: an encoder of pairs whose vectors have one number."""

    name: str
    settings: ModelSettings
    dimension: int = 1
    similarity: str = "dot"

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Float32:
        raise NotImplementedError("pairs are scored by a reranker")


@dataclass
class _Memory:
    """Scores of (query, document) pairs of one task, and the seconds of each; sorted by pair."""

    pairs: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    scores: Float32 = field(default_factory=lambda: np.empty(0, dtype=np.float32))
    seconds: Float64 = field(default_factory=lambda: np.empty((2, 0)))
    """What each pair took in this run, and what it had taken when its stored score was made."""

    def get(self, pairs: Int64) -> tuple[Any, Float32, Float64]:
        """Return which pairs are known, their scores and seconds; 0 for the others."""
        if not len(self.pairs):
            return np.zeros(len(pairs), dtype=bool), np.zeros(len(pairs), np.float32), np.zeros((2, len(pairs)))
        at = np.minimum(np.searchsorted(self.pairs, pairs), len(self.pairs) - 1)
        known = self.pairs[at] == pairs
        return known, np.where(known, self.scores[at], np.float32(0)), np.where(known, self.seconds[:, at], 0)

    def add(self, pairs: Int64, scores: Float32, seconds: Float64) -> None:
        """Add pairs that are not known yet."""
        order = np.argsort(joined := np.concatenate([self.pairs, pairs]))
        self.pairs = joined[order]
        self.scores = np.concatenate([self.scores, scores])[order]
        self.seconds = np.concatenate([self.seconds, seconds], axis=1)[:, order]


@dataclass(frozen=True, eq=False)
class Scored:
    """The scores of candidates, and how they were obtained."""

    scores: Float32
    """Parallel to the rows; -inf without a document."""
    reused: float
    """Seconds that another model of the same task had spent on some of these pairs."""
    notes: ModelSettings


@runtime_checkable
class InstructedReranker(Protocol):
    """A reranker with an instruction for each task."""

    def for_task(self, info: TaskInfo) -> Reranker:
        """Return the reranker for that task."""
        ...


class PairScorer:
    """A reranker that scores no pair twice. Problems of the store are in the notes."""

    def __init__(self, reranker: Reranker, settings: Settings | None = None) -> None:
        self._settings = settings = settings or Settings.load()
        self.reranker = reranker
        self._others: dict[str, PairScorer] = {}
        self._memories: WeakKeyDictionary[Unjudged, _Memory] = WeakKeyDictionary()
        listwise = getattr(reranker, "listwise", False)
        storable = getattr(reranker, "storable", True) and not listwise and settings.cache_bytes > 0
        name = str(
            reranker.settings.get("reranker", reranker.name)
        )  # the name of the model without options of this run
        self.store = VectorStore(_PairEncoder(name, {"pairs": dict(reranker.settings)}), settings) if storable else None

    @property
    def settings(self) -> ModelSettings:
        """Everything that could change a score."""
        return self.reranker.settings

    def for_task(self, info: TaskInfo) -> PairScorer:
        """Return the scorer of the reranker for that task: itself, unless the reranker has another instruction."""
        reranker = self.reranker.for_task(info) if isinstance(self.reranker, InstructedReranker) else self.reranker
        if reranker is self.reranker:
            return self
        key = str(reranker.settings)
        if key not in self._others:
            self._others[key] = PairScorer(reranker, self._settings)
        return self._others[key]

    def without_store(self) -> PairScorer:
        """Return a scorer that computes every pair, for measurements of latency."""
        scorer = PairScorer(self.reranker)
        scorer.store = None
        return scorer

    def score(self, task: Unjudged, rows: Int32, tick: Tick = no_tick) -> Scored:
        """Return the scores of each query's candidates: `rows` has a line for each query, -1 without a document."""
        if getattr(self.reranker, "reads_order", False):
            return self._score_lists(task, rows, tick)
        real = rows >= 0
        query = np.nonzero(real)[0]
        pairs = query * len(task.corpus) + rows[real]
        # A listwise score depends on the other documents of the list, so it is not reused for another list.
        listwise = getattr(self.reranker, "listwise", False)
        memory = _Memory() if listwise else self._memories.setdefault(task, _Memory())
        known, scores, seconds = memory.get(pairs)
        reused = float(seconds[0].sum())
        tick(int(known.sum()))
        new = np.flatnonzero(~known)
        notes: dict[str, Any] = {"pairs": len(pairs), "pairs_scored": 0, "pairs_from_cache": 0}
        notes["pairs_reused"] = int(known.sum())
        if len(new):
            scores[new], seconds[:, new], new_notes = self._new(task, query[new], rows[real][new], tick)
            memory.add(pairs[new], scores[new], seconds[:, new])
            notes |= new_notes
        notes |= {"rerank_seconds": round(float(seconds[0].sum()), 6)}
        if np.isfinite(seconds[1]).all():  # otherwise stored by an earlier release
            notes["rerank_seconds_stored"] = round(float(seconds[1].sum()), 6)
        matrix = np.full(rows.shape, -np.inf, dtype=np.float32)
        matrix[real] = scores
        return Scored(matrix, reused, notes)

    def _score_lists(self, task: Unjudged, rows: Int32, tick: Tick) -> Scored:
        """Score whole lists in the order of the first stage, for a reranker that reads it; nothing is stored."""
        lists = [[int(row) for row in line if row >= 0] for line in rows]
        documents = [[task.corpus.texts[row] for row in line] for line in lists]
        scores = self.reranker.rerank(task.queries.texts, documents, tick)
        matrix = np.full(rows.shape, -np.inf, dtype=np.float32)
        for query, (texts, values) in enumerate(zip(documents, scores, strict=True)):
            _check(self.reranker.name, task.queries.texts[query], texts, values)
            matrix[query, rows[query] >= 0] = values
        notes: dict[str, Any] = {"pairs": sum(map(len, lists)), "pairs_scored": sum(map(len, lists))}
        notes |= self.reranker.account() if isinstance(self.reranker, ReportsUsage) else {}
        return Scored(matrix, 0.0, notes)

    def _new(self, task: Unjudged, query: Int64, row: Int32, tick: Tick) -> tuple[Float32, Float64, dict[str, Any]]:
        """Return scores and seconds of pairs of rows, from distinct pairs of texts."""
        queries, first = _distinct(task.queries.texts, query)
        documents, second = _distinct(task.corpus.texts, row)
        pairs, place = np.unique(first * len(documents) + second, return_inverse=True)
        first, second = np.divmod(pairs, len(documents))
        scores, seconds = np.zeros(len(pairs), dtype=np.float32), np.zeros((2, len(pairs)))
        known, keys = np.zeros(len(pairs), dtype=bool), np.empty(len(pairs), dtype=KEY)
        if self.store is not None:
            keys = _pair_keys(queries, documents, first, second)
            known, vectors = self.store.get(keys)
            scores[known] = vectors[known, 0]
        unknown = np.flatnonzero(~known)
        tick(len(query) - len(unknown))
        opening = open_model(self.reranker) if len(unknown) else {}
        step = PART * getattr(self.reranker, "workers", 1)
        for start in range(0, len(unknown), step):
            part = unknown[start : start + step]
            begin = time.perf_counter()
            self._part(queries, documents, (first[part], second[part]), scores, part, keys, tick)
            seconds[0, part] = (time.perf_counter() - begin) / len(part)
        self._log_costs(known, seconds)
        notes: dict[str, Any] = {"pairs_scored": len(unknown), "pairs_from_cache": int(known.sum()), **opening}
        notes |= self.reranker.account() if isinstance(self.reranker, ReportsUsage) else {}
        if self.store is not None and self.store.problems:
            notes["cache_problems"] = list(self.store.problems)
        return scores[place], seconds[:, place] / np.bincount(place)[place], notes

    def _log_costs(self, known: npt.NDArray[np.bool_], seconds: Float64) -> None:
        """Keep the seconds of new pairs with the scores, and set those of stored ones; NaN if they are not known."""
        if self.store is None:
            return
        if count := int(known.sum()):
            stored = stored_seconds(self.store.folder, PAIRS, count)
            seconds[1, known] = np.nan if stored is None else stored / count
        record_cost(self.store.folder, PAIRS, int((~known).sum()), float(seconds[0].sum()))

    def _part(
        self,
        query_texts: Sequence[str],
        document_texts: Sequence[str],
        pairs: tuple[Int64, Int64],
        scores: Float32,
        part: Int64,
        keys: Keys,
        tick: Tick,
    ) -> None:
        """Score some pairs grouped by query; scores that arrive before an error are stored."""
        first, second = pairs
        starts = np.flatnonzero(np.concatenate(([True], first[1:] != first[:-1])))
        queries = [query_texts[q] for q in first[starts]]
        documents = [
            [document_texts[d] for d in second[a:b]] for a, b in zip(starts, [*starts[1:], len(first)], strict=True)
        ]
        done = np.zeros(len(part), dtype=bool)

        def receive(query: int, places: Int64, values: Float32) -> None:
            _check(self.reranker.name, queries[query], [documents[query][place] for place in places], values)
            at = starts[query] + places
            scores[part[at]], done[at] = values, True

        try:
            if isinstance(self.reranker, ReranksInParts):
                with closing(self.reranker.rerank_parts(queries, documents)) as arriving:
                    for query, places, values in arriving:
                        receive(query, places, values)
                        tick(len(places))
            else:
                lists = self.reranker.rerank(queries, documents, tick)
                if len(lists) != len(queries):
                    raise ModelError.invalid(
                        f"the output of {self.reranker.name}",
                        expected=f"{len(queries)} lists, one for each query",
                        found=len(lists),
                    )
                for query, output in enumerate(lists):
                    values = as_floats(output, self.reranker.name, "one number for each document")
                    receive(query, np.arange(len(documents[query])), values)
        finally:
            if self.store is not None and done.any():
                self.store.put(keys[part[done]], scores[part[done], None])


def _distinct(texts: Sequence[str], rows: Any) -> tuple[list[str], Int64]:
    """Return the distinct texts of these rows, and for each row which of them it has."""
    used, place = np.unique(rows, return_inverse=True)
    number: dict[str, int] = {}
    numbers = np.array([number.setdefault(texts[row], len(number)) for row in used.tolist()], dtype=np.int64)
    return list(number), numbers[place]


def _pair_keys(queries: Sequence[str], documents: Sequence[str], first: Int64, second: Int64) -> Keys:
    """Return the keys of pairs: every text is hashed once, then every pair of hashes."""
    query_keys = [key.tobytes() for key in keys_of(queries, "query")]
    document_keys = [key.tobytes() for key in keys_of(documents, "document")]
    digests = (
        hashlib.blake2b(query_keys[q] + document_keys[d], digest_size=16, person=b"pair").digest()
        for q, d in zip(first.tolist(), second.tolist(), strict=True)
    )
    return np.frombuffer(b"".join(digests), dtype=KEY)


def _check(name: str, query: str, documents: Sequence[str], scores: Float32) -> None:
    if scores.shape != (len(documents),):
        raise ModelError(
            f"{name} must return one score for each of {len(documents)} documents of the query {excerpt(query)}, "
            f"got an array of shape {scores.shape}",
            expected=f"{len(documents)} scores",
            found=f"shape {scores.shape}",
        )
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        raise ModelError(
            f"every score of {name} must be a finite number, got {scores[bad[0]]} for the query {excerpt(query)} "
            f"with the document {excerpt(documents[bad[0]])}",
            hint="a model in half precision may need dtype=float32",
            expected="a finite number",
            found=float(scores[bad[0]]),
        )
