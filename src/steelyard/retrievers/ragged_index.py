"""An index of encodings that have lengths of their own: token vectors, sparse vectors."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic

from steelyard.encoders.cache.cached_ragged import B
from steelyard.types import Queries, Run


@dataclass(frozen=True, eq=False)
class BundleIndex(Generic[B]):
    """The encodings of a corpus, ready to be searched."""

    size_bytes: int
    encode: Callable[[Queries], tuple[B, dict[str, Any]]]
    """The encodings of queries, and notes on them."""
    find: Callable[[B, int], Run]
    """The best documents of each, and how many of them at most."""
    notes: dict[str, Any] = field(default_factory=dict)
    """How the encodings were obtained, what they take, and how long the last search took without encoding."""

    def search(self, queries: Queries, top_k: int) -> Run:
        """The best `top_k` documents of each query; those that have nothing in common with it are not found."""
        encoded, self.notes["queries"] = self.encode(queries)
        start = time.perf_counter()
        run = self.find(encoded, top_k)
        self.notes["search_seconds"] = time.perf_counter() - start
        return run
