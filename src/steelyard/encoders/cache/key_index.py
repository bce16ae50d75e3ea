"""Which of many files has the encoding of a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from steelyard.types import Int64

KEY = np.dtype([("high", "<u8"), ("low", "<u8")])
Keys = npt.NDArray[np.void]


class HasKeys(Protocol):
    """A file with a table whose fields `high` and `low` are the keys of its encodings."""

    @property
    def table(self) -> npt.NDArray[Any]:
        """One entry for each encoding."""
        ...


F = TypeVar("F", bound=HasKeys)


class KeyIndex(Generic[F]):
    """The sorted keys of many files, and the location of each."""

    def __init__(self, files: Sequence[F]) -> None:
        self._files = files
        tables = [file.table for file in files]
        high = np.concatenate([np.empty(0, np.uint64), *(table["high"] for table in tables)])
        order = np.argsort(high, kind="stable")
        self._high = high[order]
        self._low = np.concatenate([np.empty(0, np.uint64), *(table["low"] for table in tables)])[order]
        self._starts = np.cumsum([0, *map(len, tables)])
        self._row: Int64 = order

    def locate(self, keys: Keys, wanted: Int64) -> list[tuple[F, Int64, Int64]]:
        """Return each file that contains some of the wanted keys, with those keys and their rows in it."""
        if not len(self._high) or not len(wanted):
            return []
        high, low = keys["high"][wanted], keys["low"][wanted]
        at = np.minimum(np.searchsorted(self._high, high), len(self._high) - 1)
        held = (self._high[at] == high) & (self._low[at] == low)
        wanted, row = wanted[held], self._row[at[held]]
        if not len(wanted):
            return []
        owner = np.searchsorted(self._starts, row, side="right") - 1
        order = np.argsort(owner, kind="stable")
        owners, begins = np.unique(owner[order], return_index=True)
        parts = np.split(order, begins[1:])
        return [
            (self._files[number], wanted[part], row[part] - self._starts[number])
            for number, part in zip(owners.tolist(), parts, strict=True)
        ]
