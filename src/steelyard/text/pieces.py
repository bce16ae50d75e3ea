"""The overlap of two texts by their five-character pieces, for near duplicates."""

from __future__ import annotations

import unicodedata

import numpy as np
import numpy.typing as npt

PIECE = 5
UInt64 = npt.NDArray[np.uint64]


def plain(text: str) -> str:
    r"""Return the text with white space normalised, which exact duplicates share.

    >>> plain(" two\n lines ")
    'two lines'
    """
    return " ".join(text.split())


def pieces(text: str) -> UInt64:
    """Return the distinct pieces of a text as sorted hashes; case, width and white space are ignored.

    >>> len(pieces("ABCDEF")), pieces("ＡbcdeF").tolist() == pieces(" abcdef").tolist()
    (2, True)
    """
    folded = plain(unicodedata.normalize("NFKC", text).casefold())
    points = np.frombuffer(folded.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
    width = min(PIECE, max(len(points), 1))
    if not len(points):
        return np.zeros(1, dtype=np.uint64)
    hashes = np.zeros(len(points) - width + 1, dtype=np.uint64)
    for offset in range(width):
        hashes = hashes * np.uint64(0x100000001B3) + points[offset : len(points) - width + 1 + offset]
    return np.unique(mix(hashes))


def jaccard(one: UInt64, other: UInt64) -> float:
    """Return intersection over union of two sets of pieces.

    >>> jaccard(pieces("abcdef"), pieces("abcdeg"))
    0.3333333333333333
    """
    shared = len(np.intersect1d(one, other, assume_unique=True))
    return shared / (len(one) + len(other) - shared)


def mix(values: UInt64) -> UInt64:
    """Mix the bits so that each output bit depends on every input bit (the finaliser of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
