"""Scores of queries with documents, each pair of texts scored once: in a run, in a batch of models, and for ever.

For the task at hand scores are remembered by row, so that pipelines with the same reranker share them. In the store
lie scores by content, as vectors do: a second run scores nothing.
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

from steelyard.config import Settings
from steelyard.encoders.batching import excerpt
from steelyard.encoders.cache.vector_store import KEY, Keys, VectorStore, keys_of
from steelyard.encoders.float_arrays import as_floats
from steelyard.encoders.streaming import ReportsUsage
from steelyard.errors import ModelError
from steelyard.types import Float32, Float64, Int32, Int64, Role
from steelyard.types.protocols import ModelSettings, Reranker, Tick, Unjudged, no_tick

PART = 4096
"""Pairs that each of the reranker's `workers` scores between two writes to the store: what an interruption can cost."""


@runtime_checkable
class ReranksInParts(Protocol):
    """A reranker that has scores to hand on before it is done with all of them."""

    def rerank_parts(
        self, queries: Sequence[str], documents: Sequence[Sequence[str]]
    ) -> Generator[tuple[int, Int64, Float32], None, None]:
        """The scores as they are ready, in any order: which query, which of its documents, and theirs."""
        ...


@dataclass(frozen=True)
class _Scale:
    """A reranker in the eyes of the store: an encoder of pairs whose vectors have one number."""

    name: str
    settings: ModelSettings
    dimension: int = 1
    similarity: str = "dot"

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Float32:
        raise NotImplementedError("pairs are scored by a reranker")


@dataclass
class _Memory:
    """Scores of (query, document) pairs of one task, and the seconds that each took; sorted by pair."""

    pairs: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    scores: Float32 = field(default_factory=lambda: np.empty(0, dtype=np.float32))
    seconds: Float64 = field(default_factory=lambda: np.empty(0))

    def get(self, pairs: Int64) -> tuple[Any, Float32, Float64]:
        """Which pairs are known, their scores and seconds; the others have 0."""
        if not len(self.pairs):
            return np.zeros(len(pairs), dtype=bool), np.zeros(len(pairs), np.float32), np.zeros(len(pairs))
        at = np.minimum(np.searchsorted(self.pairs, pairs), len(self.pairs) - 1)
        known = self.pairs[at] == pairs
        return known, np.where(known, self.scores[at], np.float32(0)), np.where(known, self.seconds[at], 0)

    def add(self, pairs: Int64, scores: Float32, seconds: Float64) -> None:
        """Remember pairs that are not known yet."""
        order = np.argsort(joined := np.concatenate([self.pairs, pairs]))
        self.pairs = joined[order]
        self.scores = np.concatenate([self.scores, scores])[order]
        self.seconds = np.concatenate([self.seconds, seconds])[order]


@dataclass(frozen=True, eq=False)
class Scored:
    """The scores of candidates, and how they were obtained."""

    scores: Float32
    """Beside the rows; -inf where there is no document."""
    reused: float
    """Seconds that another model of the same task had spent on some of these pairs."""
    notes: ModelSettings


