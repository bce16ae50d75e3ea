"""Tasks of the catalogue: their repositories, of which generation, in a folder of copies or on a hub.

A name may include its split and its generation: `C-MTEB/ATEC:validation`, `C-MTEB/T2Retrieval?generation=v1`. `v1` are
the repositories of mteb 1.14 (corpus and queries as splits, judgements in a separate repository, reranking as rows),
`v2` those of mteb 2. The layout of a repository is detected from its files, so a copy may be of either generation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import parse_qsl

from steelyard.datasets import catalogue
from steelyard.datasets.hubs.snapshots import Snapshot, files_in
from steelyard.datasets.options import Generation, LoadOptions
from steelyard.errors import DataError, HubError, MissingPart, UnknownName, UsageError
from steelyard.types.task_info import SEARCHED

if TYPE_CHECKING:
    from steelyard.datasets.assemble import Tables
    from steelyard.datasets.catalogue import Entry
    from steelyard.datasets.hubs.remote import HubDataset, RemoteLocation
    from steelyard.datasets.problems import Report
    from steelyard.types import Task, TaskInfo
    from steelyard.types.samples import AnyTask

GENERATIONS = ("v1", "v2")
QRELS = "-qrels"
LOCAL_HINT = "or read a copy: --data-dir DIR, STEELYARD_DATA=DIR, or dataset_path in a config of EvalScope"
"""How data is read without a network, for errors of the network."""


def entry_of(name: str) -> tuple[Entry, Generation | None] | None:
    """Return the entry of a name and the generation in it; None if the catalogue does not have the task."""
    base, _, query = name.partition("?")
    entry = catalogue.find(base)
    if entry is None:
        return None
    if not query:
        return entry, None
    options = dict(parse_qsl(query, keep_blank_values=True))
    generation = options.pop("generation", None)
    if options:
        raise UnknownName("option", next(iter(options)), ("generation",), hint="published tasks take generation")
    if generation is not None and generation not in GENERATIONS:
        expected = f"one of {', '.join(GENERATIONS)}"
        raise UsageError.invalid(f"generation of {name}", expected=expected, found=generation, option="generation")
    return entry, cast("Generation | None", generation)


def load(name: str, options: LoadOptions) -> AnyTask:
    """Download what is not on this machine yet, and read the task; an error of the hub names the way without it."""
    try:
        return _load(name, options)
    except HubError as error:
        raise HubError(error.message, hint=f"{error.hint}; {LOCAL_HINT}" if error.hint else LOCAL_HINT) from error


def _load(name: str, options: LoadOptions) -> AnyTask:
    from steelyard.datasets.formats.folder import find_tasks
    from steelyard.datasets.formats.nano import discovery as nano
    from steelyard.datasets.hubs.remote import load_snapshot

    entry, datasets = _open(name, options)
    info = replace(entry.info, source=datasets[0].snapshot.repository)
    if entry.type not in SEARCHED:
        return load_samples(datasets[0], entry.split, info, entry.extra, options)
    tasks = find_tasks(datasets[0].names)
    if tasks or nano.incomplete(datasets[0].names):
        return load_snapshot(datasets[0], _split_of(tasks, entry.split), info, options)
    if entry.type == "reranking":
        return load_samples(datasets[0], entry.split, info, {}, options)
    return _load_first_retrieval(datasets, entry.split, info, options)


def location(name: str, options: LoadOptions) -> RemoteLocation | None:
    """Return the task without reading it; None if its files can only be read as a whole."""
    from steelyard.datasets.formats.folder import find_tasks
    from steelyard.datasets.hubs.remote import remote_location

    entry, datasets = _open(name, options)
    tasks = find_tasks(datasets[0].names)
    if entry.type not in SEARCHED or not tasks:
        return None
    info = replace(entry.info, source=datasets[0].snapshot.repository)
    return remote_location(datasets[0], _split_of(tasks, entry.split), info)


def dataset_of(name: str, options: LoadOptions) -> HubDataset:
    """Return the dataset of a task, without downloading its tables."""
    return _open(name, options)[1][0]


def load_samples(
    dataset: HubDataset, split: str, info: TaskInfo, facts: Mapping[str, object], options: LoadOptions
) -> AnyTask:
    """Return a task whose split is a table: pairs, labelled texts, texts to cluster, reranking rows."""
    from steelyard.datasets.hubs.remote import finish_remote, read_remote
    from steelyard.datasets.samples.build import build
    from steelyard.datasets.samples.constants import Constants, known_facts
    from steelyard.datasets.samples.roles import ROLES
    from steelyard.datasets.samples.splits import find_splits, matching_split
    from steelyard.datasets.tables.tabular import read_table

    splits = find_splits(dataset.names)
    chosen = matching_split(split, splits)
    if chosen is None:
        raise _no_split(dataset, split)
    needed = [chosen]
    if info.type == "classification" and (train := matching_split("train", splits)) is not None and train != chosen:
        needed.insert(0, train)
    info = replace(info, revision=dataset.snapshot.commit or None)
    constants = Constants.of(known_facts(facts, info.type), info.type, info.name)

    def read(path_of: Callable[[str], Path], report: Report) -> AnyTask | None:
        named = {name: [(file, path_of(file)) for file in splits[name]] for name in needed}
        tables = {name: read_table(files, ROLES[info.type], report) for name, files in named.items()}
        complete = {name: table for name, table in tables.items() if table is not None}
        return build(complete, chosen, info, constants, report) if len(complete) == len(tables) else None

    wanted = {file: (dataset, file) for name in needed for file in splits[name]}
    task, report = read_remote(wanted, read, options)
    return finish_remote(task, report, info.name, options)


def _load_first_retrieval(datasets: list[HubDataset], split: str, info: TaskInfo, options: LoadOptions) -> Task:
    """Read corpus and queries as splits of one repository, judgements as a split of another, or of the same."""
    from steelyard.datasets.assemble import assemble
    from steelyard.datasets.formats.task_files import TaskFiles, read_tables
    from steelyard.datasets.hubs.remote import finish_remote, read_remote
    from steelyard.datasets.samples.splits import find_splits, matching_split

    texts, judged = datasets[0], datasets[-1]
    splits, others = find_splits(texts.names), find_splits(judged.names)
    chosen = matching_split(split, others)
    for name in ("corpus", "queries"):
        if name not in splits:
            raise _no_split(texts, name)
    if chosen is None:
        raise _no_split(judged, split)
    prefix = f"{judged.snapshot.repository}:" if judged is not texts else ""
    qrels = tuple(f"{prefix}{file}" for file in others[chosen])
    files = TaskFiles(splits["corpus"], splits["queries"], qrels)
    info = replace(info, revision=texts.snapshot.commit or None)
    needed = {file: (texts, file) for file in (*files.corpus, *files.queries)}
    needed |= {name: (judged, name.removeprefix(prefix)) for name in qrels}

    def read(path_of: Callable[[str], Path], report: Report) -> Tables:
        return read_tables(files, info, path_of, report)

    tables, report = read_remote(needed, read, options)
    return finish_remote(assemble(tables, report), report, info.name, options)


def _open(name: str, options: LoadOptions) -> tuple[Entry, list[HubDataset]]:
    """Return the entry and its datasets: one, or, for retrieval of generation v1, texts and judgements."""
    match = entry_of(name)
    if match is None:
        raise UnknownName("task", name, catalogue.entries())
    entry, generation = match
    generations = _repositories(entry)
    chosen: Generation = generation or options.generation or "v2"
    order = [chosen, *(other for other in generations if other != chosen)]
    folder = options.settings.data
    if folder is None:
        return entry, [open_repository(hub, revision, options) for hub, revision in generations[chosen]]
    for other in order:
        # A folder with the name of the task is accepted, too.
        names = [generations[other][0][0], entry.name.rpartition("/")[2].partition(":")[0], *entry.aliases[:1]]
        if (texts := copy_of(folder, names)) is None:
            continue
        judged = [copy_of(folder, [hub]) for hub, _ in generations["v1"][1:]]
        return entry, [texts, *(copy for copy in judged if copy is not None)]
    raise no_copy(folder, [hub for other in order for hub, _ in generations[other]])


def _repositories(entry: Entry) -> dict[Generation, list[tuple[str, str | None]]]:
    present: list[tuple[str, str | None]] = [(entry.hub, entry.revision)]
    first = [(facts["hub"], facts["revision"]) for facts in entry.extra.get("v1", ())]
    return {"v2": present, "v1": first or present}


def _split_of(tasks: Mapping[str, object], split: str) -> str:
    """Return the name of the split in the files; a copy may hold one task without a name."""
    from steelyard.datasets.samples.splits import matching_split

    return matching_split(split, tasks) or ("" if list(tasks) == [""] else split)


def _no_split(dataset: HubDataset, split: str) -> DataError:
    from steelyard.datasets.samples.splits import find_splits

    known = ", ".join(find_splits(dataset.names)) or "no tables at all"
    return DataError(
        f"the split {split!r} does not exist; the dataset has {known}",
        where=dataset.snapshot.repository,
        hint=f"expected data/{split}-00000-of-00001.parquet, {split}.jsonl or the like",
    )


OWNERS = {"mteb": "MTEB"}
"""Owners that ModelScope spells differently."""


def open_repository(repository: str, revision: str | None, options: LoadOptions) -> HubDataset:
    """Return the dataset on the hub of the options. Revisions are those of Hugging Face: ModelScope has its own."""
    if options.settings.hub == "modelscope":
        from steelyard.datasets.hubs import modelscope

        return modelscope.open_dataset(on_modelscope(repository), None, options)
    from steelyard.datasets.hubs import huggingface as hub

    if options.settings.hub != "huggingface":
        hubs = ("huggingface", "modelscope")
        raise UnknownName("hub", options.settings.hub, hubs, hint=f"use one of {', '.join(hubs)}")
    return hub.open_dataset(repository, revision, options)


def on_modelscope(repository: str) -> str:
    """Return the name on ModelScope of a dataset of the Hugging Face hub.

    >>> on_modelscope("mteb/T2Retrieval"), on_modelscope("C-MTEB/ATEC")
    ('MTEB/T2Retrieval', 'C-MTEB/ATEC')
    """
    owner, _, name = repository.partition("/")
    return f"{OWNERS.get(owner, owner)}/{name}"


def copy_of(folder: Path, repositories: Iterable[str]) -> HubDataset | None:
    """Return the first of these datasets that the folder has: as `owner/name`, `name`, or the folder itself."""
    from steelyard.datasets.hubs.remote import HubDataset

    for repository in repositories:
        if (path := copy_folder(folder, [repository])) is not None:
            return HubDataset(Snapshot(repository, "", files_in(path)), lambda file, again, at=path: at / file)  # type: ignore[misc]
    return None


def copy_folder(folder: Path, repositories: Iterable[str]) -> Path | None:
    """Return the folder of the first of these datasets that has files; None if there is none."""
    for repository in repositories:
        name = repository.rpartition("/")[2]
        for path in (folder / repository, folder / on_modelscope(repository), folder / name):
            if path.is_dir() and files_in(path):
                return path
        if folder.name == name and files_in(folder):
            return folder
    return None


def no_copy(folder: Path, repositories: Iterable[str]) -> MissingPart:
    """Return the error for a folder that has none of the datasets."""
    names = " or ".join(dict.fromkeys(repositories))
    return MissingPart(
        f"{folder} does not have a copy of {names}",
        hint="put it there under that name, or omit --data-dir (STEELYARD_DATA) to download it",
    )
