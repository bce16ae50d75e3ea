"""Near-duplicates by Jaccard similarity of shingles: an exact join with a prefix filter.

If two sets have a Jaccard similarity of at least t, they share at least t n of the n shingles of either. So among any
n - ceil(t n) + h shingles of an evaluation text, every text that is that similar has at least h. Only the rarest ones
are indexed, a training text with fewer than h hits is no candidate, and every candidate is verified by its true
Jaccard similarity. Unlike MinHash with LSH, no pair above the threshold is missed, and no signatures are computed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from steelyard.audit.evaluation_side import EvaluationSide
from steelyard.audit.lexical.lookup import Lookup
from steelyard.audit.lexical.normal_form import UInt64
from steelyard.audit.lexical.shingles import (
    NEAR,
    ShingleSets,
    Windows,
    distinct,
    frequencies,
    in_sorted,
    salted,
    spread,
)
from steelyard.types import Float64, Int64

LEAST_SHINGLES = 3
"""Texts with fewer distinct shingles (five words, seven characters) are compared exactly only."""
HIT_SHARE = 0.25
"""The share of a text's shingles that must be hit before it is verified: the more, the larger the index."""
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Hits:
    """Texts of a batch that match an evaluation text, with a score."""

    rows: Int64
    texts: Int64
    """The numbers of the evaluation texts."""
    scores: Float64

    def __len__(self) -> int:
        return len(self.rows)


NO_HITS = Hits(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))


class NearIndex:
    """The evaluation texts, made searchable for texts with at least the given Jaccard similarity."""

    def __init__(self, side: EvaluationSide, threshold: float) -> None:
        self.threshold = threshold
        self.sets = shingle_sets(side)
        counts = self.sets.counts
        owners = np.repeat(np.arange(len(counts)), counts)
        # The rarest shingles of each text first; they ascend, so the hash breaks ties, the same way everywhere.
        hashes = self.sets.hashes
        order = np.lexsort((frequencies(hashes), owners))
        shared = np.ceil(threshold * counts - ROUNDING).astype(np.int64)
        self._least_hits = np.minimum(1 + (HIT_SHARE * counts).astype(np.int64), np.maximum(shared, 1))
        lengths = np.where(counts >= LEAST_SHINGLES, counts - shared + self._least_hits, 0)
        indexed = order[spread(counts) < np.repeat(lengths, counts)]
        self._lookup = Lookup(hashes[indexed], owners[indexed])

    def search(self, windows: Windows) -> Hits:
        """Return every text of the batch that is near an evaluation text."""
        starts, hashes = windows.of_length(NEAR)
        places, keys = self._lookup.find(hashes)
        if not len(places):
            return NO_HITS
        hit_starts, owners = self._lookup.postings(starts[places], keys)
        total = len(self.sets.counts)
        pairs, hits = np.unique(windows.text_of(hit_starts) * total + owners, return_counts=True)
        candidates = pairs[hits >= self._least_hits[pairs % total]]
        if not len(candidates):
            return NO_HITS
        rows, positions = np.unique(candidates // total, return_inverse=True)
        ours = _sets_of_rows(windows, starts, hashes, rows)
        return self._verify(rows, ours, positions, candidates % total)

    def _verify(self, rows: Int64, ours: ShingleSets, positions: Int64, owners: Int64) -> Hits:
        """Keep the candidates whose true similarity reaches the threshold."""
        our_sizes, their_sizes = ours.counts[positions], self.sets.counts[owners]
        smaller, larger = np.minimum(our_sizes, their_sizes), np.maximum(our_sizes, their_sizes)
        possible = smaller >= self.threshold * larger - ROUNDING
        positions, owners = positions[possible], owners[possible]
        if not len(owners):
            return NO_HITS
        shared = shared_counts(ours, positions, self.sets, owners)
        scores = shared / (ours.counts[positions] + self.sets.counts[owners] - shared)
        near = scores >= self.threshold - ROUNDING
        return Hits(rows[positions[near]], owners[near], scores[near])

    @property
    def size_bytes(self) -> int:
        """The memory that the index takes."""
        return self._lookup.size_bytes + self.sets.hashes.nbytes + self.sets.offsets.nbytes


def shingle_sets(side: EvaluationSide) -> ShingleSets:
    """Return the distinct shingles of every evaluation text."""
    hashes, offsets = [np.zeros(0, dtype=np.uint64)], [np.zeros(1, dtype=np.int64)]
    total = 0
    for tokens in side.token_batches():
        windows = Windows(tokens)
        starts, values = windows.of_length(NEAR)
        sets = distinct(windows.text_of(starts), values, len(tokens))
        hashes.append(sets.hashes)
        offsets.append(sets.offsets[1:] + total)
        total += len(sets.hashes)
    return ShingleSets(np.concatenate(hashes), np.concatenate(offsets))


def _sets_of_rows(windows: Windows, starts: Int64, hashes: UInt64, rows: Int64) -> ShingleSets:
    """Return the distinct shingles of some texts of a batch."""
    offsets = windows.tokens.offsets
    first, last = np.searchsorted(starts, offsets[rows]), np.searchsorted(starts, offsets[rows + 1])
    counts = last - first
    chosen = np.repeat(first, counts) + spread(counts)
    return distinct(np.repeat(np.arange(len(rows)), counts), hashes[chosen], len(rows))


def shared_counts(ours: ShingleSets, rows: Int64, theirs: ShingleSets, others: Int64) -> Int64:
    """Return how many shingles each pair (one of ours, one of theirs) has in common."""
    ordered = np.sort(salted(ours.hashes, np.repeat(np.arange(len(ours.counts)), ours.counts)))
    sizes = theirs.counts[others]
    chosen = np.repeat(theirs.offsets[others], sizes) + spread(sizes)
    known = in_sorted(salted(theirs.hashes[chosen], np.repeat(rows, sizes)), ordered)
    pairs = np.repeat(np.arange(len(others)), sizes)
    return np.bincount(pairs[known], minlength=len(others)).astype(np.int64)
