"""Fusion: several rankings of the same corpus become one.

Reciprocal rank fusion gives a document the sum of `weight / (k + rank)` over the lists that hold it, ranks from 1.
It needs no scores, so lists whose scores mean different things can be joined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.errors import UnknownName, UsageError
from steelyard.protocols import Index, Retriever, Settings, Tick, no_tick
from steelyard.retrievers import load_retriever
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Int64, Queries, Run, TaskInfo

METHODS = ("rrf",)
OPTIONS = ("depth", "k", "method", "weights")
PADDING = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Fusion:
    """How rankings are joined: the method, its constant `k`, a weight for each list, and how deep lists are read.

    >>> Fusion.of({"k": "10", "weights": "2,1"}, lists=2)
    Fusion(method='rrf', k=10.0, weights=(2.0, 1.0), depth=500)
    """

    method: str = "rrf"
    k: float = 60.0
    weights: tuple[float, ...] | None = None
    depth: int = 500

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UnknownName("fusion method", self.method, METHODS, hint=f"known: {', '.join(METHODS)}")
        if not 0 <= self.k < np.inf:
            raise UsageError(f"the fusion constant k is {self.k:g}", hint="a number from 0 up; 60 is usual")
        if self.depth < 1:
            raise UsageError(
                f"the fusion depth is {self.depth}", hint="how many documents of each list count: 1 or more"
            )
        if self.weights is not None and not all(0 < weight < np.inf for weight in self.weights):
            raise UsageError(f"the fusion weights are {self.weights}", hint="every weight is a number above 0")

    @classmethod
    def of(cls, options: Mapping[str, str], *, lists: int) -> Fusion:
        """The settings in a model's name: `[bm25, dense]?k=10&weights=2,1`."""
        for name in options:
            if name not in OPTIONS:
                raise UnknownName("fusion option", name, OPTIONS, hint=f"known: {', '.join(OPTIONS)}")
        weights = options.get("weights")
        try:
            fusion = cls(
                method=options.get("method", cls.method),
                k=float(options.get("k", cls.k)),
                weights=tuple(map(float, weights.split(","))) if weights else None,
                depth=int(options.get("depth", cls.depth)),
            )
        except ValueError as error:
            raise UsageError(
                f"a fusion option is not a number: {error}", hint="such as ?k=60&depth=500&weights=2,1"
            ) from error
        fusion._check_lists(lists)
        return fusion

    @property
    def settings(self) -> Settings:
        """Everything here that could change a figure."""
        return {
            "method": self.method,
            "k": self.k,
            "weights": list(self.weights) if self.weights else None,
            "depth": self.depth,
        }

    def fuse(self, runs: Sequence[Run], top_k: int | None = None) -> Run:
        """Join rankings of the same queries over the same corpus; see `fuse`."""
        if not runs:
            raise UsageError("nothing to fuse", hint="give one run or more")
        self._check_lists(len(runs))
        if len({len(run) for run in runs}) > 1:
            found = ", ".join(str(len(run)) for run in runs)
            raise UsageError(f"runs of {found} queries cannot be fused", hint="every run needs the same queries")
        cut = [run.cut(self.depth) for run in runs]
        weights = self.weights or (1.0,) * len(runs)
        gains = [weight / (self.k + np.arange(1, run.depth + 1)) for weight, run in zip(weights, cut, strict=True)]
        return _merge(np.concatenate([run.rows for run in cut], axis=1), np.concatenate(gains), top_k)

    def _check_lists(self, lists: int) -> None:
        if self.weights is not None and len(self.weights) != lists:
            raise UsageError(f"{len(self.weights)} fusion weights for {lists} models", hint="one weight for each")


def fuse(
    runs: Sequence[Run],
    *,
    method: str = "rrf",
    k: float = 60.0,
    weights: Sequence[float] | None = None,
    depth: int = 500,
    top_k: int | None = None,
) -> Run:
    """Join rankings of the same queries over the same corpus into one, cut at `top_k`.

    Only the first `depth` documents of each list count; a document that one list lacks gets nothing from it. Scores
    are float32; ties by row.

    >>> a, b = Run.of([[0, 1, 2]], [[9, 8, 7]]), Run.of([[2, 3, -1]], [[0.5, 0.4, 0.0]])
    >>> joined = fuse([a, b], k=60)
    >>> joined.rows.tolist(), [f"{score:.4f}" for score in joined.scores[0]]
    ([[2, 0, 1, 3]], ['0.0323', '0.0164', '0.0161', '0.0161'])
    """
    settings = Fusion(method, k, tuple(weights) if weights is not None else None, depth)
    return settings.fuse(runs, top_k)


