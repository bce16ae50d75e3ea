"""What `run --costs` adds to results: latency, encoding rate, sizes, memory and prices of every model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output
    from steelyard.engine.plan import Model
    from steelyard.results import Result, Results
    from steelyard.types.samples import AnyTask

MARK = " (stored)"


def with_costs(
    results: Results,
    models: Sequence[Model],
    references: Sequence[str | AnyTask],
    arguments: argparse.Namespace,
    output: Output,
) -> Results:
    """Return the results with the costs of their models, measured on the largest searched task, in notes and files."""
    from steelyard.recommendation import Sampling
    from steelyard.recommendation.measure_models import measure_models
    from steelyard.results import Results

    evaluated = {result.model for result in results if result.done}
    failed: dict[str, str] = {}
    costs = measure_models(
        [model for model in models if model.shown in evaluated],
        references,
        arguments.limit,
        failed=failed,
        sampling=Sampling(arguments.cost_samples),
        reuse=arguments.overwrite_strategy != "always",
        report=output.note,
        settings=arguments.settings,
    )
    for model, reason in failed.items():
        output.failure(f"costs of {model}: {reason}")
    rows = {model: one.to_dict() for model, one in costs.items()}
    return Results(_kept(result, rows.get(result.model)) for result in results)


def _kept(result: Result, costs: Mapping[str, Any] | None) -> Result:
    """Return the result with costs, also written to its file."""
    from steelyard.files import write_output
    from steelyard.results.display.cost_notes import COSTS

    if costs is None or not result.done:
        return result
    memory = costs.get("peak_memory_bytes")
    measured = replace(result, notes={**result.notes, COSTS: dict(costs)}, peak_memory_bytes=memory)
    if result.path is not None:
        own = replace(measured, model=str(result.settings.get("model", result.model)))
        write_output(result.path, own.to_json().encode(errors="backslashreplace"))
    return measured


COLUMNS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "p50 ms": lambda one: _number(one["latency"]["p50_ms"]),
    "p95 ms": lambda one: _number(one["latency"]["p95_ms"]),
    "p99 ms": lambda one: _number(one["latency"]["p99_ms"]),
    "samples": lambda one: str(one["latency"]["samples"]),
    "encode + search + rerank ms": lambda one: _stages(one.get("stages_ms") or {}),
    "queries/s": lambda one: _number(one.get("queries_per_second")),
    "docs/s": lambda one: _number(one["documents_per_second"]),
    "bytes/doc": lambda one: _number(one["bytes_per_document"]),
    "GB/million": lambda one: _scaled(one["bytes_per_document"], 1e-3),
    "hours/million": lambda one: _number(one.get("hours_per_million_documents")),
    "memory MB": lambda one: _scaled(one.get("peak_memory_bytes"), 1e-6),
    "price/1,000": lambda one: _number(one["price_per_thousand_queries"]),
    "price/million docs": lambda one: _number(one.get("price_per_million_documents")),
}
"""Columns of costs; a column without any value is left out."""


def show_costs(results: Results, output: Output) -> None:
    """Print one row for each model whose results have costs; those of an earlier measurement are marked."""
    from steelyard.results.display.cost_notes import costs_by_model

    costs = costs_by_model(results)
    if not costs or output.json:
        return
    cells = {name: [column(one) for one in costs.values()] for name, column in COLUMNS.items()}
    shown = {name: column for name, column in cells.items() if any(cell != "-" for cell in column)}
    models = [model + (MARK if one.get("stored") else "") for model, one in costs.items()]
    output.line("")
    output.table(["costs", *shown], [list(row) for row in zip(models, *shown.values(), strict=True)], fold=True)
    first = next(iter(costs.values()))
    place, warm_up = first["measured_on"], first["latency"]["warm_up"]
    output.note(
        f"one query at a time after {warm_up} to warm up, on {place['task']} ({place['documents']:,} documents); "
        f"queries/s in batches of {first['batch_latency']['batch_size']}; columns per million are projections"
    )


def stored_work_lines(results: Results) -> list[str]:
    """Return a line for each model whose vectors or scores of pairs were stored: what they took when they were made.

    A fusion or pipeline has no line for work that is that of its parts, which have lines of their own.
    """
    from steelyard.results.display.cost_notes import encoding_cost, reranking_cost

    lines = []
    for model in results.models:
        own = results.filter(model=model)
        variant = any("variant_of" in result.notes for result in own)
        texts = "passages" if any("passages" in result.notes for result in own) else "documents"
        for compute, work, unit in ((encoding_cost, "encoding", texts), (reranking_cost, "reranking", "pairs")):
            cost = compute(own)
            if cost is None or not cost.stored or not cost.rate or (variant and work == "encoding"):
                continue
            parts = [one for name in _parts(own) if (one := compute(results.filter(model=name)))]
            if sum(one.texts for one in parts) >= cost.texts:
                continue
            part = "stored" if cost.stored >= 0.999 * cost.seconds else f"{cost.stored:,.1f} s of it stored"
            lines.append(f"{model}: {work} took {cost.seconds:,.1f} s ({part}), {cost.rate:,.0f} {unit}/s")
    return lines


def _parts(results: Results) -> set[str]:
    """Return the names of the parts of a fusion or pipeline."""
    stages = {stage["model"] for result in results for stage in result.notes.get("stages", ())}
    return stages - set(results.models)


def _stages(stages: Mapping[str, float]) -> str:
    named = {name: value for name, value in stages.items() if name != "search" or len(stages) > 1}
    return " + ".join(f"{_number(value)} {name}" for name, value in named.items()) or "-"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _scaled(value: float | None, scale: float) -> str:
    return "-" if value is None else _number(value * scale)
