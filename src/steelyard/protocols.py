"""What a part must do to take part. Built-in parts and plug-ins meet the same protocols.

A retriever turns a corpus into an index; the index answers queries. An index is a value of its own, so nothing of
one task can leak into the next and two tasks can be searched side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from steelyard.types import Corpus, Float32, Queries, Role, Run, Task, TaskInfo

Settings = Mapping[str, Any]
"""JSON-ready values that together fix what a part computes; they go into the result's key."""

Tick = Callable[[int], None]
"""Called with the number of items done since the last call; drives the progress bar."""


def no_tick(done: int) -> None:
    """The tick of someone who does not watch."""


@runtime_checkable
class Index(Protocol):
    """A corpus made searchable."""

    @property
    def size_bytes(self) -> int:
        """Memory that the index needs, in bytes."""
        ...

    @property
    def notes(self) -> Settings:
        """What was decided while indexing (analyser chosen, texts cut ...); shown in the result, not in its key."""
        ...

    def search(self, queries: Queries, top_k: int) -> Run:
        """The best `top_k` documents for each query, ties by row; fewer where fewer match, never padding."""
        ...


@runtime_checkable
class Retriever(Protocol):
    """Ranks a whole corpus for each query."""

    @property
    def name(self) -> str:
        """The canonical model name (`bm25`, `dense:use-multilingual-v3`)."""
        ...

    @property
    def settings(self) -> Settings:
        """Everything that could change a figure: parameters, revision, prompts, dtype, versions of weights."""
        ...

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> Index:
        """Make the corpus searchable. `info` tells language and category."""
        ...


@runtime_checkable
class Encoder(Protocol):
    """Turns texts into vectors."""

    @property
    def name(self) -> str:
        """Short name (`use-multilingual-v3`)."""
        ...

    @property
    def settings(self) -> Settings:
        """Everything that could change a vector; keys the vector cache and the result."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    @property
    def similarity(self) -> str:
        """`cosine` or `dot`, as the model declares it."""
        ...

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Float32:
        """Vectors of shape (texts, dimension), float32, in the order of the texts."""
        ...


class TaskSource(Protocol):
    """A place that tasks come from: a directory, a hub, a package."""

    def accepts(self, reference: str) -> bool:
        """Whether this source knows such a reference."""
        ...

    def names(self, reference: str) -> Sequence[str]:
        """The full names of the tasks that the reference stands for."""
        ...

    def load(self, name: str) -> Task:
        """One task, validated."""
        ...


class Executor(Protocol):
    """Runs pieces of work and yields each one's outcome when it is done."""

    def map(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterable[Any]:
        """The outcomes, in any order."""
        ...
