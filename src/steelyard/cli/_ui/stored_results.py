"""The results that verbs look at, in the folder that `--results` or the environment names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output
    from steelyard.results import Result, ResultStore


def store_of(arguments: argparse.Namespace) -> ResultStore:
    """The folder of results; a ResultError where a file has its name."""
    from steelyard.errors import ResultError
    from steelyard.results import ResultStore

    store = ResultStore(arguments.results or arguments.settings.results)
    if store.folder.is_file():
        raise ResultError(f"{store.folder} is a file", hint="name the folder that holds the results")
    return store


def stored_results(arguments: argparse.Namespace, output: Output, *, task: str | None = None) -> list[Result]:
    """Every result in the folder, or those on one task; damaged files are told and passed over."""
    return store_of(arguments).find(task=task, report=lambda error: output.note(f"passed over: {error}"))
