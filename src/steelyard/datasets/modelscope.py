"""Tasks from ModelScope, through its own client (`pip install 'steelyard[modelscope]'`).

The layouts are those of the Hugging Face hub; names that begin with `mteb/` are `MTEB/` there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from steelyard.datasets.hub_record import Snapshot, parse_reference, remember, remembered
from steelyard.datasets.options import LoadOptions
from steelyard.datasets.remote import load_snapshot, tasks_of
from steelyard.errors import HubError, MissingPart
from steelyard.types import Task, TaskInfo

PREFIX = "modelscope://"
HUB = "modelscope"


class ModelScopeSource:
    """`modelscope://owner/dataset`, all its tasks; `modelscope://owner/dataset/task@revision`, one of them."""

    def __init__(self, options: LoadOptions) -> None:
        self.options = options

    def accepts(self, reference: str) -> bool:
        """Whether the reference names a dataset of this hub."""
        return reference.startswith(PREFIX)

    def names(self, reference: str) -> Sequence[str]:
        """The tasks, each as a full reference."""
        repository, task, revision = parse_reference(reference, PREFIX)
        if task:
            return [reference]
        snapshot = resolve(repository, revision or self.options.revision, self.options.no_network)
        tail = f"@{revision}" if revision else ""
        return [f"{PREFIX}{repository}/{name}{tail}" if name else reference for name in tasks_of(snapshot)]

    def load(self, name: str) -> Task:
        """One task, fetched if need be."""
        repository, task, revision = parse_reference(name, PREFIX)
        snapshot = resolve(repository, self.options.revision or revision, self.options.no_network)
        info = TaskInfo(f"{repository.split('/')[1]}/{task or 'test'}", source=repository, split=task or "test")
        offline = self.options.no_network
        return load_snapshot(snapshot, task, info, lambda file, _: _fetch(snapshot, file, offline), self.options)


def resolve(repository: str, revision: str | None, offline: bool) -> Snapshot:
    """The commit and the files that a revision stands for."""
    wanted = revision or "master"
    if offline:
        known = remembered(HUB, repository, wanted)
        if known is None:
            raise HubError(f"{repository} was never loaded on this machine", hint="load it once with the network")
        return known
    client = _client()
    try:
        files: list[dict[str, Any]] = client.get_dataset_files(repository, revision=wanted, recursive=True)
    except (OSError, ValueError) as error:  # its HTTP errors are OSErrors
        raise HubError(
            f"ModelScope does not give {repository} at {wanted!r}: {error}",
            hint="check the name and the revision; a private dataset needs MODELSCOPE_API_TOKEN",
        ) from error
    names = tuple(sorted(file["Path"] for file in files if file.get("Type") != "tree"))
    commit = next((str(file["CommitId"]) for file in files if file.get("CommitId")), wanted)
    snapshot = Snapshot(repository, commit, names)
    remember(HUB, snapshot, wanted)
    return snapshot


def _fetch(snapshot: Snapshot, name: str, offline: bool) -> Path:
    _client()
    from modelscope.hub.file_download import dataset_file_download

    try:
        path = dataset_file_download(snapshot.repository, name, revision=snapshot.commit, local_files_only=offline)
    except (OSError, ValueError) as error:
        raise HubError(f"{snapshot.repository}/{name} could not be fetched: {error}", hint="try again later") from error
    return Path(path)


def _client() -> Any:
    try:
        from modelscope.hub.api import HubApi
    except ImportError as error:
        raise MissingPart.extra("modelscope", "modelscope") from error
    return HubApi()
