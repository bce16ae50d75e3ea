"""The protocols of retrievers, encoders, rerankers and sources; built-in parts and plug-ins implement the same ones.

A retriever makes an index of a corpus; the index answers queries. An index is a separate value, so that nothing of one
task leaks into the next and two tasks can be searched at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from steelyard.types import Corpus, Float32, Queries, Ragged, Role, Run, Task, TaskInfo
from steelyard.types.samples import AnyTask

ModelSettings = Mapping[str, Any]
"""JSON-ready values that determine what a part computes; they are part of the result's key."""

Tick = Callable[[int], None]
"""Called with the number of items done since the last call; for the progress bar."""


def no_tick(done: int) -> None:
    """Ignore the progress."""


@runtime_checkable
class Index(Protocol):
    """An indexed corpus."""

    @property
    def size_bytes(self) -> int:
        """Memory of the index, in bytes."""
        ...

    @property
    def notes(self) -> ModelSettings:
        """Details of indexing (analyser chosen, texts truncated ...); part of the result, not of its key."""
        ...

    def search(self, queries: Queries, top_k: int) -> Run:
        """Return the top `top_k` documents of each query, ties by row; fewer where fewer match."""
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
        """Everything that could change a score: parameters, revision, prompts, dtype, versions of weights."""
        ...

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> Index:
        """Index the corpus. `info` has language and category."""
        ...


@dataclass(frozen=True, eq=False)
class Unjudged:
    """A task as models see it: without the judgements."""

    info: TaskInfo
    corpus: Corpus
    queries: Queries
    candidates: Mapping[str, Ragged] = field(default_factory=dict)

    @classmethod
    def of(cls, task: Task) -> Unjudged:
        """Return the task without its judgements."""
        return cls(task.info, task.corpus, task.queries, task.candidates)


@dataclass(frozen=True, eq=False)
class Combined:
    """The combination of the lists of a composite's parts."""

    run: Run
    notes: ModelSettings = field(default_factory=dict)
    reused: float = 0.0
    """Seconds of work that another model of the same task has already done."""


@runtime_checkable
class Composite(Protocol):
    """A retriever that combines the lists of others: a fusion, a reranked list.

    The lists of the parts are retrieved first, or reused from another model of the same task.
    """

    @property
    def name(self) -> str:
        """The canonical model name."""
        ...

    @property
    def settings(self) -> ModelSettings:
        """Everything that could change a score, including the settings of the parts."""
        ...

    @property
    def parts(self) -> Sequence[Retriever]:
        """The models whose lists it reads; none if it reads candidate lists of the task."""
        ...

    @property
    def reads(self) -> int | None:
        """The number of documents of each list that it reads; None: all."""
        ...

    def steps(self, task: Unjudged) -> int:
        """Return the largest number of items that `combine` will tick."""
        ...

    def combine(self, task: Unjudged, runs: Sequence[Run], top_k: int, tick: Tick = no_tick) -> Combined:
        """Return the top `top_k` documents of each query, from one run of each part."""
        ...

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> Index:
        """Index the corpus with all parts, for a search without a task."""
        ...


@runtime_checkable
class Embeds(Protocol):
    """A model with vectors for texts of any kind, for tasks without a corpus."""

    @property
    def similarity(self) -> str:
        """The similarity of its vectors, as the model declares it."""
        ...

    def embed(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> tuple[Float32, ModelSettings]:
        """Return a vector for each text, each distinct text encoded once, and notes on the encoding."""
        ...


@runtime_checkable
class StoresEncodings(Protocol):
    """A model whose encodings are stored by content, so that other processes can compute them ahead."""

    @property
    def store_name(self) -> str | None:
        """The name of the store, the same for variants of a model; None if nothing is stored."""
        ...

    def stored(self, texts: Sequence[str], role: Role) -> npt.NDArray[np.bool_]:
        """Return which texts have a stored encoding."""
        ...

    def store_encodings(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> ModelSettings:
        """Encode one planned batch of texts, store the encodings, and return notes on how they were obtained."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Scores pairs of a query and a document."""

    @property
    def name(self) -> str:
        """The canonical model name (`rerank:ID`)."""
        ...

    @property
    def settings(self) -> ModelSettings:
        """Everything that could change a score; part of the keys of stored scores and of the result."""
        ...

    def rerank(self, queries: Sequence[str], documents: Sequence[Sequence[str]], tick: Tick = no_tick) -> list[Float32]:
        """Return the scores of each query's documents, in their order; higher is better. `tick` counts documents."""
        ...


@runtime_checkable
class Encoder(Protocol):
    """Encodes texts as vectors."""

    @property
    def name(self) -> str:
        """Short name (`use-multilingual-v3`)."""
        ...

    @property
    def settings(self) -> ModelSettings:
        """Everything that could change a vector; part of the keys of stored vectors and of the result."""
        ...

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        ...

    @property
    def similarity(self) -> str:
        """`cosine`, `dot`, `euclidean` or `manhattan`, as the model declares it; distances are negated."""
        ...

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Float32:
        """Return vectors of shape (texts, dimension), float32, in the order of the texts."""
        ...


class TaskSource(Protocol):
    """A source of tasks: a folder, a hub, a package."""

    def accepts(self, reference: str) -> bool:
        """Return whether this source has such a reference."""
        ...

    def names(self, reference: str) -> Sequence[str]:
        """Return the full names of the tasks of the reference."""
        ...

    def load(self, name: str) -> AnyTask:
        """Load one task, validated."""
        ...
