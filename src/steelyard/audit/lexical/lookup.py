"""From hashes to the evaluation texts that have them: a filter of bits, then a binary search among sorted hashes."""

from __future__ import annotations

import numpy as np

from steelyard.audit.lexical.normal_form import UInt8, UInt64
from steelyard.audit.lexical.shingles import spread
from steelyard.types import Int32, Int64

BITS_PER_HASH = 16
"""Size of the filter: one hash in 16 passes it without being there."""


class Lookup:
    """Postings by hash, in the order of the owners as given.

    Nearly all hashes of training data end at the filter, which is small and read once for each.
    """

    def __init__(self, hashes: UInt64, owners: Int64) -> None:
        order = np.argsort(hashes, kind="stable")
        ordered = hashes[order]
        self.owners: Int32 = owners[order].astype(np.int32)
        firsts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))) if len(ordered) else order
        self.keys = ordered[firsts]
        self.offsets: Int64 = np.append(firsts, len(ordered)).astype(np.int64)
        bits = max(16, (BITS_PER_HASH * max(1, len(self.keys)) - 1).bit_length())
        self._shift = np.uint64(64 - bits)
        self._filter: UInt8 = np.zeros(1 << (bits - 3), dtype=np.uint8)
        places = self.keys >> self._shift
        np.bitwise_or.at(self._filter, places >> np.uint64(3), _bit(places))

    def find(self, hashes: UInt64) -> tuple[Int64, Int64]:
        """Return the places among `hashes` that are known, and the number of the key of each.

        >>> lookup = Lookup(np.array([7, 9, 7], dtype=np.uint64), np.array([0, 1, 2]))
        >>> places, keys = lookup.find(np.array([1, 9, 7], dtype=np.uint64))
        >>> places.tolist(), [owners.tolist() for owners in lookup.postings(places, keys)]
        ([1, 2], [[1, 2, 2], [1, 0, 2]])
        """
        bits = hashes >> self._shift
        maybe = np.flatnonzero(self._filter.take(bits >> np.uint64(3)) & _bit(bits))
        if not len(maybe) or not len(self.keys):
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        wanted = hashes[maybe]
        keys = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        known = self.keys[keys] == wanted
        return maybe[known], keys[known]

    def postings(self, places: Int64, keys: Int64) -> tuple[Int64, Int64]:
        """Return every (place, owner) of the keys that were found."""
        counts = self.offsets[keys + 1] - self.offsets[keys]
        rows = np.repeat(self.offsets[keys], counts) + spread(counts)
        return np.repeat(places, counts), self.owners[rows].astype(np.int64)

    @property
    def size_bytes(self) -> int:
        """The memory that the tables take."""
        return self.owners.nbytes + self.keys.nbytes + self.offsets.nbytes + self._filter.nbytes


def _bit(places: UInt64) -> UInt8:
    return np.left_shift(np.uint8(1), (places & np.uint64(7)).astype(np.uint8))
