"""Several devices at work for one model: a process for each, from the first text until the model is let go."""

from __future__ import annotations

import weakref
from typing import Any

AHEAD = 4
"""Batches that each device has waiting: enough to keep it busy, few enough to hand vectors on soon."""


class Crew:
    """Who encodes: the model itself on its one device, or a pool of processes, started when there is work."""

    def __init__(self, model: Any, devices: list[str]) -> None:
        self._model = model
        self._devices = devices
        self._pool: Any = None

    @property
    def capacity(self) -> int:
        """How many batches are handed over at a time."""
        return 1 if len(self._devices) == 1 else AHEAD * len(self._devices)

    def arguments(self, texts: int) -> dict[str, Any]:
        """What to give `encode` beside so many texts, longest first."""
        if len(self._devices) == 1:
            return {"batch_size": texts}
        if self._pool is None:
            self._pool = self._model.start_multi_process_pool(self._devices)
            weakref.finalize(self, self._model.stop_multi_process_pool, self._pool)
        batch = -(-texts // self.capacity)
        return {"batch_size": batch, "chunk_size": batch, "pool": self._pool}
