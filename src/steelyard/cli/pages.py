"""`steelyard pages`: write a page for every task and group, computed from the data and from ranked lists."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli._ui.options import (
    add_languages,
    add_locations,
    add_results,
    add_type,
    dense_model,
    note_unknown_languages,
)
from steelyard.cli._ui.progress import Progress, counted
from steelyard.cli._ui.signals import interrupt_code

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from steelyard.cli._ui.output import Output
    from steelyard.cli._ui.parser import Parser
    from steelyard.engine.pages import BuiltPages, PageObserver


def configure(parser: Parser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument(
        "sets",
        nargs="+",
        metavar="SET",
        help="Groups, tasks, folders, patterns, builtin, or hf://owner/dataset.",
    )
    add = parser.add_argument_group("pages").add_argument
    add("-o", "--output", type=Path, metavar="DIR", default=Path("pages"), help="Folder of the pages (default: pages).")
    add("--format", default="md,html,json", metavar="LIST", help="Formats: any of md,html,json (default: all three).")
    add(
        "--against",
        metavar="REFERENCE",
        help="Compare with published scores of a group or task, or 'published' for each task's own.",
    )
    add(
        "--write-with",
        metavar="MODEL",
        help="Chat model that drafts prose from the values, as api/NAME?url=URL (default: none).",
    )
    add("--rebuild", action="store_true", help="Measure every task again, even if its page is up to date.")
    add = parser.add_argument_group("ranked lists").add_argument
    add("--dense", default="dense", metavar="MODEL", help="Dense model, if a set has no such list (default: dense).")
    add(
        "--lists",
        choices=["stored", "searched"],
        default="stored",
        help="Use the lists of the set where it has them, or always search (default: stored).",
    )
    add_results(add, "--results")
    add = parser.add_argument_group("tasks and data").add_argument
    add_languages(add)
    add_type(add)
    add_locations(add)


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Write the pages; return 1 if a task or model failed, with the pages of the others written."""
    from steelyard.engine.pages import build_pages

    note_unknown_languages(arguments.languages, output)
    progress = Progress.for_output(output)
    try:
        built = build_pages(
            arguments.sets,
            arguments.output,
            formats=arguments.format,
            against=arguments.against,
            dense=dense_model(arguments.dense),
            lists=arguments.lists,
            languages=arguments.languages,
            type=arguments.type,
            rebuild=arguments.rebuild,
            write_with=arguments.write_with,
            results=arguments.results,
            settings=arguments.settings,
            observer=_observer(progress, output),
        )
    finally:
        progress.close()
    _print(built, arguments.output, output)
    if built.interrupted:
        output.note("interrupted; the same command continues from there")
        return interrupt_code()
    return 1 if built.failures else 0


def _observer(progress: Progress, output: Output) -> PageObserver:
    from steelyard.engine.pages import PageObserver

    def note(text: str) -> None:
        progress.close()
        output.note(text)

    def failure(text: str) -> None:
        progress.close()
        output.failure(f"failed: {text}")

    @contextmanager
    def evaluation(stored: bool) -> Iterator[Progress]:
        progress.close()
        own = Progress.for_output(output, silent=stored)
        try:
            yield own
        finally:
            own.close()

    return PageObserver(note, failure, progress.show, evaluation)


def _print(built: BuiltPages, folder: Path, output: Output) -> None:
    if output.json:
        files = [str(path) for path in built.files]
        output.data({"pages": files, "up_to_date": built.up_to_date, "failed": built.failures})
    else:
        for paths in (built.contents, *built.groups.values()):
            for path in paths[:1]:
                output.line(str(path))
    if not built.groups:
        output.note("no page was written")
        return
    size = f"{counted(len(built.groups), 'group page')} and {counted(built.tasks, 'task page')}"
    fresh = f"; already up to date: {counted(len(built.up_to_date), 'task')}" if built.up_to_date else ""
    output.note(f"{size} in {folder}{fresh}")
    if built.old_formats:
        output.note(f"not updated, as --format does not name them: {', '.join(built.old_formats)}")
