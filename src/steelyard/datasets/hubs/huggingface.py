"""Tasks from the Hugging Face hub, through its own client: only the files of the task, at a recorded commit.

The client keeps what it fetched, resumes a connection that broke off, and heeds HF_TOKEN, HF_HOME, HF_ENDPOINT and
HF_HUB_OFFLINE. Here its errors become ours, a hub that stumbles is asked again, and the commit is remembered.
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
"""Seconds before each new try."""
PASSING = {408, 425, 429, 500, 502, 503, 504}
"""Answers that may be another a moment later."""
DISK = {
    *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT),
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG),
}
"""What a folder answers to whoever may not write there, or finds no room."""

T = TypeVar("T")


class HubSource(RemoteSource):
    """`hf://owner/dataset`, all its tasks; `hf://owner/dataset/task@revision`, one of them."""

    prefix = PREFIX

    def open(self, repository: str, revision: str | None) -> HubDataset:
        """The dataset at a commit, tag or branch."""
        return open_dataset(repository, revision, self.options)


def open_dataset(repository: str, revision: str | None, options: LoadOptions) -> HubDataset:
    """A dataset at a revision, unless the options name another."""
    offline = options.settings.offline
    snapshot = resolve(repository, options.revision or revision, options.settings)
    return HubDataset(snapshot, lambda name, afresh: _fetch(snapshot, name, offline=offline, afresh=afresh))


def resolve(repository: str, revision: str | None, settings: Settings) -> Snapshot:
    """The commit and the files that a revision stands for; asks the hub only for what may have changed."""
    wanted = revision or "main"
    known = stored_snapshot(settings.home, HUB, repository, wanted)
    if known is not None and is_commit(wanted):
        return known
    if settings.offline:
        # What `hf download` or another tool fetched is nowhere noted but in the client's own folder.
        kept = in_cache(repository, wanted)
        if known is not None and (kept is None or in_cache(repository, known.commit) is not None):
            return known
        if kept is not None:
            return kept
        raise HubError(
            f"the network is off limits, and {repository} at {wanted!r} was never loaded on this machine",
            hint="load it once with the network; HF_HUB_OFFLINE and STEELYARD_OFFLINE must then be unset",
        )
    snapshot = _patiently(lambda: _asked(repository, revision), repository, wanted)
    store_snapshot(settings.home, HUB, snapshot, wanted)
    return snapshot


def in_cache(repository: str, revision: str) -> Snapshot | None:
    """What the client's own folder holds of a revision, whoever put it there; None where it holds nothing."""
    from huggingface_hub import constants

    folder = Path(constants.HF_HUB_CACHE) / f"datasets--{repository.replace('/', '--')}"
    branch = folder / "refs" / revision
    commit = revision if is_commit(revision) else branch.read_text().strip() if branch.is_file() else ""
    files = files_in(folder / "snapshots" / commit) if is_commit(commit) else ()
    return Snapshot(repository, commit, files) if files else None


def _asked(repository: str, revision: str | None) -> Snapshot:
    """What the hub says of a revision."""
    from huggingface_hub import HfApi, constants
    from huggingface_hub.errors import HFValidationError

    try:
        # Without a limit the client waits for an answer for ever.
        info = HfApi().dataset_info(repository, revision=revision, timeout=constants.HF_HUB_ETAG_TIMEOUT)
    except HFValidationError as error:
        raise HubError(
            f"{repository!r} cannot be the name of a dataset", hint="write hf://owner/dataset[/task][@revision]"
        ) from error
    except (ValueError, TypeError, LookupError) as error:  # the client trusts that it is told JSON of its own shape
        raise _no_hub(repository, error) from error
    if not is_commit(info.sha) or info.siblings is None:
        raise _no_hub(repository, f"its commit is {info.sha!r}")
    return Snapshot(repository, str(info.sha), tuple(sorted(sibling.rfilename for sibling in info.siblings)))


