"""A composite model as one index: each part is indexed and searched, and the composite makes one list of theirs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from steelyard.types import Corpus, Queries, Run, TaskInfo
from steelyard.types.protocols import Composite, Index, ModelSettings, Tick, Unjudged, no_tick


@dataclass(frozen=True, eq=False)
class CompositeIndex:
    """A corpus indexed by every part of a composite."""

    composite: Composite
    parts: tuple[Index, ...]
    corpus: Corpus
    info: TaskInfo
    decided: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, composite: Composite, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> CompositeIndex:
        """Index the corpus with every part."""
        return cls(composite, tuple(part.index(corpus, info, tick) for part in composite.parts), corpus, info)

    @property
    def size_bytes(self) -> int:
        """The memory of all parts."""
        return sum(part.size_bytes for part in self.parts)

    @property
    def notes(self) -> ModelSettings:
        """The notes of each part, by its name, and once searched those of the composite."""
        names = (part.name for part in self.composite.parts)
        return {**{name: dict(part.notes) for name, part in zip(names, self.parts, strict=True)}, **self.decided}

    def search(self, queries: Queries, top_k: int) -> Run:
        """Search every part as deep as the composite reads and at least `top_k`, then combine."""
        depth = max(top_k, self.composite.reads if self.composite.reads is not None else len(self.corpus))
        runs = [part.search(queries, depth) for part in self.parts]
        combined = self.composite.combine(Unjudged(self.info, self.corpus, queries), runs, top_k)
        self.decided.update(combined.notes)
        return combined.run
