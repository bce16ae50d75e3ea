"""Where tasks come from. Built-in sources and plug-ins (`steelyard.sources`) come through the same door.

A source is a function of `LoadOptions` that gives a `TaskSource`. The first that accepts a reference has it; the
built-in ones are asked first, in the order below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.datasets.options import LoadOptions
from steelyard.errors import MissingPart, UsageError
from steelyard.registry import Registry

if TYPE_CHECKING:
    from steelyard.datasets.hubs.location import RemotePlace
    from steelyard.types import Task
    from steelyard.types.protocols import TaskSource
    from steelyard.types.samples import AnyTask

TYPES = ("retrieval", "reranking", "sts", "pair_classification", "classification", "clustering")
"""Every type of task that can be loaded and weighed."""

SOURCES: Registry[Callable[[LoadOptions], TaskSource]] = Registry(
    "source",
    "steelyard.sources",
    {
        "builtin": "steelyard.datasets.sources:BuiltinSource",
        "catalogue": "steelyard.datasets.sources:CatalogueSource",
        "huggingface": "steelyard.datasets.hubs.huggingface:HubSource",
        "modelscope": "steelyard.datasets.hubs.modelscope:ModelScopeSource",
        "ir_datasets": "steelyard.datasets.formats.irds:IrDatasetsSource",
        "mteb": "steelyard.datasets.formats.mteb.tasks:MtebSource",
        "clicks": "steelyard.datasets.formats.clicks.log:ClickSource",
        "samples": "steelyard.datasets.samples.source:SampleSource",
        "folder": "steelyard.datasets.sources:FolderSource",
    },
)
"""Every source by name."""

PREFIXES = {
    "hf://": "huggingface",
    "modelscope://": "modelscope",
    "ir_datasets:": "ir_datasets",
    "irds:": "ir_datasets",
    "mteb:": "mteb",
    "clicks:": "clicks",
    **dict.fromkeys((f"{type}:" for type in TYPES), "samples"),
}
"""References that tell their source, so that no other is asked (or imported)."""


def source_of(reference: str, options: LoadOptions) -> TaskSource | None:
    """The source that has the reference; None where none accepts it."""
    for prefix, name in PREFIXES.items():
        if reference.startswith(prefix):
            return SOURCES.get(name)(options)
    if _is_surely_a_path(reference):
        return FolderSource(options)
    broken: list[MissingPart] = []
    if (found := next((s for s in _candidates(options, broken) if s.accepts(reference)), None)) is not None:
        return found
    if broken:  # it might have been the one
        raise broken[0]
    return None


def _candidates(options: LoadOptions, broken: list[MissingPart]) -> Iterator[TaskSource]:
    """The sources that do not tell themselves by a prefix; plug-ins that do not load are noted, and passed over."""
    for name in SOURCES:
        if name in PREFIXES.values():
            continue
        try:
            make = SOURCES.get(name)
        except MissingPart as error:
            broken.append(error)
        else:
            yield make(options)


def _is_surely_a_path(reference: str) -> bool:
    """Whether nothing else is written like that; the same words may also name a task, which then comes first."""
    return "," in reference or "::" in reference or reference.startswith((".", "~")) or Path(reference).is_absolute()


class BuiltinSource:
    """The sets that need no download: `builtin`, `builtin-full`, a set's name, or one task's."""

    def __init__(self, options: LoadOptions) -> None:
        self.options = options

    def accepts(self, reference: str) -> bool:
        """Whether a built-in task or set goes by that name."""
        if reference in ("builtin", "builtin-full"):
            return True
        from steelyard.datasets import builtin

        return any(name == reference or name.startswith(f"{reference}/") for name in builtin.infos())

    def names(self, reference: str) -> Sequence[str]:
        """The tasks that the name stands for; a set's name stands for its tasks of demo size."""
        from steelyard.datasets import builtin

        if reference == "builtin":
            return builtin.names()
        if reference == "builtin-full":
            return builtin.full_names()
        if reference in builtin.infos():
            return [reference]
        return [name for name in builtin.names() if name.startswith(f"{reference}/")]

    def load(self, name: str) -> Task:
        """Cut the set, unless that is done, and read the task."""
        from steelyard.datasets import builtin

        return builtin.load(name, self.options.settings)


class CatalogueSource:
    """Published tasks by name; their data comes from the hub."""

    def __init__(self, options: LoadOptions) -> None:
        self.options = options

    def accepts(self, reference: str) -> bool:
        """Whether the catalogue knows such a task, group or hub dataset."""
        return bool(self.names(reference))

    def names(self, reference: str) -> Sequence[str]:
        """One task, or those of a group (`MNanoBEIR`, `MNanoBEIR/NanoBEIR-ar`) or hub dataset."""
        from steelyard.datasets import catalogue
        from steelyard.datasets.hubs import published

        known = catalogue.entries()
        if reference == "catalogue":
            return list(known)
        found = published.entry_of(reference)
        if found is not None:
            _, mark, query = reference.partition("?")
            return [f"{found[0].name}{mark}{query}"]
        prefix = f"{reference}/"
        return [
            name
            for name, entry in known.items()
            if name.startswith(prefix) or entry.hub == reference or entry.hub.split("/")[1] == reference
        ]

    def load(self, name: str) -> AnyTask:
        """Fetch what is not on this machine yet, and read the task."""
        from steelyard.datasets.hubs import published

        return published.load(name, self.options)

    def place(self, name: str) -> RemotePlace | None:
        """The task, to be read in pieces, if it can be."""
        from steelyard.datasets.hubs import published

        return published.place(name, self.options)


class FolderSource:
    """Paths on this machine."""

    def __init__(self, options: LoadOptions) -> None:
        self.options = options

    def accepts(self, reference: str) -> bool:
        """Whether the reference is, or looks like, a path."""
        return _is_surely_a_path(reference) or Path(reference).expanduser().exists()

    def names(self, reference: str) -> Sequence[str]:
        """`path::task` for each task of the set; with the type in front where it is told by what the files hold."""
        if (typed := typed_reference(reference)) is not None:
            return self._samples.names(typed)
        from steelyard.datasets.formats.folder import incomplete, places

        several = "," in reference and not Path(reference.partition("::")[0]).expanduser().exists()
        whole = [reference if several else place.reference for place in places(reference)]
        return [*whole, *(f"{reference}::{task}" for task in incomplete(reference))]  # not passed over: they fail

    def load(self, name: str) -> AnyTask:
        """Read and check the task."""
        if (typed := typed_reference(name)) is not None:
            return self._samples.load(typed)
        from steelyard.datasets.formats.folder import places

        found = places(name)
        if len(found) > 1:
            tasks = ", ".join(place.task for place in found)
            raise UsageError(f"{name} holds {len(found)} tasks: {tasks}", hint=f"choose one: {found[0].reference}")
        return found[0].load(self.options.validate or "strict", self.options.candidates)

    @property
    def _samples(self) -> TaskSource:
        return SOURCES.get("samples")(self.options)


def typed_reference(reference: str) -> str | None:
    """The path with its type in front, where it holds a task without documents to search."""
    if reference.startswith(tuple(f"{type}:" for type in TYPES)):
        return reference
    from steelyard.datasets.samples.type_detection import told_type

    type = told_type(reference)
    return None if type is None else f"{type}:{reference}"
