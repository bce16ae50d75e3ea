"""Models and indexes of encodings of different lengths: token vectors, sparse vectors."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Self

from steelyard.encoders.cache.blob_store import BlobStore
from steelyard.encoders.cache.cached_ragged import B, RaggedEncoder, encode_ragged
from steelyard.encoders.prompts import PromptsByTask
from steelyard.retrievers.stored_encodings import StoredEncodings
from steelyard.types import Queries, Role, Run, TaskInfo
from steelyard.types.protocols import ModelSettings, Tick


class RaggedRetriever(StoredEncodings, Generic[B]):
    """What models with such encodings have in common: prompts by task, and encodings that are stored."""

    encodings: ClassVar[type[Any]]
    encoder: RaggedEncoder[B]
    store: BlobStore | None

    def for_task(self, info: TaskInfo) -> Self:
        """Return the model with its prompts for that task; itself if it has none."""
        encoder = self.encoder.for_task(info) if isinstance(self.encoder, PromptsByTask) else self.encoder
        if encoder is self.encoder:
            return self
        store = None if self.store is None else self.store.with_settings(encoder.settings)
        return replace(self, encoder=encoder, store=store)  # type: ignore[type-var]

    def _encode_into_store(self, texts: Sequence[str], role: Role, tick: Tick) -> ModelSettings:
        return encode_ragged(self.encodings, self.encoder, texts, texts, role, store=self.store, tick=tick)[1].notes


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
