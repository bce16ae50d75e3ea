"""The splits that tasks are evaluated on, as in mteb: all of a task, those of a benchmark, or those that are named."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from steelyard.config import Settings
from steelyard.datasets import catalogue
from steelyard.datasets.hubs import published
from steelyard.datasets.names import task_facts, task_names
from steelyard.datasets.options import Generation
from steelyard.datasets.references import TypedReference, has_type, looks_like_path, path_exists
from steelyard.errors import MissingPart, UnknownName, UsageError

MTEB = "mteb:"
_BENCHMARK = re.compile(r"[^/,()]+\([^/()]*\)")
"""The form of mteb's names of benchmarks: `MTEB(eng, v2)`."""


def evaluated_names(
    references: Sequence[str],
    *,
    splits: Sequence[str] = (),
    generation: Generation | None = None,
    settings: Settings | None = None,
) -> list[str]:
    """Return the tasks that the references mean, on every split that mteb evaluates; with `splits`, only on those.

    A group that is a benchmark has the splits of the benchmark. A reference with a split (`ATEC:test`) means that one.
    A name that is not known here is looked up in the mteb package.

    >>> evaluated_names(["ATEC", "BQ:test", "STSB"], splits=["test"])
    ['C-MTEB/ATEC', 'C-MTEB/BQ', 'C-MTEB/STSB']
    >>> evaluated_names(["ATEC"]), len(evaluated_names(["C-MTEB"]))
    (['C-MTEB/ATEC:validation', 'C-MTEB/ATEC'], 32)
    """
    names: dict[str, None] = {}
    for reference in references:
        every = _names(reference, generation, splits, settings)
        chosen = [name for name in every if not splits or _split(name) in (None, *splits)]
        if not chosen:
            raise _no_split(reference, splits, filter(None, map(_split, every)))
        names |= dict.fromkeys(chosen)
    return list(names)


def _no_split(reference: str, splits: Sequence[str], known: Iterable[str]) -> UsageError:
    listed = list(dict.fromkeys(known))
    return UsageError.invalid(
        f"the split of {reference}",
        expected=f"one of {', '.join(listed)}",
        found=", ".join(splits),
        hint=f"use --eval-splits {listed[0]}",
        option="--eval-splits",
    )


def _names(
    reference: str, generation: Generation | None, splits: Sequence[str], settings: Settings | None
) -> list[str]:
    if reference.startswith(MTEB):
        return _of_mteb(reference)
    if (match := published.entry_of(reference)) is not None:
        entry, base = match[0], reference.partition("?")[0]
        names = [f"{entry.name}{reference.removeprefix(base)}"]
        named = ":" in base or base.endswith(f"/{entry.split}")
        return names if named else with_splits(names, generation=generation)
    if has_type(reference) or path_exists(reference.partition("::")[0]):
        return _of_path(reference, splits, settings)
    if (tasks := _benchmark(reference)) is not None:
        return with_splits(tasks, generation=generation, benchmark=True)
    if _BENCHMARK.fullmatch(reference):
        return benchmark_names(reference)
    try:
        return with_splits(task_names([reference], settings=settings), generation=generation)
    except UsageError as error:
        if looks_like_path(reference) or "://" in reference:
            raise
        return _unknown_here(reference, error)


def _of_path(reference: str, splits: Sequence[str], settings: Settings | None) -> list[str]:
    """Return the tasks of a path, on the named splits if its files have them."""
    from steelyard.datasets.samples.location import local_splits
    from steelyard.datasets.sources import typed_reference

    if not splits or "::" in reference:
        return task_names([reference], settings=settings)
    typed = typed_reference(reference)
    path, _, query = (reference if typed is None else typed).partition("?")
    parsed = None if typed is None else TypedReference.parse(typed)
    known = local_splits(reference) if parsed is None else local_splits(parsed.path, parsed.type)
    chosen = [f"{path}::{split}{'?' if query else ''}{query}" for split in splits if split in known]
    if known and not chosen:
        raise _no_split(reference, splits, known)
    return task_names(chosen or [reference], settings=settings)


