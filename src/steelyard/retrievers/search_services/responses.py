"""From the answers of a service to a run: ids become rows, and whatever is odd is counted or refused.

- Scores, where a service gives them, must not rise along a list: then they are not what the list is sorted by.
  Rounding is allowed for: a graph of vectors may order by a distance whose last digits differ from the score's.
  Without scores a document at rank r counts 1/r.
- A document that is in a list twice (a service that searches passages) counts once, where it came first.
- A document that the corpus does not have is an error, or is left out and counted.
- A list that is shorter than asked for is fine; of a longer one the first are taken.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steelyard.errors import MissingPart, ModelError
from steelyard.http.retry import backoff
from steelyard.retrievers.search_services.request_options import Manners
from steelyard.types import Queries, Run

FIRST_WAIT = 0.2
ROUNDING = 1e-5
"""How much a score may rise along a list, as a share of the largest, before it is called rising."""
NAMED = 3
"""How many examples an error or a note gives."""


@dataclass(frozen=True)
class Hits:
    """The answer to one query, best first. `unknown` are ids that the corpus does not have; their row is -1."""

    rows: Sequence[int]
    scores: Sequence[float] | None = None
    unknown: tuple[str, ...] = ()
    seconds: float = 0.0
    retries: int = 0


def by_id(
    ids: Sequence[Any], scores: Sequence[Any] | None, row_of: Mapping[str, int], *, seconds: float, retries: int = 0
) -> Hits:
    """Hits from what a service calls its documents: text, or whole numbers that stand for it.

    >>> by_id(["a", 7], [2.5, 1], {"a": 0, "7": 1}, seconds=0.1)
    Hits(rows=[0, 1], scores=[2.5, 1.0], unknown=(), seconds=0.1, retries=0)
    """
    names = [_name(id_) for id_ in ids]
    rows = [row_of.get(name, -1) for name in names]
    unknown = tuple(name for name, row in zip(names, rows, strict=True) if row < 0)
    if scores is not None and len(scores) != len(ids):
        raise ModelError(f"the answer has {len(ids)} ids and {len(scores)} scores", hint="mend the paths")
    return Hits(rows, None if scores is None else [*map(_number, scores, names)], unknown, seconds, retries)


def _name(id_: Any) -> str:
    if isinstance(id_, str):
        return id_
    if isinstance(id_, int) and not isinstance(id_, bool):
        return str(id_)
    raise ModelError(f"the answer has {id_!r:.60} where an id was expected", hint="mend the path to the ids")


def _number(score: Any, name: str) -> float:
    if isinstance(score, int | float) and not isinstance(score, bool) and score == score:
        return float(score)
    raise ModelError(
        f"the answer has {score!r:.60} where the score of document {name!r} was expected",
        hint="mend the path to the scores",
    )


@dataclass
class Asked:
    """What came of asking every query."""

    hits: list[Hits]
    failures: list[str] = field(default_factory=list)


def ask_all(count: int, ask: Callable[[int], Hits], manners: Manners) -> Asked:
    """The answer to each of `count` queries, in order, several at a time; `ask` takes the query's row."""
    failures: list[str] = []

    def answer(query: int) -> Hits:
        try:
            return ask(query)
        except (ModelError, MissingPart) as error:
            if manners.errors == "raise":
                raise
            failures.append(str(error))
            return Hits(())

    pool = ThreadPoolExecutor(max_workers=manners.concurrency)
    try:
        return Asked(list(pool.map(answer, range(count))), failures)
    finally:
        pool.shutdown(cancel_futures=True)


def patient(ask: Callable[[int], Hits], retries: int) -> Callable[[int], Hits]:
    """The same question, asked again where no answer came; for clients that do not do that themselves."""

    def asked(query: int) -> Hits:
        for tries in range(retries):
            try:
                return replace(ask(query), retries=tries)
            except MissingPart:
                time.sleep(backoff(tries, FIRST_WAIT))
        return replace(ask(query), retries=retries)

    return asked


