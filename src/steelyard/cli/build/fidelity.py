"""`steelyard build fidelity`: how well samples of a task rank models as the full task does."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli._ui.options import Add, add_locations, integer, integers, number
from steelyard.cli._ui.progress import duration
from steelyard.cli._ui.signals import interrupt_code
from steelyard.cli.build.sample import add_recipe_options, recipe_of
from steelyard.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from steelyard.cli._ui.output import Output
    from steelyard.cli._ui.parser import Parser


def configure(parser: Parser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("task", metavar="TASK", help="The full task: a name, or a path to your own data.")
    _add_scores(parser.add_argument_group("scores of the full task").add_argument)
    _add_study(parser.add_argument_group("study").add_argument)
    add_locations(parser.add_argument_group("data").add_argument)
    add_recipe_options(parser.add_argument_group("how real samples are made (--cut-docs)").add_argument)


def _add_scores(add: Add) -> None:
    add(
        *("-m", "--model"),
        action="append",
        default=[],
        help="Model to compare, repeatable (default: all stored ones, else twelve light ones).",
    )
    add("--results", type=Path, metavar="DIR", help="Use the stored results of this folder (default: evaluate now).")
    add("--metric", default="nDCG@10", help="Metric that ranks the models (default: nDCG@10).")


def _add_study(add: Add) -> None:
    add(
        "--sizes",
        type=integers("--sizes"),
        default=[],
        metavar="N,N",
        help="Numbers of queries (default: 10,20,50,100,200,500,1000).",
    )
    add(
        "--cut-docs",
        type=integers("--cut-docs"),
        default=[],
        metavar="M,M",
        help="Also sample the task to these numbers of documents (default: only resample queries).",
    )
    at_least_one = integer("--seeds", at_least=1)
    add("--seeds", type=at_least_one, default=5, metavar="N", help="Real samples of each size (default: 5).")
    draws = integer("--draws", at_least=1)
    add("--draws", type=draws, default=1000, metavar="N", help="Resamples of each size (default: 1000).")
    target = number("--target", low=0, high=1, above=True)
    add("--target", type=target, default=0.95, metavar="X", help="Agreement to reach, 0 to 1 (default: 0.95).")
    add(
        "--by",
        choices=["spearman", "kendall", "pairs"],
        default="spearman",
        help="Measure of agreement for --target (default: spearman).",
    )
    add("--plot", type=Path, metavar="FILE.html", help="Write a page that plots fidelity against size.")


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Run the study and print its table and the smallest sizes that reach the target."""
    from steelyard.engine.fidelity import measure_fidelity
    from steelyard.reports.fidelity_page import fidelity_sentences, fidelity_table, write_fidelity_page

    if arguments.plot is not None and arguments.plot.suffix != ".html":
        raise UsageError.invalid("--plot", expected="a file name that ends in .html", found=str(arguments.plot))
    try:
        study = measure_fidelity(
            arguments.task,
            arguments.model,
            metric=arguments.metric,
            results=arguments.results,
            queries=arguments.sizes,
            documents=arguments.cut_docs,
            seeds=arguments.seeds,
            draws=arguments.draws,
            seed=arguments.seed,
            recipe=recipe_of(arguments),
            settings=arguments.settings,
            note=output.note,
            watch=_watch(output),
        )
    except KeyboardInterrupt:
        output.note("\ninterrupted: only encoded vectors are kept; the same command starts again")
        return interrupt_code()
    for size in study.impossible:
        output.note(f"not sampled: {size.queries:,} queries x {size.documents:,} documents: {size.reason}")
    if arguments.plot is not None:
        page = write_fidelity_page(study, arguments.plot, arguments.metric, arguments.target, arguments.by)
        output.note(f"page: {page}")
    if output.json:
        output.data(study.to_dict(arguments.target, arguments.by))
        return 0
    output.table(*fidelity_table(study))
    for sentence in fidelity_sentences(study, arguments.target, arguments.by):
        output.note(sentence)
    return 0


def _watch(output: Output) -> Callable[[int, int, str], None]:
    started = time.monotonic()

    def watch(done: int, total: int, stage: str) -> None:
        spent = time.monotonic() - started
        left = f"  {duration(spent / done * (total - done))} left" if 0 < done < total else ""
        if stage:
            output.note(f"sample {done + 1}/{total}{left}  {stage}")

    return watch
