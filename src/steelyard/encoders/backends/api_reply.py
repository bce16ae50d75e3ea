"""The vectors in the answer of an embeddings service, put into the order of the texts; anything odd is an error."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

import numpy as np

from steelyard.encoders.backends.api_texts import shown
from steelyard.errors import ModelError
from steelyard.types import Float32

FORM = "an embeddings service answers with a vector for each text, numbered by index"


def read_vectors(answer: Any, texts: Sequence[str], dimension: int | None, where: str) -> Float32:
    """One finite vector for each text, all of one length: `dimension`, if that is known.

    Items are put in order by their `index`; where no item has one, they are in order already. A vector is a list of
    numbers, or base64 of little-endian 32-bit floats, whichever was asked for.

    >>> answer = {"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": "AACAPwAAAAA="}]}
    >>> read_vectors(answer, ["a", "b"], 2, "here").tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    items = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ModelError(
            f"{where} answered without a list of vectors under 'data'", hint="is it an embeddings service?"
        )
    if len(items) != len(texts):
        raise ModelError(
            f"{where} gave {len(items)} vectors for {len(texts)} texts, the first {shown(texts[0])}", hint=FORM
        )
    vectors: list[Float32 | None] = [None] * len(texts)
    for place, item in zip(_places(items, where), items, strict=True):
        vectors[place] = _vector(item.get("embedding"), texts[place], dimension, where)
    return np.stack([vector for vector in vectors if vector is not None])


def _places(items: Sequence[dict[str, Any]], where: str) -> list[int]:
    """Where each item belongs."""
    given = [item.get("index") for item in items]
    if all(index is None for index in given):
        return list(range(len(items)))
    places = [index for index in given if isinstance(index, int)]
    if sorted(places) != list(range(len(items))):
        raise ModelError(
            f"{where} did not number {len(items)} vectors from 0 to {len(items) - 1}, each once", hint=FORM
        )
    return places


def _vector(value: Any, text: str, dimension: int | None, where: str) -> Float32:
    try:
        if isinstance(value, str):
            vector = np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
        else:
            vector = np.asarray(value, dtype=np.float64)
    except (binascii.Error, ValueError, TypeError, OverflowError):  # which would quote what came
        raise ModelError(f"{where} gave no vector but {_kind(value)} for the text {shown(text)}", hint=FORM) from None
    if vector.ndim != 1 or not len(vector):
        raise ModelError(f"{where} gave no vector but {_kind(value)} for the text {shown(text)}", hint=FORM)
    if dimension is not None and len(vector) != dimension:
        raise ModelError(
            f"{where} gave a vector of {len(vector)} numbers for the text {shown(text)}, expected {dimension}",
            hint="has the model behind that name changed? name what is there now: api/NAME@REVISION",
        )
    with np.errstate(over="ignore"):
        floats = vector.astype(np.float32)
    if not np.isfinite(floats).all():
        raise ModelError(f"{where} gave NaN or infinity for the text {shown(text)}", hint="look at that text")
    return floats


def _kind(value: Any) -> str:
    """What came, without quoting it: a service may say anything, even a key."""
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return {type(None): "null", str: "text", dict: "an object"}.get(type(value), "something else")
