"""`steelyard pages`: a page for a group and each of its tasks, computed from the data and the runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli import INTERRUPTED
from steelyard.cli._ui.data_options import add_data_options, add_languages
from steelyard.cli._ui.languages import tell_unknown
from steelyard.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from steelyard.cli._ui.output import Output

SEARCHED = ("retrieval", "reranking")
"""Types of tasks that pages are about."""


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of the verb."""
    add = parser.add_argument
    add(
        "sets",
        nargs="+",
        metavar="SET",
        help="a group, a task, a folder, a pattern, builtin, or hf://owner/dataset; or several",
    )
    add("-o", "--output", type=Path, metavar="DIR", default=Path("pages"), help="folder of the pages (default: pages)")
    add("--format", default="md,html,json", metavar="LIST", help="any of md, html, json (default: all three)")
    add(
        "--against",
        metavar="REFERENCE",
        help="show the difference from published figures: those of a group or task of the catalogue, or 'published' "
        "for each task's own",
    )
    add("--dense", default="dense", metavar="MODEL", help="the dense model where the set has no lists of one")
    add(
        "--lists",
        choices=["stored", "searched"],
        default="stored",
        help="use the lists that came with the set where it has them (default), or search anew",
    )
    add_languages(parser)
    add_data_options(parser)
    add("--rebuild", action="store_true", help="measure every task again, also where its page is up to date")
    add("--results", type=Path, metavar="DIR", help="folder of results and runs (default: as of steelyard run)")
    add("--offline", action="store_true", help="never reach for the network")


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Write the pages; 1 if a task or a model failed, with the pages of the others written; 130 if interrupted."""
    from steelyard.cli._ui.progress import counted
    from steelyard.cli.pages.maker import PageMaker
    from steelyard.cli.pages.published import published_figures
    from steelyard.reports.pages.render.writing import left_behind, parse_formats, write_contents, write_pages
    from steelyard.results import ResultStore

    tell_unknown(arguments.languages, output)
    formats = parse_formats(arguments.format)
    names = _names(arguments, output)
    published = published_figures(arguments.against, names) if arguments.against else {}
    ResultStore(arguments.output).ready()  # a folder that takes no page is told before the work, not after it
    maker = PageMaker(arguments, output)
    groups = maker.groups(names, published)
    written = [write_pages(group, arguments.output, formats) for group in groups]
    contents = write_contents(groups, arguments.output, formats) if groups else []
    if output.json:
        files = [str(path) for paths in (contents, *written) for path in paths]
        output.data({"pages": files, "up_to_date": maker.up_to_date, "failed": maker.failures})
    else:
        for paths in (contents, *written):
            for path in paths[:1]:
                output.line(str(path))
    tasks = sum(len(group.tasks) for group in groups)
    fresh = f"; up to date already: {counted(len(maker.up_to_date), 'task')}" if maker.up_to_date else ""
    size = f"{counted(len(groups), 'group page')} and {counted(tasks, 'task page')}"
    output.note(f"{size} in {arguments.output}{fresh}" if groups else "no page was written")
    if old := left_behind(groups, arguments.output, formats):
        output.note(f"not made anew, as --format does not name them: {', '.join(old)}")
    if maker.interrupted:
        output.note("interrupted; the same command goes on from there")
        return INTERRUPTED
    return 1 if maker.failures else 0


def _names(arguments: argparse.Namespace, output: Output) -> Sequence[str]:
    """The tasks that were asked for, without those that have nothing to search, which are told."""
    from steelyard.datasets import task_facts, task_names
    from steelyard.engine import nothing_left

    names = task_names(arguments.sets, languages=arguments.languages, type=arguments.type, settings=arguments.settings)
    facts = {name: task_facts(name) for name in names}
    types = {name: info.type for name, info in facts.items() if info is not None and info.type not in SEARCHED}
    searched = [name for name in names if name not in types]
    kinds = ", ".join(dict.fromkeys(types.values()))
    if types and searched:
        output.note(f"without a page, as there is nothing to search in them ({kinds}): {', '.join(types)}")
    elif types:
        raise UsageError(
            f"{', '.join(types)}: nothing to search in tasks of type {kinds}, and pages are about searches",
            hint="`steelyard run MODEL -t NAME` evaluates such a task, and its report.html shows the figures",
        )
    elif not names:
        raise nothing_left(arguments.sets, arguments.languages, arguments.type)
    return searched
