"""`steelyard cache`: list, remove or trim what is stored in Steelyard's home folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard import config
from steelyard.cli._ui.wording import byte_size
from steelyard.errors import SteelyardError, UnknownName, UsageError

if TYPE_CHECKING:
    import argparse

    from steelyard.cache import CacheEntry
    from steelyard.cli._ui.output import Output
    from steelyard.cli._ui.parser import Parser

COMMANDS = {
    "ls": "List what is stored, with sizes",
    "rm": "Remove entries by name, or all of them",
    "trim": "Remove the vectors that were not used for the longest time",
    "path": "Print the home folder",
}


def configure(parser: Parser) -> None:
    """Add the arguments of `steelyard cache`."""
    parser.add_commands(COMMANDS, _configure, default="ls")


def _configure(command: str, parser: Parser) -> None:
    if command == "rm":
        help = "Names as `steelyard cache ls` prints them, a kind such as vectors, or all."
        parser.add_argument("names", nargs="+", metavar="NAME", help=help)
        parser.add_argument("-y", "--yes", action="store_true", help="Remove all entries without asking.")
    if command == "trim":
        help = "Size that stored vectors may have, such as 2GB (default: $STEELYARD_CACHE_BYTES or 10GB)."
        parser.add_argument("--max-bytes", metavar="SIZE", help=help)


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Run the subcommand and return the exit code."""
    home = arguments.settings.home
    if arguments.command == "path":
        output.data({"path": str(home)}) if output.json else output.line(str(home))
    elif arguments.command == "rm":
        _remove(home, arguments, output)
    elif arguments.command == "trim":
        _trim(home, arguments, output)
    else:
        _list(home, arguments.settings.cache_bytes, output)
    return 0


def _list(home: Path, limit: int, output: Output) -> None:
    from steelyard.cache import cached_entries, foreign_files
    from steelyard.encoders.cache.inventory import inventory

    entries = cached_entries(home)
    total = sum(entry.bytes for entry in entries)
    encoders = {encoder.folder: encoder for encoder in inventory(home)}
    if output.json:
        rows: list[dict[str, Any]] = []
        for entry in entries:
            row = {"name": entry.name, "files": entry.files, "bytes": entry.bytes}
            if encoder := encoders.get(entry.path):
                row |= {"encoder": encoder.encoder, "encodings": encoder.encodings, "settings": dict(encoder.settings)}
            rows.append(row)
        output.data({"path": str(home), "bytes": total, "stored": rows})
        return
    if entries:
        counts = [encoders[entry.path].encodings if entry.path in encoders else None for entry in entries]
        cells = [[e.name, e.files, count, byte_size(e.bytes)] for e, count in zip(entries, counts, strict=True)]
        output.table(["stored", "files", "encodings", "size"], cells)
    output.note(
        f"{byte_size(total)} in {home}; stored vectors are limited to {byte_size(limit)} (STEELYARD_CACHE_BYTES)"
    )
    if others := foreign_files(home):
        output.note(f"not stored by Steelyard, and never removed by it: {len(others):,} other entries in {home}")


def _remove(home: Path, arguments: argparse.Namespace, output: Output) -> None:
    from steelyard.cache import cached_entries, is_steelyard_home, remove_entries

    if not is_steelyard_home(home):
        raise UsageError(
            f"{home} is not a home folder of Steelyard: it holds other files only",
            hint="set STEELYARD_HOME to the folder that `steelyard cache ls` should list",
            path=home,
        )
    entries = cached_entries(home)
    chosen = _choose(entries, arguments.names)
    if "all" in arguments.names and chosen and not arguments.yes:
        _confirm(home, chosen, output)
    removed = remove_entries(chosen)
    if output.json:
        output.data({"removed": list(removed.names), "freed": removed.freed})
    output.note(f"removed {len(removed.names)}, freed {byte_size(removed.freed)}")
    for path in removed.left:
        output.note(f"kept, as Steelyard did not write it: {path}")


def _choose(entries: list[CacheEntry], names: list[str]) -> list[CacheEntry]:
    """Return the entries that the names mean: full names, kinds, or names without kind or without hash."""
    chosen: dict[str, CacheEntry] = {}
    for name in names:
        matches = [entry for entry in entries if name == "all" or name.rstrip("/") in _names(entry)]
        if not matches and name != "all":
            known = [entry.name for entry in entries]
            raise UnknownName("cache entry", name, known, hint="run `steelyard cache ls`")
        chosen |= {entry.name: entry for entry in matches}
    return list(chosen.values())


def _names(entry: CacheEntry) -> set[str]:
    kind, _, last = entry.name.rpartition("/")
    return {entry.name, entry.name.partition("/")[0], kind, last, last.rpartition("-")[0]} - {""}


def _confirm(home: Path, entries: list[CacheEntry], output: Output) -> None:
    """Ask before everything is removed; refuse where nobody can answer."""
    what = f"all {len(entries)} entries ({byte_size(sum(entry.bytes for entry in entries))}) in {home}"
    answer = output.ask(f"Remove {what}? [y/N]")
    if answer is None:
        raise UsageError(f"cache rm all must be confirmed: it removes {what}", hint="add --yes", option="--yes")
    if answer.lower() not in ("y", "yes"):
        raise UsageError("nothing was removed", hint="answer y, or add --yes", option="--yes")


def _trim(home: Path, arguments: argparse.Namespace, output: Output) -> None:
    from steelyard.encoders.cache import budget

    try:
        size = arguments.max_bytes
        limit = config.parse_bytes(size) if size else arguments.settings.cache_bytes
        trimmed = budget.trim(home / budget.FOLDER, limit)
    except OSError as error:
        hint = f"check the permissions of {home}"
        raise SteelyardError(f"cannot trim the stored vectors: {error}", hint=hint, path=home) from error
    if output.json:
        output.data({"removed": trimmed.files, "freed": trimmed.freed, "left": trimmed.left})
    freed, left = byte_size(trimmed.freed), byte_size(trimmed.left)
    output.note(f"removed {trimmed.files} files of vectors, freed {freed}, {left} left")
