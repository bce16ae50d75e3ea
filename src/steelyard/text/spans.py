"""Where the tokens of many texts lie in one buffer of bytes, found with array operations only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.text.characters import HAN_KANA, HANGUL, UNSPACED, WORD, UInt8, UInt32, classes
from steelyard.text.clusters import cluster_begins
from steelyard.text.fold import fold
from steelyard.text.normalise import normalise
from steelyard.types import Int32, Int64

UInt64 = npt.NDArray[np.uint64]

_END = "\0"
"""Stands between two texts in the buffer."""


@dataclass(frozen=True)
class Grams:
    """Lengths of the n-grams that a run of each spaceless script is cut into.

    They are n-grams of characters; in South-East Asian scripts, of clusters (`clusters`). A run that is shorter than
    the shortest length is a token as it is.
    """

    han_kana: tuple[int, ...] = (1, 2)
    hangul: tuple[int, ...] = (2,)
    unspaced: tuple[int, ...] = (1, 2)


@dataclass(frozen=True, eq=False)
class Spans:
    """Tokens as places in `buffer`, UTF-8: token `i` of text `owners[i]` has `lengths[i]` bytes from `starts[i]`.

    Eight zero bytes end the buffer, so that eight bytes can be read at every start.
    """

    buffer: UInt8
    starts: Int64
    lengths: Int64
    owners: Int32


def find(texts: Sequence[str], grams: Grams, *, fold_case: bool = True, underscore: bool = False) -> Spans:
    """The tokens of the texts: words, and n-grams of spaceless scripts; a word keeps its marks and digits.

    >>> spans = find(["The cat's मेज़", "東京都"], Grams())
    >>> data = spans.buffer.tobytes()
    >>> [data[s : s + n].decode() for s, n in zip(spans.starts, spans.lengths)]
    ['the', 'cat', 's', 'मेज़', '東', '京', '都', '東京', '京都']
    >>> spans.owners.tolist()
    [0, 0, 0, 0, 1, 1, 1, 1, 1]
    """
    if all(map(str.isascii, texts)):
        return _ascii(texts, fold_case, underscore)
    joined = _join(texts)
    points = _code_points(joined)
    folded, unsure = fold(points, fold_case=fold_case)
    if len(unsure):
        texts = list(texts)
        for owner in set(_owners(unsure, np.flatnonzero(points == 0)).tolist()):
            texts[owner] = normalise(texts[owner], fold_case=fold_case)
        folded, _ = fold(_code_points(_join(texts)), fold_case=fold_case)
    return _general(folded, grams, underscore)


def _join(texts: Sequence[str]) -> str:
    joined = _END.join(texts)
    if joined.count(_END) >= len(texts) > 0:
        joined = _END.join(text.replace(_END, " ") for text in texts)
    return f"{_END}{joined}{_END}"


def code_points(texts: Sequence[str]) -> tuple[UInt32, Int64]:
    """Every character of the texts, as written, and the text it is of."""
    points = _code_points(_join(texts))
    return points[1:], np.cumsum(points[:-1] == 0) - 1


def _code_points(text: str) -> UInt32:
    try:
        data = text.encode("utf-32-le")
    except UnicodeEncodeError:  # half of a surrogate pair, as broken JSON gives: no character
        data = text.encode("utf-32-le", "replace")
    return np.frombuffer(data, dtype=np.uint32)


def _ascii_table(fold_case: bool, underscore: bool) -> bytes:
    def entry(code: int) -> int:
        character = chr(code)
        if code < 128 and (character.isalnum() or (underscore and character == "_")):
            return ord(character.lower()) if fold_case else code
        return code and ord(" ")

    return bytes(map(entry, range(256)))


_ASCII_TABLES = {(fold, line): _ascii_table(fold, line) for fold in (False, True) for line in (False, True)}


def _ascii(texts: Sequence[str], fold_case: bool, underscore: bool) -> Spans:
    # One end before the first text and one after the last; eight more to be read over.
    joined = _END.join(["", *texts, *[""] * 9])
    data = joined.encode("ascii").translate(_ASCII_TABLES[fold_case, underscore])
    buffer = np.frombuffer(data, dtype=np.uint8)
    in_word = buffer > ord(" ")
    edges = np.flatnonzero(in_word[1:] != in_word[:-1])
    edges += 1
    starts, ends = edges[0::2].copy(), edges[1::2]
    sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    ends_of_texts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes + 1)))
    return Spans(buffer, starts, ends - starts, _owners(starts, ends_of_texts))


def _general(points: UInt32, grams: Grams, underscore: bool) -> Spans:
    kinds = classes(points)
    if underscore:
        kinds = np.where(points == ord("_"), np.uint8(WORD), kinds)
    edges = np.flatnonzero(kinds[1:] != kinds[:-1]) + 1
    edges = np.append(edges, len(kinds))
    first, last, run_kind = edges[:-1], edges[1:], kinds[edges[:-1]]
    words = run_kind == WORD
    pieces = [(first[words], last[words])]
    for kind, lengths in ((HAN_KANA, grams.han_kana), (HANGUL, grams.hangul)):
        chosen = run_kind == kind
        if chosen.any():
            pieces += _grams(first[chosen], last[chosen], lengths)
    chosen = run_kind == UNSPACED
    if chosen.any():
        pieces += _cluster_grams(points, first[chosen], last[chosen], grams.unspaced)
    begin = np.concatenate([piece[0] for piece in pieces])
    end = np.concatenate([piece[1] for piece in pieces])
    data = points.tobytes().decode("utf-32-le").encode()
    widths = 1 + (points > 0x7F).astype(np.int64) + (points > 0x7FF) + (points > 0xFFFF)
    at_byte = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(widths)))
    starts = at_byte[begin]
    buffer = np.frombuffer(data + bytes(8), dtype=np.uint8)
    ends_of_texts = np.flatnonzero(points == 0)
    owners = np.concatenate([_owners(piece[0], ends_of_texts) for piece in pieces])
    return Spans(buffer, starts, at_byte[end] - starts, owners)


def _grams(first: Int64, last: Int64, lengths: tuple[int, ...]) -> list[tuple[Int64, Int64]]:
    """Begin and end of every n-gram of the runs; runs too short for any are kept whole."""
    short = last - first < min(lengths)
    pieces = [(first[short], last[short])]
    for length in lengths:
        counts = np.maximum(last - first - length + 1, 0)
        # 0, 1, 2 ... within each run, added to the run's first character
        before = np.cumsum(counts) - counts
        begin = np.arange(counts.sum()) + np.repeat(first - before, counts)
        pieces.append((begin, begin + length))
    return pieces


def _cluster_grams(points: UInt32, first: Int64, last: Int64, lengths: tuple[int, ...]) -> list[tuple[Int64, Int64]]:
    """As `_grams`, counted in clusters."""
    begins = cluster_begins(points)
    begins[first] = True
    inside = np.zeros(len(points) + 1, dtype=np.int8)
    inside[first] = 1
    inside[last] -= 1
    clusters = np.flatnonzero(begins & (np.cumsum(inside[:-1], dtype=np.int8) > 0))
    head = np.searchsorted(clusters, first)
    ends = np.append(clusters[1:], last[-1])
    ends[head[1:] - 1] = last[:-1]
    grams = _grams(head, np.append(head[1:], len(clusters)), lengths)
    return [(clusters[begin], ends[end - 1]) for begin, end in grams]


def _owners(begin: Int64, ends_of_texts: Int64) -> Int32:
    """The text of each place; places must ascend."""
    counts = np.diff(np.searchsorted(begin, ends_of_texts))
    return np.repeat(np.arange(len(counts), dtype=np.int32), counts)


def keys(spans: Spans) -> UInt64:
    """A 64-bit key for each token, equal for equal tokens.

    Up to eight bytes the key is the token itself; longer ones are mixed, eight bytes at a time. Two of ten million
    distinct long tokens share a key with a probability of about three in a million.
    """
    words = np.ndarray((len(spans.buffer) - 7,), dtype="<u8", buffer=spans.buffer, strides=(1,))
    result = words[spans.starts] & _MASKS.take(spans.lengths, mode="clip")
    long = np.flatnonzero(spans.lengths > 8)
    at, left = spans.starts[long], spans.lengths[long]
    while len(long):
        at, left = at + 8, left - 8
        mixed = result[long] * _MULTIPLIER
        mixed ^= mixed >> np.uint64(29)
        mixed += words[at] & _MASKS.take(left, mode="clip")
        mixed *= _MULTIPLIER_2
        mixed ^= mixed >> np.uint64(32)
        result[long] = mixed
        more = left > 8
        long, at, left = long[more], at[more], left[more]
    return result


_MASKS = np.array([(1 << (8 * n)) - 1 for n in range(9)], dtype=np.uint64)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER_2 = np.uint64(0xD6E8FEB86659FD93)
