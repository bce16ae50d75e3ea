"""Turn the answers of a search service into a run: ids become rows; what is unexpected is counted or refused.

- Scores must not rise along a list: then the list is not sorted by them. Rounding errors are tolerated, because a
  vector index may sort by a distance whose last digits differ from the score's. Without scores, a document at rank r
  scores 1/r.
- A document that is in a list twice (in a service that searches passages) counts once, at its first rank.
- A document that is not in the corpus is an error, or is left out and counted.
- A list may be shorter than requested; of a longer one the first documents count.
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
from steelyard.retrievers.search_services.request_options import RequestOptions
from steelyard.types import Queries, Run

FIRST_WAIT = 0.2
ROUNDING = 1e-5
"""How much a score may rise along a list, as a fraction of the largest."""
NAMED = 3
"""How many examples an error or a note shows."""


@dataclass(frozen=True)
class Hits:
    """The answer to one query, best first. `unknown` are ids that are not in the corpus; their row is -1."""

    rows: Sequence[int]
    scores: Sequence[float] | None = None
    unknown: tuple[str, ...] = ()
    seconds: float = 0.0
    retries: int = 0


def by_id(
    ids: Sequence[Any], scores: Sequence[Any] | None, row_of: Mapping[str, int], *, seconds: float, retries: int = 0
) -> Hits:
    """Return hits from the ids of a service: texts or whole numbers.

    >>> by_id(["a", 7], [2.5, 1], {"a": 0, "7": 1}, seconds=0.1)
    Hits(rows=[0, 1], scores=[2.5, 1.0], unknown=(), seconds=0.1, retries=0)
    """
    names = [_id(value) for value in ids]
    rows = [row_of.get(name, -1) for name in names]
    unknown = tuple(name for name, row in zip(names, rows, strict=True) if row < 0)
    if scores is not None and len(scores) != len(ids):
        raise ModelError.invalid(
            "the number of scores",
            expected=f"{len(ids)}, one for each id",
            found=len(scores),
            hint="correct the paths to ids and scores",
        )
    return Hits(rows, None if scores is None else [*map(_number, scores, names)], unknown, seconds, retries)


def _id(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ModelError(
        f"every id in the answer must be a text or a whole number, got {value!r:.60}",
        hint="correct the path to the ids",
        expected="a text or a whole number",
        found=value,
    )


def _number(score: Any, name: str) -> float:
    if isinstance(score, int | float) and not isinstance(score, bool) and score == score:
        return float(score)
    raise ModelError(
        f"the score of document {name!r} in the answer must be a number, got {score!r:.60}",
        hint="correct the path to the scores",
        expected="a number",
        found=score,
    )


@dataclass
class Answers:
    """The answers to all queries."""

    hits: list[Hits]
    failures: list[str] = field(default_factory=list)


def query_all(count: int, query_one: Callable[[int], Hits], options: RequestOptions) -> Answers:
    """Return the answers to `count` queries in order, several at a time; `query_one` takes the row of a query."""
    failures: list[str] = []

    def answer(query: int) -> Hits:
        try:
            return query_one(query)
        except (ModelError, MissingPart) as error:
            if options.errors == "raise":
                raise
            failures.append(str(error))
            return Hits(())

    pool = ThreadPoolExecutor(max_workers=options.concurrency)
    try:
        return Answers(list(pool.map(answer, range(count))), failures)
    finally:
        pool.shutdown(cancel_futures=True)


def with_retries(query_one: Callable[[int], Hits], retries: int) -> Callable[[int], Hits]:
    """Return the function with retries, for clients that do not repeat requests themselves."""

    def retried(query: int) -> Hits:
        for attempt in range(retries):
            try:
                return replace(query_one(query), retries=attempt)
            except MissingPart:
                time.sleep(backoff(attempt, FIRST_WAIT))
        return replace(query_one(query), retries=retries)

    return retried


def to_run(answers: Answers, queries: Queries, top_k: int, options: RequestOptions) -> tuple[Run, dict[str, Any]]:
    """Return the run, and notes on latency and unexpected answers."""
    if options.unknown == "raise":
        _refuse_unknown(answers.hits, queries)
    lists, duplicates = [], 0
    for query, hits in enumerate(answers.hits):
        ranked, repeated = _distinct(hits, queries.ids[query])
        lists.append(ranked[:top_k])
        duplicates += repeated
    depth = max(map(len, lists), default=0)
    rows = np.full((len(lists), depth), -1, dtype=np.int32)
    scores = np.full((len(lists), depth), -np.inf, dtype=np.float64)
    for query, ranked in enumerate(lists):
        if ranked:
            rows[query, : len(ranked)], scores[query, : len(ranked)] = zip(*ranked, strict=True)
    with np.errstate(over="ignore"):
        return Run.of(rows, scores.astype(np.float32)), _notes(answers, options, duplicates)


def _distinct(hits: Hits, query: str) -> tuple[list[tuple[int, float]], int]:
    """Return distinct rows with their scores, and how many duplicates were left out."""
    scores = hits.scores if hits.scores is not None else [1 / rank for rank in range(1, len(hits.rows) + 1)]
    with np.errstate(over="ignore"):  # beyond float32 is infinite
        rounded = np.asarray(scores, dtype=np.float32)
    slack = ROUNDING * float(np.abs(rounded[np.isfinite(rounded)]).max(initial=0))
    rising = np.flatnonzero(rounded[1:] > rounded[:-1] + slack)
    if len(rising):
        at = int(rising[0])
        raise ModelError(
            f"the scores of query {query!r} must not rise, got {scores[at]:g} at rank {at + 1} and {scores[at + 1]:g} "
            "after it",
            hint="they may be distances, or the list is sorted by something else; remove the path to score by rank",
            found=scores[at + 1],
            expected=f"at most {scores[at]:g}",
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
            f"the service returned {total:,} documents that are not in the corpus, for {len(where):,} of "
            f"{len(answers):,} queries, such as {', '.join(map(repr, hits.unknown[:NAMED]))} "
            f"for query {queries.ids[where[0]]!r}",
            hint="check the path to the ids, or leave such documents out: unknown=ignore",
            option="unknown",
            found=total,
        )


def _notes(answers: Answers, options: RequestOptions, duplicates: int) -> dict[str, Any]:
    seconds = [hits.seconds for hits in answers.hits if hits.seconds]
    notes: dict[str, Any] = {"queries": len(answers.hits), "concurrency": options.concurrency}
    if seconds:
        p50, p95, longest = np.percentile(np.array(seconds) * 1000, [50, 95, 100])
        notes["latency_ms"] = {
            "p50": round(float(p50), 3),
            "p95": round(float(p95), 3),
            "max": round(float(longest), 3),
        }
    unknown = [id_ for hits in answers.hits for id_ in hits.unknown]
    counts = {
        "retries": sum(hits.retries for hits in answers.hits),
        "failed_queries": len(answers.failures),
        "documents_listed_twice": duplicates,
        "unknown_documents": len(unknown),
    }
    notes.update({name: count for name, count in counts.items() if count})
    if unknown:
        notes["unknown_examples"] = sorted(set(unknown))[:NAMED]
    if answers.failures:
        notes["failures"] = sorted(set(answers.failures))[:NAMED]
    return notes
