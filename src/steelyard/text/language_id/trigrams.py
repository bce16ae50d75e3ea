"""Evidence of letter trigrams for each language.

`trigrams.txt` lists the frequent trigrams of each language, the most frequent first; the rank gives the frequency by
Zipf's law. `benchmarks/studies/bm25_trigrams.py` writes it, from the translations of Django and Sphinx, the names of
CLDR, our function words, and counts of Wikipedia that come with langdetect (Apache-2.0; copyright Cybozu Labs, Inc.).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from steelyard.text.arrays import flat_nonzero
from steelyard.text.characters import SCRIPT_NAMES, script_table
from steelyard.text.tokenizer.spans import UInt64
from steelyard.text.tokenizer.tokens import Tokens
from steelyard.types import Int32, Int64

FILE = Path(__file__).with_suffix(".txt")
SCRIPTS = ("latin", "cyrillic", "arabic", "devanagari", "hebrew")
"""The scripts that several languages share."""
EDGE = "_"
"""Marks the beginning and the end of a word."""
UNIT = 64
"""One nat of evidence: integer sums do not depend on their order."""
_FLAT, _UNSEEN = 30, 5
"""The first ranks differ less than by Zipf's law; an unlisted trigram is so many times rarer than the last."""
_LONGEST = 24
"""Letters of a word that are used; the rest of a checksum is not evidence."""
_FIRST_WORDS = 40
"""Words of a text that are used."""
_BLOCK = 4096
"""Words processed at a time, to bound the memory."""
_BITS = 21
"""Bits of a character in a key."""


def trigrams_of(word: str) -> list[str]:
    """Return the trigrams of a word, including its edges.

    >>> trigrams_of("og"), trigrams_of("i")
    (['_og', 'og_'], ['_i_'])
    """
    edged = f"{EDGE}{word[:_LONGEST]}{EDGE}"
    return [edged[start : start + 3] for start in range(len(edged) - 2)]


def script_of(word: str) -> str:
    """Return the script of a word's first letter."""
    name: str = SCRIPT_NAMES[script_table()[ord(word[0])]]
    return name


@cache
def _table() -> tuple[tuple[str, ...], UInt64, Int32]:
    """Return the languages, the sorted keys of trigrams, and the evidence of each for every language."""
    lines = [line.split() for line in FILE.read_text(encoding="utf-8").splitlines()]
    listed = {code: keys_of("".join(trigrams))[::3] for code, *trigrams in lines}
    every = np.unique(np.concatenate(list(listed.values())))
    evidence = np.zeros((len(every), len(lines)), dtype=np.int32)
    for number, keys in enumerate(listed.values()):
        rarer = (_UNSEEN * len(keys) + _FLAT) / (np.arange(len(keys)) + _FLAT)
        evidence[np.searchsorted(every, keys), number] = np.rint(UNIT * np.log(rarer))
    return tuple(listed), every, evidence


def keys_of(text: str) -> UInt64:
    """Return a key for every three consecutive characters."""
    points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    keys: UInt64 = points[:-2] | points[1:-1] << np.uint64(_BITS) | points[2:] << np.uint64(2 * _BITS)
    return keys


def languages() -> tuple[str, ...]:
    """Return the languages with trigrams."""
    return _table()[0]


def trigram_scores(words: Sequence[str], chosen: Sequence[str]) -> Int32:
    """Return the evidence of each word for each of the chosen languages, in units; only differences have a meaning.

    >>> trigram_scores(["jälkeen", "någonting"], ["da", "fi", "sv"]).argmax(axis=1).tolist()
    [1, 2]
    """
    known, every, table = _table()
    evidence = table[:, [known.index(code) for code in chosen]]
    sums = np.zeros((len(words), len(chosen)), dtype=np.int32)
    for first in range(0, len(words), _BLOCK):
        block = words[first : first + _BLOCK]
        keys = keys_of(f"{EDGE}{EDGE.join([word[:_LONGEST] for word in block])}{EDGE}")
        middle = keys >> np.uint64(_BITS) & np.uint64((1 << _BITS) - 1)
        owners = np.cumsum(middle == ord(EDGE))
        at = np.searchsorted(every, keys)
        listed = flat_nonzero(every.take(at, mode="clip") == keys)
        if len(listed):
            words_of = owners[listed]
            heads = flat_nonzero(np.append(True, words_of[1:] != words_of[:-1]))
            sums[first + words_of[heads]] = np.add.reduceat(evidence[at[listed]], heads, axis=0)
    return sums


def score_first_words(tokens: Tokens, rows: Int64, chosen: Sequence[str]) -> tuple[Int64, Int64]:
    """Return the evidence of the first words of these texts for each chosen language, and the number of letters."""
    sums, letters = np.zeros((len(rows), len(chosen)), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    position = np.full(max(int(tokens.owners.max(initial=-1)), int(rows.max(initial=-1))) + 1, -1)
    position[rows] = np.arange(len(rows))
    at = position[tokens.owners]
    order = flat_nonzero(at >= 0)
    order = order[np.argsort(at[order], kind="stable")]
    at = at[order]
    early = np.arange(len(at)) - np.searchsorted(at, at) < _FIRST_WORDS
    at, order = at[early], order[early]
    if len(at):
        distinct, numbers = np.unique(tokens.numbers[order], return_inverse=True)
        words = [tokens.distinct[number] for number in distinct.tolist()]
        sizes = np.fromiter(map(len, words), dtype=np.int64, count=len(words)).clip(max=_LONGEST)
        heads = flat_nonzero(np.append(True, at[1:] != at[:-1]))
        sums[at[heads]] = np.add.reduceat(trigram_scores(words, chosen)[numbers], heads, axis=0)
        letters[at[heads]] = np.add.reduceat(sizes[numbers], heads)
    return sums, letters
