"""Models made of other models: every part is indexed and searched, and the composite makes one ranking of theirs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from steelyard.types import Corpus, Queries, Run, TaskInfo
from steelyard.types.protocols import Composite, Index, ModelSettings, Retriever, Tick, Unjudged, no_tick


@runtime_checkable
class DependsOnTask(Protocol):
    """A model that differs from task to task, for example by its prompts."""

    def for_task(self, info: TaskInfo) -> Retriever:
        """Return the model for that task."""
        ...


def stores_of(retriever: object, texts: str = "") -> Iterator[tuple[Path, str]]:
    """Yield the folders of the stores that a model reads, and what distinguishes its texts from those of the task."""
    chunking = getattr(retriever, "chunking", None)
    if chunking is not None and hasattr(retriever, "inner"):
        yield from stores_of(retriever.inner, str(sorted(chunking.settings.items())))
    for part in retriever.parts if isinstance(retriever, Composite) else ():
        yield from stores_of(part, texts)
    if (scorer := getattr(retriever, "scorer", None)) is not None:
        # Which pairs are scored depends on the stage before and on the depth: both are in the name.
        yield from stores_of(scorer, f"{texts} {getattr(retriever, 'name', '')}")
    folder = getattr(getattr(retriever, "store", None), "folder", None)
    if isinstance(folder, Path):
        yield folder, texts


def for_task(retriever: Retriever, info: TaskInfo) -> Retriever:
    """Return the model for a task: itself, unless it depends on the task."""
    return retriever.for_task(info) if isinstance(retriever, DependsOnTask) else retriever


@dataclass(frozen=True, eq=False)
class CompositeIndex:
    """A corpus indexed by every part of a composite."""

    composite: Composite
    parts: tuple[Index, ...]
    corpus: Corpus
    info: TaskInfo
    combine_notes: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, composite: Composite, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> CompositeIndex:
        """Index the corpus with every part."""
        return cls(composite, tuple(part.index(corpus, info, tick) for part in composite.parts), corpus, info)

    @property
    def size_bytes(self) -> int:
        """Return the memory of all parts."""
        return sum(part.size_bytes for part in self.parts)

    @property
    def notes(self) -> ModelSettings:
        """Return the notes of every part by its name and, after a search, those of the composite."""
        names = (part.name for part in self.composite.parts)
        return {**{name: dict(part.notes) for name, part in zip(names, self.parts, strict=True)}, **self.combine_notes}

    def search(self, queries: Queries, top_k: int) -> Run:
        """Search every part as deep as the composite reads and at least `top_k`, then combine."""
        depth = max(top_k, self.composite.reads if self.composite.reads is not None else len(self.corpus))
        times = [time.perf_counter()]
        runs = []
        for part in self.parts:
            runs.append(part.search(queries, depth))
            times.append(time.perf_counter())
        combined = self.composite.combine(Unjudged(self.info, self.corpus, queries), runs, top_k)
        self.combine_notes.update(combined.notes)
        self.combine_notes["part_seconds"] = [end - start for start, end in pairwise(times)]
        self.combine_notes["combine_seconds"] = time.perf_counter() - times[-1]
        return combined.run
