"""`steelyard cache`: what is stored on this machine under the home folder, and how to be rid of it."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard import config
from steelyard.encoders.cache import budget
from steelyard.errors import SteelyardError, UnknownName, UsageError

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output

ACTIONS = ("ls", "rm", "trim", "path")


@dataclass(frozen=True)
class Stored:
    """One thing that is stored: its name (`vectors/use-multilingual-v3-…`), files and bytes."""

    name: str
    path: Path
    files: int
    bytes: int


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `steelyard cache`."""
    parser.add_argument(
        "action", nargs="?", default="ls", choices=ACTIONS, help="list (the default), remove, trim, or tell the folder"
    )
    parser.add_argument("what", nargs="*", help="rm: names as `ls` shows them, a kind such as vectors, or all")
    parser.add_argument("--max-bytes", metavar="SIZE", help="trim: how much stored vectors may take, such as 2GB")


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Do what was asked; returns the exit code."""
    if arguments.what and arguments.action != "rm":
        raise UsageError(f"cache {arguments.action} takes no names", hint="steelyard cache rm NAME removes one")
    if arguments.max_bytes and arguments.action != "trim":
        raise UsageError(f"cache {arguments.action} takes no --max-bytes", hint="steelyard cache trim --max-bytes 2GB")
    home = arguments.settings.home
    if arguments.action == "path":
        output.data({"path": str(home)}) if output.json else output.line(str(home))
    elif arguments.action == "rm":
        _remove(home, arguments.what, output)
    elif arguments.action == "trim":
        _trim(home, arguments.max_bytes, output)
    else:
        _list(home, output)
    return 0


def stored(home: Path) -> list[Stored]:
    """Everything under the home folder, two levels deep: kind of thing, then thing; in order of name."""
    things = []
    for kind in sorted(home.iterdir()) if home.is_dir() else []:
        for path in sorted(kind.iterdir()) if kind.is_dir() else [kind]:
            sizes = []
            files = (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
            for file in files if path.is_dir() else [path]:
                with suppress(FileNotFoundError):  # other processes write, merge and trim meanwhile
                    sizes.append(file.stat().st_size)
            things.append(Stored(path.relative_to(home).as_posix(), path, len(sizes), sum(sizes)))
    return things


def _list(home: Path, output: Output) -> None:
    from steelyard.encoders.cache.inventory import inventory

    things = stored(home)
    total = sum(thing.bytes for thing in things)
    kept = {kept.folder: kept for kept in inventory(home)}
    if output.json:
        rows = [{"name": thing.name, "files": thing.files, "bytes": thing.bytes} for thing in things]
        for row, thing in zip(rows, things, strict=True):
            if known := kept.get(thing.path):
                row |= {"encoder": known.encoder, "encodings": known.encodings, "settings": dict(known.settings)}
        output.data({"path": str(home), "bytes": total, "stored": rows})
        return
    if things:
        counts = [kept[thing.path].encodings if thing.path in kept else None for thing in things]
        cells = [[t.name, t.files, count, size(t.bytes)] for t, count in zip(things, counts, strict=True)]
        output.table(["stored", "files", "encodings", "size"], cells)
    limit = config.Settings.load().cache_bytes
    output.note(f"{size(total)} in {home}; vectors may take {size(limit)} ({budget.VARIABLE})")


def _remove(home: Path, names: list[str], output: Output) -> None:
    if not names:
        raise UsageError("say what to remove", hint="steelyard cache ls shows names; `steelyard cache rm all` is all")
    things = stored(home)
    chosen: dict[Path, Stored] = {}
    for name in names:
        matches = [thing for thing in things if name == "all" or name.rstrip("/") in _names(thing)]
        if not matches and name != "all":
            raise UnknownName("stored thing", name, [thing.name for thing in things], hint="steelyard cache ls")
        chosen |= {thing.path: thing for thing in matches}
    for path in chosen:
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        except FileNotFoundError:  # another process was quicker
            continue
        except OSError as error:
            hint = "another process may be writing there: try again when it is done"
            raise SteelyardError(f"{path} is not removed: {error.strerror or error}", hint=hint) from error
    freed = sum(thing.bytes for thing in chosen.values())
    if output.json:
        output.data({"removed": sorted(thing.name for thing in chosen.values()), "freed": freed})
    output.note(f"removed {len(chosen)}, freed {size(freed)}")


def _names(thing: Stored) -> tuple[str, ...]:
    """The names that mean a thing: in full, its kind, without its kind, and without the hash at its end."""
    kind, _, last = thing.name.rpartition("/")
    return thing.name, kind, last, last.rpartition("-")[0]


def _trim(home: Path, most: str | None, output: Output) -> None:
    try:
        trimmed = budget.trim(
            home / budget.FOLDER, config.parse_bytes(most) if most else config.Settings.load().cache_bytes
        )
    except OSError as error:
        raise SteelyardError(f"stored vectors are not trimmed: {error}", hint=f"see who may write in {home}") from error
    if output.json:
        output.data({"removed": trimmed.files, "freed": trimmed.freed, "left": trimmed.left})
    output.note(f"removed {trimmed.files} files of vectors, freed {size(trimmed.freed)}, {size(trimmed.left)} left")


def size(count: float) -> str:
    """A number of bytes for people.

    >>> size(0), size(1_500), size(2_000_000_000)
    ('0 B', '1.5 kB', '2.0 GB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
