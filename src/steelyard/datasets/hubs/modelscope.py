"""Tasks from ModelScope, through its own client (`pip install 'steelyard[modelscope]'`).

The layouts are those of the Hugging Face hub. Its lists of files name the last commit of each file; the newest of
these is recorded as the revision.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.config import Settings
from steelyard.datasets.hubs.remote import HubDataset, RemoteSource
from steelyard.datasets.hubs.snapshots import Snapshot, store_snapshot, stored_snapshot
from steelyard.datasets.options import LoadOptions
from steelyard.errors import HubError, MissingPart

PREFIX = "modelscope://"
HUB = "modelscope"
BRANCH = "master"
PAGE = 200
"""Files that are asked for at a time."""


class ModelScopeSource(RemoteSource):
    """`modelscope://owner/dataset`, all its tasks; `modelscope://owner/dataset/task@revision`, one of them."""

    prefix = PREFIX

    def open(self, repository: str, revision: str | None) -> HubDataset:
        """The dataset at a branch, tag or commit."""
        return open_dataset(repository, revision, self.options)


def open_dataset(repository: str, revision: str | None, options: LoadOptions) -> HubDataset:
    """A dataset at a revision, unless the options name another."""
    wanted, offline = options.revision or revision or BRANCH, options.settings.offline
    # The client checks what it fetched by itself and offers no second fetch.
    snapshot = resolve(repository, wanted, options.settings)
    return HubDataset(snapshot, lambda name, afresh: _fetch(repository, wanted, name, offline))


def resolve(repository: str, revision: str | None, settings: Settings) -> Snapshot:
    """The newest commit among the files of a revision, and the files."""
    wanted = revision or BRANCH
    if settings.offline:
        known = stored_snapshot(settings.home, HUB, repository, wanted)
        if known is None:
            raise HubError(f"{repository} was never loaded on this machine", hint="load it once with the network")
        return known
    client, troubles = _client()
    files: list[dict[str, Any]] = []
    try:
        while len(files) % PAGE == 0:
            page = client.get_dataset_files(
                repository, revision=wanted, recursive=True, page_number=len(files) // PAGE + 1, page_size=PAGE
            )
            if not page:
                break
            files += page
    except troubles as error:
        raise HubError(
            f"ModelScope does not give {repository} at {wanted!r}: {error}",
            hint="check the name and the revision; a private dataset needs MODELSCOPE_API_TOKEN",
        ) from error
    newest = max(files, key=lambda file: str(file.get("CommittedDate") or ""), default={})
    names = tuple(sorted(file["Path"] for file in files if file.get("Type") != "tree"))
    snapshot = Snapshot(repository, str(newest.get("CommitId") or wanted), names)
    store_snapshot(settings.home, HUB, snapshot, wanted)
    return snapshot


def _fetch(repository: str, revision: str, name: str, offline: bool) -> Path:
    _, troubles = _client()
    from modelscope.hub.file_download import dataset_file_download

    try:
        return Path(dataset_file_download(repository, name, revision=revision, local_files_only=offline))
    except troubles as error:
        raise HubError(f"{repository}/{name} could not be fetched: {error}", hint="try again later") from error


def _client() -> tuple[Any, tuple[type[Exception], ...]]:
    """The client, and the errors that it raises."""
    try:
        from modelscope.hub import errors
        from modelscope.hub.api import HubApi
    except ImportError as error:
        raise MissingPart.extra("modelscope", "modelscope") from error
    own = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    return HubApi(), (OSError, ValueError, *own)  # errors of its HTTP library are OSErrors
