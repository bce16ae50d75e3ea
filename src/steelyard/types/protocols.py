"""What a part must do to take part. Built-in parts and plug-ins meet the same protocols.

A retriever turns a corpus into an index; the index answers queries. An index is a value of its own, so nothing of
one task can leak into the next and two tasks can be searched side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from steelyard.types import Corpus, Float32, Queries, Ragged, Role, Run, Task, TaskInfo
from steelyard.types.samples import AnyTask

ModelSettings = Mapping[str, Any]
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
    def notes(self) -> ModelSettings:
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
    def settings(self) -> ModelSettings:
        """Everything that could change a figure: parameters, revision, prompts, dtype, versions of weights."""
        ...

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> Index:
        """Make the corpus searchable. `info` tells language and category."""
        ...


@dataclass(frozen=True, eq=False)
class Unjudged:
    """A task as a model may see it: everything but the judgements."""

    info: TaskInfo
    corpus: Corpus
    queries: Queries
    candidates: Mapping[str, Ragged] = field(default_factory=dict)

    @classmethod
    def of(cls, task: Task) -> Unjudged:
        """The task without its judgements."""
        return cls(task.info, task.corpus, task.queries, task.candidates)


@dataclass(frozen=True, eq=False)
class Combined:
    """What a composite made of the lists of its parts."""

    run: Run
    notes: ModelSettings = field(default_factory=dict)
    reused: float = 0.0
    """Seconds of work that this run would have cost, had another model of the same task not done it before."""


@runtime_checkable
class Composite(Protocol):
    """A retriever whose lists are made from the lists of others: a fusion, a reranked list.

    Whoever evaluates it gets the lists of the parts first, and may have them already from another model.
    """

    @property
    def name(self) -> str:
        """The canonical model name."""
        ...

    @property
    def settings(self) -> ModelSettings:
        """Everything that could change a figure, that of the parts included."""
        ...

    @property
    def parts(self) -> Sequence[Retriever]:
        """The models whose lists it reads; none where the task itself brings them."""
        ...

    @property
    def reads(self) -> int | None:
        """How many documents of each list it reads; None: all that there are."""
        ...

    def steps(self, task: Unjudged) -> int:
        """How many items `combine` will tick, at most."""
        ...

    def combine(self, task: Unjudged, runs: Sequence[Run], top_k: int, tick: Tick = no_tick) -> Combined:
        """The best `top_k` documents of each query, from one run of each part."""
        ...

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> Index:
        """Make the corpus searchable by all parts, for those who search without a task."""
        ...


@runtime_checkable
class Embeds(Protocol):
    """A model that has a vector for a text of any kind, so that it can be weighed without anything to search."""

    @property
    def similarity(self) -> str:
        """How its vectors are compared, as the model declares it."""
        ...

    def embed(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> tuple[Float32, ModelSettings]:
        """A raw vector for each text, each distinct one encoded once, and notes on how they were obtained."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Reads a query and a document together, and says how well they fit."""

    @property
    def name(self) -> str:
        """The canonical model name (`rerank:ID`)."""
        ...

    @property
    def settings(self) -> ModelSettings:
        """Everything that could change a score; keys the stored scores and the result."""
        ...

    def rerank(self, queries: Sequence[str], documents: Sequence[Sequence[str]], tick: Tick = no_tick) -> list[Float32]:
        """The scores of each query's documents, in their order; the higher, the better. `tick` counts documents."""
        ...


@runtime_checkable
class Encoder(Protocol):
    """Turns texts into vectors."""

    @property
    def name(self) -> str:
        """Short name (`use-multilingual-v3`)."""
        ...

    @property
    def settings(self) -> ModelSettings:
        """Everything that could change a vector; keys the vector cache and the result."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        ...

    @property
    def similarity(self) -> str:
        """`cosine`, `dot`, `euclidean` or `manhattan`, as the model declares it; distances score with a minus."""
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

    def load(self, name: str) -> AnyTask:
        """One task, validated."""
        ...
