"""`steelyard race`: which model is best, with as little encoding as possible."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli._ui.options import add_locations, add_passages, add_results, add_tasks, integer, number
from steelyard.cli._ui.progress import Progress

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add = parser.add_argument
    add("models", nargs="+", metavar="MODEL", help="Models in the race, two or more.")
    add_tasks(add)
    places, risk = integer("--best", at_least=1), number("--alpha", low=0, high=1, above=True)
    add("--best", type=places, default=1, metavar="N", help="Places to be decided (default: 1).")
    add("--alpha", type=risk, default=0.05, help="Risk of dropping one of the best (default: 0.05).")
    parts = integer("--parts", at_least=1)
    add("--parts", type=parts, default=10, metavar="N", help="Parts that each task is divided into (default: 10).")
    add("--metric", help="Metric to race by, within 0 and 1 (default: main metric of each task).")
    add("--seed", type=integer("--seed"), default=0, help="Seed of the division into parts (default: 0).")
    add_passages(add)
    add_results(add, "-o", "--output", "--results", dest="output")
    add_locations(parser.add_argument_group("data").add_argument)


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Run the race, print who is left and what was saved; 1 if it was not decided."""
    from steelyard.racing import race

    folder = Path(arguments.output or arguments.settings.results) / "race"
    progress = Progress.for_output(output, silent=not output.verbose)
    outcome = race(
        arguments.models,
        arguments.tasks or ["builtin"],
        best=arguments.best,
        alpha=arguments.alpha,
        parts=arguments.parts,
        seed=arguments.seed,
        metric=arguments.metric,
        chunk=arguments.chunk,
        overlap=arguments.overlap,
        results=folder,
        progress=progress,
        report=output.note,
        settings=arguments.settings,
    )
    output.findings(outcome)
    return 0 if outcome.decided else 1
