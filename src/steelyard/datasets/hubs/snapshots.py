"""What is known of a hub dataset, kept on disk: which commit a revision was, and which files a commit has.

A commit never changes, so its list of files is requested once. With this record a load without network uses, and
records, the exact commit; and a load of a commit that is on this machine sends no request.
"""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

from steelyard.files import write_atomic

COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Snapshot:
    """A dataset at one commit: the names of its files."""

    repository: str
    commit: str
    names: tuple[str, ...]


def stored_snapshot(home: Path, hub: str, repository: str, revision: str) -> Snapshot | None:
    """Return the snapshot of a revision when it was last requested; None if it never was."""
    revisions, files = _read(_path(home, hub, repository))
    commit = revision if COMMIT.fullmatch(revision) else revisions.get(revision, "")
    return Snapshot(repository, commit, tuple(files[commit])) if commit in files else None


def store_snapshot(home: Path, hub: str, snapshot: Snapshot, revision: str) -> None:
    """Store the snapshot of a revision. Two processes may do so at once: the later one wins.

    If it cannot be stored the load continues with a warning: only a load without network will miss it.
    """
    path = _path(home, hub, snapshot.repository)
    revisions, files = _read(path)
    revisions[revision] = snapshot.commit
    files[snapshot.commit] = list(snapshot.names)
    try:
        write_atomic(path, json.dumps({"revisions": revisions, "files": files}, indent=1).encode())
    except OSError as error:
        warnings.warn(
            f"the commit of {snapshot.repository} cannot be stored, so it cannot be loaded offline later: "
            f"{error}; set STEELYARD_HOME to a writable folder",
            RuntimeWarning,
            stacklevel=2,
        )


def is_commit(revision: str | None) -> bool:
    """Return whether the revision is a full commit hash, which never changes.

    >>> is_commit("main"), is_commit("cf778c0ea4168ec5174a34d888d6453e4cde9222")
    (False, True)
    """
    return revision is not None and COMMIT.fullmatch(revision) is not None


def files_in(folder: Path) -> tuple[str, ...]:
    """Return the files of a local copy, relative to its folder; hidden ones belong to the tool that downloaded it."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return tuple(sorted(path.as_posix() for path in paths if not any(part.startswith(".") for part in path.parts)))


def _path(home: Path, hub: str, repository: str) -> Path:
    return home / "hubs" / hub / f"{repository.replace('/', '--')}.json"


def _read(path: Path) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return commits by revision and files by commit; a damaged record is ignored, because it can be made again."""
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        revisions, files = dict(facts["revisions"]), dict(facts["files"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}, {}
    good = all(isinstance(value, str) for value in revisions.values()) and all(
        isinstance(names, list) and all(isinstance(name, str) for name in names) for names in files.values()
    )
    return (revisions, files) if good else ({}, {})
