"""`steelyard eval`: run EvalScope configs unchanged."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.cli._ui.options import add_locations, settings_of
from steelyard.cli._ui.progress import Progress, duration
from steelyard.cli._ui.run_outcome import collecting, count, exit_code, print_failures, write_report
from steelyard.cli._ui.signals import INTERRUPTED, interrupt_code, was_interrupted
from steelyard.errors import SteelyardError

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output
    from steelyard.compat.evalscope.config_schema import Config


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add = parser.add_argument
    add(
        "configs",
        nargs="+",
        metavar="CONFIG",
        help="A .yaml, .json or .toml file, a .py file with a task_cfg, or JSON text.",
    )
    add("--mteb-version", choices=["1.14", "2"], help="Version of mteb to reproduce (default: that of the config).")
    add("-o", "--output", type=Path, metavar="DIR", help="Folder of the result files (default: that of the config).")
    add("--no-report", action="store_true", help="Do not write report.html.")
    add_locations(parser.add_argument_group("data").add_argument)


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Run each config, print its table, and return the highest exit code; an interrupt ends all.

    As JSON, the results of all configs are one list.
    """
    from steelyard.compat.evalscope import read_configs

    worst = 0
    rows: list[dict[str, Any]] = []
    try:
        for config in read_configs(arguments.configs):
            worst = max(worst, _run_config(config, arguments, output, rows))
            if was_interrupted() or worst == INTERRUPTED:
                break
    except SteelyardError:
        if output.json and rows:  # of the configs before
            output.data(rows)
        raise
    if output.json:
        output.data(rows)
    return worst


def _run_config(config: Config, arguments: argparse.Namespace, output: Output, rows: list[dict[str, Any]]) -> int:
    """Run one config and add its results to the rows.

    Its `verbosity` decides what is printed: 0 failures, 1 also the table, 2 also progress, 3 also intervals.
    """
    from steelyard.compat.evalscope.run_config import OWN, default_hub, output_folder, run_config

    own = type(output)(
        json=output.json,
        quiet=output.quiet or config.verbosity == 0,
        verbose=output.verbose or config.verbosity == 3 or config.debug,
    )
    folder = arguments.output or output_folder(config)
    silent = own.quiet or (config.verbosity == 1 and not output.verbose)
    progress = Progress.for_output(own, silent=silent)
    settings = settings_of(arguments, hub=default_hub())
    work = run_config(config, folder, version=arguments.mteb_version, listen=progress, note=own.note, settings=settings)
    with closing(work), collecting(progress) as collected:
        for result in work:
            collected.ready.append(result)
    results = collected.results
    rows += results.to_dicts()
    if config.verbosity and results and not output.json:
        own.note("")
        own.table(*results.table(intervals=own.verbose), fold=True)
    if collected.interrupted:
        own.note(f"\ninterrupted: {count(results, progress)}; set overwrite_results: false to continue from there")
        return interrupt_code()
    if collected.store_error:
        raise collected.store_error
    own.note(f"\n{count(results, progress)}, {duration(progress.seconds)}")
    own.note(f"files:  {folder}")
    if not arguments.no_report and results:
        own.note(f"report: {write_report(results, folder / OWN)}")
    print_failures(results, own)
    return exit_code(results)
