"""The tokenizer of USE multilingual v3: the piece ids that its own package gives, many times as fast.

Pieces never reach across a space, so a text is cut into words, and the ids of each distinct word are found once, by
`sentencepiece`, which reads the same `sp.model`. Where the two differ, the package's answer counts, since vectors
have to be its vectors:

- unknown characters that stand together are one piece in sentencepiece, one each in the package: expanded here;
- a text with nothing in it is one unknown piece: so here;
- sentencepiece sums scores in single precision, so of two paths with the same score it may take the other one, as
  in a run of one character (`======`); and it never reads `<s>`, `</s>` or `<unk>` in a text as the pieces of that
  name. For words with either, the best path is found here, in double precision.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.types import Int32

UNKNOWN, BEGIN, END = 0, 1, 2
SPACE = "\u2581"
"""What stands for a space in pieces; every word begins with it."""

WORD = re.compile(f"{SPACE}[^{SPACE}]*")
PECULIAR = re.compile(r"(.{1,3}?)\1\1|<s>|</s>|<unk>")
"""Words that may have two paths with the same score, and those with control pieces."""
LONG = 40
"""Longer words (sentences in a script without spaces) seldom come again: they are not kept."""
MOST_WORDS = 200_000


class UseTokenizer:
    """Texts to piece ids, begin and end marks included."""

    def __init__(self, model_file: Path) -> None:
        import sentencepiece

        self._model: Any = sentencepiece.SentencePieceProcessor(model_file=str(model_file))
        size = self._model.vocab_size()
        pieces: list[str] = self._model.id_to_piece(list(range(size)))
        scores: list[float] = self._model.get_score(list(range(size)))
        self._pieces = {piece: (id_, score) for id_, (piece, score) in enumerate(zip(pieces, scores, strict=True))}
        self._longest = max(map(len, pieces))
        self._unknown_score = min(scores) - 10.0
        self._words: dict[str, Sequence[int]] = {}

    def ids(self, texts: Sequence[str]) -> list[Int32]:
        """The ids of every text. Half of a surrogate pair, which no encoding can carry, is read as U+FFFD."""
        sound = [text if text.isascii() else _whole(text) for text in texts]
        texts_words: list[list[str]] = [WORD.findall(normal) for normal in self._model.normalize(sound)]
        if len(self._words) > MOST_WORDS:
            self._words.clear()
        ids_of = self._found({word for words in texts_words for word in words})
        found = [[id_ for word in words for id_ in ids_of[word]] for words in texts_words]
        return [np.array([BEGIN, *(ids or (UNKNOWN,)), END], dtype=np.int32) for ids in found]

    def _found(self, words: set[str]) -> dict[str, Sequence[int]]:
        """The ids of words, those met before from memory."""
        new = [word for word in words if word not in self._words]
        peculiar = {word: self._best_path(word) for word in new if PECULIAR.search(word)}
        plain = [word for word in new if word not in peculiar]
        fresh: dict[str, Sequence[int]] = {**peculiar, **dict(zip(plain, self._by_model(plain), strict=True))}
        known = {word: self._words[word] for word in words if word in self._words}
        self._words |= {word: ids for word, ids in fresh.items() if len(word) <= LONG}
        return known | fresh

    def _best_path(self, word: str) -> tuple[int, ...]:
        """The pieces with the highest sum of scores; of equal sums the one whose last pieces are longest.

        A character that is no piece of its own may be passed as unknown.
        """
        best: list[tuple[float, int, int]] = [(0.0, 0, UNKNOWN)]
        for end in range(1, len(word) + 1):
            here = (-np.inf, 0, UNKNOWN)
            for start in range(max(0, end - self._longest), end):
                id_, score = self._pieces.get(word[start:end], (UNKNOWN, None))
                if score is None:
                    if start < end - 1:
                        continue
                    score = self._unknown_score
                if best[start][0] + score > here[0]:
                    here = (best[start][0] + score, start, id_)
            best.append(here)
        ids, end = [], len(word)
        while end:
            _, end, id_ = best[end]
            ids.append(id_)
        return tuple(reversed(ids))

    def _by_model(self, words: Sequence[str]) -> list[list[int]]:
        """What sentencepiece gives, each unknown character a piece of its own."""
        bare = [word.removeprefix(SPACE) for word in words]  # sentencepiece sets a space in front
        found: list[list[int]] = [ids or [self._pieces[SPACE][0]] for ids in self._model.encode(bare)]
        places = [place for place, ids in enumerate(found) if UNKNOWN in ids]
        surfaces = self._model.encode([bare[place] for place in places], out_type=str)
        for place, pieces in zip(places, surfaces, strict=True):
            found[place] = [
                id_
                for known, piece in zip(found[place], pieces, strict=True)
                for id_ in ((known,) if known != UNKNOWN else (UNKNOWN,) * len(piece))
            ]
        return found


def _whole(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
