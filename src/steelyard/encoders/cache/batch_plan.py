"""What is encoded together: batches of texts whose boundaries depend on the texts alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from zlib import crc32

import numpy as np

from steelyard.encoders.cache.key_index import KEY, Keys
from steelyard.types import Int64

PART_TEXTS = 512
"""Texts encoded between two writes to the store, on average: what an interruption can lose, a few seconds of work."""


def parts(rows: Int64) -> Iterator[Int64]:
    """Yield rows in parts, in their order."""
    return (rows[start : start + PART_TEXTS] for start in range(0, len(rows), PART_TEXTS))


def planned_batches(texts: Sequence[str]) -> list[Int64]:
    """Return the rows of distinct texts in batches, ordered by length, then text; they depend on the texts alone.

    Every executor encodes exactly these batches where the composition of a batch could change a vector. A batch ends
    after a text whose checksum says so, so that a text that is added or removed changes its own batch, and few others.

    >>> [batch.tolist() for batch in planned_batches(["bbb", "a", "cc"])]
    [[1, 2, 0]]
    """
    rows = sorted(range(len(texts)), key=texts.__getitem__)
    rows.sort(key=list(map(len, texts)).__getitem__)
    least, most, chance = PART_TEXTS // 4, 2 * PART_TEXTS, PART_TEXTS - PART_TEXTS // 4
    batches: list[Int64] = []
    start = 0
    for end, row in enumerate(rows, 1):
        size = end - start
        if size == most or (size >= least and crc32(texts[row].encode("utf-8", "surrogatepass")) % chance == 0):
            batches.append(np.array(rows[start:end], dtype=np.int64))
            start = end
    return [*batches, np.array(rows[start:], dtype=np.int64)] if start < len(rows) else batches


def keys_in_batches(keys: Keys, texts: Sequence[str]) -> Keys:
    """Return keys of distinct texts that depend on the planned batch as well, for vectors that do.

    >>> keys = np.frombuffer(b"a" * 16 + b"b" * 16, dtype=KEY)
    >>> bool(keys_in_batches(keys, ["a", "b"])[0] == keys_in_batches(keys[:1], ["a"])[0])
    False
    """
    keyed = np.empty_like(keys)
    for rows in planned_batches(texts):
        batch = hashlib.blake2b(keys[rows].tobytes(), digest_size=16)
        for row in rows.tolist():
            own = batch.copy()
            own.update(keys[row].tobytes())
            keyed[row] = np.frombuffer(own.digest(), dtype=KEY)[0]
    return keyed
