"""`steelyard pages`: a page for a group and each of its tasks, computed from the data and the runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from steelyard.cli.output import Output


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of the verb."""
    add = parser.add_argument
    add("set", metavar="SET", help="a group, a task, a folder, a pattern, builtin, or hf://owner/dataset")
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
    add("--rebuild", action="store_true", help="measure every task again, also where its page is up to date")
    add("--results", type=Path, metavar="DIR", help="folder of results and runs (default: as of steelyard run)")
    add("--offline", action="store_true", help="never reach for the network")


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Write the pages; 1 if a task or a model failed, with the pages of the others written."""
    if arguments.offline:
        os.environ["STEELYARD_OFFLINE"] = os.environ["HF_HUB_OFFLINE"] = "1"
    from steelyard.cli.page_maker import PageMaker, published_figures
    from steelyard.cli.progress import counted
    from steelyard.datasets import task_names
    from steelyard.reports.pages.writing import parse_formats, write_contents, write_pages

    formats = parse_formats(arguments.format)
    names = task_names([arguments.set], offline=arguments.offline or None)
    published = published_figures(arguments.against, names) if arguments.against else {}
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
    output.note(f"{size} in {arguments.output}{fresh}")
    return 1 if maker.failures else 0
