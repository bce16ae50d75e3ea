"""Tools of every built-in set: a deterministic shuffle, and a task from columns."""

from __future__ import annotations

import hashlib
import os
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from steelyard.types import TaskInfo

if TYPE_CHECKING:
    from steelyard.types import Task

DIST_INFO = ".dist-info"

FULL = "-full"
"""The suffix of full-size tasks."""

T = TypeVar("T")


@dataclass(frozen=True)
class BuiltinSet:
    """A set that is built on the machine: its tasks, what its bytes depend on, and how it is built."""

    name: str
    infos: Callable[[], tuple[TaskInfo, ...]]
    """The tasks, without building them."""
    key: Callable[[], str]
    """Everything that the bytes depend on: versions of packages and of the builder, as a folder name."""
    build: Callable[[], Iterable[Task]]
    """The tasks themselves, in the order of `infos`; the slow part."""


@cache
def installed_version(package: str) -> str:
    """Return the version of an installed package, from the name of its metadata folder.

    `importlib.metadata` imports the standard library's email package, which takes longer than the rest of
    `steelyard list groups`; it is asked where the first folder of the import path with the package has no such name.

    >>> from importlib import metadata
    >>> installed_version("emoji") == metadata.version("emoji")
    True
    """
    prefixes = (f"{package}-", f"{package.capitalize()}-")
    for folder in filter(os.path.isdir, sys.path):
        with suppress(OSError), os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.startswith(prefixes)]
            if len(names) == 1 and names[0].endswith(DIST_INFO):
                return names[0][len(package) + 1 : -len(DIST_INFO)]
            if names:
                break
    from importlib import metadata

    return metadata.version(package)


def shuffled(items: Iterable[T], seed: str, key: Callable[[T], str] = str) -> list[T]:
    """Return the items in an order that depends only on `seed` and each item's key.

    Unlike `random.shuffle` it is the same in every Python version, and an item that is added or removed by a new
    release of its package does not change the order of the others.

    >>> shuffled(["a", "b", "c", "d"], seed="example")
    ['b', 'd', 'a', 'c']
    """

    def rank(item: T) -> bytes:
        return hashlib.blake2b(f"{seed}\x1f{key(item)}".encode(), digest_size=16).digest()

    return sorted(items, key=rank)


def fold(text: str) -> str:
    """Return the form that two texts share if a reader takes them for the same string.

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
    """Return a task from texts by id and, for each query, the ids of its positives (or the grades of judged ids)."""
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
