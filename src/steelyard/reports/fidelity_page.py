"""A study of fidelity as a table, sentences and an HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.build.fidelity import Fidelity
    from steelyard.engine.fidelity import FidelityStudy, Measure

LABELS = {"spearman": "Spearman", "kendall": "Kendall", "pairs": "pairs"}


def fidelity_table(study: FidelityStudy) -> tuple[list[str], list[list[Any]]]:
    """Return the columns and rows of every size."""
    columns = ["way", "queries", "documents", "draws"]
    columns += [head for label in LABELS.values() for head in (label, "interval")]
    rows: list[list[Any]] = []
    for size in study.sizes:
        documents = "all" if size.documents is None else f"{size.documents:,}"
        row: list[Any] = [size.way, size.queries, documents, size.draws]
        for name in LABELS:
            interval = size.intervals[name]
            row += [size.means[name], f"{interval.low:.3f} to {interval.high:.3f} ({interval.level:.0%})"]
        rows.append(row)
    return columns, rows


def fidelity_sentences(study: FidelityStudy, target: float, by: Measure) -> list[str]:
    """Return a sentence about the smallest size that reaches the target, for each method and end of the interval."""
    return [
        _sentence(method, end, size, target, by)
        for method, ends in study.smallest(target, by).items()
        for end, size in ends.items()
    ]


def _sentence(method: str, end: str, size: Fidelity | None, target: float, by: str) -> str:
    where = "on average" if end == "on_average" else "at the low end of the interval"
    goal = f"{LABELS[by]} {target:g} {where}"
    if size is None:
        return f"{method}: no size reaches {goal}"
    what = f"{size.queries:,} queries" + (f" x {size.documents:,} documents" if size.documents is not None else "")
    interval = size.intervals[by]
    exact = f"{size.means[by]:.3f}, {interval.low:.3f} to {interval.high:.3f} in {interval.level:.0%} of samples"
    return f"{method}: {what} reach {goal} ({exact})"


def write_fidelity_page(
    study: FidelityStudy, path: Path, metric: str = "nDCG@10", target: float = 0.95, by: Measure = "spearman"
) -> Path:
    """Write a page that plots fidelity against size, and return its path."""
    from steelyard.reports.components.curves import Curve, Point, curve_plot, write_page

    plots = {}
    for measure, label in LABELS.items():
        curves = []
        for documents in dict.fromkeys(size.documents for size in study.sizes):
            points = [
                Point(size.queries, size.means[measure], size.intervals[measure].low, size.intervals[measure].high)
                for size in sorted(study.sizes, key=lambda size: size.queries)
                if size.documents == documents
            ]
            name = "all documents" if documents is None else f"{documents:,} documents"
            curves.append(Curve(name, tuple(points)))
        title = f"{label}: agreement with the ranking by the full set"
        plots[title] = curve_plot(curves, title, "queries of the sample", target if measure == by else None)
    scored = study.scored
    sentences = [
        f"How well samples of {scored.task} rank {len(scored.models)} models by {metric}, compared with the full set. "
        "Shaded: the range of single samples.",
        *fidelity_sentences(study, target, by),
    ]
    ranked = sorted(zip(scored.models, scored.means.tolist(), strict=True), key=lambda pair: -pair[1])
    models: list[list[Any]] = [[model, score] for model, score in ranked]
    tables = {"Fidelity by size": fidelity_table(study), "Models on the full set": (["model", metric], models)}
    return write_page(path, f"Fidelity of samples of {scored.task}", sentences, plots, tables)
