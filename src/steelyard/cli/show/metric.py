"""`steelyard show METRIC`: what it measures, under which names, by which formula."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.cli._ui.wording import say

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Explain the metric, or each of several."""
    from steelyard.metrics.names import Metric, canonical_name, parse_many

    bare = canonical_name(arguments.name)  # some stand for many cut-offs; one explanation is enough
    told = [
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
        output.data(told)
        return 0
    for facts in told:
        for title, words in facts.items():
            say(output, title, words)
    return 0
