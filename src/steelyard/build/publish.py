"""A finished set on the Hugging Face hub, through the hub's own client: everything in one commit, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.datasets import check
from steelyard.datasets.formats.nano.manifest import CARD, EVALUATION, changed_files
from steelyard.datasets.formats.sidecar import MANIFEST, read_json_object
from steelyard.errors import DataError, HubError, UsageError

PATTERNS = (CARD, EVALUATION, MANIFEST, "*/*.parquet", "metadata/*.json")


@dataclass(frozen=True)
class Upload:
    """What is published where: files by name with their sizes in bytes."""

    folder: Path
    repository: str
    files: Mapping[str, int]
    private: bool = False
    revision: str | None = None
    message: str = "Publish the set"

    @property
    def bytes(self) -> int:
        """The size of everything."""
        return sum(self.files.values())


def prepare(
    folder: Path, repository: str, *, private: bool = False, revision: str | None = None, message: str = ""
) -> Upload:
    """What an upload would send. A set that does not load, or is not what its manifest says, is refused."""
    owner, slash, name = repository.partition("/")
    if not (owner and slash and name) or "/" in name:
        raise UsageError(f"{repository!r} is no dataset's name", hint="write owner/name, such as me/NanoMine")
    if not (folder / MANIFEST).is_file():
        raise DataError("no manifest.json", where=str(folder), hint="steelyard build writes one when a set is finished")
    if changed := changed_files(folder, read_json_object(folder / MANIFEST)):
        raise DataError(
            f"{len(changed)} files are not what {MANIFEST} says, such as {changed[0]}",
            where=str(folder),
            hint="cut the set again, or add its candidates again: both write the manifest anew",
        )
    for task in check(folder):
        task.report.raise_errors("strict", task.reference)
    paths = sorted({path for pattern in PATTERNS for path in folder.glob(pattern) if path.is_file()})
    files = {path.relative_to(folder).as_posix(): path.stat().st_size for path in paths}
    return Upload(folder, repository, files, private, revision, message or f"Publish {folder.resolve().name}")


def upload(plan: Upload) -> str:
    """Send everything in one commit, making the dataset if need be; the address of the commit.

    The client takes HF_TOKEN and HF_ENDPOINT from the environment. Files that the hub has already are not sent again.
    """
    from huggingface_hub import CommitOperationAdd, HfApi
    from huggingface_hub.errors import HfHubHTTPError

    troubles: tuple[type[BaseException], ...] = (HfHubHTTPError.__bases__[0], OSError, ValueError)
    api = HfApi()
    operations = [CommitOperationAdd(name, str(plan.folder / name)) for name in plan.files]
    try:
        api.create_repo(plan.repository, repo_type="dataset", private=plan.private, exist_ok=True)
        done: Any = api.create_commit(
            plan.repository,
            operations,
            commit_message=plan.message,
            repo_type="dataset",
            revision=plan.revision,
        )
    except troubles as error:
        raise _translated(error, plan.repository) from error
    return str(done.commit_url)


def _translated(error: BaseException, repository: str) -> HubError:
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status in (401, 403):
        return HubError(
            f"the hub does not let you write to {repository} ({status})",
            hint="set HF_TOKEN to a token with write access for that owner",
        )
    reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
    return HubError(
        f"{repository} could not be published: {reason}", hint="check the network, HF_ENDPOINT and HF_TOKEN"
    )
