"""Where the tokens of a model start in a text, for passages of so many tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from steelyard.encoders.batching import replace_surrogates
from steelyard.errors import UsageError
from steelyard.text.passages import word_starts
from steelyard.types import Int64


@runtime_checkable
class FindsTokens(Protocol):
    """A model that can return the tokens of a text."""

    def token_starts(self, texts: Sequence[str]) -> list[Int64]:
        """Return the position of the first character of each token, ascending; special tokens are left out."""
        ...


def starts_of_tokenizer(tokenizer: Any, texts: Sequence[str], name: str) -> list[Int64]:
    """Return the starts of the tokens of a tokenizer of `tokenizers` or `transformers`; `name` is for errors."""
    clean = [replace_surrogates(text) for text in texts]
    if hasattr(tokenizer, "encode_batch"):
        return [_starts(encoding) for encoding in tokenizer.encode_batch(clean, add_special_tokens=False)]
    if not callable(tokenizer):
        raise UsageError(
            f"the model {name} does not have a tokenizer of texts",
            hint="count words instead: chunk_by=words",
            option="chunk_by",
        )
    arguments = {"add_special_tokens": False, "truncation": False, "padding": False, "verbose": False}
    if getattr(tokenizer, "is_fast", False):
        offsets = tokenizer(clean, return_offsets_mapping=True, **arguments)["offset_mapping"] if clean else []
        return [np.array([first for first, _ in text], dtype=np.int64) for text in offsets]
    return starts_by_word(clean, lambda words: [len(ids) for ids in tokenizer(words, **arguments)["input_ids"]])


def _starts(encoding: Any) -> Int64:
    """Return the starts of an encoding, including the parts that a limit of the tokenizer separates."""
    parts = [encoding, *encoding.overflowing]
    return np.array([first for part in parts for first, _ in part.offsets], dtype=np.int64)


def starts_by_word(texts: Sequence[str], count: Callable[[list[str]], Sequence[int]]) -> list[Int64]:
    """Return the starts of words, each as often as it has tokens; every distinct word is counted once.

    For tokenizers that do not return positions.

    >>> [starts.tolist() for starts in starts_by_word(["a river"], lambda words: [len(word) // 2 for word in words])]
    [[2, 2]]
    """
    words: dict[str, int] = {}
    divided = []
    for text in texts:
        starts = word_starts(text)
        pieces = [text[first:last].strip() for first, last in zip(starts, [*starts[1:], len(text)], strict=True)]
        divided.append((starts, [words.setdefault(piece, len(words)) for piece in pieces]))
    counts = np.array(count(list(words)) if words else [], dtype=np.int64)
    return [np.repeat(starts, counts[pieces]) for starts, pieces in divided]
