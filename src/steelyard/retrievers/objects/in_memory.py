"""A run or vectors that are already computed, in dictionaries, as models."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from steelyard.encoders.batching import check_finite, excerpt
from steelyard.errors import DataError
from steelyard.types import Corpus, Float32, Queries, Role, Run, TaskInfo
from steelyard.types.protocols import ModelSettings, Tick, no_tick

RunDictionary = Mapping[str, Mapping[str, float]]
VECTOR_KEYS = {"documents", "queries"}


def is_run(value: Mapping[Any, Any]) -> bool:
    """Return whether a dictionary is a run: documents and scores of each query.

    >>> is_run({"q1": {"d1": 2}}), is_run({"q1": {}}), is_run({"mini": "dense:X"}), is_run({})
    (True, True, False, False)
    """
    return bool(value) and all(
        isinstance(scores, Mapping) and all(isinstance(score, Real) or score is None for score in scores.values())
        for scores in value.values()
    )


def is_vectors(value: Mapping[Any, Any]) -> bool:
    """Return whether a dictionary has the vectors of documents and queries by id."""
    return set(value) == VECTOR_KEYS and all(
        isinstance(part, Mapping) and not any(isinstance(vector, Real) for vector in part.values())
        for part in value.values()
    )


@dataclass(frozen=True, eq=False)
class RunIndex:
    """The lists of a run for one corpus."""

    run: RunDictionary
    corpus: Corpus
    name: str
    notes: dict[str, Any] = field(default_factory=dict)
    size_bytes: int = 0

    def search(self, queries: Queries, top_k: int) -> Run:
        """Return the best `top_k` of each query's list; a query that is not in the run has an empty list."""
        lists = [self.run.get(query, {}) for query in queries.ids]
        rows = np.full((len(lists), max(map(len, lists), default=0)), -1, dtype=np.int32)
        scores = np.full(rows.shape, -np.inf)
        for number, ranked in enumerate(lists):
            rows[number, : len(ranked)] = [self._row(document, queries.ids[number]) for document in ranked]
            scores[number, : len(ranked)] = list(ranked.values())
            if not np.isfinite(scores[number, : len(ranked)]).all():
                place = int(np.flatnonzero(~np.isfinite(scores[number]))[0])
                document = list(ranked)[place]
                raise DataError.invalid(
                    f"the score of document {document!r} for query {queries.ids[number]!r}",
                    expected="a finite number",
                    found=ranked[document],
                    hint="remove the document from the list",
                )
        if missing := sum(query not in self.run for query in queries.ids):
            self.notes["queries_not_in_run"] = missing
        return Run.of(rows, scores).top(top_k)

    def _row(self, document: str, query: str) -> int:
        row = self.corpus.row_of.get(document)
        if row is None:
            raise DataError(
                f"the document {excerpt(str(document))} of query {query!r} is not in the corpus",
                found=document,
                expected="an id of the task's corpus",
                hint="use the ids of the task: load_task(TASK).corpus.ids",
            )
        return row


@dataclass(frozen=True, eq=False)
class RunRetriever:
    """A run in memory as a model: `{query: {document: score}}`."""

    name: str
    run: RunDictionary

    @cached_property
    def settings(self) -> ModelSettings:
        """Return a hash of the run."""
        digest = hashlib.blake2b(digest_size=16)
        for query, scores in sorted(self.run.items()):
            digest.update(f"\0{query}\0{sorted(scores.items())!r}".encode("utf-8", "surrogatepass"))
        return {"run": digest.hexdigest()}

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> RunIndex:
        """Return the lists for the corpus."""
        tick(len(corpus))
        return RunIndex(self.run, corpus, self.name)


class VectorDictionary:
    """An encoder that looks vectors up in dictionaries by id."""

    storable = False
    similarity = "cosine"

    def __init__(self, name: str, documents: Mapping[str, Any], queries: Mapping[str, Any]) -> None:
        self.name = name
        self._vectors: dict[Role, Mapping[str, Any]] = {"document": documents, "query": queries}
        lengths = {len(vector) for part in self._vectors.values() for vector in part.values()}
        if len(lengths) != 1:
            raise DataError.invalid(
                "the vectors of a dictionary",
                expected="vectors of one dimension",
                found=f"dimensions {', '.join(map(str, sorted(lengths))) or 'none'}",
                hint="encode documents and queries with one model",
            )
        (self.dimension,) = lengths

    @cached_property
    def settings(self) -> ModelSettings:
        """Return a hash of the vectors."""
        digest = hashlib.blake2b(digest_size=16)
        for role, part in sorted(self._vectors.items()):
            for id, vector in sorted(part.items()):
                digest.update(f"\0{role}\0{id}\0".encode() + np.asarray(vector, dtype=np.float32).tobytes())
        return {"encoder": "dictionary", "vectors": digest.hexdigest()}

    def look_up(self, ids: Sequence[str] | None, texts: Sequence[str], role: Role) -> Float32:
        """Return the vector of each id; raise a DataError for one that is missing."""
        part = self._vectors.get(role, self._vectors["document"])
        if ids is None or (missing := [id for id in ids if id not in part]):
            raise DataError(
                f"{len(missing) if ids else len(texts)} of {len(texts)} vectors of role {role} are missing",
                found=missing[0] if ids else None,
                expected="a vector for each id of the task",
                hint="vectors are looked up by the ids of documents and queries",
            )
        vectors = np.stack([np.asarray(part[id], dtype=np.float32) for id in ids])
        check_finite(vectors, texts, role, self.name)
        return vectors

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Float32:
        """Raise a DataError: vectors are known by id, not by text."""
        return self.look_up(None, texts, role)
