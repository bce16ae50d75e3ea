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
from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.encoders.use_best_path import UNKNOWN, BestPath
from steelyard.types import Int32

BEGIN, END = 1, 2
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
        every = list(range(self._model.vocab_size()))
        self._best_path = BestPath(self._model.id_to_piece(every), self._model.get_score(every))
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
        found: list[Sequence[int]] = [*self._by_model(words)]
        ends = list(accumulate(len(word) + 1 for word in words))
        for place in {bisect(ends, match.start()) for match in PECULIAR.finditer("\n".join(words))}:
            found[place] = self._best_path(words[place])
        return found

    def _by_model(self, words: Sequence[str]) -> list[list[int]]:
        """What sentencepiece gives, each unknown character a piece of its own."""
        bare = [word.removeprefix(SPACE) for word in words]  # sentencepiece sets a space in front
        found: list[list[int]] = [ids or [self._model.piece_to_id(SPACE)] for ids in self._model.encode(bare)]
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
