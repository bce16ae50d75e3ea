"""Where tasks come from. Built-in sources and plug-ins (`steelyard.sources`) are registered the same way.

A source is a function of `LoadOptions` that returns a `TaskSource`. The first source that accepts a reference loads it;
built-in sources are tried first, in the order below. Nothing below this module imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from steelyard.datasets.options import LoadOptions
from steelyard.datasets.references import (
    HUB_PREFIXES,
    PREFIXES,
    TYPES,
    TypedReference,
    has_type,
    looks_like_path,
    names_file,
    parse_hub_reference,
    path_exists,
)
from steelyard.errors import DataError, MissingPart, UsageError
from steelyard.registry import Registry

if TYPE_CHECKING:
    from steelyard.datasets.formats.task_files import TaskLocation
    from steelyard.datasets.samples.location import SampleLocation, TypedLocation
    from steelyard.types import Task
    from steelyard.types.protocols import TaskSource
    from steelyard.types.samples import AnyTask

SOURCES: Registry[Callable[[LoadOptions], TaskSource]] = Registry(
    "source",
    "steelyard.sources",
    {
        "builtin": "steelyard.datasets.sources:BuiltinSource",
        "catalogue": "steelyard.datasets.sources:CatalogueSource",
        "huggingface": "steelyard.datasets.hubs.huggingface:HubSource",
        "modelscope": "steelyard.datasets.hubs.modelscope:ModelScopeSource",
        "ir_datasets": "steelyard.datasets.formats.irds:IrDatasetsSource",
        "mteb": "steelyard.datasets.formats.mteb.data:MtebSource",
        "clicks": "steelyard.datasets.sources:ClickSource",
        "samples": "steelyard.datasets.sources:SampleSource",
        "folder": "steelyard.datasets.sources:FolderSource",
    },
)
"""Every source by name."""


def source_of(reference: str, options: LoadOptions) -> TaskSource | None:
    """Return the source of a reference; None if no source accepts it."""
    for prefix, name in PREFIXES.items():
        if reference.startswith(prefix):
            return SOURCES.get(name)(options)
    if looks_like_path(reference):
        return FolderSource(options)
    broken: list[MissingPart] = []
    if (source := next((s for s in _candidates(options, broken) if s.accepts(reference)), None)) is not None:
        return source
    if broken:  # the reference may belong to a plug-in that cannot be loaded
        raise broken[0]
    return None


def _candidates(options: LoadOptions, broken: list[MissingPart]) -> Iterator[TaskSource]:
    """Yield the sources without a prefix of their own; plug-ins that cannot be loaded are collected in `broken`."""
    for name in SOURCES:
        if name in PREFIXES.values():
            continue
        try:
            make = SOURCES.get(name)
        except MissingPart as error:
            broken.append(error)
        else:
            yield make(options)


class BuiltinSource:
    """The sets that need no download: `builtin`, `builtin-full`, the name of a set, or of one task."""

    def __init__(self, options: LoadOptions) -> None:
        self.options = options

    def accepts(self, reference: str) -> bool:
        """Return whether the reference names a built-in task or set."""
        if reference in ("builtin", "builtin-full"):
            return True
        from steelyard.datasets import builtin

        return any(name == reference or name.startswith(f"{reference}/") for name in builtin.infos())

    def names(self, reference: str) -> Sequence[str]:
        """Return the tasks that the name means; the name of a set means its tasks of demo size."""
        from steelyard.datasets import builtin

        if reference == "builtin":
            return builtin.names()
        if reference == "builtin-full":
            return builtin.full_names()
        if reference in builtin.infos():
            return [reference]
        return [name for name in builtin.names() if name.startswith(f"{reference}/")]

    def load(self, name: str) -> Task:
        """Build the set if that was not done before, and read the task."""
        from steelyard.datasets import builtin

        return builtin.load(name, self.options.settings)


class CatalogueSource:
    """Published tasks by name; their data comes from the hub."""

    def __init__(self, options: LoadOptions) -> None:
        self.options = options

    def accepts(self, reference: str) -> bool:
        """Return whether the catalogue has such a task, group or hub dataset."""
        return bool(self.names(reference))

    def names(self, reference: str) -> Sequence[str]:
        """Return one task, or those of a group (`MNanoBEIR`, `MNanoBEIR/NanoBEIR-ar`) or hub dataset."""
        from steelyard.datasets import catalogue
        from steelyard.datasets.hubs import published

        known = catalogue.entries()
        if reference == "catalogue":
            return list(known)
        match = published.entry_of(reference)
        if match is not None:
            _, mark, query = reference.partition("?")
            return [f"{match[0].name}{mark}{query}"]
        prefix = f"{reference}/"
        return [
            name
            for name, entry in known.items()
            if name.startswith(prefix) or entry.hub == reference or entry.hub.split("/")[1] == reference
        ]

    def load(self, name: str) -> AnyTask:
        """Download what is not on this machine yet, and read the task."""
        from steelyard.datasets.hubs import published

        return published.load(name, self.options)

    def location(self, name: str) -> TaskLocation | None:
        """Return the task without reading it; None if its files can only be read as a whole."""
        from steelyard.datasets.hubs import published

        return published.location(name, self.options)


class FolderSource:
    """Paths on this machine."""

    def __init__(self, options: LoadOptions) -> None:
        self.options = options
        self._samples = SampleSource(options)
        # The last reference that was located but not loaded.
        self._located: dict[str, list[TaskLocation]] = {}

    def accepts(self, reference: str) -> bool:
        """Return whether the reference is, or looks like, a path."""
        return looks_like_path(reference) or names_file(reference)

    def names(self, reference: str) -> Sequence[str]:
        """Return `path::task` for each task of the set, with the type in front if the files determine it."""
        if (typed := typed_reference(reference)) is not None:
            return self._samples.names(typed)
        from steelyard.datasets.formats.folder import incomplete, locate

        folder, _, task = reference.partition("::")
        if task and task in incomplete(folder):
            return [reference]
        several = "," in reference and not path_exists(folder)
        locations = locate(reference)
        self._located = {reference: locations}
        complete = [reference if several else location.reference for location in locations]
        return [*complete, *(f"{reference}::{task}" for task in incomplete(reference))]  # listed, so that they fail

    def load(self, name: str) -> AnyTask:
        """Read and check the task."""
        locations = self._located.pop(name, None)
        if locations is None:
            if (typed := typed_reference(name)) is not None:
                return self._samples.load(typed)
            from steelyard.datasets.formats.folder import locate

            locations = locate(name)
        if len(locations) > 1:
            raise _several(name, [location.reference for location in locations])
        options = self.options
        return locations[0].load(options.validate or "strict", options.candidates, options.settings.missing_judgements)


class ClickSource(FolderSource):
    """`clicks:LOG[,CORPUS][?options]`."""

    def accepts(self, reference: str) -> bool:
        """Return whether the reference names a click log."""
        return reference.startswith("clicks:")


class SampleSource:
    """Data of any type, on this machine or on a hub, with the type in front: `sts:./pairs.jsonl`."""

    def __init__(self, options: LoadOptions) -> None:
        self.options = options
        # The last reference that was located but not loaded.
        self._located: dict[str, list[SampleLocation | TypedLocation]] = {}

    def accepts(self, reference: str) -> bool:
        """Return whether the reference begins with a type."""
        return reference.partition(":")[0] in TYPES

    def names(self, reference: str) -> Sequence[str]:
        """Return the task, or the tasks of a set in a retrieval layout."""
        if TypedReference.parse(reference).path.startswith(HUB_PREFIXES):
            return [reference]
        from steelyard.datasets.samples.location import locate_samples

        locations = locate_samples(reference)
        self._located = {reference: locations}
        return [location.reference for location in locations]

    def load(self, name: str) -> AnyTask:
        """Read and check the task."""
        parsed = TypedReference.parse(name)
        if parsed.path.startswith(HUB_PREFIXES):
            return _load_from_hub(parsed, self.options)
        locations = self._located.pop(name, None)
        if locations is None:
            from steelyard.datasets.samples.location import locate_samples

            locations = locate_samples(name)
        if len(locations) > 1:
            raise _several(name, [location.reference for location in locations])
        options = self.options
        return locations[0].load(options.validate or "strict", options.candidates, options.settings.missing_judgements)


def typed_reference(reference: str) -> str | None:
    """Return the path with its type in front; None for retrieval data, whose layout determines the type."""
    if has_type(reference):
        return reference
    from steelyard.datasets.samples.type_detection import detect_type

    type = detect_type(reference)
    return None if type is None else f"{type}:{reference}"


def _several(name: str, references: Sequence[str]) -> UsageError:
    shown = ", ".join(references[:5]) + (" ..." if len(references) > 5 else "")
    return UsageError(f"{name} must be one task, got {len(references)}: {shown}", hint=f"choose one: {references[0]}")


def _load_from_hub(reference: TypedReference, options: LoadOptions) -> AnyTask:
    from steelyard.datasets.formats.folder import find_tasks
    from steelyard.datasets.hubs import huggingface, modelscope
    from steelyard.datasets.hubs.published import load_samples
    from steelyard.datasets.hubs.remote import load_snapshot
    from steelyard.datasets.samples.constants import Constants
    from steelyard.datasets.samples.splits import evaluation_split, find_splits
    from steelyard.types import TaskInfo
    from steelyard.types.task_info import SEARCHED

    prefix = next(prefix for prefix in HUB_PREFIXES if reference.path.startswith(prefix))
    repository, task, revision = parse_hub_reference(reference.path, prefix)
    hub = huggingface if prefix == HUB_PREFIXES[0] else modelscope
    dataset = hub.open_dataset(repository, revision, options)
    split = reference.split or task
    searched = find_tasks(dataset.names) if reference.type in SEARCHED else {}
    if searched or reference.type == "retrieval":
        only = next(iter(searched)) if len(searched) == 1 else "test"
        info = TaskInfo(f"{repository}/{split or only}", source=repository, split=split or only, type=reference.type)
        return load_snapshot(dataset, split or only, info, options)
    splits = find_splits(dataset.names)
    chosen = split or evaluation_split(splits)
    if chosen is None:
        known = ", ".join(splits) or "none"
        raise DataError(f"the split must be named; the dataset has {known}", where=repository, hint="add ::SPLIT")
    Constants.of(reference.options, reference.type, str(reference))
    info = TaskInfo(f"{repository}:{chosen}", source=repository, split=chosen)
    return load_samples(dataset, chosen, replace(info, type=reference.type), reference.options, options)
