"""Batches of texts of like length, sized by tokens, that grow smaller when memory runs out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.errors import ModelError
from steelyard.types import Float32, Int64, Role

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


def encode_in_batches(
    lengths: Int64,
    encode: Callable[[Int64], Float32],
    size: BatchSize,
    exhausted: Callable[[BaseException], bool],
    too_long: Callable[[int], ModelError],
) -> Iterator[tuple[Int64, Float32]]:
    """The vectors of each batch as they are ready, longest texts first: which rows, and theirs.

    An error that `exhausted` knows as memory running out makes this batch and those after it smaller; where a single
    text does not fit, the error is what `too_long` makes of its row.

    >>> def encode(rows):
    ...     if len(rows) > 2:
    ...         raise MemoryError
    ...     return np.zeros((len(rows), 1), dtype=np.float32)
    >>> size, lengths = BatchSize(texts=4, tokens=100), np.array([2, 9, 3, 2, 2])
    >>> parts = encode_in_batches(lengths, encode, size, lambda error: isinstance(error, MemoryError), ModelError)
    >>> [rows.tolist() for rows, _ in parts], size.halved
    ([[1, 2], [0, 3], [4]], 1)
    """
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        longest = int(lengths[order[start]])
        rows = order[start : start + size.fitting(longest)]
        vectors = None
        try:
            vectors = encode(rows)
        except (RuntimeError, MemoryError) as error:
            if not exhausted(error):
                raise
            if len(rows) == 1:
                raise too_long(int(rows[0])) from error
        if vectors is None:  # only here is the error gone, and with it what it held in memory
            size.halve(len(rows), longest)
            continue
        yield rows, vectors
        start += len(rows)


def windows(count: int, size: int = WINDOW) -> Iterator[range]:
    """Stretches of texts that are sorted together.

    >>> list(windows(5, 2))
    [range(0, 2), range(2, 4), range(4, 5)]
    """
    return (range(start, min(start + size, count)) for start in range(0, count, size))


def check_finite(vectors: Float32, texts: Sequence[str], role: Role, name: str) -> None:
    """Raise a ModelError that names the first text whose vector has NaN or infinity in it."""
    with np.errstate(over="ignore", invalid="ignore"):
        suspects = np.flatnonzero(~np.isfinite(vectors.sum(axis=1)))  # NaN and infinity survive a sum; one pass
    refuse_bad(suspects[~np.isfinite(vectors[suspects]).all(axis=1)], texts, role, name)


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


def whole(text: str) -> str:
    r"""The text with halves of surrogate pairs, which no encoding can carry, as U+FFFD.

    >>> whole("a\ud800b")
    'a�b'
    """
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
