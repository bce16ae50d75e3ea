"""What Steelyard stored in its home folder, and its safe removal.

Only files that Steelyard itself writes are listed and removed: each kind of entry has its folder, its names, and a mark
that an entry must carry. Symbolic links are never followed, and only those that Steelyard itself makes are removed.
Other files stay where they are.

>>> from pathlib import Path
>>> cached_entries(Path("does/not/exist"))
[]
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.errors import SteelyardError

__all__ = ["CacheEntry", "Removed", "cached_entries", "foreign_files", "is_steelyard_home", "remove_entries"]

TEMPORARY = r"|\.[^/]*\.[0-9a-f]{12}\.tmp"
"""The names of files that are being written."""


@dataclass(frozen=True)
class Removed:
    """The names of removed entries, the bytes that were freed, and files in them that were not Steelyard's."""

    names: tuple[str, ...]
    freed: int
    left: tuple[Path, ...]


def _has_file(pattern: str) -> Callable[[Path], bool]:
    """Return a check that a folder directly holds a regular file of such a name."""

    def check(folder: Path) -> bool:
        return any(re.fullmatch(pattern, file.name) for file in _scan(folder) if _is_file(file))

    return check


def _has_keys(*keys: str) -> Callable[[Path], bool]:
    """Return a check that a file is a JSON object with such keys."""

    def check(path: Path) -> bool:
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return False
        return isinstance(value, dict) and set(keys) <= value.keys()

    return check


def _is_arrow_view(folder: Path) -> bool:
    """Return whether a folder holds one folder with the README that `datasets.load_dataset` reads."""
    views = _scan(folder)
    readme = views[0] / "README.md" if len(views) == 1 and _is_folder(views[0]) else None
    try:
        return readme is not None and _is_file(readme) and readme.read_bytes().startswith(b"---\nconfigs:\n")
    except OSError:
        return False


@dataclass(frozen=True)
class _Kind:
    """Entries of one kind: where they are, their names, their mark, and the files in them that are ours."""

    folder: str
    name: str
    mark: Callable[[Path], bool]
    files: str = ""
    """The relative paths of the files that Steelyard writes into an entry; empty: entries are files."""
    links: str = ""
    """The relative paths of the symbolic links that Steelyard makes in an entry."""


@dataclass(frozen=True)
class CacheEntry:
    """One stored thing: its name (`vectors/use-multilingual-v3-5a68aee8166df149`), its files and their size."""

    name: str
    path: Path
    files: int
    bytes: int
    rules: _Kind = field(repr=False, compare=False)
    """What belongs to such an entry."""


_KINDS = (
    _Kind(
        "vectors",
        r".+-[0-9a-f]{16}",
        _has_file(r"encoder\.json|[0-9a-f]{24,32}\.vectors"),
        rf"(?:encoder|costs)\.json|[0-9a-f]{{24,32}}\.vectors{TEMPORARY}",
    ),
    _Kind(
        "builtin",
        r"Nano\w+-[\w.+-]+|\.(?:cutting|sampling)-\w+",
        lambda folder: folder.name.startswith(".") or _has_keys("tasks")(folder / "manifest.json"),
        rf"README\.md|(?:\w+/)?[^/]+\.(?:parquet|json|jsonl)|(?:[^/]+/)?(?:{TEMPORARY[1:]})",
    ),
    _Kind("hashes", r"[0-9a-f]{24}\.json", _has_keys("path", "digest")),
    _Kind("services", r"[0-9a-f]{16}\.json", _has_keys("encoder", "dimension")),
    _Kind("pages/tokens", r"[0-9a-f]{32}\.json", _has_keys("tokenizer", "counts")),
    _Kind("hubs/huggingface", r".+--.+\.json", _has_keys("revisions", "files")),
    _Kind("hubs/modelscope", r".+--.+\.json", _has_keys("revisions", "files")),
    _Kind("models", r"[0-9a-f]{32}\.json", _has_keys("version", "name", "settings")),
    _Kind("costs", r"[0-9a-f]{32}\.json", _has_keys("latency", "batch_latency", "measured_on")),
    _Kind("completion", r"[0-9][\w.+-]*\.json", _has_keys("tasks", "models")),
    _Kind("arrow", r"[0-9a-f]{16}", _is_arrow_view, r"[^/]+/README\.md", r"[^/]+/[^/]+/[^/]+/[^/]+\.arrow"),
)
_NOT_CACHED = ("mapped", "warehouse")
"""Folders of Steelyard that are not a cache: files without a name that exist during a search, and imported results."""