def to_run(asked: Asked, queries: Queries, top_k: int, manners: Manners) -> tuple[Run, dict[str, Any]]:
    """The run, and notes on what asking cost and what was odd about the answers."""
    if manners.unknown == "raise":
        _refuse_unknown(asked.hits, queries)
    lists, twice = [], 0
    for query, hits in enumerate(asked.hits):
        ranked, repeated = _distinct(hits, queries.ids[query])
        lists.append(ranked[:top_k])
        twice += repeated
    depth = max(map(len, lists), default=0)
    rows = np.full((len(lists), depth), -1, dtype=np.int32)
    scores = np.full((len(lists), depth), -np.inf, dtype=np.float64)
    for query, ranked in enumerate(lists):
        if ranked:
            rows[query, : len(ranked)], scores[query, : len(ranked)] = zip(*ranked, strict=True)
    with np.errstate(over="ignore"):
        return Run.of(rows, scores.astype(np.float32)), _notes(asked, manners, twice)


def _distinct(hits: Hits, query: str) -> tuple[list[tuple[int, float]], int]:
    """Rows with their scores, each row once, and how many were left out for being there before."""
    scores = hits.scores if hits.scores is not None else [1 / rank for rank in range(1, len(hits.rows) + 1)]
    with np.errstate(over="ignore"):  # beyond float32 is infinite
        rounded = np.asarray(scores, dtype=np.float32)
    slack = ROUNDING * float(np.abs(rounded[np.isfinite(rounded)]).max(initial=0))
    rising = np.flatnonzero(rounded[1:] > rounded[:-1] + slack)
    if len(rising):
        at = int(rising[0])
        raise ModelError(
            f"the scores of query {query!r} rise from {scores[at]:g} at rank {at + 1} to {scores[at + 1]:g}",
            hint="they are not what the list is sorted by, or they are distances; leave them out to go by rank",
        )
    first: dict[int, float] = {}
    known = 0
    for row, score in zip(hits.rows, scores, strict=True):
        if row >= 0:
            known += 1
            first.setdefault(row, score)
    return list(first.items()), known - len(first)


def _refuse_unknown(answers: Sequence[Hits], queries: Queries) -> None:
    where = [query for query, hits in enumerate(answers) if hits.unknown]
    if where:
        hits = answers[where[0]]
        total = sum(len(answers[query].unknown) for query in where)
        raise ModelError(
            f"the service found {total:,} documents that the corpus does not have, in the lists of {len(where):,} of "
            f"{len(answers):,} queries, such as {', '.join(map(repr, hits.unknown[:NAMED]))} "
            f"for query {queries.ids[where[0]]!r}",
            hint="does the path lead to the ids of the corpus? unknown=ignore leaves such documents out",
        )


def _notes(asked: Asked, manners: Manners, twice: int) -> dict[str, Any]:
    seconds = [hits.seconds for hits in asked.hits if hits.seconds]
    notes: dict[str, Any] = {"queries": len(asked.hits), "concurrency": manners.concurrency}
    if seconds:
        p50, p95, longest = np.percentile(np.array(seconds) * 1000, [50, 95, 100])
        notes["latency_ms"] = {
            "p50": round(float(p50), 3),
            "p95": round(float(p95), 3),
            "max": round(float(longest), 3),
        }
    unknown = [id_ for hits in asked.hits for id_ in hits.unknown]
    counts = {
        "retries": sum(hits.retries for hits in asked.hits),
        "failed_queries": len(asked.failures),
        "documents_listed_twice": twice,
        "unknown_documents": len(unknown),
    }
    notes.update({name: count for name, count in counts.items() if count})
    if unknown:
        notes["unknown_examples"] = sorted(set(unknown))[:NAMED]
    if asked.failures:
        notes["failures"] = sorted(set(asked.failures))[:NAMED]
    return notes
