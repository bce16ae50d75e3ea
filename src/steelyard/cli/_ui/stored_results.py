"""The stored results of a command: the folder of `--results`, or of the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output
    from steelyard.results import Result, ResultStore


def store_of(arguments: argparse.Namespace) -> ResultStore:
    """Return the store of results; a ResultError if its path is a file."""
    from steelyard.errors import ResultError
    from steelyard.results import ResultStore

    store = ResultStore(arguments.results or arguments.settings.results)
    if store.folder.is_file():
        raise ResultError(
            f"the results folder must be a folder, got the file {store.folder}",
            hint="name a folder with -o",
            path=store.folder,
        )
    return store


def stored_results(arguments: argparse.Namespace, output: Output, *, task: str | None = None) -> list[Result]:
    """Return every result in the folder, or those of one task; damaged files are noted and skipped."""
    return store_of(arguments).find(task=task, report=lambda error: output.note(f"skipped: {error}"))
