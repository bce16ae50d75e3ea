"""`steelyard plan`: print the work of `steelyard run` with the same arguments, before anything is evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.cli._ui.evaluation_options import add_stored, add_work
from steelyard.cli._ui.options import note_unknown_languages
from steelyard.cli._ui.progress import Progress
from steelyard.cli.run import prepare_batch, refuse_misplaced

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output
    from steelyard.cli._ui.parser import Parser


def configure(parser: Parser) -> None:
    """Add the arguments of the verb."""
    add_work(parser)
    add_stored(parser.add_argument_group("results").add_argument)
    parser.add_argument(
        "--no-measure",
        action="store_true",
        help="Do not encode a few texts to estimate the time (default: each model encodes some).",
    )


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Print what would be done; the exit code is 1 if a model or a task cannot be loaded."""
    from steelyard.engine.executors import plan_batch
    from steelyard.engine.executors.workload import COLUMNS

    refuse_misplaced(arguments)
    note_unknown_languages(arguments.languages, output)
    progress = Progress.for_output(output)
    try:
        batch = prepare_batch(arguments, arguments.output or arguments.settings.results, progress, output)
        workload = plan_batch(batch, arguments.executor, measure=not arguments.no_measure)
    finally:
        progress.close()
    if output.json:
        output.data(workload.to_dict())
    else:
        for line in workload.summary():
            output.line(line)
        if workload.encodings:
            output.line("")
            output.table(COLUMNS, workload.rows(), fold=True)
    return 1 if workload.failed else 0
