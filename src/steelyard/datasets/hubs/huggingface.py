"""Load tasks from the Hugging Face hub with its own client: only the files of the task, at a recorded commit.

The client caches downloads, resumes broken ones, and reads HF_TOKEN, HF_HOME, HF_ENDPOINT and HF_HUB_OFFLINE. This
module translates its errors, retries temporary failures, and stores the commit.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from steelyard.config import Settings
from steelyard.datasets.hubs.remote import HubDataset, RemoteSource
from steelyard.datasets.hubs.snapshots import Snapshot, files_in, is_commit, store_snapshot, stored_snapshot
from steelyard.datasets.options import LoadOptions
from steelyard.errors import HubError

PREFIX = "hf://"
HUB = "huggingface"
WAITS = (0.5, 1.0, 2.0)
"""Seconds before each retry."""
TEMPORARY = {408, 425, 429, 500, 502, 503, 504}
"""HTTP statuses that may be temporary."""
DISK = {
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT),
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG),
}
"""Errors of a folder that cannot be written, or of a full disk."""

T = TypeVar("T")


class HubSource(RemoteSource):
    """`hf://owner/dataset`, all its tasks; `hf://owner/dataset/task@revision`, one of them."""

    prefix = PREFIX

    def open(self, repository: str, revision: str | None) -> HubDataset:
        """Return the dataset at a commit, tag or branch."""
        return open_dataset(repository, revision, self.options)


def open_dataset(repository: str, revision: str | None, options: LoadOptions) -> HubDataset:
    """Return a dataset at a revision, unless the options name another."""
    offline = options.settings.offline
    snapshot = resolve(repository, options.revision or revision, options.settings)
    return HubDataset(snapshot, lambda name, again: _fetch(snapshot, name, offline=offline, again=again))


def resolve(repository: str, revision: str | None, settings: Settings) -> Snapshot:
    """Return commit and files of a revision; only revisions that can change are requested from the hub."""
    name = revision or "main"
    known = stored_snapshot(settings.home, HUB, repository, name)
    if known is not None and is_commit(name):
        return known
    if settings.offline:
        # What `hf download` or another tool downloaded is only in the client's own cache.
        cached = in_cache(repository, name)
        if known is not None and (cached is None or in_cache(repository, known.commit) is not None):
            return known
        if cached is not None:
            return cached
        raise HubError(
            f"{repository} at {name!r} is not on this machine, and the network is disabled",
            hint="load it once with HF_HUB_OFFLINE and STEELYARD_OFFLINE unset",
        )
    snapshot = _with_retries(lambda: _request(repository, revision), repository, name)
    store_snapshot(settings.home, HUB, snapshot, name)
    return snapshot


def in_cache(repository: str, revision: str) -> Snapshot | None:
    """Return what the client's cache has of a revision; None if nothing."""
    from huggingface_hub import constants

    folder = Path(constants.HF_HUB_CACHE) / f"datasets--{repository.replace('/', '--')}"
    branch = folder / "refs" / revision
    commit = revision if is_commit(revision) else branch.read_text().strip() if branch.is_file() else ""
    files = files_in(folder / "snapshots" / commit) if is_commit(commit) else ()
    return Snapshot(repository, commit, files) if files else None


def _request(repository: str, revision: str | None) -> Snapshot:
    """Request a revision from the hub."""
    from huggingface_hub import HfApi, constants
    from huggingface_hub.errors import HFValidationError

    try:
        # Without a timeout the client waits for ever.
        info = HfApi().dataset_info(repository, revision=revision, timeout=constants.HF_HUB_ETAG_TIMEOUT)
    except HFValidationError as error:
        raise HubError(
            f"the name of a dataset must be owner/dataset, got {repository!r}",
            hint="write hf://owner/dataset[/task][@revision]",
        ) from error
    except (ValueError, TypeError, LookupError) as error:  # the client does not check the response
        raise _not_a_hub(repository, error) from error
    if not is_commit(info.sha) or info.siblings is None:
        raise _not_a_hub(repository, f"its commit is {info.sha!r}")
    return Snapshot(repository, str(info.sha), tuple(sorted(sibling.rfilename for sibling in info.siblings)))


