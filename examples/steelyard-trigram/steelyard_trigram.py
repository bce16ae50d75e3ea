"""A retriever in seventy lines: documents ranked by the share of the query's character n-grams that they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.errors import UsageError
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Queries, Run, TaskInfo
from steelyard.types.protocols import Tick, no_tick


def grams(text: str, size: int) -> set[str]:
    """Return the character n-grams of a text, with a space at each end."""
    padded = f" {text.lower()} "
    return {padded[i : i + size] for i in range(len(padded) - size + 1)}


@dataclass(frozen=True)
class TrigramIndex:
    """The n-grams of every document."""

    documents: list[set[str]]
    size: int

    @property
    def size_bytes(self) -> int:
        """Return a rough size: eight bytes per n-gram."""
        return 8 * sum(map(len, self.documents))

    @property
    def notes(self) -> Mapping[str, Any]:
        """Shown in the result."""
        return {"mean_grams": sum(map(len, self.documents)) / max(len(self.documents), 1)}

    def search(self, queries: Queries, top_k: int) -> Run:
        """`Run.of` sorts by score and then by row, which is Steelyard's tie rule; a row of -1 is not a document."""
        scores = np.zeros((len(queries), len(self.documents)), dtype=np.float32)
        for q, text in enumerate(queries.texts):
            wanted = grams(text, self.size)
            scores[q] = [len(wanted & held) / max(len(wanted), 1) for held in self.documents]
        rows = np.where(scores > 0, np.arange(scores.shape[1]), -1)
        return Run.of(rows, scores).top(top_k)


@dataclass(frozen=True)
class Trigram:
    """The retriever; its settings go into the key of every result."""

    size: int = 3

    @property
    def name(self) -> str:
        """The canonical model name."""
        return "trigram" if self.size == 3 else f"trigram?size={self.size}"

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that could change a score."""
        return {"family": "trigram", "size": self.size, "version": 1}

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> TrigramIndex:
        """One set of n-grams a document."""
        return TrigramIndex([grams(text, self.size) for text in corpus.texts], self.size)


def from_spec(spec: ModelSpec) -> Trigram:
    """The door: called with the model name as it was parsed, such as `trigram?size=4`. What it lacks it refuses."""
    unknown = sorted(set(spec.options) - {"size"})
    if spec.id or unknown:
        raise UsageError(f"trigram has no {f'option {unknown[0]!r}' if unknown else 'models'}", hint="options: size")
    size = spec.options.get("size", "3")
    if not size.isdecimal() or int(size) < 1:
        raise UsageError(f"trigram?size={size}: n-grams have 1 character or more", hint="such as trigram?size=4")
    return Trigram(int(size))
