"""The tasks of a config: C-MTEB under both of its names, any task of ours or of mteb, the user's own data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from steelyard.compat.evalscope.config_schema import Config, CustomEntry
from steelyard.config import Settings
from steelyard.datasets import catalogue, evaluated_names, load_any, task_facts
from steelyard.datasets.language_codes import language_code
from steelyard.datasets.references import task_type
from steelyard.datasets.samples.location import local_splits
from steelyard.errors import MissingPart, UsageError
from steelyard.files import with_home
from steelyard.types.samples import AnyTask

CMTEB = "C-MTEB"
CUSTOM = "CustomRetrieval"
"""The task of EvalScope 0.6 to 1.8 whose data is at `dataset_path`."""
SEARCHED = ("retrieval", "reranking")


@dataclass(frozen=True, eq=False)
class PlannedTask:
    """One split of a task: one evaluation for each model."""

    task: str | AnyTask
    """A name to load, or the task in memory."""
    type: str | None
    """None: unknown before it is loaded."""
    asked: str
    """Its name in the config; prompts by task are looked up with it."""

    @property
    def name(self) -> str:
        """The full name of the task."""
        return self.task if isinstance(self.task, str) else self.task.name

    def with_type(self, settings: Settings) -> PlannedTask:
        """Return the same with its type, which may require loading it."""
        if self.type is not None:
            return self
        task = load_any(self.task, settings=settings) if isinstance(self.task, str) else self.task
        return replace(self, task=task, type=task.info.type)


def planned_tasks(config: Config, version: str, settings: Settings) -> list[PlannedTask]:
    """Return every split of every task of the config, in its order, each once."""
    planned: dict[str, PlannedTask] = {}
    for name in config.tasks or _selected(config):
        if name == CUSTOM and config.data_folder is not None:
            own_data = CustomEntry(CUSTOM, config.data_folder)
            planned |= {task.name: task for task in _custom(own_data, config.splits, settings)}
            continue
        for reference in references(name, version, config.splits, settings):
            facts = task_facts(reference.partition("?")[0])
            planned.setdefault(reference, PlannedTask(reference, facts.type if facts else None, name))
    for entry in config.custom:
        planned |= {task.name: task for task in _custom(entry, config.splits, settings)}
    return list(planned.values())


def references(name: str, version: str, splits: tuple[str, ...] = (), settings: Settings | None = None) -> list[str]:
    """Return the references of a task by its name in the config: one for each of its splits.

    >>> references("TNews", "2"), references("ATEC", "1.14")
    (['C-MTEB/TNews'], ['C-MTEB/ATEC:validation?generation=v1', 'C-MTEB/ATEC?generation=v1'])
    """
    first = version == "1.14"
    names = evaluated_names([name], splits=splits, generation="v1" if first else None, settings=settings)
    return [f"{one}?generation=v1" if first and one.startswith(f"{CMTEB}/") else one for one in names]


def _selected(config: Config) -> list[str]:
    """Return the tasks of C-MTEB by type and language; for other languages those of mteb."""
    types = {task_type(name) for name in config.task_types}
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
            "no task matches task_types and languages", hint="name tasks in task_names; run: steelyard list tasks"
        )
    return names


def _selected_of_mteb(config: Config, types: set[str]) -> list[str]:
    try:
        import mteb
    except ImportError as error:
        raise MissingPart.extra("mteb", "mteb") from error
    from steelyard.datasets.formats.mteb.tasks import TYPES as MTEB_TYPES

    chosen = [name for name, ours in MTEB_TYPES.items() if not types or ours in types]
    selected = mteb.get_tasks(languages=list(config.languages), task_types=chosen, modalities=["text"])
    return [f"mteb:{task.metadata.name}" for task in selected]


def _custom(entry: CustomEntry, splits: tuple[str, ...], settings: Settings) -> Iterator[PlannedTask]:
    """Yield the user's own data under its name in the config; loaded at once, so that errors are raised early.

    Data without splits is the same for each split, as in EvalScope; data with splits must have those that are named.
    """
    path = with_home(entry.path)
    if "," not in entry.path and not path.exists():
        raise UsageError(
            f"the data of {entry.name} does not exist: {entry.path}", hint="check data_path", path=entry.path
        )
    reference = entry.path if entry.type == "retrieval" else f"{entry.type}:{entry.path}"
    named = entry.splits or splits
    in_splits = bool(named and local_splits(entry.path, entry.type))
    for split in named or (None,):
        task = load_any(f"{reference}::{split}" if in_splits else reference, settings=settings)
        name = entry.name if split is None or split == named[-1] else f"{entry.name}:{split}"
        info = replace(task.info, name=name, type=entry.type, split=split or task.info.split)
        yield PlannedTask(replace(task, info=info), info.type, entry.name)
