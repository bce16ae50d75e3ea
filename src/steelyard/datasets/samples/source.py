"""References with a type in front: `sts:./pairs.jsonl`, `clustering:hf://owner/dataset/test`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from steelyard.datasets.hubs.published import SEARCHED, load_samples
from steelyard.datasets.hubs.remote import Opened
from steelyard.datasets.options import LoadOptions
from steelyard.datasets.samples.constants import Constants
from steelyard.datasets.samples.location import Reference, find
from steelyard.datasets.samples.splits import find_splits, weighed_split
from steelyard.datasets.sources import TYPES
from steelyard.errors import DataError, UsageError
from steelyard.types import TaskInfo
from steelyard.types.samples import AnyTask

HUBS = ("hf://", "modelscope://")


class SampleSource:
    """Data of any type, on this machine or on a hub, whose type the reference tells."""

    def __init__(self, options: LoadOptions) -> None:
        self.options = options

    def accepts(self, reference: str) -> bool:
        """Whether a type stands in front."""
        return reference.partition(":")[0] in TYPES

    def names(self, reference: str) -> Sequence[str]:
        """The task, or those of a set in the layouts of retrieval."""
        parsed = Reference.parse(reference)
        if parsed.path.startswith(HUBS):
            return [reference]
        return [place.reference for place in find(reference)]

    def load(self, name: str) -> AnyTask:
        """Read and check the task."""
        parsed = Reference.parse(name)
        if parsed.path.startswith(HUBS):
            return _load_from_hub(parsed, self.options)
        found = find(name)
        if len(found) > 1:
            tasks = ", ".join(place.reference for place in found)
            raise UsageError(f"{name} holds {len(found)} tasks: {tasks}", hint=f"choose one: {found[0].reference}")
        return found[0].load(self.options.validate or "strict", self.options.candidates)


def _load_from_hub(reference: Reference, options: LoadOptions) -> AnyTask:
    from steelyard.datasets.formats.layout import find_tasks
    from steelyard.datasets.hubs.remote import load_snapshot
    from steelyard.datasets.hubs.snapshots import parse_reference

    prefix = next(prefix for prefix in HUBS if reference.path.startswith(prefix))
    repository, task, revision = parse_reference(reference.path, prefix)
    opened = _open(prefix, repository, revision, options)
    split = reference.split or task
    searched = find_tasks(opened.names) if reference.type in SEARCHED else {}
    if searched or reference.type == "retrieval":
        only = next(iter(searched)) if len(searched) == 1 else "test"
        info = TaskInfo(f"{repository}/{split or only}", source=repository, split=split or only, type=reference.type)
        return load_snapshot(opened, split or only, info, options)
    splits = find_splits(opened.names)
    chosen = split or weighed_split(splits)
    if chosen is None:
        raise DataError(
            f"which split? it has {', '.join(splits) or 'none'}", where=repository, hint="name one: ...::SPLIT"
        )
    Constants.of(reference.options, reference.type, str(reference))
    info = TaskInfo(f"{repository}:{chosen}", source=repository, split=chosen)
    return load_samples(opened, chosen, replace(info, type=reference.type), reference.options, options)


def _open(prefix: str, repository: str, revision: str | None, options: LoadOptions) -> Opened:
    from steelyard.datasets.hubs import huggingface as hub
    from steelyard.datasets.hubs import modelscope

    if prefix == HUBS[0]:
        return hub.open_dataset(repository, revision, options)
    return modelscope.open_dataset(repository, revision, options)
