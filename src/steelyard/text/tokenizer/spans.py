"""The positions of the tokens of many texts in one buffer of bytes, found with array operations only.

South-East Asian scripts are divided into clusters. A cluster is a consonant with everything that belongs to it: marks
above and below, vowels written before it (Thai เ แ โ ใ ไ and the Lao equivalents) or after it (ะ า ำ), a stacked
consonant (Khmer, Burmese), and a silenced letter that follows (ร์, က်). n-grams of clusters, unlike those of
characters, never separate a vowel from its consonant.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from steelyard.text.analysis.spelling import PLAIN, Spelling
from steelyard.text.arrays import flat_nonzero
from steelyard.text.characters import EMOJI, HAN_KANA, HANGUL, UNSPACED, WORD, UInt8, UInt32
from steelyard.text.tokenizer.fold import END, Folded, fold, fold_alone
from steelyard.text.tokenizer.normalise import normalise
from steelyard.types import Int32, Int64

UInt64 = npt.NDArray[np.uint64]

_HUGE = 1 << 10
"""Bytes of a token (a genome, a hexadecimal dump) that is hashed separately, not in passes of eight bytes."""


@dataclass(frozen=True)
class Grams:
    """Lengths of the n-grams of each script without spaces.

    They are n-grams of characters; in South-East Asian scripts, of clusters (`clusters`). A run shorter than the
    shortest length is one token.
    """

    han_kana: tuple[int, ...] = (1, 2)
    hangul: tuple[int, ...] = (2,)
    unspaced: tuple[int, ...] = (1, 2)


@dataclass(frozen=True, eq=False)
class Spans:
    """Tokens as positions in `buffer`, UTF-8: token `i` of text `owners[i]` has `lengths[i]` bytes from `starts[i]`.

    Eight zero bytes end the buffer, so that eight bytes can be read at every start.
    """

    buffer: UInt8
    starts: Int64
    lengths: Int64
    owners: Int32
    words: int
    """The number of words, which come first; the others are n-grams."""

    def take(self, chosen: Int64) -> Spans:
        """Return some of the tokens."""
        words = int(np.count_nonzero(chosen < self.words))
        return Spans(self.buffer, self.starts[chosen], self.lengths[chosen], self.owners[chosen], words)


def find_tokens(
    texts: Sequence[str],
    grams: Grams,
    *,
    fold_case: bool = True,
    underscore: bool = False,
    spelling: Spelling = PLAIN,
) -> Spans:
    """Return the tokens of the texts: words, and n-grams of scripts without spaces; words keep marks and digits.

    >>> spans = find_tokens(["The cat's मेज़", "東京都"], Grams())
    >>> data = spans.buffer.tobytes()
    >>> [data[s : s + n].decode() for s, n in zip(spans.starts, spans.lengths)]
    ['the', 'cat', 's', 'मेज़', '東', '京', '都', '東京', '京都']
    >>> spans.owners.tolist()
    [0, 0, 0, 0, 1, 1, 1, 1, 1]
    """
    if spelling.typed is not None:
        texts = list(map(spelling.typed, texts))
    if all(map(str.isascii, texts)):
        return _ascii(texts, fold_case, underscore)
    joined = _join(texts)
    folded = fold(_code_points(joined), fold_case=fold_case, underscore=underscore, spelling=spelling)
    if not isinstance(folded, Folded):
        normalised = _normalise_words(joined, folded, fold_case)
        folded = fold_alone(_code_points(normalised), fold_case=fold_case, underscore=underscore, spelling=spelling)
    if spelling.sequences is not None:
        folded = folded.respell(spelling.sequences)
    buffer = np.frombuffer(_utf8(folded.points) + bytes(8), dtype=np.uint8)
    if folded.only_words:
        return _between_spaces(buffer, flat_nonzero(buffer[:-8] == 0))
    return _general(folded, buffer, grams)


def _normalise_words(joined: str, places: Int64, fold_case: bool) -> str:
    """Return the texts with the words at these positions normalised; characters do not combine across a space."""
    pieces, done = [], 0
    for place in places.tolist():
        if place < done:
            continue
        begin = max(joined.rfind(END, done, place), joined.rfind(" ", done, place), done - 1) + 1
        end = joined.find(END, place)
        space = joined.find(" ", place, end)
        end = end if space < 0 else space
        pieces += [joined[done:begin], normalise(joined[begin:end], fold_case=fold_case)]
        done = end
    return "".join([*pieces, joined[done:]])


def _join(texts: Sequence[str]) -> str:
    joined = END.join(["", *texts, ""])
    if joined.count(END) > len(texts) + 1:
        joined = END.join(["", *(text.replace(END, " ") for text in texts), ""])
    return joined


def code_points(texts: Sequence[str]) -> tuple[UInt32, Int64]:
    """Return every original character of the texts, and its text."""
    points = _code_points(_join(texts))
    return points[1:], np.cumsum(points[:-1] == 0) - 1


def _code_points(text: str) -> UInt32:
    try:
        data = text.encode("utf-32-le")
    except UnicodeEncodeError:  # a lone surrogate, as from broken JSON
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
    # One end before the first text and one after the last; eight more as padding.
    joined = END.join(["", *texts, *[""] * 9])
    data = joined.encode("ascii").translate(_ASCII_TABLES[fold_case, underscore])
    sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    ends_of_texts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes + 1)))
    return _between_spaces(np.frombuffer(data, dtype=np.uint8), ends_of_texts)


def _between_spaces(buffer: UInt8, ends_of_texts: Int64) -> Spans:
    """Return the words of texts with words and spaces only."""
    in_word = buffer > ord(" ")
    edges = flat_nonzero(in_word[1:] != in_word[:-1])
    edges += 1
    starts, ends = edges[0::2].copy(), edges[1::2]
    return Spans(buffer, starts, ends - starts, _owners(starts, ends_of_texts), len(starts))


def _general(folded: Folded, buffer: UInt8, grams: Grams) -> Spans:
    """Return words, and n-grams of scripts without spaces."""
    points, kinds = folded.points, folded.classes
    edges = flat_nonzero(kinds[1:] != kinds[:-1])
    edges += 1
    pieces = _runs(points, kinds, edges[:-1], edges[1:], grams)
    at_byte = flat_nonzero(buffer.view(np.int8) >= -64)  # the bytes that begin a character
    starts = at_byte.take(np.concatenate([piece[0] for piece in pieces]))
    lengths = at_byte.take(np.concatenate([piece[1] for piece in pieces]))
    lengths -= starts
    ends_of_texts = flat_nonzero(points == 0)
    owners = np.concatenate([_owners(piece[0], ends_of_texts) for piece in pieces])
    return Spans(buffer, starts, lengths, owners, len(pieces[0][0]))


def _utf8(points: UInt32) -> bytes:
    if points.max(initial=0) < 0xD800:  # half the bytes, read in a third of the time
        return str(points.astype(np.uint16).data, "utf-16-le").encode()
    return str(points.data, "utf-32-le").encode()


def _runs(points: UInt32, kinds: UInt8, first: Int64, last: Int64, grams: Grams) -> list[tuple[Int64, Int64]]:
    """Return begin and end of every token, given the runs of characters of one class: words first, then n-grams."""
    kinds_of_runs = kinds.take(first)
    words = flat_nonzero(kinds_of_runs == WORD)
    pieces = [(first.take(words), last.take(words))]
    for kind, lengths in ((HAN_KANA, grams.han_kana), (HANGUL, grams.hangul), (EMOJI, (1,))):
        characters = flat_nonzero(kinds == kind)
        if len(characters):
            pieces += _grams(characters, characters + 1, lengths)
    chosen = flat_nonzero(kinds_of_runs == UNSPACED)
    if len(chosen):
        pieces += _grams(*_clusters(points, kinds, first.take(chosen), last.take(chosen)), grams.unspaced)
    return pieces


def _grams(begins: Int64, ends: Int64, lengths: tuple[int, ...]) -> list[tuple[Int64, Int64]]:
    """Return begin and end of every n-gram of characters or clusters; a run that is too short is one token."""
    touching = ends[:-1] == begins[1:]
    pieces = []
    if min(lengths) > 1:
        heads = flat_nonzero(np.append(True, ~touching))
        sizes = np.diff(heads, append=len(begins))
        short = sizes < min(lengths)
        pieces.append((begins[heads[short]], ends[heads[short] + sizes[short] - 1]))
    for length in lengths:
        if length == 1:
            pieces.append((begins, ends))
            continue
        together = touching
        for step in range(1, length - 1):
            together = together[:-1] & touching[step:]
        at = flat_nonzero(together)
        pieces.append((begins.take(at), ends.take(at + (length - 1))))
    return pieces


def _clusters(points: UInt32, kinds: UInt8, first: Int64, last: Int64) -> tuple[Int64, Int64]:
    """Return begin and end of every cluster, given the runs of scripts that have them."""
    begins = cluster_begins(points)
    begins[first] = True
    begins &= kinds == UNSPACED
    clusters = flat_nonzero(begins)
    ends = np.append(clusters[1:], last[-1])
    ends[np.searchsorted(clusters, first[1:]) - 1] = last[:-1]
    return clusters, ends


def _owners(begin: Int64, ends_of_texts: Int64) -> Int32:
    """Return the text of each position; positions must be ascending."""
    counts = np.diff(np.searchsorted(begin, ends_of_texts))
    return np.repeat(np.arange(len(counts), dtype=np.int32), counts)


def keys(spans: Spans) -> UInt64:
    """Return a 64-bit key for each token, equal for equal tokens.

    Up to eight bytes the key is the token itself; longer ones are mixed, eight bytes at a time, except huge ones. Two
    of ten million distinct long tokens share a key with a probability of about three in a million.
    """
    eights = _eights(spans.buffer)
    result = eights[spans.starts]
    result &= _MASKS.take(spans.lengths, mode="clip")
    long = flat_nonzero(spans.lengths > 8)
    at, left = spans.starts.take(long), spans.lengths.take(long)
    if left.max(initial=0) > _HUGE:
        for place in flat_nonzero(left > _HUGE).tolist():
            token = spans.buffer[at[place] : at[place] + left[place]]
            result[long[place]] = int.from_bytes(blake2b(token.data, digest_size=8).digest(), "little")
        usual = flat_nonzero(left <= _HUGE)
        long, at, left = long.take(usual), at.take(usual), left.take(usual)
    while len(long):
        at += 8
        left -= 8
        block = eights[at]
        block &= _MASKS.take(left, mode="clip")
        result[long] = _mix(result.take(long), block)
        more = flat_nonzero(left > 8)
        long, at, left = long.take(more), at.take(more), left.take(more)
    return result


def blocks(spans: Spans, count: int) -> UInt64:
    """Return the first bytes of every token in blocks of eight, zeros after its end."""
    eights, values = _eights(spans.buffer), np.zeros((len(spans.starts), count), dtype=np.uint64)
    at, left = spans.starts, spans.lengths
    np.bitwise_and(eights[at], _MASKS.take(left, mode="clip"), out=values[:, 0])
    rows = np.arange(len(at))
    for number in range(1, count):
        longer = flat_nonzero(left > 8)
        rows, at, left = rows.take(longer), at.take(longer) + 8, left.take(longer) - 8
        values[rows, number] = eights[at] & _MASKS.take(left, mode="clip")
    return values


def _eights(buffer: UInt8) -> UInt64:
    """Return the eight bytes from each position on, as an integer."""
    return np.ndarray((len(buffer) - 7,), dtype="<u8", buffer=buffer, strides=(1,))


def keys_of_blocks(blocks: Sequence[UInt64], lengths: Int64) -> UInt64:
    """Return the keys of tokens given as blocks of eight bytes, zeros after the end."""
    result = blocks[0].copy()
    for number, block in enumerate(blocks[1:], start=1):
        rows = flat_nonzero(lengths > 8 * number)
        result[rows] = _mix(result.take(rows), block.take(rows))
    return result


def keys_of_strings(strings: Sequence[str]) -> UInt64:
    """Return the keys that `keys` returns for the same tokens in a buffer.

    >>> spans = find_tokens(["cat 東京"], Grams())
    >>> set(keys_of_strings(["cat", "東京"]).tolist()) <= set(keys(spans).tolist())
    True
    """
    return keys_of_bytes([string.encode("utf-8", "surrogatepass") for string in strings])


def keys_of_bytes(tokens: Sequence[bytes]) -> UInt64:
    """Return the keys of tokens in UTF-8."""
    lengths = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
    buffer = np.frombuffer(b"".join([*tokens, bytes(8)]), dtype=np.uint8)
    return keys(Spans(buffer, np.cumsum(lengths) - lengths, lengths, np.zeros(0, dtype=np.int32), len(tokens)))


def _mix(key: UInt64, block: UInt64) -> UInt64:
    mixed = key * _MULTIPLIER
    mixed ^= mixed >> np.uint64(29)
    mixed += block
    mixed *= _MULTIPLIER_2
    mixed ^= mixed >> np.uint64(32)
    return mixed


_MASKS = np.array([(1 << (8 * n)) - 1 for n in range(9)], dtype=np.uint64)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER_2 = np.uint64(0xD6E8FEB86659FD93)


Bools = npt.NDArray[np.bool_]

_BLOCKS = ((0xE00, 0x109F), (0x1780, 0x17FF), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F))
_BASE, _BEFORE, _AFTER, _STACKER, _SILENCER = range(5)

_VOWELS_BEFORE = "เแโใไ" + "ເແໂໃໄ"
_VOWELS_AFTER = "ะาำๅ" + "ະາຳ"
_STACKERS = "\u1039\u17d2"
"""The next consonant is written below this one: Burmese virama, Khmer coeng."""
_SILENCERS = "\u0e4c\u0ecc\u103a\u17cd"
"""The letter is silent, or only ends the syllable: thanthakhat, its Lao and Khmer equivalents, Burmese asat."""


@cache
def _table() -> UInt8:
    """Return the function of each character in a cluster; one more entry for all characters after these scripts."""
    table = np.full(_BLOCKS[-1][1] + 2, _BASE, dtype=np.uint8)
    for first, last in _BLOCKS:
        for point in range(first, last + 1):
            if unicodedata.category(chr(point))[0] == "M":
                table[point] = _AFTER
    parts = ((_BEFORE, _VOWELS_BEFORE), (_AFTER, _VOWELS_AFTER), (_STACKER, _STACKERS), (_SILENCER, _SILENCERS))
    for part, characters in parts:
        table[list(map(ord, characters))] = part
    return table


def cluster_begins(points: UInt32) -> Bools:
    """Return whether a cluster begins at each character.

    >>> text = "โรงเรียนซูเปอร์โบว์ล"
    >>> at = [*np.flatnonzero(cluster_begins(np.array([ord(c) for c in text], dtype=np.uint32))), len(text)]
    >>> [text[a:b] for a, b in zip(at, at[1:])]
    ['โร', 'ง', 'เรี', 'ย', 'น', 'ซู', 'เป', 'อร์', 'โบว์', 'ล']
    """
    part = _table().take(points, mode="clip")
    begins: Bools = (part == _BASE) | (part == _BEFORE)
    begins[1:] &= (part[:-1] != _BEFORE) & (part[:-1] != _STACKER)
    silent = part[1:] == _SILENCER
    begins[:-1] &= ~silent
    # A vowel sign may be between the letter and the silencer: ธิ์.
    begins[:-2] &= ~(silent[1:] & (part[1:-1] == _AFTER))
    begins[:1] = True
    return begins
