"""What somebody's function gives, as an array: lists, arrays, tensors of torch, wherever those lie."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.errors import ModelError
from steelyard.types import Float32

NOT_REAL = "cOSUmM"
"""Kinds of arrays that numpy would turn into float32 in some way or other: complex numbers, objects, words, dates."""


REAL = int | float | np.number
"""What may stand beside None in an array of objects."""


def as_floats(found: Any, who: str, expected: str) -> Float32:
    """The numbers as float32, in whatever shape they came; what holds no real numbers is a ModelError.

    None among numbers is no number: NaN, which is refused where the texts are known.

    >>> as_floats([[1, 2.5]], "the function f", "one row a text").tolist()
    [[1.0, 2.5]]
    >>> as_floats([[1, 2], [3]], "the function f", "one row a text")
    Traceback (most recent call last):
    ...
    steelyard.errors.ModelError: the function f gave rows that differ in length (expected: one row a text)
    """
    hint = f"expected: {expected}"
    try:
        array = np.asarray(_without_torch(found))
    except ValueError:
        raise ModelError(f"{who} gave rows that differ in length", hint=hint) from None
    if array.dtype == object and array.ndim and all(each is None or isinstance(each, REAL) for each in array.flat):
        array = array.astype(np.float64)
    if array.dtype.kind in NOT_REAL:
        raise ModelError(f"{who} gave {_described(found, array)}", hint=hint)
    with np.errstate(over="ignore"):  # infinity is found where the texts are known
        return array.astype(np.float32, copy=False)


def _without_torch(found: Any) -> Any:
    """A tensor as numpy reads it: without gradients, on the CPU, and of a type that numpy has."""
    if hasattr(found, "detach"):
        return found.detach().float().cpu().numpy()
    if isinstance(found, list | tuple) and any(hasattr(each, "detach") for each in found):
        return [_without_torch(each) for each in found]
    return found


def _described(found: Any, array: Any) -> str:
    if array.ndim == 0:
        return f"a {type(found).__name__}" if found is not None else "nothing (None)"
    return f"{array.dtype} in an array of shape {array.shape}"
