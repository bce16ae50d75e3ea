"""The tokenizer of USE multilingual v3: the piece ids of its own package, many times faster.

A piece contains a space only at its start, so a text is split into words, and the ids of each distinct word are
computed once by `sentencepiece`, which reads the same `sp.model`. Where the two differ, the package's result is used,
because vectors must equal the package's:

- adjacent unknown characters are one piece in sentencepiece, and one each in the package;
- an empty text is one unknown piece;
- sentencepiece adds scores in single precision, so of two segmentations with equal scores it may choose the other, as
  in a run of one character (`======`); and it never reads `<s>`, `</s>` or `<unk>` in a text as pieces of that name.
  For words with either, `ViterbiSegmenter` computes the segmentation in double precision.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.encoders.batching import replace_surrogates
from steelyard.types import Int32

UNKNOWN = 0


class ViterbiSegmenter:
    """Segments words into pieces with the highest sum of scores.

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
        """The lengths of pieces by their first two characters."""
        for two, length in {(piece[:2], len(piece)) for piece in pieces if len(piece) > 1}:
            self._lengths.setdefault(two, []).append(length)

    def __call__(self, word: str) -> tuple[int, ...]:
        """Return the pieces with the highest sum of scores; ties are broken by the longest last piece.

        A character that is not a piece is an unknown piece.
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
"""The space in pieces; every word begins with it."""

WORD = re.compile(f"{SPACE}[^{SPACE}]*")
LITERAL = "<s>", "</s>", "<unk>", "\u0308\u0301"
AMBIGUOUS = re.compile(rf"(.{{1,3}}?)\1\1|{'|'.join(LITERAL)}")
"""Words that may have two segmentations with the same score, those with control pieces, and those that sentencepiece
would normalise a second time: only by what U+0344 becomes."""
LONG = 40
"""Longer words (sentences in a script without spaces) rarely repeat: they are not cached."""
MOST_WORDS = 200_000


class UseTokenizer:
    """Texts to piece ids, including begin and end marks."""

    def __init__(self, model_file: Path) -> None:
        import sentencepiece

        self._model: Any = sentencepiece.SentencePieceProcessor(model_file=str(model_file))
        every = list(range(self._model.vocab_size()))
        pieces: list[str] = self._model.id_to_piece(every)
        self._best_path = ViterbiSegmenter(pieces, self._model.get_score(every))
        self._lengths = [1, *map(len, pieces[1:])]  # UNKNOWN has that of a character
        # Every character of a longer piece is a piece too (a test checks this), so all others are unknown.
        known, joined = set("".join(pieces)), set("".join(piece for piece in pieces if len(piece) > 1))
        self._unknown = re.compile(f"[^{re.escape(''.join(known))}]+")
        self._joined = re.compile(f"[{re.escape(''.join(joined))}]+")
        self._words: dict[str, Sequence[int]] = {}

    def ids(self, texts: Sequence[str]) -> list[Int32]:
        """Return the ids of every text. A lone surrogate is read as U+FFFD."""
        clean = [replace_surrogates(text) for text in texts]
        texts_words: list[list[str]] = [WORD.findall(normal) for normal in self._model.normalize(clean)]
        if len(self._words) > MOST_WORDS:
            self._words.clear()
        new = list(set(chain.from_iterable(texts_words)).difference(self._words))
        self._words.update(zip(new, self._segment(new), strict=True))
        ids_of_texts = [list(chain.from_iterable(map(self._words.__getitem__, words))) for words in texts_words]
        for word in new:
            if len(word) > LONG:
                del self._words[word]
        return [np.array([BEGIN, *(ids or (UNKNOWN,)), END], dtype=np.int32) for ids in ids_of_texts]

    def _segment(self, words: Sequence[str]) -> list[Sequence[int]]:
        """Return the ids of words, by sentencepiece where its result is sure to be the package's."""
        ids = self._by_model(words)
        for row in _ambiguous(words):
            ids[row] = self._corrected(words[row], ids[row])
        return ids

    def _corrected(self, word: str, ids: Sequence[int]) -> Sequence[int]:
        """Return the ids with those of each ambiguous part computed again.

        A character that is in no longer piece separates pieces, so the parts between such characters are
        independent.
        """
        starts = [0, *accumulate(map(self._lengths.__getitem__, ids))]
        if starts[-1] != len(word):
            return self._best_path(word)
        for stretch in reversed([*self._joined.finditer(word)]):  # from the end, so that earlier positions stay valid
            if AMBIGUOUS.search(stretch.group()):
                first, last = (bisect_left(starts, position) for position in stretch.span())
                ids = [*ids[:first], *self._best_path(stretch.group()), *ids[last:]]
        return ids

    def _by_model(self, words: Sequence[str]) -> list[Sequence[int]]:
        """Return the ids of sentencepiece, with one piece per unknown character."""
        bare = [word.removeprefix(SPACE) for word in words]  # sentencepiece adds a space in front
        all_ids: list[Sequence[int]] = [ids or [self._model.piece_to_id(SPACE)] for ids in self._model.encode(bare)]
        for row, ids in enumerate(all_ids):
            if UNKNOWN in ids:
                runs = map(len, self._unknown.findall(words[row]))
                all_ids[row] = [*chain.from_iterable((id_,) if id_ else (UNKNOWN,) * next(runs, 1) for id_ in ids)]
        return all_ids


def _ambiguous(words: Sequence[str]) -> list[int]:
    """Return the rows of the words that match `AMBIGUOUS`, searching all of them at once.

    >>> _ambiguous(["▁a", "▁aaa", "▁banana", "▁hahaha", "▁abcabcabc", "▁<s>", "▁🎻🎻🎻"])
    [1, 3, 4, 5, 6]
    """
    joined = "\n".join(words)
    points = np.frombuffer(joined.encode("utf-32-le"), dtype=np.uint32)
    matches = [start for part in LITERAL for start in _starts(joined, part)]
    for period in (1, 2, 3):
        # Three repetitions: in two consecutive periods every character equals the one a period before.
        run = same = points[period:] == points[:-period]
        for ahead in range(1, 2 * period):
            run = run[:-1] & same[ahead:]
        matches += np.flatnonzero(run).tolist()
    ends = np.cumsum([len(word) + 1 for word in words])
    return sorted({*np.searchsorted(ends, matches, side="right").tolist()})


def _starts(text: str, part: str) -> Iterator[int]:
    start = text.find(part)
    while start >= 0:
        yield start
        start = text.find(part, start + 1)
