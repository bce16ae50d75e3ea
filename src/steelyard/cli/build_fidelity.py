"""`steelyard build fidelity`: how well a cut of n queries and m documents ranks models as the full set does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from steelyard.build.fidelity import Fidelity
    from steelyard.build.recipe import Recipe
    from steelyard.cli.output import Output
    from steelyard.types import Float64


def configure(add: Callable[..., Any]) -> None:
    """Add the arguments."""
    add("--results", type=Path, metavar="DIR", help="stored results of the full set (default: ./results)")
    add(
        "--sizes",
        type=int,
        nargs="+",
        default=[25, 50, 100, 200],
        metavar="N",
        help="numbers of queries (25 50 100 200)",
    )
    add("--metric", default="nDCG@10", help="that ranks the models (default: nDCG@10)")
    add("--draws", type=int, default=1000, metavar="N", help="samples of each size (default: 1000)")
    add("--cut-docs", type=int, nargs="+", default=[], metavar="M", help="also really cut, to so many documents")
    add("--seeds", type=int, default=5, metavar="N", help="real cuts of each size (default: 5)")
    add("-m", "--model", action="append", default=[], help="the models for real cuts (default: those with results)")
    add("--target", type=float, default=0.9, help="agreement that the smallest good cut must keep (default: 0.9)")
    add("--by", choices=["spearman", "kendall", "pairs"], default="pairs", help="the measure of it (default: pairs)")
    add("--plot", type=Path, metavar="FILE", help="write fidelity against size as an SVG file")


def run(arguments: argparse.Namespace, output: Output, reference: str, recipe: Recipe) -> int:
    """Resample, cut if asked to, and name the smallest cut that meets the target."""
    from steelyard.build.fidelity import recut, resample, smallest
    from steelyard.metrics import parse

    metric = str(parse(arguments.metric))
    models, scores = _stored(arguments, reference, metric)
    found: list[Fidelity] = []
    if len(models) >= 3:
        sizes = [size for size in arguments.sizes if size <= scores.shape[1]]
        for size in sorted(set(arguments.sizes) - set(sizes)):
            output.note(f"{size:,} queries: the full set has only {scores.shape[1]:,}")
        found += resample(scores, sizes, draws=arguments.draws, seed=arguments.seed)
    elif not arguments.cut_docs:
        raise UsageError(
            f"{len(models)} models have results for {reference}, which make no ranking to compare with",
            hint="weigh three or more: steelyard run MODEL MODEL MODEL -t TASK; or cut really, with --cut-docs and -m",
        )
    if arguments.cut_docs:
        chosen = arguments.model or models
        found += recut(
            reference,
            chosen,
            [(queries, documents) for documents in arguments.cut_docs for queries in arguments.sizes],
            seeds=range(arguments.seed, arguments.seed + arguments.seeds),
            recipe=recipe,
            metric=metric,
            full=scores.mean(axis=1) if chosen == models else None,
            watch=output.note,
        )
    return _show(arguments, output, reference, found, smallest(found, arguments.target, arguments.by))


def _stored(arguments: argparse.Namespace, reference: str, metric: str) -> tuple[list[str], Float64]:
    """The models with results for the task, and their per-query figures, (models, queries)."""
    import numpy as np

    from steelyard import config
    from steelyard.datasets import task_facts
    from steelyard.results import ResultStore

    facts = task_facts(reference)
    name = facts.name if facts is not None else reference
    store = ResultStore(arguments.results or config.results_folder())
    by_model: dict[str, Any] = {}
    for result in store.find(task=name):
        if result.done and metric in (queries := result.per_query).by_metric:
            by_model.setdefault(result.model, queries)
    most = max((len(queries.ids) for queries in by_model.values()), default=0)
    whole = {model: queries for model, queries in by_model.items() if len(queries.ids) == most}
    rows = []
    for queries in whole.values():
        order = sorted(range(most), key=queries.ids.__getitem__)
        rows.append(queries.by_metric[metric][order])
    return list(whole), np.array(rows).reshape(len(rows), most)


def _show(
    arguments: argparse.Namespace, output: Output, reference: str, found: list[Fidelity], best: Fidelity | None
) -> int:
    if arguments.plot:
        from steelyard.build.fidelity_plot import plot

        title = f"{reference}: {arguments.by} agreement with the full set"
        arguments.plot.write_text(plot(found, arguments.by, title, arguments.target), encoding="utf-8")
        output.note(f"plot: {arguments.plot}")
    if output.json:
        told = [one.to_dict() for one in found]
        output.data({"fidelity": told, "target": arguments.target, "smallest": best.to_dict() if best else None})
        return 0
    columns = ["way", "queries", "documents", "draws"]
    rows: list[list[Any]] = []
    for one in found:
        row: list[Any] = [one.way, one.queries, one.documents if one.documents is not None else "all", one.draws]
        for name in ("spearman", "kendall", "pairs"):
            row += [getattr(one, name), f"{one.intervals[name].low:.3f} to {one.intervals[name].high:.3f}"]
        rows.append(row)
    heads = [head for name in ("Spearman", "Kendall", "pairs") for head in (name, "95 of 100 draws")]
    output.table([*columns, *heads], rows)
    if best is None:
        output.note(f"no cut keeps {arguments.by} at {arguments.target:g} or above in 95 of 100 draws")
    else:
        size = "all documents" if best.documents is None else f"{best.documents:,} documents"
        output.note(f"smallest that keeps {arguments.by} at {arguments.target:g}: {best.queries:,} queries, {size}")
    return 0
