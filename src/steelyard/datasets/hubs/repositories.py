"""A published dataset by its repository: in a folder of copies, or on one of the hubs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from steelyard.datasets.hubs.remote import Opened
from steelyard.datasets.hubs.snapshots import Snapshot
from steelyard.datasets.options import LoadOptions
from steelyard.errors import MissingPart, UnknownName

OWNERS = {"mteb": "MTEB"}
"""Owners whom ModelScope spells otherwise."""


def open_repository(repository: str, revision: str | None, options: LoadOptions) -> Opened:
    """The dataset on the hub that the options name. A revision is one of Hugging Face: ModelScope has its own."""
    if options.settings.hub == "modelscope":
        from steelyard.datasets.hubs import modelscope

        return modelscope.open_dataset(on_modelscope(repository), None, options)
    from steelyard.datasets.hubs import huggingface as hub

    if options.settings.hub != "huggingface":
        raise UnknownName("hub", options.settings.hub, ("huggingface", "modelscope"), hint="huggingface or modelscope")
    return hub.open_dataset(repository, revision, options)


def on_modelscope(repository: str) -> str:
    """What ModelScope calls a dataset of the Hugging Face hub.

    >>> on_modelscope("mteb/T2Retrieval"), on_modelscope("C-MTEB/ATEC")
    ('MTEB/T2Retrieval', 'C-MTEB/ATEC')
    """
    owner, _, name = repository.partition("/")
    return f"{OWNERS.get(owner, owner)}/{name}"


def copy_of(folder: Path, repositories: Iterable[str]) -> Opened | None:
    """The copy of the first of these datasets that the folder holds: `owner/name`, `name`, or the folder itself."""
    for repository in repositories:
        name = repository.rpartition("/")[2]
        for place in (folder / repository, folder / on_modelscope(repository), folder / name):
            if place.is_dir() and (files := files_in(place)):
                return Opened(Snapshot(repository, "", files), lambda file, afresh, at=place: at / file)  # type: ignore[misc]
        if folder.name == name and (files := files_in(folder)):
            return Opened(Snapshot(repository, "", files), lambda file, afresh: folder / file)
    return None


def no_copy(folder: Path, repositories: Iterable[str]) -> MissingPart:
    """The error for a folder that holds none of them."""
    wanted = " or ".join(dict.fromkeys(repositories))
    return MissingPart(
        f"{folder} has no copy of {wanted}",
        hint="put it there under that name, or leave --data-dir (STEELYARD_DATA) out to fetch it",
    )


def files_in(folder: Path) -> tuple[str, ...]:
    """The files of a copy, from its folder on; hidden ones are those of the tool that fetched it."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return tuple(sorted(path.as_posix() for path in found if not any(part.startswith(".") for part in path.parts)))
