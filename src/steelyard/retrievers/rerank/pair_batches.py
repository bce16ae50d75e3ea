"""Batches of pairs for a local model that reads query and document together: similar lengths, longest first."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from steelyard.encoders.batching import (
    BatchSize,
    ErrorContext,
    describe_text,
    encode_in_batches,
    excerpt,
    replace_surrogates,
    windows,
)
from steelyard.encoders.devices.worker_pool import Job, WorkerPool
from steelyard.encoders.prompts import PromptsByTask, with_instruction
from steelyard.errors import UsageError
from steelyard.options import Options
from steelyard.types import Float32, Int64, Role, TaskInfo
from steelyard.types.protocols import ModelSettings, Tick, no_tick

SPECIAL_TOKENS = 3
"""Special tokens that a model adds to a pair: start, separator, end."""


class PairReranker(PromptsByTask, ABC):
    """Sorts the pairs of all queries by length and scores them in batches sized by tokens."""

    name: str

    def __init__(self, options: Options, crew: WorkerPool[Float32], size: BatchSize) -> None:
        self._pool = crew
        self._choose = partial(pair_prompts, options)
        self._prompts = self._choose()
        self._size = size
        self._truncated = 0

    @property
    def workers(self) -> int:
        """Return how many devices share the pairs."""
        return len(self._pool)

    @property
    @abstractmethod
    def _limit(self) -> int | None:
        """Return the maximum tokens of a pair; None if the model has no limit."""

    @abstractmethod
    def _tokens(self, texts: list[str]) -> Int64:
        """Return the number of tokens of each text, without special tokens."""

    def _pair(self, query: str, document: str) -> Any:
        """Return what the model reads of a pair."""
        return query, document

    def rerank(self, queries: Sequence[str], documents: Sequence[Sequence[str]], tick: Tick = no_tick) -> list[Float32]:
        """Return the scores of each query's documents, in their order. `tick` counts documents."""
        sides = [
            [self._prompts["query"] + replace_surrogates(query) for query in queries],
            [self._prompts["document"] + replace_surrogates(text) for text in chain(*documents)],
        ]
        counts = [len(texts) for texts in documents]
        query = np.repeat(np.arange(len(queries)), counts)
        scores = np.empty(len(query), dtype=np.float32)
        for window in windows(len(query)):
            rows = np.arange(window.start, window.stop)
            for part, part_scores in self._scored(sides, query, rows):
                scores[part] = part_scores
                tick(len(part))
        return np.split(scores, np.cumsum(counts)[:-1]) if counts else []

    def _scored(self, sides: list[list[str]], query: Int64, rows: Int64) -> Iterator[tuple[Int64, Float32]]:
        """Yield the scores of these pairs, batch by batch, longest first."""
        queries, documents = sides
        lengths = self._tokens([queries[q] for q in range(query[rows[0]], query[rows[-1]] + 1)])[
            query[rows] - query[rows[0]]
        ]
        lengths = lengths + self._tokens([documents[row] for row in rows]) + SPECIAL_TOKENS
        if self._limit is not None:
            self._truncated += int((lengths > self._limit).sum())
            lengths = np.minimum(lengths, self._limit)

        def job(places: Int64) -> Job:
            return ([self._pair(queries[query[row]], documents[row]) for row in rows[places].tolist()],)

        def pair(place: int) -> str:
            row = int(rows[place])
            return f"pair, the query {excerpt(queries[query[row]])} with a {describe_text(documents, 'document', row)}"

        subject = ErrorContext(self.name, pair, "truncate pairs: max_length=512")
        for places, scores in encode_in_batches(lengths, self._pool, job, self._size, subject):
            yield rows[places], scores

    def account(self) -> ModelSettings:
        """Return how many pairs were truncated since the last call."""
        truncated, self._truncated = self._truncated, 0
        return {"pairs_cut": truncated} if self._limit is not None else {}


def pair_prompts(options: Options, info: TaskInfo | None = None) -> dict[Role, str]:
    """Return the prompts of both texts of a pair: those of the options, with the instruction of the task."""
    roles: tuple[Role, Role] = ("query", "document")
    return with_instruction({role: options.text(f"{role}_prompt") or "" for role in roles}, options, info)


def chosen_label(labels: int, label: int | None, id: str) -> int | None:
    """Return which of several scores counts; None for a model with one score. A missing or wrong label is an error."""
    if labels > 1 and (label is None or label >= labels):
        raise UsageError(
            f"the label of {id} must be a number below {labels}, because it returns {labels} scores for each pair",
            hint=f"set label= to the score that means relevant: label=0 to label={labels - 1}",
            option="label",
            found=label,
            expected=f"0 to {labels - 1}",
        )
    if labels == 1 and label:
        raise UsageError(
            f"{id} returns one score for each pair and has no labels", hint="remove label=", option="label", found=label
        )
    return label if labels > 1 else None