class PairScorer:
    """A reranker that is asked for no pair twice. `problems` of the store are in the notes."""

    def __init__(self, reranker: Reranker, settings: Settings | None = None) -> None:
        settings = settings or Settings.load()
        self.reranker = reranker
        self._memories: WeakKeyDictionary[Unjudged, _Memory] = WeakKeyDictionary()
        listwise = getattr(reranker, "listwise", False)
        storable = getattr(reranker, "storable", True) and not listwise and settings.cache_bytes > 0
        name = str(reranker.settings.get("reranker", reranker.name))  # the model's, without options of this run
        self._store = VectorStore(_Scale(name, {"pairs": dict(reranker.settings)}), settings) if storable else None

    def forget_store(self) -> None:
        """Compute every pair anew from now on, as a measurement of latency must."""
        self._store = None

    def score(self, task: Unjudged, rows: Int32, tick: Tick = no_tick) -> Scored:
        """Scores of each query's candidates: `rows` has a line for each query, -1 where there is no document."""
        real = rows >= 0
        query = np.nonzero(real)[0]
        pairs = query * len(task.corpus) + rows[real]
        # A score that depends on the other documents of the list is not that of the pair in a longer list.
        listwise = getattr(self.reranker, "listwise", False)
        memory = _Memory() if listwise else self._memories.setdefault(task, _Memory())
        known, scores, seconds = memory.get(pairs)
        reused = float(seconds.sum())
        tick(int(known.sum()))
        new = np.flatnonzero(~known)
        notes: dict[str, Any] = {"pairs": len(pairs), "pairs_scored": 0, "pairs_from_cache": 0}
        notes["pairs_reused"] = int(known.sum())
        if len(new):
            scores[new], seconds[new], told = self._new(task, query[new], rows[real][new], tick)
            memory.add(pairs[new], scores[new], seconds[new])
            notes |= told
        laid_out = np.full(rows.shape, -np.inf, dtype=np.float32)
        laid_out[real] = scores
        return Scored(laid_out, reused, notes)

    def _new(self, task: Unjudged, query: Int64, row: Int32, tick: Tick) -> tuple[Float32, Float64, dict[str, Any]]:
        """Scores and seconds of pairs of rows, from distinct pairs of texts."""
        asked, first = _distinct(task.queries.texts, query)
        read, second = _distinct(task.corpus.texts, row)
        pairs, place = np.unique(first * len(read) + second, return_inverse=True)
        first, second = np.divmod(pairs, len(read))
        scores, seconds = np.zeros(len(pairs), dtype=np.float32), np.zeros(len(pairs))
        known, keys = np.zeros(len(pairs), dtype=bool), np.empty(len(pairs), dtype=KEY)
        if self._store is not None:
            keys = _pair_keys(asked, read, first, second)
            known, vectors = self._store.get(keys)
            scores[known] = vectors[known, 0]
        unknown = np.flatnonzero(~known)
        tick(len(query) - len(unknown))
        step = PART * getattr(self.reranker, "workers", 1)
        for start in range(0, len(unknown), step):
            part = unknown[start : start + step]
            begin = time.perf_counter()
            self._part(asked, read, (first[part], second[part]), scores, part, keys, tick)
            seconds[part] = (time.perf_counter() - begin) / len(part)
        notes: dict[str, Any] = {"pairs_scored": len(unknown), "pairs_from_cache": int(known.sum())}
        notes |= self.reranker.account() if isinstance(self.reranker, ReportsUsage) else {}
        if self._store is not None and self._store.problems:
            notes["cache_problems"] = list(self._store.problems)
        return scores[place], seconds[place], notes

    def _part(
        self,
        asked: Sequence[str],
        read: Sequence[str],
        pairs: tuple[Int64, Int64],
        scores: Float32,
        part: Int64,
        keys: Keys,
        tick: Tick,
    ) -> None:
        """Score some pairs that stand together by query; what arrives before an error is kept all the same."""
        first, second = pairs
        starts = np.flatnonzero(np.concatenate(([True], first[1:] != first[:-1])))
        queries = [asked[q] for q in first[starts]]
        documents = [[read[d] for d in second[a:b]] for a, b in zip(starts, [*starts[1:], len(first)], strict=True)]
        done = np.zeros(len(part), dtype=bool)

        def receive(query: int, places: Int64, found: Float32) -> None:
            _check(self.reranker.name, queries[query], [documents[query][place] for place in places], found)
            at = starts[query] + places
            scores[part[at]], done[at] = found, True

        try:
            if isinstance(self.reranker, ReranksInParts):
                with closing(self.reranker.rerank_parts(queries, documents)) as arriving:
                    for query, places, found in arriving:
                        receive(query, places, found)
                        tick(len(places))
            else:
                lists = self.reranker.rerank(queries, documents, tick)
                if len(lists) != len(queries):
                    raise ModelError(
                        f"{self.reranker.name} gave {len(lists)} lists for {len(queries)} queries", hint="one a query"
                    )
                for query, found in enumerate(lists):
                    found = as_floats(found, self.reranker.name, "one number for each document")
                    receive(query, np.arange(len(documents[query])), found)
        finally:
            if self._store is not None and done.any():
                self._store.put(keys[part[done]], scores[part[done], None])


def _distinct(texts: Sequence[str], rows: Any) -> tuple[list[str], Int64]:
    """The distinct texts of these rows, and for each row which of them it is."""
    used, place = np.unique(rows, return_inverse=True)
    number: dict[str, int] = {}
    numbers = np.array([number.setdefault(texts[row], len(number)) for row in used.tolist()], dtype=np.int64)
    return list(number), numbers[place]


def _pair_keys(asked: Sequence[str], read: Sequence[str], first: Int64, second: Int64) -> Keys:
    """Each text is hashed once, and then each pair of hashes."""
    queries = [key.tobytes() for key in keys_of(asked, "query")]
    documents = [key.tobytes() for key in keys_of(read, "document")]
    digests = (
        hashlib.blake2b(queries[q] + documents[d], digest_size=16, person=b"pair").digest()
        for q, d in zip(first.tolist(), second.tolist(), strict=True)
    )
    return np.frombuffer(b"".join(digests), dtype=KEY)


def _check(name: str, query: str, documents: Sequence[str], scores: Float32) -> None:
    if scores.shape != (len(documents),):
        raise ModelError(
            f"{name} gave an array of shape {scores.shape} for {len(documents)} documents of the query {excerpt(query)}",
            hint="a reranker gives one score for each document",
        )
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        raise ModelError(
            f"{name} gave {scores[bad[0]]} for the query {excerpt(query)} with the document {excerpt(documents[bad[0]])}",
            hint="look at these texts; a model in half precision may need dtype=float32",
        )
