"""Built-in sets: retrieval data that needs no download.

Each is built from something that is installed anyway (Python's own sources, Babel's CLDR data, names of emoji) or part
of this package (the almanac), once, and stored under `STEELYARD_HOME`. The same package versions give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from steelyard.config import Settings
from steelyard.datasets.builtin import almanac, cldr, emojis, set_store, stdlib
from steelyard.datasets.builtin.sampling import FULL, BuiltinSet
from steelyard.errors import UnknownName
from steelyard.types import TaskInfo

if TYPE_CHECKING:
    from steelyard.types import Task

__all__ = ["counts", "full_names", "infos", "load", "names"]

SETS: tuple[BuiltinSet, ...] = (stdlib.SET, cldr.SET, emojis.SET, almanac.SET)


def names() -> tuple[str, ...]:
    """Return the tasks of demo size, which `steelyard run` evaluates without arguments.

    >>> "NanoStdlib/docstring-to-code" in names()
    True
    """
    return tuple(name for name in infos() if not name.endswith(FULL))


def full_names() -> tuple[str, ...]:
    """Return the tasks of full size, for sources that have more than the demo uses.

    >>> "NanoStdlib/docstring-to-code-full" in full_names()
    True
    """
    return tuple(name for name in infos() if name.endswith(FULL))


@cache
def _tasks() -> dict[str, tuple[BuiltinSet, TaskInfo]]:
    return {info.name: (builtin, info) for builtin in SETS for info in builtin.infos()}


@cache
def infos() -> Mapping[str, TaskInfo]:
    """Return what is known of each task, by name, in a fixed order, without building it.

    >>> infos()["NanoCLDR/names-to-english"].language
    'multilingual'
    """
    return {name: info for name, (_, info) in _tasks().items()}


def counts(settings: Settings | None = None) -> dict[str, dict[str, int]]:
    """Return the numbers of documents, queries and positives of each task whose set was built on this machine.

    They depend on the versions of the installed packages, so they are not known before.
    """
    home = (settings or Settings.load()).home
    return {name: sizes for builtin in SETS for name, sizes in set_store.counts(builtin, home).items()}


def load(name: str, settings: Settings | None = None) -> Task:
    """Return one task by name; its set is built first if that was not done on this machine."""
    if name not in _tasks():
        raise UnknownName("built-in task", name, _tasks())
    return set_store.load(*_tasks()[name], (settings or Settings.load()).home)
