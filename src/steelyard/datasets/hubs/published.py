"""Tasks of the catalogue: which repositories, of which generation, in a folder of copies or on a hub, read how.

A name may say its split and its generation: `C-MTEB/ATEC:validation`, `C-MTEB/T2Retrieval?generation=v1`. `v1` are the
repositories of mteb 1.14 (corpus and queries as splits, judgements in a repository of their own, reranking as rows),
`v2` those of mteb 2. Which layout a repository has is told by its files, so a copy may be of either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import parse_qsl

from steelyard.datasets import catalogue
from steelyard.datasets.options import Generation, LoadOptions
from steelyard.errors import DataError, UnknownName, UsageError

if TYPE_CHECKING:
    from steelyard.datasets.assemble import Tables
    from steelyard.datasets.catalogue import Entry
    from steelyard.datasets.hubs.location import RemotePlace
    from steelyard.datasets.hubs.remote import Opened
    from steelyard.datasets.problems import Report
    from steelyard.types import Task, TaskInfo
    from steelyard.types.samples import AnyTask

GENERATIONS = ("v1", "v2")
QRELS = "-qrels"
SEARCHED = ("retrieval", "reranking")


def entry_of(name: str) -> tuple[Entry, Generation | None] | None:
    """The entry that a name stands for, and the generation it asks for; None where the catalogue knows no such task."""
    base, _, query = name.partition("?")
    entry = catalogue.find(base)
    if entry is None:
        return None
    said = dict(parse_qsl(query, keep_blank_values=True))
    generation = said.pop("generation", None)
    if said:
        raise UnknownName("option", next(iter(said)), ("generation",), hint="published tasks take generation")
    if generation is not None and generation not in GENERATIONS:
        raise UsageError(f"{name}: no generation {generation!r}", hint=f"one of {', '.join(GENERATIONS)}")
    return entry, cast("Generation | None", generation)


def load(name: str, options: LoadOptions) -> AnyTask:
    """Fetch what is not on this machine yet, and read the task."""
    from steelyard.datasets.formats.layout import find_tasks
    from steelyard.datasets.formats.nano import discovery as nano
    from steelyard.datasets.hubs.remote import load_snapshot

    entry, opened = _opened(name, options)
    info = replace(entry.info, source=opened[0].snapshot.repository)
    if entry.type not in SEARCHED:
        return load_samples(opened[0], entry.split, info, entry.extra, options)
    found = find_tasks(opened[0].names)
    if found or nano.incomplete(opened[0].names):
        return load_snapshot(opened[0], _split_of(found, entry.split), info, options)
    if entry.type == "reranking":
        return load_samples(opened[0], entry.split, info, {}, options)
    return _load_first_retrieval(opened, entry.split, info, options)


def place(name: str, options: LoadOptions) -> RemotePlace | None:
    """The task, to be read in pieces; None where its files can only be read as a whole."""
    from steelyard.datasets.formats.layout import find_tasks
    from steelyard.datasets.hubs.location import place_of

    entry, opened = _opened(name, options)
    found = find_tasks(opened[0].names)
    if entry.type not in SEARCHED or not found:
        return None
    info = replace(entry.info, source=opened[0].snapshot.repository)
    return place_of(opened[0], _split_of(found, entry.split), info)


def load_samples(
    opened: Opened, split: str, info: TaskInfo, facts: Mapping[str, object], options: LoadOptions
) -> AnyTask:
    """A task whose split is a table: pairs, labelled texts, texts to cluster, reranking rows."""
    from steelyard.datasets.hubs.remote import finished, read_remote
    from steelyard.datasets.samples.build import build
    from steelyard.datasets.samples.constants import Constants, known_facts
    from steelyard.datasets.samples.roles import ROLES
    from steelyard.datasets.samples.splits import find_splits, kin
    from steelyard.datasets.tables.tabular import read_table

    splits = find_splits(opened.names)
    chosen = kin(split, splits)
    if chosen is None:
        raise _no_split(opened, split)
    wanted = [chosen]
    if info.type == "classification" and (train := kin("train", splits)) is not None and train != chosen:
        wanted.insert(0, train)
    info = replace(info, revision=opened.snapshot.commit or None)
    constants = Constants.of(known_facts(facts, info.type), info.type, info.name)

    def read(place: Callable[[str], Path], report: Report) -> AnyTask | None:
        named = {name: [(file, place(file)) for file in splits[name]] for name in wanted}
        tables = {name: read_table(files, ROLES[info.type], report) for name, files in named.items()}
        there = {name: table for name, table in tables.items() if table is not None}
        return build(there, chosen, info, constants, report) if len(there) == len(tables) else None

    task, report = read_remote({file: (opened, file) for name in wanted for file in splits[name]}, read)
    return finished(task, report, info.name, options)


def _load_first_retrieval(opened: list[Opened], split: str, info: TaskInfo, options: LoadOptions) -> Task:
    """Corpus and queries as splits of one repository, judgements as a split of another, or of the same."""
    from steelyard.datasets.assemble import assemble
    from steelyard.datasets.formats.layout import TaskFiles, read_tables
    from steelyard.datasets.hubs.remote import finished, read_remote
    from steelyard.datasets.samples.splits import find_splits, kin

    texts, judged = opened[0], opened[-1]
    splits, others = find_splits(texts.names), find_splits(judged.names)
    chosen = kin(split, others)
    for name in ("corpus", "queries"):
        if name not in splits:
            raise _no_split(texts, name)
    if chosen is None:
        raise _no_split(judged, split)
    prefix = f"{judged.snapshot.repository}:" if judged is not texts else ""
    qrels = tuple(f"{prefix}{file}" for file in others[chosen])
    files = TaskFiles(splits["corpus"], splits["queries"], qrels)
    info = replace(info, revision=texts.snapshot.commit or None)
    wanted = {file: (texts, file) for file in (*files.corpus, *files.queries)}
    wanted |= {name: (judged, name.removeprefix(prefix)) for name in qrels}

    def read(place: Callable[[str], Path], report: Report) -> Tables:
        return read_tables(files, info, place, report)

    tables, report = read_remote(wanted, read)
    return finished(assemble(tables, report), report, info.name, options)


def _opened(name: str, options: LoadOptions) -> tuple[Entry, list[Opened]]:
    """The entry and its repositories: one, or, of the first generation's retrieval, texts and judgements."""
    from steelyard.datasets.hubs.repositories import copy_of, no_copy, open_repository

    found = entry_of(name)
    if found is None:
        raise UnknownName("task", name, catalogue.entries())
    entry, generation = found
    generations = _repositories(entry)
    chosen: Generation = generation or options.generation or "v2"
    order = [chosen, *(other for other in generations if other != chosen)]
    folder = options.settings.data
    if folder is None:
        return entry, [open_repository(hub, revision, options) for hub, revision in generations[chosen]]
    for each in order:
        # A folder that goes by the name of the task will do, too.
        names = [generations[each][0][0], entry.name.rpartition("/")[2].partition(":")[0], *entry.aliases[:1]]
        if (texts := copy_of(folder, names)) is None:
            continue
        judged = [copy_of(folder, [hub]) for hub, _ in generations["v1"][1:]]
        return entry, [texts, *(copy for copy in judged if copy is not None)]
    raise no_copy(folder, [hub for each in order for hub, _ in generations[each]])


def _repositories(entry: Entry) -> dict[Generation, list[tuple[str, str | None]]]:
    present: list[tuple[str, str | None]] = [(entry.hub, entry.revision)]
    first = [(facts["hub"], facts["revision"]) for facts in entry.extra.get("v1", ())]
    return {"v2": present, "v1": first or present}


def _split_of(found: Mapping[str, object], split: str) -> str:
    """A copy of one's own may hold one task without a name."""
    from steelyard.datasets.samples.splits import kin

    return kin(split, found) or ("" if list(found) == [""] else split)


def _no_split(opened: Opened, split: str) -> DataError:
    from steelyard.datasets.samples.splits import find_splits

    known = ", ".join(find_splits(opened.names)) or "no tables at all"
    return DataError(
        f"no files of the split {split!r}: it has {known}",
        where=opened.snapshot.repository,
        hint=f"expected data/{split}-00000-of-00001.parquet, {split}.jsonl or the like",
    )
