"""`steelyard eval`: carry out configs of EvalScope as they stand."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.cli import INTERRUPTED
from steelyard.cli._ui.outcome import count, exit_code, gathering, tell_failures, write_report
from steelyard.cli._ui.output import can_redraw
from steelyard.cli._ui.progress import Progress, duration
from steelyard.errors import SteelyardError

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output
    from steelyard.compat.evalscope.schema import Config


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of the verb."""
    add = parser.add_argument
    add("configs", nargs="+", metavar="CONFIG", help="a .yaml, .yml, .json or .toml file, or JSON itself; run in order")
    add("--mteb-version", choices=["1.14", "2"], help="whose figures and files (default: as the config is written for)")
    add("-o", "--output", type=Path, metavar="DIR", help="folder of files, in place of the config's")
    add("--data-dir", type=Path, metavar="DIR", help="folder of copies of published datasets, read instead of a hub")
    add("--hub", choices=["huggingface", "modelscope"], help="where data comes from, if the config does not say")
    add("--offline", action="store_true", help="never reach for the network")
    add("--no-report", action="store_true", help="write no report.html")


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Carry out each config, show its table; the highest exit code of all, 130 at once if interrupted.

    As JSON, the results of all configs are one list.
    """
    from steelyard.compat.evalscope import read_configs

    worst = 0
    figures: list[dict[str, Any]] = []
    try:
        for config in read_configs(arguments.configs):
            worst = max(worst, _carry_out(config, arguments, output, figures))
            if worst == INTERRUPTED:
                break
    except SteelyardError:
        if output.json and figures:  # of the configs before
            output.data(figures)
        raise
    if output.json:
        output.data(figures)
    return worst


def _carry_out(config: Config, arguments: argparse.Namespace, output: Output, figures: list[dict[str, Any]]) -> int:
    """One config, as loud as its `verbosity` says: 0 nothing but failures, 1 the table, 2 progress, 3 intervals.

    Its results are added to the figures.
    """
    from steelyard.cli._ui.data_options import settings_of
    from steelyard.compat.evalscope.running import OWN, carry_out, default_hub, output_folder

    spoken = type(output)(
        json=output.json,
        quiet=output.quiet or config.verbosity == 0,
        verbose=output.verbose or config.verbosity == 3 or config.debug,
    )
    folder = arguments.output or output_folder(config)
    silent = spoken.quiet or (config.verbosity == 1 and not output.verbose)
    progress = Progress(sys.stderr, terminal=can_redraw(sys.stderr), silent=silent)
    settings = settings_of(arguments, hub=default_hub())
    work = carry_out(
        config, folder, version=arguments.mteb_version, listen=progress, tell=spoken.note, settings=settings
    )
    with closing(work), gathering(progress) as gathered:
        for result in work:
            gathered.ready.append(result)
    results = gathered.results
    figures += results.to_dicts()
    if config.verbosity and results and not output.json:
        spoken.note("")
        spoken.table(*results.table(intervals=spoken.verbose), fold=True)
    if gathered.interrupted:
        spoken.note(f"\ninterrupted: {count(results, progress)}; with overwrite_results: false it goes on from there")
        return INTERRUPTED
    if gathered.broken:
        raise gathered.broken
    spoken.note(f"\n{count(results, progress)}, {duration(progress.seconds)}")
    spoken.note(f"files:  {folder}")
    if not arguments.no_report and results:
        spoken.note(f"report: {write_report(results, folder / OWN)}")
    tell_failures(results, spoken)
    return exit_code(results)
