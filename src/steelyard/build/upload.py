"""Publish a finished set on the Hugging Face hub, with the hub's own client: in one commit, or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.build.sample.set_card import refuse_contradictions
from steelyard.datasets import check
from steelyard.datasets.formats.nano.manifest import CARD, EVALUATION, changed_files
from steelyard.datasets.formats.sidecar import MANIFEST, read_json_object
from steelyard.errors import DataError, HubError, UsageError

PATTERNS = (CARD, EVALUATION, MANIFEST, "*/*.parquet", "metadata/*.json")


@dataclass(frozen=True)
class Upload:
    """What is published, and where: files by name with their sizes in bytes."""

    folder: Path
    repository: str
    files: Mapping[str, int]
    private: bool = False
    revision: str | None = None
    message: str = "Publish the set"

    @property
    def bytes(self) -> int:
        """Return the total size."""
        return sum(self.files.values())


def prepare_upload(
    folder: Path, repository: str, *, private: bool = False, revision: str | None = None, message: str = ""
) -> Upload:
    """Return what an upload would send. A set that does not load, or contradicts its manifest, is an error."""
    owner, slash, name = repository.partition("/")
    if not (owner and slash and name) or "/" in name:
        raise UsageError.invalid("the repository", expected="owner/name", found=repository, hint="write me/NanoMine")
    if not (folder / MANIFEST).is_file():
        raise DataError(
            f"{MANIFEST} does not exist",
            path=folder / MANIFEST,
            hint="finish the set: steelyard build sample SOURCE -o DIR",
        )
    if changed := changed_files(folder, read_json_object(folder / MANIFEST)):
        raise DataError(
            f"{len(changed)} files differ from {MANIFEST}, such as {changed[0]}",
            path=folder / changed[0],
            hint="sample the set again, or add its candidates again: both write the manifest",
        )
    refuse_contradictions(folder, read_json_object(folder / MANIFEST))
    for task in check(folder):
        task.report.raise_errors("strict", task.reference)
    paths = sorted({path for pattern in PATTERNS for path in folder.glob(pattern) if path.is_file()})
    files = {path.relative_to(folder).as_posix(): path.stat().st_size for path in paths}
    return Upload(folder, repository, files, private, revision, message or f"Publish {folder.resolve().name}")


def publish(
    folder: str | Path,
    repository: str,
    *,
    private: bool = False,
    revision: str | None = None,
    message: str = "",
    dry_run: bool = False,
) -> tuple[Upload, str | None]:
    """Check a set and publish it in one commit; return what was sent, and the address of the commit.

    With `dry_run` the set is checked, nothing is sent, and the address is None.
    """
    plan = prepare_upload(Path(folder), repository, private=private, revision=revision, message=message)
    return plan, None if dry_run else send(plan)


def send(plan: Upload) -> str:
    """Send everything in one commit, and return the address of the commit; a new dataset is created.

    The client reads HF_TOKEN and HF_ENDPOINT from the environment. Files that the hub already has are not sent again.
    """
    from huggingface_hub import CommitOperationAdd, HfApi
    from huggingface_hub.errors import HfHubHTTPError

    errors: tuple[type[BaseException], ...] = (HfHubHTTPError.__bases__[0], OSError, ValueError)
    api = HfApi()
    operations = [CommitOperationAdd(name, str(plan.folder / name)) for name in plan.files]
    try:
        api.create_repo(plan.repository, repo_type="dataset", private=plan.private, exist_ok=True)
        commit: Any = api.create_commit(
            plan.repository,
            operations,
            commit_message=plan.message,
            repo_type="dataset",
            revision=plan.revision,
        )
    except errors as error:
        raise _translated(error, plan.repository) from error
    return str(commit.commit_url)


def _translated(error: BaseException, repository: str) -> HubError:
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status in (401, 403):
        return HubError(
            f"the hub refused write access to {repository} ({status})",
            hint="set HF_TOKEN to a token with write access for that owner",
        )
    reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
    return HubError(
        f"{repository} could not be published: {reason}", hint="check the network, HF_ENDPOINT and HF_TOKEN"
    )
