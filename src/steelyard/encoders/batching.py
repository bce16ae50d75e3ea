"""Batches of texts of similar length, sized by tokens, that become smaller when memory runs out.

On a CPU nothing is padded: a batch contains texts of one length only, or texts that are joined one after the other
(`packed`). So the bytes of a text's vector do not depend on the other texts: a run with a cache, a resumed run and a
fresh run give the same vectors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import ClassVar, TypeVar

import numpy as np

from steelyard.encoders.devices.worker_pool import BatchFailure, Job, WorkerPool
from steelyard.encoders.streaming import collect_vectors
from steelyard.errors import ModelError, SteelyardError
from steelyard.types import Float32, Int64, Role
from steelyard.types.protocols import ModelSettings, Tick, no_tick

R = TypeVar("R")
T = TypeVar("T")
WINDOW = 16_384
"""Texts that are tokenised and sorted together."""
EXCERPT_LENGTH = 60
MIN_TOKENS = 64
"""The least number of tokens in a batch on a CPU: matrix products of a few rows are computed in another order, with
other rounding, so a text that is alone and short is computed several times over."""


@dataclass
class BatchSize:
    """The largest batch: so many texts, and so many tokens with padding. Both are halved when memory runs out."""

    texts: int
    tokens: int
    halved: int = 0
    """How often that has happened."""
    equal_lengths: bool = False
    """Whether a batch contains texts of one length only."""
    min_texts: int = 1
    """The least number of rows, for models that compute one row per text after pooling."""
    packed: bool = False
    """Whether texts of different lengths are joined without padding."""

    def first(self, lengths: Int64) -> int:
        """Return how many of these texts, the longest first, make the next batch; at least one.

        >>> lengths = np.array([60, 30, 20, 5])
        >>> BatchSize(texts=32, tokens=100).first(lengths), BatchSize(texts=32, tokens=100, packed=True).first(lengths)
        (1, 2)
        """
        if not self.packed:
            return min(len(lengths), self.fitting(int(lengths[0])))
        return max(1, int(np.searchsorted(np.cumsum(lengths[: self.texts]), self.tokens, side="right")))

    def row_length(self, lengths: Int64) -> int:
        """Return the tokens that each text of a batch takes: that of the longest, or the mean if nothing is padded."""
        return -(-int(lengths.sum()) // len(lengths)) if self.packed else int(lengths[0])

    def fitting(self, longest: int) -> int:
        """Return how many texts of that length make a batch; at least one.

        >>> BatchSize(texts=32, tokens=1000).fitting(100)
        10
        """
        return max(1, min(self.texts, self.tokens // max(1, longest)))

    def halve(self, texts: int, longest: int) -> None:
        """Allow half of a batch of so many texts of that length."""
        self.texts, self.tokens = max(1, texts // 2), max(1, texts * longest // 2)
        self.halved += 1

    def copies(self, rows: Int64, length: int) -> Int64:
        """Return the rows of a batch, the first one repeated until it has `MIN_TOKENS` tokens and `min_texts` texts.

        >>> BatchSize(texts=8, tokens=100, equal_lengths=True).copies(np.array([7]), 20).tolist()
        [7, 7, 7, 7]
        """
        least = max(self.min_texts, -(-MIN_TOKENS // max(1, length)))
        fill = self.equal_lengths or self.packed
        missing = min(least, self.fitting(length)) - len(rows) if fill else 0
        return np.append(rows, np.repeat(rows[:1], missing)) if missing > 0 else rows


@dataclass(frozen=True)
class ErrorContext:
    """What errors report about a model and its input."""

    name: str
    describe: Callable[[int], str]
    """Describes the text or pair of a row."""
    memory_hint: str
    """What to change if memory runs out for a single text."""

    def out_of_memory(self, row: int) -> ModelError:
        """Return the error for memory that runs out for a single text."""
        return ModelError(f"{self.name} runs out of memory for one {self.describe(row)}", hint=self.memory_hint)

    def failed(self, rows: Int64, failure: BatchFailure) -> ModelError:
        """Return the error for any other failure; it describes the longest text of the batch."""
        own = failure.error if isinstance(failure.error, SteelyardError) else None
        cause, hint = (own.message, own.hint) if own else (failure.cause, failure.hint)
        if len(rows) > 1 and not hint:
            hint = "set batch_size=1 to see which one fails"
        batch = f"a batch of {len(rows)}, the longest a " if len(rows) > 1 else "a "
        error = ModelError(f"{self.name} failed for {batch}{self.describe(int(rows[0]))}: {cause}", hint=hint)
        error.__cause__ = failure.error
        return error


def encode_in_batches(
    lengths: Int64, pool: WorkerPool[R], job: Callable[[Int64], Job], size: BatchSize, context: ErrorContext
) -> Generator[tuple[Int64, R], None, None]:
    """Yield the rows of each batch and what the pool computed for them, the longest texts first.

    `job` makes the arguments of a worker from rows. When memory runs out, this batch and later ones become smaller.

    >>> from steelyard.encoders.devices.worker_pool import LocalWorker
    >>> def encode(rows):
    ...     if len(rows) > 2:
    ...         raise MemoryError
    ...     return np.zeros((len(rows), 1), dtype=np.float32)
    >>> size, lengths = BatchSize(texts=4, tokens=100), np.array([2, 9, 3, 2, 2])
    >>> context = ErrorContext("a model", "text {}".format, "use a larger machine")
    >>> parts = encode_in_batches(lengths, WorkerPool([LocalWorker(encode)]), lambda rows: (rows,), size, context)
    >>> [rows.tolist() for rows, _ in parts], size.halved
    ([[1, 2], [0, 3], [4]], 1)
    """
    waiting = deque(_sorted_groups(lengths, size.equal_lengths))
    with pool.open() as pending:
        while waiting or pending.busy:
            while waiting and pending.has_room:
                rows = waiting.popleft()
                fitting = size.first(lengths[rows[: size.texts]])
                if len(rows) > fitting:
                    waiting.appendleft(rows[fitting:])
                pending.submit(rows[:fitting], job(rows[:fitting]))
            rows, result = pending.next_done()
            if not isinstance(result, BatchFailure):
                yield rows, result
                continue
            if not result.memory:
                raise context.failed(rows, result)
            length = size.row_length(lengths[rows])
            computed = len(size.copies(rows, length))
            if computed == 1:
                raise context.out_of_memory(int(rows[0]))
            if computed <= size.fitting(length):  # else a batch that ran at the same time has halved it already
                size.halve(computed, length)
            waiting.appendleft(rows)


def _sorted_groups(lengths: Int64, equal_lengths: bool) -> list[Int64]:
    """Return the rows, longest first: in one group, or in one for each length."""
    if not len(lengths):
        return []
    order = np.argsort(-lengths, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1) if equal_lengths else [order]


def windows(count: int, size: int = WINDOW) -> Iterator[range]:
    """Return ranges of texts that are sorted together.

    >>> list(windows(5, 2))
    [range(0, 2), range(2, 4), range(4, 5)]
    """
    return (range(start, min(start + size, count)) for start in range(0, count, size))


def map_ahead(function: Callable[[T], R], items: Iterable[T]) -> Generator[R, None, None]:
    """Yield the result for each item; the next one is computed in another thread in the meantime.

    >>> list(map_ahead(abs, [-1, 2]))
    [1, 2]
    """
    waiting = iter(items)
    with ThreadPoolExecutor(1, thread_name_prefix="ahead") as pool:
        pending = [pool.submit(function, item) for item in islice(waiting, 1)]
        while pending:
            result = pending.pop().result()
            pending = [pool.submit(function, item) for item in islice(waiting, 1)]
            yield result


def check_finite(vectors: Float32, texts: Sequence[str], role: Role, name: str) -> None:
    """Raise a ModelError that shows the first text whose vector contains NaN or infinity."""
    with np.errstate(over="ignore", invalid="ignore"):
        # A sum keeps NaN and infinity; einsum is the fastest one that starts no BLAS threads.
        if np.isfinite(np.einsum("ij->", vectors)):
            return
    raise_not_finite(np.flatnonzero(~np.isfinite(vectors).all(axis=1)), texts, role, name)


def raise_not_finite(rows: Int64, texts: Sequence[str], role: Role, name: str) -> None:
    """Raise a ModelError that shows the first of these texts, whose encodings are not finite; no rows, no error."""
    if len(rows):
        text = texts[rows[0]]
        raise ModelError(
            f"the encoder {name} returned NaN or infinity for {len(rows)} of {len(texts)} texts, "
            f"the first a {role} of {len(text)} characters: {excerpt(text)}",
            found="NaN or infinity",
            hint="check that text; a model in half precision may need dtype=float32",
        )


def excerpt(text: str) -> str:
    """Return the beginning of a text for an error message.

    >>> excerpt("a" * 70)[-5:]
    "aaa…'"
    """
    return repr(text if len(text) <= EXCERPT_LENGTH else text[:EXCERPT_LENGTH] + "…")


def describe_text(texts: Sequence[str], kind: str, row: int) -> str:
    """Return a description of a text for an error message.

    >>> describe_text(["river"], "query", 0)
    "query of 5 characters: 'river'"
    """
    return f"{kind} of {len(texts[row]):,} characters: {excerpt(texts[row])}"


def replace_surrogates(text: str) -> str:
    r"""Return the text with lone surrogates, which no encoding can represent, as U+FFFD.

    >>> replace_surrogates("a\ud800b")
    'a�b'
    """
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class BatchedEncoder(ABC):
    """An encoder that sorts texts by length and computes them in batches sized by tokens.

    Vectors are yielded batch by batch (`encode_parts`), so that an interruption loses little.
    """

    name: str
    _memory_hint: ClassVar[str]
    """What to change if memory runs out for a single text."""

    def __init__(self, pool: WorkerPool[Float32], size: BatchSize) -> None:
        self._pool = pool
        self._size = size
        self._texts_seen = self._texts_truncated = 0

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Length of a vector."""

    @abstractmethod
    def _prepare(self, texts: list[str], role: Role) -> tuple[Int64, Callable[[Int64], Job]]:
        """Return the tokens of each text that are read, and a function from rows to a worker's arguments.

        Counts `_texts_seen` and `_texts_truncated`.
        """

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Float32:
        """Return the vectors in the order of the texts."""
        return collect_vectors(self, texts, role, self.dimension, tick)

    def encode_parts(self, texts: Sequence[str], role: Role) -> Generator[tuple[Int64, Float32], None, None]:
        """Yield the rows and vectors of each batch as it is ready, longest texts first.

        The next window is tokenised while this one is computed.
        """

        def prepare(window: range) -> tuple[range, list[str], Int64, Callable[[Int64], Job]]:
            clean = [replace_surrogates(texts[row]) for row in window]
            return window, clean, *self._prepare(clean, role)

        for window, clean, lengths, job in map_ahead(prepare, windows(len(texts))):
            context = ErrorContext(self.name, partial(describe_text, clean, role), self._memory_hint)

            def padded_job(rows: Int64, job: Callable[[Int64], Job] = job, lengths: Int64 = lengths) -> Job:
                return job(self._size.copies(rows, self._size.row_length(lengths[rows])))

            for rows, result in encode_in_batches(lengths, self._pool, padded_job, self._size, context):
                vectors = result[: len(rows)]
                check_finite(vectors, [clean[row] for row in rows], role, self.name)
                yield rows + window.start, vectors

    def account(self) -> ModelSettings:
        """Return, since the last call, how many texts were truncated and how many batches were halved."""
        seen, truncated, halved = self._texts_seen, self._texts_truncated, self._size.halved
        self._texts_seen = self._texts_truncated = self._size.halved = 0
        if not seen:
            return {}
        return {"texts_cut": truncated, "batches_halved": halved} if halved else {"texts_cut": truncated}
