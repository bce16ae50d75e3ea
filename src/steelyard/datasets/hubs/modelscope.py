"""Load tasks from ModelScope with its own client (`pip install 'steelyard[modelscope]'`).

The layouts are those of the Hugging Face hub. File lists have the last commit of each file; the newest one is recorded
as the revision.
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
"""Files per request."""


class ModelScopeSource(RemoteSource):
    """`modelscope://owner/dataset`, all its tasks; `modelscope://owner/dataset/task@revision`, one of them."""

    prefix = PREFIX

    def open(self, repository: str, revision: str | None) -> HubDataset:
        """Return the dataset at a branch, tag or commit."""
        return open_dataset(repository, revision, self.options)


def open_dataset(repository: str, revision: str | None, options: LoadOptions) -> HubDataset:
    """Return a dataset at a revision, unless the options name another."""
    revision_name, offline = options.revision or revision or BRANCH, options.settings.offline
    # The client checks its downloads itself and cannot repeat one.
    snapshot = resolve(repository, revision_name, options.settings)
    return HubDataset(snapshot, lambda name, again: _fetch(repository, revision_name, name, offline))


def resolve(repository: str, revision: str | None, settings: Settings) -> Snapshot:
    """Return the newest commit among the files of a revision, and the files."""
    revision_name = revision or BRANCH
    if settings.offline:
        known = stored_snapshot(settings.home, HUB, repository, revision_name)
        if known is None:
            raise HubError(
                f"{repository} is not on this machine, and the network is disabled", hint="load it once online"
            )
        return known
    client, failures = _client()
    files: list[dict[str, Any]] = []
    try:
        while len(files) % PAGE == 0:
            page = client.get_dataset_files(
                repository, revision=revision_name, recursive=True, page_number=len(files) // PAGE + 1, page_size=PAGE
            )
            if not page:
                break
            files += page
    except failures as error:
        raise HubError(
            f"ModelScope refused {repository} at {revision_name!r}: {error}",
            hint="check the name and the revision; a private dataset needs MODELSCOPE_API_TOKEN",
        ) from error
    newest = max(files, key=lambda file: str(file.get("CommittedDate") or ""), default={})
    names = tuple(sorted(file["Path"] for file in files if file.get("Type") != "tree"))
    snapshot = Snapshot(repository, str(newest.get("CommitId") or revision_name), names)
    store_snapshot(settings.home, HUB, snapshot, revision_name)
    return snapshot


def _fetch(repository: str, revision: str, name: str, offline: bool) -> Path:
    _, failures = _client()
    from modelscope.hub.file_download import dataset_file_download

    try:
        return Path(dataset_file_download(repository, name, revision=revision, local_files_only=offline))
    except failures as error:
        raise HubError(f"{repository}/{name} could not be downloaded: {error}", hint="try again later") from error


def _client() -> tuple[Any, tuple[type[Exception], ...]]:
    """Return the client, and the errors that it raises."""
    try:
        from modelscope.hub import errors
        from modelscope.hub.api import HubApi
    except ImportError as error:
        raise MissingPart.extra("modelscope", "modelscope") from error
    own = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    return HubApi(), (OSError, ValueError, *own)  # errors of its HTTP library are OSErrors
