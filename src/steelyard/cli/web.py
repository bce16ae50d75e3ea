"""`steelyard web`: the leaderboard in the browser, served on loopback or written as a static site."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.config import Settings
from steelyard.errors import DataError, UsageError

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output
    from steelyard.web.contamination import ModelAudit
    from steelyard.web.sources import Boards
    from steelyard.web.task_details import DetailSources


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument(
        "folders", nargs="*", type=Path, metavar="RESULTS", help="Folders of results (default: the results folder)."
    )
    parser.add_argument(
        "--warehouse",
        type=Path,
        metavar="DIR",
        help="Warehouse with published results (default: the one in the cache folder, if any).",
    )
    parser.add_argument(
        "--export", type=Path, metavar="DIR", help="Write a static site into this folder instead of serving."
    )
    parser.add_argument(
        "-b",
        "--benchmarks",
        nargs="+",
        default=[],
        metavar="NAME",
        help="Benchmarks of the warehouse to export (default: all).",
    )
    parser.add_argument(
        "-t",
        "--tasks",
        nargs="+",
        default=[],
        metavar="PATH",
        help="Folders of your own tasks, for the texts of their queries and documents.",
    )
    parser.add_argument(
        "--pages", type=Path, metavar="DIR", help="Folder that `steelyard pages` wrote (default: pages, if it exists)."
    )
    parser.add_argument(
        "--audit",
        nargs="+",
        default=[],
        metavar="[MODEL=]PATH",
        help="Stored audits of training data; MODEL was trained on it (default: audit, if it exists).",
    )
    parser.add_argument("--port", type=int, default=8321, help="Port on loopback; 0 takes a free one (default: 8321).")
    parser.add_argument("--no-browser", action="store_true", help="Do not open the browser.")


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Write the site, or serve until interrupted."""
    from steelyard.web.sources import Boards

    if not 0 <= arguments.port <= 65535:
        raise UsageError.invalid(
            "--port", expected="0 to 65535", found=arguments.port, option="--port", hint="--port 0 takes a free one"
        )
    settings = Settings.load()
    folders = _folders(arguments, settings)
    warehouse = arguments.warehouse or _default_warehouse(settings)
    if not folders and warehouse is None:
        raise DataError(
            "no results to show", path=settings.results, hint="steelyard run, or steelyard results import DIR"
        )
    sources, audits = _sources(arguments, settings), _audits(arguments)
    try:
        boards = Boards(folders, warehouse, sources=sources, audits=audits)
    except DataError as error:  # a warehouse that nobody asked for must not hide one's own results
        if arguments.warehouse or not folders:
            raise
        output.note(f"published results are left out: {error}")
        boards = Boards(folders, sources=sources, audits=audits)
    if arguments.export:
        return _export(boards, arguments, output)
    return _serve(boards, arguments, output)


def _sources(arguments: argparse.Namespace, settings: Settings) -> DetailSources:
    from steelyard.web.task_details import DetailSources

    if arguments.pages is not None and not arguments.pages.is_dir():
        raise DataError("the folder does not exist", path=arguments.pages, hint="steelyard pages SET -o DIR writes one")
    pages = arguments.pages or next(filter(Path.is_dir, [Path("pages")]), None)
    return DetailSources(settings, arguments.tasks, pages)


def _audits(arguments: argparse.Namespace) -> list[ModelAudit]:
    from steelyard.web.contamination import ModelAudit

    default = [str(path) for path in [Path("audit/audit.json")] if path.is_file()]
    return [ModelAudit.read(reference) for reference in arguments.audit or default]


def _folders(arguments: argparse.Namespace, settings: Settings) -> list[Path]:
    for folder in arguments.folders:
        if not folder.is_dir():
            raise DataError("the folder does not exist", path=folder, hint="check the path")
    default = [settings.results] if settings.results.is_dir() and not arguments.warehouse else []
    return [*arguments.folders] or default


def _default_warehouse(settings: Settings) -> Path | None:
    folder = settings.home / "warehouse"
    installed = importlib.util.find_spec("duckdb") is not None  # results of one's own need no warehouse
    return folder if installed and (folder / "warehouse.json").exists() else None


def _export(boards: Boards, arguments: argparse.Namespace, output: Output) -> int:
    from steelyard.errors import UnknownName
    from steelyard.web import write_site

    entries = boards.index()
    names = {entry["name"]: entry["slug"] for entry in entries}
    for name in arguments.benchmarks:
        if name not in names:
            raise UnknownName(
                "benchmark", name, names, hint="steelyard results query 'FROM benchmarks'", option="--benchmarks"
            )
    slugs = [names[name] for name in arguments.benchmarks] or list(names.values())
    chosen = [board for slug in slugs if (board := boards.board(slug)) is not None]
    page = write_site(arguments.export, chosen, (detail for slug in slugs for detail in boards.details(slug)))
    if output.json:
        output.data({"page": str(page), "boards": [board.name for board in chosen]})
    else:
        output.line(str(page))
    return 0


def _serve(boards: Boards, arguments: argparse.Namespace, output: Output) -> int:
    import webbrowser

    from steelyard.web.server import serve

    def ready(url: str) -> None:
        output.data({"url": url}) if output.json else output.line(url)
        output.note("Press Ctrl-C to stop.")
        if not arguments.no_browser:
            webbrowser.open(url)

    try:
        serve(boards.load, port=arguments.port, ready=ready)
    except OSError as error:
        raise UsageError(
            f"port {arguments.port} cannot be used: {error.strerror or error}",
            option="--port",
            hint="--port 0 takes a free one",
        ) from error
    return 0
