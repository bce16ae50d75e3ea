"""Arrays from outside: what a function returns, and what numpy and Parquet files contain."""

from __future__ import annotations

import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import DataError, ModelError
from steelyard.types import Float32

NOT_REAL = "cOSUmM"
"""Kinds of numpy arrays that are not real numbers: complex numbers, objects, strings, dates."""
REAL = int | float | np.number
"""Types that may appear next to None in an array of objects."""
FILE_ERRORS: tuple[type[Exception], ...] = (
    *(OSError, EOFError, ValueError, TypeError, LookupError, ArithmeticError, MemoryError, RecursionError, SyntaxError),
    *(NotImplementedError, RuntimeError, AttributeError, zipfile.BadZipFile, zlib.error, struct.error),
    tokenize.TokenError,
)
"""What numpy, zipfile, json and pyarrow raise for a damaged file or for values of the wrong type."""


@contextmanager
def translated_errors(path: Path, expected: str, hint: str) -> Iterator[None]:
    """Raise a DataError in place of what libraries raise while they read a file."""
    try:
        yield
    except FILE_ERRORS as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise DataError(
                f"the file cannot be read: {error.strerror}", path=path, hint="check the permissions"
            ) from error
        cause = str(error) or type(error).__name__
        raise DataError(
            f"the file must be {expected}, got: {cause}", path=path, expected=expected, found=cause, hint=hint
        ) from error


def load_arrays(path: Path) -> dict[str, Any]:
    """Return the arrays of an .npz file by name; that of an .npy file has the name `vectors`."""
    hint = "save it again with numpy.save or numpy.savez"
    with translated_errors(path, "a numpy file without pickled objects", hint), path.open("rb") as file:
        stored = np.load(file, allow_pickle=False)
        if isinstance(stored, np.ndarray):
            return {"vectors": stored}
        with stored:
            return {name: np.asarray(stored[name]) for name in stored.files}


def load_parquet(path: Path) -> Any:
    """Return the table of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet

    with translated_errors(path, "a Parquet file", "write it again"):
        try:
            return pyarrow.parquet.read_table(path)
        except pa.ArrowException as error:
            raise ValueError(str(error)) from error


def as_floats(result: Any, source: str, expected: str) -> Float32:
    """Return numbers as float32 in the shape they came in; raise a ModelError for anything but real numbers.

    None among numbers becomes NaN, which is refused where the texts are known.

    >>> as_floats([[1, 2.5]], "the function f", "one row per text").tolist()
    [[1.0, 2.5]]
    >>> as_floats([[1, 2], [3]], "the function f", "one row per text")
    Traceback (most recent call last):
    ...
    steelyard.errors.ModelError: the result of the function f must be one row per text, got rows of different lengths
    """
    try:
        array = np.asarray(_without_torch(result))
    except ValueError:
        raise _not_floats(source, expected, "rows of different lengths") from None
    if array.dtype == object and array.ndim and all(value is None or isinstance(value, REAL) for value in array.flat):
        array = array.astype(np.float64)
    if array.dtype.kind in NOT_REAL:
        raise _not_floats(source, expected, _describe(result, array))
    with np.errstate(over="ignore"):  # infinity is refused where the texts are known
        return array.astype(np.float32, copy=False)


def _not_floats(source: str, expected: str, found: str) -> ModelError:
    return ModelError(f"the result of {source} must be {expected}, got {found}", expected=expected, found=found)


def _without_torch(result: Any) -> Any:
    """Return a tensor as an array: without gradient, on the CPU, in a type that numpy has."""
    if hasattr(result, "detach"):
        return result.detach().float().cpu().numpy()
    if isinstance(result, list | tuple) and any(hasattr(item, "detach") for item in result):
        return [_without_torch(item) for item in result]
    return result


def _describe(result: Any, array: Any) -> str:
    if array.ndim == 0:
        return f"a {type(result).__name__}" if result is not None else "None"
    return f"{array.dtype} in an array of shape {array.shape}"
