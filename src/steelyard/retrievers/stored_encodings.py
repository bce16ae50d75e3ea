"""What all models whose encodings are stored have in common: dense, sparse and multi-vector ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from steelyard.types import Role
from steelyard.types.protocols import ModelSettings, Tick, no_tick


class EncodingStore(Protocol):
    """A store of encodings, by keys that it makes of texts."""

    folder: Path

    def keys(self, texts: Sequence[str], role: Role) -> Any:
        """Return the keys of the encodings of texts."""

    def has(self, keys: Any) -> npt.NDArray[np.bool_]:
        """Return which keys are stored."""

    def publish(self, keys: Any) -> None:
        """Copy the encodings to the store that machines share, if there is one."""


class StoredEncodings:
    """The encodings of a model in its store, for workers that encode before a task is evaluated."""

    @property
    def _store(self) -> EncodingStore | None:
        """The store; None if nothing is stored."""
        store: EncodingStore | None = getattr(self, "store", None)
        return store

    def _encode_into_store(self, texts: Sequence[str], role: Role, tick: Tick) -> ModelSettings:
        """Encode texts through the store, and return notes."""
        raise NotImplementedError

    @property
    def store_name(self) -> str | None:
        """Return the name of the store; None if nothing is stored."""
        return None if self._store is None else self._store.folder.name

    def stored(self, texts: Sequence[str], role: Role) -> npt.NDArray[np.bool_]:
        """Return which texts have a stored encoding."""
        store = self._store
        return np.zeros(len(texts), dtype=bool) if store is None else store.has(store.keys(texts, role))

    def store_encodings(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> ModelSettings:
        """Encode a batch of texts and store the encodings."""
        notes = self._encode_into_store(texts, role, tick)
        if (store := self._store) is not None:
            store.publish(store.keys(texts, role))
        return notes
