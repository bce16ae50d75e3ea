"""What `run --costs` adds to results: latency, encoding rate, sizes and prices of every model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from steelyard.cli._ui.output import Output
    from steelyard.results import Results
    from steelyard.types.samples import AnyTask

NOTE = "costs"
"""Name of the costs among the notes of a result."""


def with_costs(
    results: Results, references: Sequence[str | AnyTask], arguments: argparse.Namespace, output: Output
) -> Results:
    """Return the results with the costs of their models, measured on the largest searched task, in their notes."""
    from steelyard.engine.batch import load_models
    from steelyard.recommendation import Sampling
    from steelyard.recommendation.recommend_models import measure_models
    from steelyard.results import Results

    names = [name for name in results.models if any(result.done for result in results.filter(model=name))]
    failed: dict[str, str] = {}
    costs = measure_models(
        load_models(names, settings=arguments.settings),
        references,
        arguments.limit,
        failed=failed,
        sampling=Sampling(arguments.cost_samples),
        report=output.note,
        settings=arguments.settings,
    )
    for model, reason in failed.items():
        output.failure(f"costs of {model}: {reason}")
    found = {model: one.to_dict() for model, one in costs.items()}
    return Results(
        replace(result, notes={**result.notes, NOTE: found[result.model]}) if result.model in found else result
        for result in results
    )


def show_costs(results: Results, output: Output) -> None:
    """Print one row for each model whose results have costs."""
    costs: dict[str, dict[str, Any]] = {}
    for result in results:
        if NOTE in result.notes:
            costs.setdefault(result.model, result.notes[NOTE])
    if not costs or output.json:
        return
    columns = ["model", "p50 ms", "p95 ms", "p99 ms", "samples", "batch ms/query", "docs/s", "bytes/doc", "price/1,000"]
    rows = []
    for model, one in costs.items():
        single, batch = one["latency"], one["batch_latency"]
        rows.append(
            [
                model,
                *(f"{single[name]:.3g}" for name in ("p50_ms", "p95_ms", "p99_ms")),
                str(single["samples"]),
                f"{batch['p50_ms'] / batch['batch_size']:.3g}",
                _number(one["documents_per_second"]),
                _number(one["bytes_per_document"]),
                _number(one["price_per_thousand_queries"]),
            ]
        )
    output.line("")
    output.table(columns, rows, fold=True)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}" if value >= 10 else f"{value:.3g}"
