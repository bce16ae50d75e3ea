"""The rows of `steelyard list metrics`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.cli.list.listing import Listing, same_names

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output


def metrics(arguments: argparse.Namespace, output: Output) -> Listing:
    """Every metric, those of plug-ins too."""
    from steelyard.metrics import METRICS

    definitions = {name: METRICS.get(name) for name in METRICS}
    rows = [
        {
            "metric": name,
            "written": definition.example,
            "trec_eval": definition.trec[0],
            "description": definition.description,
            "formula": definition.formula,
            "from": METRICS.origin(name),
        }
        for name, definition in definitions.items()
    ]
    return Listing(rows, same_names("metric", "written", "trec_eval", "description"))