def _no_hub(repository: str, reason: object) -> HubError:
    """A page to log in, or a proxy that answers for the hub."""
    from huggingface_hub import constants

    return HubError(
        f"{constants.ENDPOINT} does not answer as a hub does, when asked for {repository}: {_first_line(reason)}",
        hint="does a proxy or a page to log in stand before it? HF_ENDPOINT names the hub",
    )


def _fetch(snapshot: Snapshot, name: str, *, offline: bool, afresh: bool) -> Path:
    from huggingface_hub import hf_hub_download

    def download() -> str:
        return hf_hub_download(
            snapshot.repository,
            name,
            repo_type="dataset",
            revision=snapshot.commit,
            local_files_only=offline,
            force_download=afresh and not offline,
        )

    return Path(_patiently(download, snapshot.repository, snapshot.commit, name))


def _patiently(call: Callable[[], T], repository: str, revision: str, name: str = "") -> T:
    """Call until it succeeds, the trouble is not a passing one, or patience ends; the one border to the client."""
    from huggingface_hub.errors import HfHubHTTPError

    # The client's HTTP library changes with its version; its base error is the first base of this one.
    troubles: tuple[type[BaseException], ...] = (HfHubHTTPError.__bases__[0], OSError)
    for wait in (*WAITS, None):
        try:
            return call()
        except troubles as error:
            if wait is None or not _passing(error):
                raise _translated(error, repository, revision, name) from error
            time.sleep(wait)
    raise AssertionError("the last try returns or raises")


def _status(error: BaseException | None) -> int | None:
    """The HTTP status at the root of an error."""
    while error is not None:
        response: Any = getattr(error, "response", None)
        if response is not None:
            return int(response.status_code)
        error = error.__cause__
    return None


def _passing(error: BaseException) -> bool:
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError, OfflineModeIsEnabled

    status = _status(error)
    if status is not None:
        return status in PASSING
    if isinstance(error, LocalEntryNotFoundError):
        return error.__cause__ is not None and not isinstance(error.__cause__, OfflineModeIsEnabled)
    return not isinstance(error, EntryNotFoundError | OfflineModeIsEnabled) and not _of_this_disk(error)


def _of_this_disk(error: BaseException) -> bool:
    """Whether it is the client's own folder, and no connection, that failed."""
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
            f"{repository} is gated: its owners must grant access",
            hint="accept its terms on the hub, then set HF_TOKEN",
        )
    if isinstance(error, RevisionNotFoundError):
        return HubError(
            f"{repository} has no revision {revision!r}",
            hint="leave the revision out for the newest, or give a branch, tag or full commit hash",
        )
    if status in (401, 403):
        return HubError(
            f"the hub refuses {what} ({status}): it is private, the token is wrong, or there is no such dataset",
            hint="check the name, and set HF_TOKEN to a token that may read it",
        )
    if isinstance(error, LocalEntryNotFoundError) and status is None and error.__cause__ is None:
        return HubError(f"{what} is not on this machine, and the network is off limits", hint="load it once online")
    if status == 404 or (isinstance(error, EntryNotFoundError) and status is None and error.__cause__ is None):
        return HubError(f"the hub has no {what}", hint="check the name; a private dataset needs HF_TOKEN")
    if status is None and _of_this_disk(error):
        from huggingface_hub import constants

        return HubError(
            f"{what} cannot be kept on this machine: {_first_line(error)}",
            hint=f"HF_HOME must be a folder to write in, on a disk with room: it is {constants.HF_HOME}",
        )
    if status is not None:
        return HubError(f"the hub answers {status} for {what}", hint="try again later")
    return HubError(
        f"{what} could not be fetched: {_first_line(error)}",
        hint="check the network and HF_ENDPOINT; HF_HUB_OFFLINE=1 uses what is on this machine",
    )


def _first_line(reason: object) -> str:
    lines = str(reason).strip().splitlines()
    return lines[0][:200] if lines else type(reason).__name__