def cached_entries(home: Path) -> list[CacheEntry]:
    """Return everything that Steelyard stored in its home folder, by name.

    A folder of records (`hashes`, `services` ...) is one entry.
    """
    entries = []
    for kind in _KINDS:
        folder = home / kind.folder
        if any(_is_link(part) for part in (folder, *folder.parents) if part != home and part.is_relative_to(home)):
            continue
        members = [path for path in _scan(folder) if _is_member(path, kind)]
        if kind.files:
            entries += [_entry(f"{kind.folder}/{path.name}", path, kind) for path in members]
        elif members:
            entries.append(_entry(kind.folder, folder, kind))
    return sorted(entries, key=lambda entry: entry.name)


def foreign_files(home: Path) -> list[str]:
    """Return the names in the home folder that are not folders of Steelyard's entries."""
    known = {*_NOT_CACHED, *(kind.folder.partition("/")[0] for kind in _KINDS)}
    return sorted(path.name for path in _scan(home) if path.name not in known or _is_link(path))


def is_steelyard_home(home: Path) -> bool:
    """Return whether the folder is empty, does not exist, or holds entries that Steelyard stored."""
    return not _scan(home) or bool(cached_entries(home))


def remove_entries(entries: Iterable[CacheEntry]) -> Removed:
    """Remove the entries' own files and then their empty folders; other files in them are kept and reported."""
    names, freed, left = [], 0, []
    for entry in entries:
        files = list(_files(entry.path, entry.rules))
        freed += sum(_remove(file) for file, own in files if own)
        left += [file for file, own in files if not own]
        _remove_empty_folders(entry.path)
        names.append(entry.name)
    return Removed(tuple(sorted(names)), freed, tuple(left))


def _is_member(path: Path, kind: _Kind) -> bool:
    right_type = _is_folder(path) if kind.files else _is_file(path)
    return right_type and bool(re.fullmatch(kind.name, path.name)) and kind.mark(path)


def _files(entry: Path, kind: _Kind) -> Iterator[tuple[Path, bool]]:
    """Yield everything in an entry that is not a folder, and whether Steelyard wrote it."""
    if not kind.files:
        yield from ((path, _is_member(path, kind)) for path in _scan(entry) if not _is_folder(path))
        return
    if not _is_member(entry, kind):  # it changed since it was listed
        return
    for folder, subfolders, names in os.walk(entry, followlinks=False):
        links = [name for name in subfolders if _is_link(Path(folder, name))]
        for name in (*names, *links):
            path = Path(folder, name)
            relative = path.relative_to(entry).as_posix()
            own = kind.links if _is_link(path) else kind.files if _is_file(path) else ""
            yield path, bool(own and re.fullmatch(own, relative))


def _entry(name: str, path: Path, kind: _Kind) -> CacheEntry:
    sizes = []
    for file in (file for file, own in _files(path, kind) if own):
        with suppress(FileNotFoundError):  # other processes write, merge and trim at the same time
            sizes.append(file.lstat().st_size)
    return CacheEntry(name, path, len(sizes), sum(sizes), kind)


def _remove(file: Path) -> int:
    """Remove a file and return its size; 0 if another process removed it."""
    try:
        size = file.lstat().st_size
        file.unlink()
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise SteelyardError(
            f"cannot remove {file}: {error.strerror or error}",
            hint="check the permissions of its folder, and whether another process uses it",
            path=file,
        ) from error
    return size


def _remove_empty_folders(folder: Path) -> None:
    for path, _, _ in os.walk(folder, topdown=False, followlinks=False):
        with suppress(OSError):  # not empty: it holds files of others
            Path(path).rmdir()


def _scan(folder: Path) -> list[Path]:
    """Return the contents of a folder by name; nothing if it does not exist or is not a folder."""
    try:
        return sorted(Path(entry.path) for entry in os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _mode(path: Path) -> int:
    try:
        return path.lstat().st_mode
    except OSError:
        return 0


def _is_file(path: Path) -> bool:
    return stat.S_ISREG(_mode(path))


def _is_folder(path: Path) -> bool:
    return stat.S_ISDIR(_mode(path))


def _is_link(path: Path) -> bool:
    return stat.S_ISLNK(_mode(path))
