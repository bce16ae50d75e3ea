"""Whole benchmarks: a name for many tasks, each on every split that it is weighed on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from steelyard.datasets.options import Generation
from steelyard.errors import UnknownName

if TYPE_CHECKING:
    pass


def with_splits(names: Sequence[str], *, generation: Generation | None = None) -> list[str]:
    """The tasks on every split that they are weighed on, in that order.

    >>> with_splits(["C-MTEB/ATEC", "C-MTEB/LCQMC"])
    ['C-MTEB/ATEC:validation', 'C-MTEB/ATEC', 'C-MTEB/LCQMC']
    """
    from steelyard.datasets.hubs import published

    every: dict[str, None] = {}
    for name in names:
        found = published.entry_of(name)
        if found is None or found[0].name != name.partition("?")[0]:
            every[name] = None
            continue
        entry, said = found
        _, mark, query = name.partition("?")
        splits = entry.splits if ":" not in entry.name else (entry.split,)
        if (said or generation) == "v1" and ":" not in entry.name:
            splits = tuple(entry.extra.get("v1_splits", splits))
        every |= {f"{entry.of_split(split).name}{mark}{query}": None for split in splits}
    return list(every)


def benchmarks() -> dict[str, list[str]]:
    """Every benchmark, a group of published tasks or a built-in set, and its tasks.

    >>> len(benchmarks()["C-MTEB"])
    31
    """
    from steelyard.datasets import builtin, catalogue

    found: dict[str, list[str]] = {}
    for name in builtin.names():
        found.setdefault(name.split("/")[0], []).append(name)
    return found | {group: [entry.name for entry in members] for group, members in catalogue.groups().items()}


def benchmark_names(name: str, *, generation: Generation | None = None) -> list[str]:
    """The tasks of a benchmark on every split. A UsageError, with near names, where there is no such benchmark.

    >>> len(benchmark_names("C-MTEB")), benchmark_names("c-mteb")[18:20]
    (35, ['C-MTEB/ATEC:validation', 'C-MTEB/ATEC'])
    """
    known = benchmarks()
    found = next((tasks for group, tasks in known.items() if group.lower() == name.lower()), None)
    if found is None:
        raise UnknownName("benchmark", name, known, hint="steelyard list benchmarks names them")
    return with_splits(found, generation=generation)
