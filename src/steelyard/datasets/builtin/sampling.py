"""The few things that every built-in set is made with: a fair draw, and a task put together from columns."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from steelyard.types import TaskInfo

if TYPE_CHECKING:
    from steelyard.types import Task

FULL = "-full"
"""The ending of the name of a full-size task."""

T = TypeVar("T")


@dataclass(frozen=True)
class BuiltinSet:
    """A set that is made on the machine: what its tasks are, what its bytes depend on, and how it is cut."""

    name: str
    infos: Callable[[], tuple[TaskInfo, ...]]
    """The tasks, without cutting anything."""
    key: Callable[[], str]
    """Names everything that the bytes depend on: versions of packages and of the cutter. Fit for a folder name."""
    cut: Callable[[], Iterable[Task]]
    """The tasks themselves, in the order of `infos`; the slow part."""


def shuffled(items: Iterable[T], seed: str, key: Callable[[T], str] = str) -> list[T]:
    """The items in an order that depends on nothing but `seed` and each one's key.

    Unlike `random.shuffle` it is the same in every Python version, and an item that comes or goes with a new
    release of its package does not move the others.

    >>> shuffled(["a", "b", "c", "d"], seed="example")
    ['b', 'd', 'a', 'c']
    """

    def rank(item: T) -> bytes:
        return hashlib.blake2b(f"{seed}\x1f{key(item)}".encode(), digest_size=16).digest()

    return sorted(items, key=rank)


def fold(text: str) -> str:
    """What two texts share when a reader takes them for the same string.

    >>> fold("ＣÔTE  d’Ivoire") == fold("côte d’ivoire")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def assemble(
    info: TaskInfo,
    documents: Mapping[str, str],
    queries: Mapping[str, str],
    positives: Mapping[str, Mapping[str, int] | Iterable[str]],
    titles: Mapping[str, str] | None = None,
) -> Task:
    """A task from texts by id and, for each query, the ids of its positives (or the grades of judged ids)."""
    from steelyard.types import Corpus, Qrels, Queries, Task

    ids = list(documents)
    corpus = Corpus.of(ids, [documents[i] for i in ids], [titles.get(i, "") for i in ids] if titles else None)
    query_rows, document_rows, grades = [], [], []
    for row, query in enumerate(queries):
        judged = positives[query]
        pairs = judged.items() if isinstance(judged, Mapping) else ((document, 1) for document in judged)
        for document, grade in pairs:
            query_rows.append(row)
            document_rows.append(corpus.row_of[document])
            grades.append(grade)
    qrels = Qrels.of(query_rows, document_rows, grades, queries=len(queries))
    return Task(info, corpus, Queries(tuple(queries), tuple(queries.values())), qrels)
