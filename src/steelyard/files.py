"""Files that are complete or absent, also if the process that writes them is killed; small caches; file hashes.

The content goes to a hidden file in the same folder, to disk, and then takes its name in one step. The writer holds
a lock on the hidden file, which the system releases when the process dies. So the leftovers of a killed process can be
distinguished from files that a running one is still writing, also when many processes share the folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, BinaryIO

from steelyard.errors import DataError, ResultError

try:
    import fcntl
except ImportError:  # Windows: leftovers are recognised by their age
    fcntl = None  # type: ignore[assignment]

PREFIX = ".steelyard-"
SUFFIX = ".tmp"
TEMPORARY = re.compile(r"\.steelyard-.*\.[0-9a-f]{12}\.tmp", re.DOTALL)
"""Names of the hidden files, and of no others."""
OLD = 3600.0
"""Age in seconds from which a hidden file counts as a leftover where there are no locks."""
HASHES = "hashes"
SMALL = 1 << 20
"""Files below this size are hashed faster than a stored hash is looked up."""


def with_home(path: str | Path) -> Path:
    """Return the path with the user's folder in place of a leading `~`.

    `~name` is a name like any other if there is no such user; pathlib raises a RuntimeError then.

    >>> with_home("~nobody-has-this-name/x") == Path("~nobody-has-this-name/x")
    True
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def read_parquet(source: Any, columns: Sequence[str] | None = None, *, dictionaries: Sequence[str] = ()) -> Any:
    """Return the table of a small Parquet file, a path or a stream; Arrow's errors are not translated.

    It is read in this thread: `pyarrow.parquet.read_table` makes a dataset of the file, which takes five times as long.
    `columns` that the file does not have are left out. Those in `dictionaries` are read as numbers, with each distinct
    text once.
    """
    from pyarrow import parquet

    with parquet.ParquetFile(source, read_dictionary=list(dictionaries) or None) as file:
        table = file.read(columns, use_threads=False)
    table.validate()  # columns of a damaged file may have other lengths than it declares
    return table


def path_inside(folder: Path, name: str, file: str) -> Path:
    """Return the path of a file that another file of the folder, `file`, names; an error if it leads out of the folder.

    Links of the folder itself are followed: hubs store files as links into their caches.

    >>> path_inside(Path("set"), "corpus/0.parquet", "state.json").as_posix()
    'set/corpus/0.parquet'
    """
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or PureWindowsPath(name).drive:
        raise DataError.invalid(
            f"a path in {file}",
            expected="inside its folder",
            found=name,
            path=folder / file,
            hint="do not use data of unknown origin; name files relative to the folder, without ..",
        )
    return folder / name


def write_atomic(path: Path, *parts: bytes | memoryview) -> None:
    """Write the parts, one after the other, under that name; replaces what was there.

    Missing folders are created. An OSError leaves no file behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    while not _try_to_write(path, parts):
        pass


def write_output(path: Path, content: bytes) -> None:
    """Write a file that the user asked for; a failure is a ResultError with the reason."""
    try:
        write_atomic(path, content)
    except OSError as error:
        raise ResultError(
            f"cannot write {path}: {error.strerror}",
            hint="choose another folder with --output, or free space",
            path=path,
        ) from error


def write_cached(path: Path, facts: Mapping[str, Any]) -> None:
    """Store facts that can be computed again as a JSON file; does nothing where the folder cannot be written."""
    with contextlib.suppress(OSError):
        write_atomic(path, json.dumps(facts).encode() + b"\n")


def read_cached(path: Path) -> dict[str, Any]:
    """Return stored facts; an empty dictionary if there are none, or the file is damaged."""
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def parse_yaml(text: str) -> Any:
    """Return the value of a text in YAML; invalid YAML is a ValueError.

    PyYAML raises other errors for the values of explicit tags, and for nesting that is too deep.

    >>> parse_yaml("a: [1, b]")
    {'a': [1, 'b']}
    >>> parse_yaml("day: 2020-13-45")
    Traceback (most recent call last):
    ValueError: month must be in 1..12
    """
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    except (LookupError, AttributeError, TypeError, OverflowError) as error:
        raise ValueError(f"a value does not fit its tag: {error}") from error
    except RecursionError as error:
        raise ValueError("values are nested too deeply") from error


def remove_leftovers(folders: Iterable[Path]) -> int:
    """Remove the hidden files of killed writers directly in these folders; return how many were removed."""
    removed = 0
    for folder in folders:
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            paths = [Path(entry.path) for entry in entries if TEMPORARY.fullmatch(entry.name)]
            removed += sum(map(_remove_if_abandoned, paths))
    return removed


def file_hash(path: Path, home: Path) -> bytes:
    """Return the BLAKE2b digest of a file's content.

    The digest of a large file is stored below `home`, and holds while path, size, times and inode are the same.
    """
    path = path.resolve()
    stat = path.stat()
    if stat.st_size < SMALL:
        return _digest(path)
    # An archive restores the time of a file, which may be that of the file it replaces. No program can set the time of
    # the last change of the inode (ctime), and another file has another inode.
    times = [stat.st_mtime_ns, stat.st_ctime_ns]
    state = {"path": str(path), "size": stat.st_size, "changed": times, "file": stat.st_ino}
    name = hashlib.blake2b(str(path).encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
    record = home / HASHES / f"{name}.json"
    cached = read_cached(record)
    if {name: cached.get(name) for name in state} == state and isinstance(known := cached.get("digest"), str):
        with contextlib.suppress(ValueError):  # a damaged digest: the file is read again
            return bytes.fromhex(known)
    digest = _digest(path)
    write_cached(record, {**state, "digest": digest.hex()})
    return digest


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").digest()


def _try_to_write(path: Path, parts: tuple[bytes | memoryview, ...]) -> bool:
    """Return False in the rare case that a cleaner removed the new file before it was locked."""
    temporary = path.with_name(f"{PREFIX}{path.name[:80]}.{os.urandom(6).hex()}{SUFFIX}")
    with temporary.open("xb") as file:
        try:
            if fcntl:
                with contextlib.suppress(OSError):  # a file system without locks
                    fcntl.flock(file, fcntl.LOCK_EX)
                if os.fstat(file.fileno()).st_nlink == 0:
                    return False
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
            temporary.replace(path)
        finally:  # after a failure; once it has its name, there is nothing left to remove
            temporary.unlink(missing_ok=True)
    return True


def _remove_if_abandoned(path: Path) -> bool:
    if path.is_symlink():  # never ours
        return False
    with contextlib.suppress(OSError), path.open("rb") as file:
        if not _abandoned(file):
            return False
        path.unlink()
        return True
    return False


def _abandoned(file: BinaryIO) -> bool:
    if fcntl:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks: go by age
            pass
        else:
            return True
    return time.time() - os.fstat(file.fileno()).st_mtime > OLD
