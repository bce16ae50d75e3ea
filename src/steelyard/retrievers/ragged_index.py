"""An index of encodings of different lengths: token vectors, sparse vectors."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic

from steelyard.encoders.cache.cached_ragged import B
from steelyard.types import Queries, Run


@dataclass(frozen=True, eq=False)
class RaggedIndex(Generic[B]):
    """The encodings of a corpus, ready to be searched."""

    size_bytes: int
    encode: Callable[[Queries], tuple[B, dict[str, Any]]]
    """Return the encodings of queries, and notes on them."""
    find: Callable[[B, int], Run]
    """Return the best documents of each query, at most so many."""
    notes: dict[str, Any] = field(default_factory=dict)
    """How the encodings were obtained, their size, and the seconds of the last search without encoding."""

    def search(self, queries: Queries, top_k: int) -> Run:
        """Return the best `top_k` documents of each query; documents without a common term are not returned."""
        encoded, self.notes["queries"] = self.encode(queries)
        start = time.perf_counter()
        run = self.find(encoded, top_k)
        self.notes["search_seconds"] = time.perf_counter() - start
        return run
