"""The tasks of a config: C-MTEB by either of its names, any task of ours or of mteb, one's own data of every type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from steelyard.compat.evalscope.config_schema import TYPES, Config, CustomEntry
from steelyard.config import Settings
from steelyard.datasets import catalogue, load_any, task_facts, task_names
from steelyard.datasets.language_codes import language_code
from steelyard.datasets.samples.location import local_splits
from steelyard.errors import MissingPart, UnknownName, UsageError
from steelyard.types.samples import AnyTask

CMTEB = "C-MTEB"
CUSTOM = "CustomRetrieval"
"""The task of EvalScope 0.6 to 1.8 whose data `dataset_path` was."""
SEARCHED = ("retrieval", "reranking")


@dataclass(frozen=True, eq=False)
class Wanted:
    """One split of a task: what one evaluation is of."""

    task: str | AnyTask
    """A name to load, or the task itself."""
    type: str | None
    """None: nobody knows before it is loaded."""
    asked: str
    """As the config names it; prompts by task are looked up under it."""

    @property
    def name(self) -> str:
        """The name of the task in full."""
        return self.task if isinstance(self.task, str) else self.task.name

    def with_type(self, settings: Settings) -> Wanted:
        """The same with its type known, which may take loading it."""
        if self.type is not None:
            return self
        task = load_any(self.task, settings=settings) if isinstance(self.task, str) else self.task
        return replace(self, task=task, type=task.info.type)


def wanted(config: Config, version: str, settings: Settings) -> list[Wanted]:
    """Every split of every task that the config asks for, in its order, each once."""
    found: dict[str, Wanted] = {}
    for name in config.tasks or _selected(config):
        if name == CUSTOM and config.data_folder is not None:
            found |= {
                each.name: each for each in _custom(CustomEntry(CUSTOM, config.data_folder), config.splits, settings)
            }
            continue
        for reference in references(name, version, config.splits, settings):
            facts = task_facts(reference.partition("?")[0])
            found.setdefault(reference, Wanted(reference, facts.type if facts else None, name))
    for entry in config.custom:
        found |= {each.name: each for each in _custom(entry, config.splits, settings)}
    return list(found.values())


def references(name: str, version: str, splits: tuple[str, ...] = (), settings: Settings | None = None) -> list[str]:
    """The evaluations that the name of a task stands for: one for each of its splits.

    >>> references("TNews", "2"), references("ATEC", "1.14")
    (['C-MTEB/TNews'], ['C-MTEB/ATEC:validation?generation=v1', 'C-MTEB/ATEC?generation=v1'])
    """
    known = local_splits(name) if splits and Path(name).expanduser().exists() else []
    try:
        names = task_names([f"{name}::{split}" for split in splits if split in known] or [name], settings=settings)
    except UnknownName as error:
        names = _of_mteb(name, error, settings)
    first = version == "1.14"
    expanded = [each for full in names for each in _splits(full, splits, first=first)]
    if not expanded:
        raise UsageError(f"{name} has none of the splits {', '.join(splits)}", hint="leave splits out for all it has")
    return [f"{each}?generation=v1" if first and each.startswith(f"{CMTEB}/") else each for each in expanded]


def _splits(name: str, only: tuple[str, ...], *, first: bool) -> Iterator[str]:
    """The splits that a task of C-MTEB is evaluated on, by mteb's first version or now; one has the plain name.

    Other tasks have one split, and are left out where others were asked for.
    """
    entry = catalogue.entries().get(name)
    extra = entry.extra if entry else {}
    splits = tuple((first and extra.get("v1_splits")) or extra.get("splits") or ())
    for split in splits:
        if not only or split in only:
            yield name if entry and split == entry.split else f"{name}:{split}"
    if not splits and (not only or _only_split(name) in only):
        yield name


def _only_split(name: str) -> str:
    facts = task_facts(name)
    if facts is not None:
        return facts.split
    return "/".join(name.partition("@")[0].partition("://")[2].split("/")[2:]) or "test"  # owner/dataset/split of a hub


def _of_mteb(name: str, error: UnknownName, settings: Settings | None) -> list[str]:
    """The task by that name in the mteb package; without the package, the first error with a word on that."""
    try:
        return task_names([f"mteb:{name}"], settings=settings)
    except MissingPart:
        near = f"did you mean {' or '.join(map(repr, error.near))}? " if error.near else ""
        raise UsageError(
            f"unknown task {name!r}", hint=f"{near}tasks beyond C-MTEB need mteb: pip install 'steelyard[mteb]'"
        ) from error


def _selected(config: Config) -> list[str]:
    """The tasks of C-MTEB by type and language; of other languages, mteb's."""
    types = {_type(name) for name in config.task_types}
    languages = {language_code(name.partition("-")[0]) for name in config.languages}
    if not types and not languages:
        return []
    if languages <= {"zh"}:
        entries = catalogue.groups()[CMTEB]
        names = [entry.name for entry in entries if not types or entry.type in types]
    else:
        names = _selected_of_mteb(config, types)
    if not names:
        raise UsageError(
            "no task is left by task_types and languages", hint="name them in task_names; steelyard list tasks has them"
        )
    return names


def _selected_of_mteb(config: Config, types: set[str]) -> list[str]:
    try:
        import mteb
    except ImportError as error:
        raise MissingPart.extra("mteb", "mteb") from error
    from steelyard.datasets.formats.mteb.tasks import TYPES as MTEB_TYPES

    chosen = [name for name, ours in MTEB_TYPES.items() if not types or ours in types]
    found = mteb.get_tasks(languages=list(config.languages), task_types=chosen, modalities=["text"])
    return [f"mteb:{task.metadata.name}" for task in found]


def _type(name: str) -> str:
    """A type as EvalScope writes it (`PairClassification`, `STS`), or as we do."""
    plain = name.replace("_", "").replace("-", "").lower()
    for known in TYPES:
        if plain == known.replace("_", ""):
            return known
    raise UnknownName("type of task", name, TYPES, hint=f"known: {', '.join(TYPES)}")


def _custom(entry: CustomEntry, splits: tuple[str, ...], settings: Settings) -> Iterator[Wanted]:
    """One's own data under the name that the config gives it, read at once, so that what is wrong with it shows now.

    Data that is not in splits is the same for each, as in EvalScope; data that is has to have those that are named.
    """
    path = Path(entry.path).expanduser()
    if "," not in entry.path and not path.exists():
        raise UsageError(f"the data of {entry.name} is not there: {entry.path}", hint="a folder, or a file")
    reference = entry.path if entry.type == "retrieval" else f"{entry.type}:{entry.path}"
    named = entry.splits or splits
    in_splits = bool(named and local_splits(entry.path, entry.type))
    for split in named or (None,):
        task = load_any(f"{reference}::{split}" if in_splits else reference, settings=settings)
        name = entry.name if split is None or split == named[-1] else f"{entry.name}:{split}"
        info = replace(task.info, name=name, type=entry.type, split=split or task.info.split)
        yield Wanted(replace(task, info=info), info.type, entry.name)
