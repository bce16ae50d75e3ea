"""What was learnt from a hub, kept: which commit a revision was, and which files a commit holds.

A commit never changes, so its list of files is asked for once. With this a load without network knows, and records,
the exact commit; and a load of a commit that is on this machine asks the hub nothing.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

from steelyard.errors import HubError

COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Snapshot:
    """A dataset at one commit: the names of its files."""

    repository: str
    commit: str
    names: tuple[str, ...]


def remembered(home: Path, hub: str, repository: str, revision: str) -> Snapshot | None:
    """The snapshot that a revision stood for when it was last asked for; None where nothing is known."""
    revisions, files = _read(_path(home, hub, repository))
    commit = revision if COMMIT.fullmatch(revision) else revisions.get(revision, "")
    return Snapshot(repository, commit, tuple(files[commit])) if commit in files else None


def remember(home: Path, hub: str, snapshot: Snapshot, revision: str) -> None:
    """Keep what a revision stood for; two processes may do so at once, the later one wins.

    Where it cannot be kept the load goes on, with a warning: only a load without network will miss it.
    """
    path = _path(home, hub, snapshot.repository)
    revisions, files = _read(path)
    revisions[revision] = snapshot.commit
    files[snapshot.commit] = list(snapshot.names)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump({"revisions": revisions, "files": files}, stream, indent=1)
        Path(unfinished).replace(path)
    except OSError as error:
        warnings.warn(
            f"the commit of {snapshot.repository} cannot be noted, so that no load without network will know it: "
            f"{error}; set STEELYARD_HOME to a folder that can be written",
            RuntimeWarning,
            stacklevel=2,
        )


def is_commit(revision: str | None) -> bool:
    """Whether the revision is a full commit hash, which cannot move.

    >>> is_commit("main"), is_commit("cf778c0ea4168ec5174a34d888d6453e4cde9222")
    (False, True)
    """
    return revision is not None and COMMIT.fullmatch(revision) is not None


def parse_reference(reference: str, prefix: str) -> tuple[str, str, str | None]:
    """Repository, task ('' for none) and revision of `hf://owner/dataset/task@revision`.

    >>> parse_reference("hf://mteb/scifact/test@main", "hf://")
    ('mteb/scifact', 'test', 'main')
    """
    path, _, revision = reference.removeprefix(prefix).strip("/").partition("@")
    owner, _, rest = path.partition("/")
    dataset, _, task = rest.partition("/")
    if not (owner and dataset):  # not every client refuses such a name before it asks the hub for it
        raise HubError(
            f"{path!r} cannot be the name of a dataset", hint=f"write {prefix}owner/dataset[/task][@revision]"
        )
    return f"{owner}/{dataset}", task, revision or None


def _path(home: Path, hub: str, repository: str) -> Path:
    return home / "hubs" / hub / f"{repository.replace('/', '--')}.json"


def _read(path: Path) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Commits by revision, files by commit; a damaged record is as good as none, since it is made anew."""
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        return dict(facts["revisions"]), dict(facts["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}, {}