def _merge(rows: Any, gains: Any, top_k: int | None) -> Run:
    """Sum the gains of equal rows within each line of `rows`; column `c` of every line gains `gains[c]`."""
    queries, columns = rows.shape
    # One key holds row and column: sorting it brings equal rows together, in the order of the lists.
    keys = np.where(rows < 0, PADDING, rows.astype(np.int64) * columns + np.arange(columns))
    keys.sort(axis=1)
    real = keys != PADDING
    flat = keys[real]
    row, column = np.divmod(flat, columns)
    query = np.repeat(np.arange(queries), real.sum(axis=1))
    first = np.ones(len(flat), dtype=bool)
    first[1:] = (row[1:] != row[:-1]) | (query[1:] != query[:-1])
    starts = np.flatnonzero(first)
    if not len(starts):
        return Run(np.empty((queries, 0), dtype=np.int32), np.empty((queries, 0), dtype=np.float32))
    sums = np.add.reduceat(gains[column], starts).astype(np.float32)
    return _best(query[starts], row[starts], sums, queries, top_k)


def _best(query: Int64, row: Int64, score: Any, queries: int, top_k: int | None) -> Run:
    """The best `top_k` of (query, row, score) triples that stand together by query; scores are not negative."""
    counts = np.bincount(query, minlength=queries)
    place = np.arange(len(query)) - np.repeat(np.cumsum(counts) - counts, counts)
    # The bits of a float32 that is not negative sort as it does; turned round, best first, then the lower row.
    bits = np.iinfo(np.int32).max - score.view(np.int32).astype(np.int64)
    keys = np.full((queries, int(counts.max())), PADDING)
    keys[query, place] = bits << 32 | row
    keys.sort(axis=1)
    keys = keys[:, :top_k]
    real = keys != PADDING
    scores = (np.iinfo(np.int32).max - (keys >> 32)).astype(np.int32).view(np.float32)
    return Run(np.where(real, keys & 0xFFFFFFFF, -1).astype(np.int32), np.where(real, scores, np.float32(-np.inf)))


@dataclass(frozen=True)
class FusedIndex:
    """A corpus indexed by every model of a fusion."""

    parts: tuple[Index, ...]
    fusion: Fusion
    names: tuple[str, ...]

    @property
    def size_bytes(self) -> int:
        """The memory of all parts."""
        return sum(part.size_bytes for part in self.parts)

    @property
    def notes(self) -> Settings:
        """The notes of each part, by its name."""
        return {name: dict(part.notes) for name, part in zip(self.names, self.parts, strict=True)}

    def search(self, queries: Queries, top_k: int) -> Run:
        """Search every part as deep as the fusion reads, then join."""
        return self.fusion.fuse([part.search(queries, self.fusion.depth) for part in self.parts], top_k)


@dataclass(frozen=True)
class FusedRetriever:
    """Several retrievers whose rankings are joined."""

    name: str
    parts: tuple[Retriever, ...]
    fusion: Fusion

    @property
    def settings(self) -> Settings:
        """The settings of the fusion and of every part."""
        return {"fusion": dict(self.fusion.settings), "parts": [dict(part.settings) for part in self.parts]}

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> FusedIndex:
        """Index the corpus with every part."""
        names = tuple(part.name for part in self.parts)
        return FusedIndex(tuple(part.index(corpus, info, tick) for part in self.parts), self.fusion, names)


def from_spec(spec: ModelSpec) -> FusedRetriever:
    """The retriever of `[bm25, dense]?k=60`."""
    fusion = Fusion.of(spec.options, lists=len(spec.parts))
    return FusedRetriever(str(spec), tuple(load_retriever(part) for part in spec.parts), fusion)
