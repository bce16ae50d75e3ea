"""A model on this machine that reads query and document together: pairs of like length, longest first."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import chain

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
from steelyard.errors import UsageError
from steelyard.options import Options
from steelyard.types import Float32, Int64
from steelyard.types.protocols import ModelSettings, Tick, no_tick

MARKS = 3
"""Tokens that a model adds to a pair: a start, a middle, an end."""


class ReadsPairs(ABC):
    """Pairs of all queries are sorted by length and go to the model in batches sized by tokens."""

    name: str

    def __init__(self, options: Options, crew: WorkerPool[Float32], size: BatchSize) -> None:
        self._crew = crew
        self._prompts = [options.text(f"{role}_prompt") or "" for role in ("query", "document")]
        self._size = size
        self._cut = 0

    @property
    def workers(self) -> int:
        """How many devices share the pairs."""
        return len(self._crew)

    @property
    @abstractmethod
    def _limit(self) -> int | None:
        """The most tokens of a pair; None where the model knows no limit."""

    @abstractmethod
    def _tokens(self, texts: list[str]) -> Int64:
        """How many tokens each text has, without marks."""

    def rerank(self, queries: Sequence[str], documents: Sequence[Sequence[str]], tick: Tick = no_tick) -> list[Float32]:
        """The scores of each query's documents, in their order. `tick` counts documents."""
        asked, read = self._prompts
        sides = [
            [asked + replace_surrogates(query) for query in queries],
            [read + replace_surrogates(text) for text in chain(*documents)],
        ]
        counts = [len(texts) for texts in documents]
        query = np.repeat(np.arange(len(queries)), counts)
        scores = np.empty(len(query), dtype=np.float32)
        for window in windows(len(query)):
            rows = np.arange(window.start, window.stop)
            for part, found in self._scored(sides, query, rows):
                scores[part] = found
                tick(len(part))
        return np.split(scores, np.cumsum(counts)[:-1]) if counts else []

    def _scored(self, sides: list[list[str]], query: Int64, rows: Int64) -> Iterator[tuple[Int64, Float32]]:
        """The scores of these pairs, batch by batch, longest first."""
        asked, read = sides
        lengths = self._tokens([asked[q] for q in range(query[rows[0]], query[rows[-1]] + 1)])[
            query[rows] - query[rows[0]]
        ]
        lengths = lengths + self._tokens([read[row] for row in rows]) + MARKS
        if self._limit is not None:
            self._cut += int((lengths > self._limit).sum())
            lengths = np.minimum(lengths, self._limit)

        def job(places: Int64) -> Job:
            return ([(asked[query[row]], read[row]) for row in rows[places].tolist()],)

        def pair(place: int) -> str:
            row = int(rows[place])
            return f"pair, the query {excerpt(asked[query[row]])} with a {describe_text(read, 'document', row)}"

        subject = ErrorContext(self.name, pair, "read less of it: max_length=512")
        for places, found in encode_in_batches(lengths, self._crew, job, self._size, subject):
            yield rows[places], found

    def account(self) -> ModelSettings:
        """How many pairs were longer than the model reads, since the last call."""
        cut, self._cut = self._cut, 0
        return {"pairs_cut": cut} if self._limit is not None else {}


def chosen_label(labels: int, label: int | None, id: str) -> int | None:
    """Which of several scores counts; None for a model that gives one. No choice, or a wrong one, is a UsageError."""
    if labels > 1 and (label is None or label >= labels):
        raise UsageError(
            f"{id} gives {labels} scores for each pair",
            hint=f"say which one means that the document fits: label=0 to label={labels - 1}",
        )
    if labels == 1 and label:
        raise UsageError(f"{id} gives one score for each pair", hint="leave label out")
    return label if labels > 1 else None
