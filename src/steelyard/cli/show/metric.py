"""`steelyard show metric NAME`: the definition, the names and the formula of a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.cli._ui.wording import print_fact

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Print the definition of each metric."""
    from steelyard.metrics.names import Metric, canonical_name, parse_many

    bare = canonical_name(arguments.name)  # a name without a cut-off may mean several metrics of one definition
    definitions = [
        {
            "metric": str(metric),
            "written": metric.display,
            "trec_eval": metric.trec,
            "description": metric.definition.description,
            "formula": metric.definition.formula,
        }
        for metric in ((Metric(bare),) if bare else parse_many(arguments.name))
    ]
    if output.json:
        output.data(definitions)
        return 0
    for definition in definitions:
        for title, text in definition.items():
            print_fact(output, title, text)
    return 0
