"""What `build fidelity` found, told: a table, sentences, JSON, and a page with fidelity against size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from steelyard.build.fidelity.scores import Scored
    from steelyard.build.fidelity.sizes import Fidelity, Impossible
    from steelyard.cli._ui.output import Output


LABELS = {"spearman": "Spearman", "kendall": "Kendall", "pairs": "pairs"}


def tell(
    arguments: argparse.Namespace,
    output: Output,
    scored: Scored,
    found: list[Fidelity],
    impossible: list[Impossible],
) -> None:
    """Name the smallest cuts that meet the target; show every size, and write the page where one is asked for."""
    best = _smallest(arguments, scored, found)
    sentences = [_sentence(arguments, way, sure, one) for way, two in best.items() for sure, one in two.items()]
    for one in impossible:
        output.note(f"not cut: {one.queries:,} queries x {one.documents:,} documents: {one.reason}")
    if arguments.plot is not None:
        output.note(f"page: {_write_page(arguments, scored, found, sentences)}")
    if output.json:
        output.data(
            {
                "task": scored.task,
                "metric": scored.metric,
                "queries": scored.queries,
                "models": dict(zip(scored.models, scored.figures.tolist(), strict=True)),
                "fidelity": [one.to_dict() for one in found],
                "impossible": [vars(one) for one in impossible],
                "target": {"measure": arguments.by, "value": arguments.target},
                "smallest": {
                    way: {sure: one.to_dict() if one else None for sure, one in two.items()}
                    for way, two in best.items()
                },
            }
        )
        return
    output.table(*_table(found))
    for sentence in sentences:
        output.note(sentence)


def _smallest(
    arguments: argparse.Namespace, scored: Scored, found: list[Fidelity]
) -> dict[str, dict[str, Fidelity | None]]:
    """By way, what meets the target on average, and what meets it down to the low end of the interval."""
    from steelyard.build.fidelity.sizes import fewest_queries, smallest

    target, by, drawn = arguments.target, arguments.by, {"draws": arguments.draws, "seed": arguments.seed}
    strictness = {"on_average": False, "low_end": True}
    best = {
        "resampled": {
            name: fewest_queries(scored, target, by, surely=surely, **drawn) for name, surely in strictness.items()
        }
    }
    if any(one.way == "cut" for one in found):
        best["cut"] = {name: smallest(found, target, by, surely=surely) for name, surely in strictness.items()}
    return best


def _sentence(arguments: argparse.Namespace, way: str, sure: str, one: Fidelity | None) -> str:
    where = "on average" if sure == "on_average" else "at the low end of the interval"
    goal = f"{LABELS[arguments.by]} of {arguments.target:g} {where}"
    if one is None:
        return f"{way}: no size that was tried reaches a {goal}"
    size = f"{one.queries:,} queries" + (f" x {one.documents:,} documents" if one.documents is not None else "")
    interval = one.intervals[arguments.by]
    exact = f"{one.means[arguments.by]:.3f}, {interval.low:.3f} to {interval.high:.3f} in {interval.level:.0%} of cuts"
    return f"{way}: {size} reach a {goal} ({exact})"


def _table(found: Sequence[Fidelity]) -> tuple[list[str], list[list[Any]]]:
    columns = ["way", "queries", "documents", "draws"]
    columns += [head for label in LABELS.values() for head in (label, "interval")]
    rows: list[list[Any]] = []
    for one in found:
        row: list[Any] = [one.way, one.queries, "all" if one.documents is None else f"{one.documents:,}", one.draws]
        for name in LABELS:
            interval = one.intervals[name]
            row += [one.means[name], f"{interval.low:.3f} to {interval.high:.3f} ({interval.level:.0%})"]
        rows.append(row)
    return columns, rows


def _write_page(
    arguments: argparse.Namespace, scored: Scored, found: Sequence[Fidelity], sentences: Sequence[str]
) -> Path:
    from steelyard.reports.components.curves import Curve, Point, curve_plot, write_page

    plots = {}
    for measure, label in LABELS.items():
        curves = []
        for documents in dict.fromkeys(one.documents for one in found):
            points = [
                Point(one.queries, one.means[measure], one.intervals[measure].low, one.intervals[measure].high)
                for one in sorted(found, key=lambda one: one.queries)
                if one.documents == documents
            ]
            name = "all documents" if documents is None else f"{documents:,} documents"
            curves.append(Curve(name, tuple(points)))
        target = arguments.target if measure == arguments.by else None
        title = f"{label}: agreement with the full set's ranking"
        plots[title] = curve_plot(curves, title, "queries of the cut", target)
    told = [
        f"How well cuts of {scored.task} rank {len(scored.models)} models by {arguments.metric} as the full set does. "
        "Shaded: where a single cut may lie.",
        *sentences,
    ]
    ranked = sorted(zip(scored.models, scored.figures.tolist(), strict=True), key=lambda pair: -pair[1])
    figures: list[list[Any]] = [[model, figure] for model, figure in ranked]
    tables = {"Figures": _table(found), "Models on the full set": (["model", arguments.metric], figures)}
    return write_page(arguments.plot, f"Fidelity of cuts of {scored.task}", told, plots, tables)
