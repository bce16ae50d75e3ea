"""Containment: how much of an evaluation text a longer training text repeats, in runs of 13 tokens.

The papers on language models call a sample contaminated when a run of 13 words of it is in the training data (GPT-3),
or when most of it is (PaLM: 70% of its n-grams; Llama 2: 80% of its tokens). Both are reported: `touched` counts the
first, `score` is the share of the text's n-grams that one training text has.
"""

from __future__ import annotations

import numpy as np

from steelyard.audit.evaluation_side import EvaluationSide
from steelyard.audit.lexical.lookup import Lookup
from steelyard.audit.lexical.near_duplicates import NO_HITS, Hits
from steelyard.audit.lexical.normal_form import Bools
from steelyard.audit.lexical.shingles import NGRAM, SHORTEST_NGRAM, Length, ShingleSets, Windows, distinct, frequencies
from steelyard.types import Int64

COMMON = 10
"""An n-gram of more evaluation texts than this is boilerplate and is not looked for (GPT-3 did the same)."""

SHORTEST_PARTNER = 2
"""Tokens of the shortest query that is looked for in a row that has its positive."""


class ContainmentIndex:
    """The n-grams of the evaluation texts. Texts shorter than one n-gram count as one, if they are long enough."""

    def __init__(self, side: EvaluationSide) -> None:
        sets, short_lengths = ngram_sets(side)
        owners = np.repeat(np.arange(len(sets.counts)), sets.counts)
        counts = frequencies(sets.hashes)
        rare = counts <= COMMON
        self.counts = np.bincount(owners[rare], minlength=len(sets.counts)).astype(np.int64)
        """How many n-grams of each text are looked for."""
        self.common = len(np.unique(sets.hashes[~rare]))
        """How many distinct n-grams are left out as boilerplate."""
        self._lookup = Lookup(sets.hashes[rare], owners[rare])
        self._short_lengths = short_lengths

    def search(self, windows: Windows) -> Hits:
        """Return every text of the batch that has an n-gram of an evaluation text; the score is the share it has."""
        rows, keys = [], []
        for starts, hashes in (windows.of_length(NGRAM), *map(windows.of_count, self._short_lengths)):
            places, numbers = self._lookup.find(hashes)
            rows.append(windows.text_of(starts[places]))
            keys.append(numbers)
        total = len(self._lookup.keys)
        if not sum(map(len, rows)):
            return NO_HITS
        # One n-gram twice in a training text is one n-gram.
        ngrams = np.unique(np.concatenate(rows) * total + np.concatenate(keys))
        hit_rows, owners = self._lookup.postings(ngrams // total, ngrams % total)
        pairs, shared = np.unique(hit_rows * len(self.counts) + owners, return_counts=True)
        texts = pairs % len(self.counts)
        return Hits(pairs // len(self.counts), texts, shared / self.counts[texts])

    @property
    def size_bytes(self) -> int:
        """The memory that the index takes."""
        return self._lookup.size_bytes + self.counts.nbytes


def ngram_sets(side: EvaluationSide) -> tuple[ShingleSets, list[int]]:
    """Return the distinct n-grams of every text, and the lengths of the texts that are shorter than one."""
    hashes, offsets = [np.zeros(0, dtype=np.uint64)], [np.zeros(1, dtype=np.int64)]
    total, short_lengths = 0, set()
    for tokens in side.token_batches():
        windows = Windows(tokens)
        starts, values = windows.of_length(NGRAM)
        texts = windows.text_of(starts)
        short = short_texts(windows, texts)
        short_lengths.update(tokens.counts[short].tolist())
        texts, values = np.concatenate((texts, short)), np.concatenate((values, windows.whole()[short]))
        sets = distinct(texts, values, len(tokens))
        hashes.append(sets.hashes)
        offsets.append(sets.offsets[1:] + total)
        total += len(sets.hashes)
    return ShingleSets(np.concatenate(hashes), np.concatenate(offsets)), sorted(short_lengths)


def short_texts(windows: Windows, with_ngrams: Int64) -> Int64:
    """Return the texts without an n-gram of full length that are still long enough to count as one."""
    counts = windows.tokens.counts
    without = np.bincount(with_ngrams, minlength=len(counts)) == 0
    return np.flatnonzero(without & long_enough(windows, SHORTEST_NGRAM))


def long_enough(windows: Windows, length: Length) -> Bools:
    """Return whether each text has at least `length` tokens, by the kind of most of its tokens."""
    offsets, counts = windows.tokens.offsets, windows.tokens.counts
    sums = np.concatenate(([0], np.cumsum(windows.tokens.single)))
    singles = sums[offsets[1:]] - sums[offsets[:-1]]
    return np.asarray(counts >= np.where(2 * singles > counts, length.characters, length.words))


class ShortIndex:
    """Texts that are too short for an n-gram but have a partner: looked for only in rows that have the partner."""

    def __init__(self, side: EvaluationSide) -> None:
        numbers = np.array(sorted(side.partners), dtype=np.int64)
        lengths = side.lengths[numbers]
        short = (lengths >= SHORTEST_PARTNER) & (lengths < SHORTEST_NGRAM.longest)
        numbers = numbers[short]
        self._lengths = sorted(set(lengths[short].tolist()))
        self._lookup = Lookup(side.hashes[numbers], numbers)

    def search(self, windows: Windows) -> Hits:
        """Return every text of the batch that has a short evaluation text in it, word for word."""
        rows, texts = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for length in self._lengths:
            starts, hashes = windows.of_count(length)
            places, owners = self._lookup.postings(*self._lookup.find(hashes))
            rows.append(windows.text_of(starts[places]))
            texts.append(owners)
        return Hits(np.concatenate(rows), np.concatenate(texts), np.ones(sum(map(len, rows))))