def _of_mteb(reference: str) -> list[str]:
    from steelyard.datasets.formats.mteb.tasks import parts

    return [f"{MTEB}{part.label}" for part in parts(reference, every_split=True)]


def _unknown_here(reference: str, error: UsageError) -> list[str]:
    """Return the tasks of mteb with that name; if there are none, raise the error."""
    try:
        return _of_mteb(f"{MTEB}{reference}")
    except MissingPart as missing:
        hint = f"{error.hint}; for tasks and benchmarks of mteb: {missing.hint}"
        raise UsageError(error.message, hint=hint, found=reference) from error
    except UnknownName as unknown:
        # An error with a suggestion of ours comes first; tasks in the catalogue need no package.
        known = getattr(error, "near", ()) or "did you mean" in str(error.hint)
        raise (error if known or not unknown.near else unknown) from None


def _split(name: str) -> str | None:
    """Return the split of a task; None if it is not known before it is loaded."""
    facts = None if path_exists(name.partition("::")[0]) or "://" in name else task_facts(name)
    return None if facts is None else facts.split


def with_splits(names: Iterable[str], *, generation: Generation | None = None, benchmark: bool = False) -> list[str]:
    """Return the tasks on every split that they are evaluated on, in that order; or on those of their benchmark.

    >>> with_splits(["C-MTEB/ATEC", "C-MTEB/LCQMC"])
    ['C-MTEB/ATEC:validation', 'C-MTEB/ATEC', 'C-MTEB/LCQMC']
    >>> with_splits(["C-MTEB/ATEC", "C-MTEB/Cmnli"], benchmark=True)
    ['C-MTEB/ATEC', 'C-MTEB/Cmnli']
    """
    split_names: dict[str, None] = {}
    for name in names:
        match = published.entry_of(name)
        if match is None or match[0].name != name.partition("?")[0]:
            split_names[name] = None
            continue
        entry, own_generation = match
        _, mark, query = name.partition("?")
        splits = entry.splits if ":" not in entry.name else (entry.split,)
        if ":" not in entry.name:
            first = (own_generation or generation) == "v1"
            other = "v1_splits" if first else "benchmark_splits" if benchmark else ""
            splits = tuple(entry.extra.get(other, splits))
        split_names |= {f"{entry.of_split(split).name}{mark}{query}": None for split in splits}
    return list(split_names)


def benchmarks() -> dict[str, list[str]]:
    """Return every benchmark, a group of published tasks or a built-in set, with its tasks.

    >>> len(benchmarks()["C-MTEB"])
    31
    """
    from steelyard.datasets import builtin  # brings numpy

    groups: dict[str, list[str]] = {}
    for name in builtin.names():
        groups.setdefault(name.split("/")[0], []).append(name)
    return groups | {group: [entry.name for entry in members] for group, members in catalogue.groups().items()}


def _benchmark(name: str) -> list[str] | None:
    return next((tasks for group, tasks in benchmarks().items() if group.lower() == name.lower()), None)


def benchmark_names(name: str, *, splits: Sequence[str] = (), generation: Generation | None = None) -> list[str]:
    """Return the tasks of a benchmark on its splits, or only on those that are named.

    An unknown benchmark is an UnknownName with similar names; it may also be one of the mteb package.

    C-MTEB has the splits of mteb's `MTEB(cmn, v1)`; in mteb 1.14 it had every split of its tasks.

    >>> len(benchmark_names("C-MTEB")), len(benchmark_names("c-mteb", generation="v1"))
    (32, 36)
    """
    tasks = _benchmark(name)
    try:
        if tasks is not None:
            names = with_splits(tasks, generation=generation, benchmark=not splits)
        else:
            names = _of_mteb(name if name.startswith(MTEB) else f"{MTEB}{name}")
    except MissingPart as missing:
        raise UsageError(
            f"unknown benchmark {name!r}",
            hint=f"list all: steelyard list benchmarks; for those of mteb: {missing.hint}",
        ) from missing
    except UnknownName as error:
        raise UnknownName(
            "benchmark", name, [*benchmarks(), *error.near], hint="list all: steelyard list benchmarks"
        ) from error
    return [name for name in names if not splits or _split(name) in splits]
