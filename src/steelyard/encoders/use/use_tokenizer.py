"""The tokenizer of USE multilingual v3: the piece ids that its own package gives, many times as fast.

Pieces never reach across a space, so a text is cut into words, and the ids of each distinct word are found once, by
`sentencepiece`, which reads the same `sp.model`. Where the two differ, the package's answer counts, since vectors
have to be its vectors:

- unknown characters that stand together are one piece in sentencepiece, one each in the package: expanded here;
- a text with nothing in it is one unknown piece: so here;
- sentencepiece sums scores in single precision, so of two paths with the same score it may take the other one, as
  in a run of one character (`======`); and it never reads `<s>`, `</s>` or `<unk>` in a text as the pieces of that
  name. For words with either, `use_best_path.py` finds the path in double precision.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.types import Int32

UNKNOWN = 0


class ViterbiSegmenter:
    """Finds the ids of words.

    >>> path = ViterbiSegmenter(["<unk>", "<s>", "</s>", "a", "aa", "b"], [0.0, 0.0, 0.0, -1.0, -1.5, -2.0])
    >>> path("aaab")
    (3, 4, 5)
    >>> path("?a")
    (0, 3)
    """

    def __init__(self, pieces: Sequence[str], scores: Sequence[float]) -> None:
        self._ids = dict(zip(pieces, range(len(pieces)), strict=True))
        self._scores = scores
        self._unknown_score = min(scores) - 10.0
        self._lengths: dict[str, list[int]] = {}
        """Of the pieces that begin with two characters."""
        for two, length in {(piece[:2], len(piece)) for piece in pieces if len(piece) > 1}:
            self._lengths.setdefault(two, []).append(length)

    def __call__(self, word: str) -> tuple[int, ...]:
        """The pieces with the highest sum of scores; of equal sums the one whose last pieces are longest.

        A character that is no piece of its own may be passed as unknown.
        """
        best = [0.0] + [float("-inf")] * len(word)
        last = [(0, UNKNOWN)] * (len(word) + 1)
        for start in range(len(word)):
            for length in (1, *self._lengths.get(word[start : start + 2], ())):
                id_ = self._ids.get(word[start : start + length])
                if id_ is not None:
                    score = best[start] + self._scores[id_]
                elif length == 1:
                    id_, score = UNKNOWN, best[start] + self._unknown_score
                else:
                    continue
                end = start + length
                if end <= len(word) and score > best[end]:
                    best[end], last[end] = score, (start, id_)
        ids, end = [], len(word)
        while end:
            end, id_ = last[end]
            ids.append(id_)
        return tuple(reversed(ids))


BEGIN, END = 1, 2
SPACE = "\u2581"
"""What stands for a space in pieces; every word begins with it."""

WORD = re.compile(f"{SPACE}[^{SPACE}]*")
LITERAL = "<s>", "</s>", "<unk>", "\u0308\u0301"
PECULIAR = re.compile(rf"(.{{1,3}}?)\1\1|{'|'.join(LITERAL)}")
"""Words that may have two paths with the same score, those with control pieces, and those that sentencepiece, which
normalises what is normal already, would change once more: only by what U+0344 has become."""
LONG = 40
"""Longer words (sentences in a script without spaces) seldom come again: they are not kept."""
MOST_WORDS = 200_000


class UseTokenizer:
    """Texts to piece ids, begin and end marks included."""

    def __init__(self, model_file: Path) -> None:
        import sentencepiece

        self._model: Any = sentencepiece.SentencePieceProcessor(model_file=str(model_file))
        every = list(range(self._model.vocab_size()))
        pieces: list[str] = self._model.id_to_piece(every)
        self._best_path = ViterbiSegmenter(pieces, self._model.get_score(every))
        self._lengths = [1, *map(len, pieces[1:])]  # of UNKNOWN, that of a character
        # Every character of a longer piece is a piece of its own too (a test holds it), so all others are unknown.
        known, joined = set("".join(pieces)), set("".join(piece for piece in pieces if len(piece) > 1))
        self._unknown = re.compile(f"[^{re.escape(''.join(known))}]+")
        self._joined = re.compile(f"[{re.escape(''.join(joined))}]+")
        self._words: dict[str, Sequence[int]] = {}

    def ids(self, texts: Sequence[str]) -> list[Int32]:
        """The ids of every text. Half of a surrogate pair, which no encoding can carry, is read as U+FFFD."""
        sound = [text if text.isascii() else _whole(text) for text in texts]
        texts_words: list[list[str]] = [WORD.findall(normal) for normal in self._model.normalize(sound)]
        if len(self._words) > MOST_WORDS:
            self._words.clear()
        new = list(set(chain.from_iterable(texts_words)).difference(self._words))
        self._words.update(zip(new, self._found(new), strict=True))
        found = [list(chain.from_iterable(map(self._words.__getitem__, words))) for words in texts_words]
        for word in new:
            if len(word) > LONG:
                del self._words[word]
        return [np.array([BEGIN, *(ids or (UNKNOWN,)), END], dtype=np.int32) for ids in found]

    def _found(self, words: Sequence[str]) -> list[Sequence[int]]:
        """The ids of words, by sentencepiece where that is sure to be what the package gives."""
        found = self._by_model(words)
        for place in _peculiar(words):
            found[place] = self._mended(words[place], found[place])
        return found

    def _mended(self, word: str, ids: Sequence[int]) -> Sequence[int]:
        """The ids with those of each peculiar stretch found anew.

        No piece reaches across a character that stands in no longer piece, so stretches between such ones are cut
        each for itself.
        """
        starts = [0, *accumulate(map(self._lengths.__getitem__, ids))]
        if starts[-1] != len(word):
            return self._best_path(word)
        for stretch in reversed([*self._joined.finditer(word)]):  # from behind: what stands before keeps its place
            if PECULIAR.search(stretch.group()):
                first, last = (bisect_left(starts, place) for place in stretch.span())
                ids = [*ids[:first], *self._best_path(stretch.group()), *ids[last:]]
        return ids

    def _by_model(self, words: Sequence[str]) -> list[Sequence[int]]:
        """What sentencepiece gives, each unknown character a piece of its own."""
        bare = [word.removeprefix(SPACE) for word in words]  # sentencepiece sets a space in front
        found: list[Sequence[int]] = [ids or [self._model.piece_to_id(SPACE)] for ids in self._model.encode(bare)]
        for place, ids in enumerate(found):
            if UNKNOWN in ids:
                runs = map(len, self._unknown.findall(words[place]))
                found[place] = [*chain.from_iterable((id_,) if id_ else (UNKNOWN,) * next(runs, 1) for id_ in ids)]
        return found


def _peculiar(words: Sequence[str]) -> list[int]:
    """The places of the words that `PECULIAR` finds something in; looked for in all of them at once.

    >>> _peculiar(["▁a", "▁aaa", "▁banana", "▁hahaha", "▁abcabcabc", "▁<s>", "▁🎻🎻🎻"])
    [1, 3, 4, 5, 6]
    """
    joined = "\n".join(words)
    points = np.frombuffer(joined.encode("utf-32-le"), dtype=np.uint32)
    found = [start for part in LITERAL for start in _starts(joined, part)]
    for period in (1, 2, 3):
        # Three times the same is: twice the period in a row where each is what stands a period before.
        run = same = points[period:] == points[:-period]
        for ahead in range(1, 2 * period):
            run = run[:-1] & same[ahead:]
        found += np.flatnonzero(run).tolist()
    ends = np.cumsum([len(word) + 1 for word in words])
    return sorted({*np.searchsorted(ends, found, side="right").tolist()})


def _starts(text: str, part: str) -> Iterator[int]:
    start = text.find(part)
    while start >= 0:
        yield start
        start = text.find(part, start + 1)


def _whole(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