def _not_a_hub(repository: str, reason: object) -> HubError:
    """Return the error for a login page, or a proxy that answers instead of the hub."""
    from huggingface_hub import constants

    return HubError(
        f"{constants.ENDPOINT} does not answer like a hub when asked for {repository}: {_first_line(reason)}",
        hint="check HF_ENDPOINT, and whether a proxy or a login page answers instead",
    )


def _fetch(snapshot: Snapshot, name: str, *, offline: bool, again: bool) -> Path:
    from huggingface_hub import hf_hub_download

    def download() -> str:
        return hf_hub_download(
            snapshot.repository,
            name,
            repo_type="dataset",
            revision=snapshot.commit,
            local_files_only=offline,
            force_download=again and not offline,
        )

    return Path(_with_retries(download, snapshot.repository, snapshot.commit, name))


def _with_retries(call: Callable[[], T], repository: str, revision: str, name: str = "") -> T:
    """Call with retries of temporary failures; the one border to the client."""
    from huggingface_hub.errors import HfHubHTTPError

    # The client's HTTP library depends on its version; its base error is the first base of this one.
    errors: tuple[type[BaseException], ...] = (HfHubHTTPError.__bases__[0], OSError)
    for wait in (*WAITS, None):
        try:
            return call()
        except errors as error:
            if wait is None or not _is_temporary(error):
                raise _translated(error, repository, revision, name) from error
            time.sleep(wait)
    raise AssertionError("the last try returns or raises")


def _status(error: BaseException | None) -> int | None:
    """Return the HTTP status at the root of an error."""
    while error is not None:
        response: Any = getattr(error, "response", None)
        if response is not None:
            return int(response.status_code)
        error = error.__cause__
    return None


def _is_temporary(error: BaseException) -> bool:
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError, OfflineModeIsEnabled

    status = _status(error)
    if status is not None:
        return status in TEMPORARY
    if isinstance(error, LocalEntryNotFoundError):
        return error.__cause__ is not None and not isinstance(error.__cause__, OfflineModeIsEnabled)
    return not isinstance(error, EntryNotFoundError | OfflineModeIsEnabled) and not _of_this_disk(error)


def _of_this_disk(error: BaseException) -> bool:
    """Return whether the client's own folder failed, not a connection."""
    return isinstance(error, OSError) and error.errno in DISK


def _translated(error: BaseException, repository: str, revision: str, name: str) -> HubError:
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        LocalEntryNotFoundError,
        RevisionNotFoundError,
    )

    what = f"{repository}/{name}" if name else repository
    status = _status(error)
    if isinstance(error, GatedRepoError):
        return HubError(
            f"{repository} is gated: its owner must grant access",
            hint="accept its terms on the hub, then set HF_TOKEN",
        )
    if isinstance(error, RevisionNotFoundError):
        return HubError(
            f"{repository} does not have the revision {revision!r}",
            hint="omit the revision for the newest, or give a branch, tag or full commit hash",
        )
    if status in (401, 403):
        return HubError(
            f"the hub refused {what} ({status}): it is private, the token is wrong, or it does not exist",
            hint="check the name, and set HF_TOKEN to a token that may read it",
        )
    if isinstance(error, LocalEntryNotFoundError) and status is None and error.__cause__ is None:
        return HubError(f"{what} is not on this machine, and the network is disabled", hint="load it once online")
    if status == 404 or (isinstance(error, EntryNotFoundError) and status is None and error.__cause__ is None):
        return HubError(f"{what} does not exist on the hub", hint="check the name; a private dataset needs HF_TOKEN")
    if status is None and _of_this_disk(error):
        from huggingface_hub import constants

        return HubError(
            f"{what} cannot be stored on this machine: {_first_line(error)}",
            hint=f"set HF_HOME to a writable folder with enough space; it is {constants.HF_HOME}",
        )
    if status is not None:
        return HubError(f"the hub answered {status} for {what}", hint="try again later")
    return HubError(
        f"{what} could not be downloaded: {_first_line(error)}",
        hint="check the network and HF_ENDPOINT; HF_HUB_OFFLINE=1 uses the files on this machine",
    )


def _first_line(reason: object) -> str:
    lines = str(reason).strip().splitlines()
    return lines[0][:200] if lines else type(reason).__name__
