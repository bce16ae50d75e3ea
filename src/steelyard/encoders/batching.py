"""Batches of texts of like length, sized by tokens, that grow smaller when memory runs out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from steelyard.encoders.devices.worker_pool import Crew, Job, Trouble
from steelyard.errors import ModelError, SteelyardError
from steelyard.types import Float32, Int64, Role

R = TypeVar("R")
WINDOW = 16_384
"""Texts that are measured and sorted together."""
SHOWN = 60


@dataclass
class BatchSize:
    """How large a batch may be: so many texts, and so many tokens with padding. Memory that runs out halves both."""

    texts: int
    tokens: int
    halved: int = 0
    """How often that has happened."""

    def fitting(self, longest: int) -> int:
        """How many texts of that length make a batch; at least one.

        >>> BatchSize(texts=32, tokens=1000).fitting(100)
        10
        """
        return max(1, min(self.texts, self.tokens // max(1, longest)))

    def halve(self, texts: int, longest: int) -> None:
        """So many texts of that length were too much."""
        self.texts, self.tokens = max(1, texts // 2), max(1, texts * longest // 2)
        self.halved += 1


@dataclass(frozen=True)
class Subject:
    """What errors say of a model and of what it reads."""

    name: str
    one: Callable[[int], str]
    """The text or the pair of a row, in words."""
    remedy: str
    """What to do about one that memory cannot hold."""

    def too_large(self, row: int) -> ModelError:
        """Memory has run out over one alone."""
        return ModelError(f"{self.name} runs out of memory over one {self.one(row)}", hint=self.remedy)

    def failed(self, rows: Int64, trouble: Trouble) -> ModelError:
        """Something else has gone wrong; of several, the longest stands first."""
        own = trouble.error if isinstance(trouble.error, SteelyardError) else None
        cause, hint = (own.message, own.hint) if own else (trouble.cause, trouble.hint)
        if len(rows) > 1 and not hint:
            hint = "with batch_size=1 the error names the one at fault"
        others = f"a batch of {len(rows)}, the longest a " if len(rows) > 1 else "a "
        error = ModelError(f"{self.name} failed over {others}{self.one(int(rows[0]))}: {cause}", hint=hint)
        error.__cause__ = trouble.error
        return error


def encode_in_batches(
    lengths: Int64, crew: Crew[R], job: Callable[[Int64], Job], size: BatchSize, subject: Subject
) -> Generator[tuple[Int64, R], None, None]:
    """What the crew makes of each batch as it is ready: which rows, and theirs. The longest are begun first.

    `job` is what a hand gets for some rows. Memory that runs out makes this batch and those after it smaller.

    >>> from steelyard.encoders.devices.worker_pool import Here
    >>> def encode(rows):
    ...     if len(rows) > 2:
    ...         raise MemoryError
    ...     return np.zeros((len(rows), 1), dtype=np.float32)
    >>> size, lengths = BatchSize(texts=4, tokens=100), np.array([2, 9, 3, 2, 2])
    >>> subject = Subject("a model", "text {}".format, "a larger machine")
    >>> parts = encode_in_batches(lengths, Crew([Here(encode)]), lambda rows: (rows,), size, subject)
    >>> [rows.tolist() for rows, _ in parts], size.halved
    ([[1, 2], [0, 3], [4]], 1)
    """
    waiting = deque([np.argsort(-lengths, kind="stable")] if len(lengths) else [])
    with crew.shift() as shift:
        while waiting or shift.busy:
            while waiting and shift.room:
                rows = waiting.popleft()
                fitting = size.fitting(int(lengths[rows[0]]))
                if len(rows) > fitting:
                    waiting.appendleft(rows[fitting:])
                shift.give(rows[:fitting], job(rows[:fitting]))
            rows, found = shift.take()
            if not isinstance(found, Trouble):
                yield rows, found
                continue
            if not found.memory:
                raise subject.failed(rows, found)
            if len(rows) == 1:
                raise subject.too_large(int(rows[0]))
            longest = int(lengths[rows[0]])
            if len(rows) <= size.fitting(longest):  # else a batch that was under way at the same time has said so
                size.halve(len(rows), longest)
            waiting.appendleft(rows)


def windows(count: int, size: int = WINDOW) -> Iterator[range]:
    """Stretches of texts that are sorted together.

    >>> list(windows(5, 2))
    [range(0, 2), range(2, 4), range(4, 5)]
    """
    return (range(start, min(start + size, count)) for start in range(0, count, size))


def check_finite(vectors: Float32, texts: Sequence[str], role: Role, name: str) -> None:
    """Raise a ModelError that names the first text whose vector has NaN or infinity in it."""
    with np.errstate(over="ignore", invalid="ignore"):
        # NaN and infinity survive a sum; this one is the quickest that leaves no thread of BLAS behind, turning.
        if np.isfinite(np.einsum("ij->", vectors)):
            return
    refuse_bad(np.flatnonzero(~np.isfinite(vectors).all(axis=1)), texts, role, name)


def refuse_bad(bad: Int64, texts: Sequence[str], role: Role, name: str) -> None:
    """Raise a ModelError that names the first of the texts whose encodings are bad, if there are any."""
    if len(bad):
        text = texts[bad[0]]
        raise ModelError(
            f"the encoder {name} gave NaN or infinity for {len(bad)} of {len(texts)} texts, "
            f"the first a {role} of {len(text)} characters: {shown(text)}",
            hint="look at that text; a model in half precision may need dtype=float32",
        )


def shown(text: str) -> str:
    """A text in an error: its beginning.

    >>> shown("a" * 70)[-5:]
    "aaa…'"
    """
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")


def described(texts: Sequence[str], kind: str, row: int) -> str:
    """A text as an error tells of it.

    >>> described(["river"], "query", 0)
    "query of 5 characters: 'river'"
    """
    return f"{kind} of {len(texts[row]):,} characters: {shown(texts[row])}"


def whole(text: str) -> str:
    r"""The text with halves of surrogate pairs, which no encoding can carry, as U+FFFD.

    >>> whole("a\ud800b")
    'a�b'
    """
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
