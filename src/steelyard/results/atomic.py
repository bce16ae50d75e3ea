"""Results, reports and pages as files that are there whole or not at all (`steelyard.files`)."""

from __future__ import annotations

from pathlib import Path

from steelyard import files
from steelyard.errors import ResultError
from steelyard.files import SUFFIX, remove_leftovers

__all__ = ["SUFFIX", "remove_leftovers", "write_whole"]


def write_whole(path: Path, content: bytes) -> None:
    """Put the content under that name, in place of what was there; where that fails, a ResultError says why."""
    try:
        files.write_whole(path, content)
    except OSError as error:
        raise ResultError(
            f"cannot write {path}: {error.strerror}", hint="choose another folder with --output, or free space"
        ) from error
