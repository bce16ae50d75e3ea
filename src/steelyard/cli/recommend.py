"""`steelyard recommend`: what should I ship? Quality against latency, memory and price."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli._ui.options import add_locations, add_passages, add_results, add_tasks, integer, integers
from steelyard.cli._ui.progress import Progress

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    add = parser.add_argument
    add("models", nargs="*", metavar="MODEL", help="Models and rerankers to choose from (default: all installed ones).")
    add_tasks(add)
    add_results(add, "-o", "--output", "--results", dest="output")
    add("--metric", help="Metric of quality, such as nDCG@20 (default: main metric of each task).")
    limit = integer("--limit", at_least=1)
    add("--limit", type=limit, metavar="N", help="Use N random queries of each task (default: all).")
    add_locations(parser.add_argument_group("data").add_argument)
    _add_grid(parser)
    _add_limits(parser)


def _add_grid(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is varied")
    add = group.add_argument
    add("--truncate-dim", metavar="D,D", help="Dimensions of dense models (default: those of the model's card).")
    add("--precision", default="int8,binary", metavar="P,P", help="Precisions besides float32 (default: int8,binary).")
    add("--rescore", default="4", metavar="N", help="Oversampling of rescored variants; 0 for none (default: 4).")
    add_passages(add)
    add("--no-fusions", action="store_true", help="Do not fuse encoders with BM25.")
    add(
        "--depths",
        type=integers("--depths"),
        default=[],
        metavar="N,N",
        help="Depths of rerankers (default: 20,50,100).",
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("constraints and measurement")
    add = group.add_argument
    add("--max-latency", metavar="T", help="Largest p95 latency of one query, such as 50ms (default: any).")
    add("--max-bytes-per-doc", metavar="B", help="Largest index size per document, such as 512 (default: any).")
    add("--max-memory", metavar="B", help="Largest index of a million documents, such as 2GB (default: any).")
    add("--max-price", type=float, metavar="P", help="Largest price of 1,000 queries (default: any).")
    add(
        "--cheapest",
        choices=["balanced", "latency", "bytes", "price"],
        default="balanced",
        help="Cost that decides among the best choices (default: balanced, all of them).",
    )
    add(
        "--max-loss",
        type=float,
        metavar="X",
        help="Largest loss of quality against the best that the interval of the difference may allow (default: any).",
    )
    add("--samples", type=int, default=100, metavar="N", help="Queries timed one at a time (default: 100).")
    add("--warm-up", type=int, default=5, metavar="N", help="Queries before the timed ones (default: 5).")
    add("--batch-size", type=int, default=32, metavar="N", help="Queries of a timed batch (default: 32).")
    add("--remeasure", action="store_true", help="Measure costs again instead of using those of an earlier run.")
    add("--html", type=Path, metavar="FILE", help="Write the page to FILE (default: recommend.html in the results).")


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Evaluate, measure, print the table and the recommendation; 1 if no choice keeps the constraints."""
    from steelyard.recommendation import Constraints, Sampling, recommend
    from steelyard.recommendation.expansion import DEPTHS, Grid

    constraints = Constraints.of(
        max_latency=arguments.max_latency,
        max_bytes_per_doc=arguments.max_bytes_per_doc,
        max_price=arguments.max_price,
        max_memory=arguments.max_memory,
    )
    grid = Grid(
        dimensions=arguments.truncate_dim,
        precisions=arguments.precision,
        rescore="" if arguments.rescore == "0" else arguments.rescore,
        fusions=not arguments.no_fusions,
        depths=arguments.depths or DEPTHS,
    )
    folder = arguments.output or arguments.settings.results
    progress = Progress.for_output(output)
    recommended = recommend(
        arguments.models or None,
        arguments.tasks or ["builtin"],
        grid=grid,
        constraints=constraints,
        cheapest=arguments.cheapest,
        max_loss=arguments.max_loss,
        metric=arguments.metric,
        limit=arguments.limit,
        chunk=arguments.chunk,
        overlap=arguments.overlap,
        sampling=Sampling(arguments.samples, arguments.warm_up, arguments.batch_size),
        remeasure=arguments.remeasure,
        results=folder,
        progress=progress,
        report=output.note,
        settings=arguments.settings,
    )
    output.findings(recommended)
    if not output.json:
        output.note("marks: * recommended, = cannot be distinguished from the best, x breaks a constraint")
        stored = sum(choice.costs.stored for choice in recommended.choices)
        if stored:
            output.note(f"costs of {stored} choices are those of an earlier run; --remeasure measures them again")
    for model, reason in recommended.failed.items():
        output.failure(f"{model}: {reason}")
    page = arguments.html or Path(folder) / "recommend.html"
    recommended.to_html(page)
    output.note(f"page: {page}")
    return 0 if recommended.recommended is not None and not recommended.failed else 1
