"""`steelyard compare`: is the difference between models real? With `--fail-if-worse`, a gate for CI."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli._ui.options import add_locations, add_passages, add_results
from steelyard.cli._ui.progress import Progress
from steelyard.errors import MissingPart, UsageError

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output
    from steelyard.comparison import Comparison
    from steelyard.comparison.gate import Gate


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb."""
    _add_inputs(parser)
    _add_details(parser)
    _add_gate(parser)


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is compared")
    add = group.add_argument
    add(
        "models",
        nargs="*",
        metavar="MODEL",
        help="Model name, folder of results, result file, saved run or TREC run; the first is the baseline.",
    )
    add("-t", "--tasks", nargs="+", action="extend", default=[], help="Tasks, groups or paths (default: common ones).")
    add_results(add, "-o", "--output", "--results", dest="output")
    add("--metric", help="Metric to compare, such as nDCG@20 (default: main metric of each task).")
    add("--stored", action="store_true", help="Refuse what is not stored instead of evaluating it.")
    add("--limit", type=int, metavar="N", help="Compare on a seeded sample of N queries of each task.")
    add("--seed", type=int, default=0, help="Seed of the sample that --limit draws (default: 0).")
    add_passages(add)
    add("--alpha", type=float, default=0.05, help="Risk of a false conclusion (default: 0.05).")
    add_locations(parser.add_argument_group("data").add_argument)


def _add_details(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("details and output")
    add = group.add_argument
    add("--queries", type=int, default=0, metavar="N", help="List the N queries that changed most (default: 0).")
    add(
        "--slices",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="Divide queries by language, length, positives, overlap, or a column of --metadata.",
    )
    add("--metadata", type=Path, metavar="FILE", help="CSV, TSV or JSON lines with columns by query id.")
    add("--agreement", metavar="METRIC|TASKS", help="Measure whether this metric or these tasks rank the models alike.")
    forms = group.add_mutually_exclusive_group()
    forms.add_argument("--markdown", action="store_true", help="Print Markdown.")
    forms.add_argument("--latex", action="store_true", help="Print LaTeX tables with significance marks.")
    add("--html", type=Path, metavar="FILE", help="Write an HTML page with a forest plot and scatter plots.")


def _add_gate(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("gate")
    add = group.add_argument
    add("--fail-if-worse", action="store_true", help="Exit with code 1 on a significant regression of the mean.")
    add("--margin", type=float, default=None, help="Smallest drop that counts as a regression (default: 0.005).")
    add("--per-task", action="store_true", help="A significant regression of any task fails the gate, too.")
    add("--baseline", type=Path, metavar="FILE", help="Compare with the per-query scores in this small file.")
    add("--update-baseline", action="store_true", help="Write the scores of the only MODEL to --baseline instead.")
    add("--junit", type=Path, metavar="FILE", help="Write the outcome of the gate as JUnit XML.")
    add("--github", action="store_true", help="Print GitHub annotations (default: if GITHUB_ACTIONS is true).")


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Compare, print, and return 1 if the gate fails."""
    from steelyard.comparison import compare

    _check(arguments)
    progress = Progress.for_output(output)
    if arguments.update_baseline:
        return _update_baseline(arguments, output, progress)
    models = [*([arguments.baseline] if arguments.baseline else []), *arguments.models]
    try:
        comparison = compare(
            *models,
            tasks=arguments.tasks,
            results=_folder(arguments),
            metric=arguments.metric,
            stored=arguments.stored,
            limit=arguments.limit,
            seed=arguments.seed,
            chunk=arguments.chunk,
            overlap=arguments.overlap,
            alpha=arguments.alpha,
            queries=arguments.queries,
            slices=[name for words in arguments.slices for name in words.split(",") if name],
            metadata=arguments.metadata,
            agreement=arguments.agreement,
            progress=progress,
            on_task=lambda done, total: progress.show(done / total, f"{done}/{total} tasks compared"),
            settings=arguments.settings,
        )
    finally:
        progress.close()
    outcome = _gate(comparison, arguments)
    _show(comparison, outcome, arguments, output)
    if outcome is None:
        return 0
    (output.failure if outcome.failed else output.note)(str(outcome))
    return int(outcome.failed)


def _check(arguments: argparse.Namespace) -> None:
    """Refuse combinations of options that would do something else than was meant."""
    for flag in ("margin", "per_task", "junit", "github"):
        if getattr(arguments, flag) and not arguments.fail_if_worse:
            name = f"--{flag.replace('_', '-')}"
            raise UsageError(f"{name} needs --fail-if-worse", hint=f"add --fail-if-worse, or leave out {name}")
    if arguments.queries < 0:
        raise UsageError(f"--queries must be at least 0, got {arguments.queries}", hint="20 is usual")
    if arguments.update_baseline and arguments.baseline is None:
        raise UsageError("--update-baseline needs --baseline FILE", hint="name the file to write")
    if arguments.json and (arguments.markdown or arguments.latex):
        raise UsageError("--json cannot be combined with --markdown or --latex", hint="choose one form")
    if arguments.baseline is not None and not arguments.update_baseline and not arguments.baseline.exists():
        models = " ".join(arguments.models) or "MODEL"
        raise MissingPart(
            f"the baseline does not exist: {arguments.baseline}",
            hint=f"steelyard compare {models} -t TASKS --baseline {arguments.baseline} --update-baseline",
        )


def _folder(arguments: argparse.Namespace) -> Path:
    folder: Path = arguments.output or arguments.settings.results
    return folder


def _update_baseline(arguments: argparse.Namespace, output: Output, progress: Progress) -> int:
    from steelyard.comparison.baseline import write_baseline
    from steelyard.comparison.inputs import Source, collect

    if len(arguments.models) != 1:
        raise UsageError(
            f"--update-baseline needs exactly one model, got {len(arguments.models)}", hint="name the model to keep"
        )
    metric = arguments.metric
    if metric is not None:
        from steelyard.metrics import parse

        metric = str(parse(metric))
    source = Source(
        tasks=arguments.tasks,
        folder=_folder(arguments),
        metric=metric,
        stored=arguments.stored,
        limit=arguments.limit,
        seed=arguments.seed,
        progress=progress,
        settings=arguments.settings,
    )
    try:
        _, results = collect(arguments.models, source)
    finally:
        progress.close()
    path = write_baseline(arguments.baseline, list(results), metric)
    size = path.stat().st_size
    if output.json:
        output.data({"baseline": str(path), "tasks": list(results.tasks), "bytes": size})
    output.note(f"baseline: {path} ({len(results.tasks)} tasks, {size / 1000:.1f} kB)")
    return 0


def _gate(comparison: Comparison, arguments: argparse.Namespace) -> Gate | None:
    if not arguments.fail_if_worse:
        return None
    from steelyard.comparison.gate import MARGIN, gate

    margin = MARGIN if arguments.margin is None else arguments.margin
    return gate(comparison, margin=margin, per_task=arguments.per_task)


def _show(comparison: Comparison, outcome: Gate | None, arguments: argparse.Namespace, output: Output) -> None:
    from steelyard.comparison import text
    from steelyard.files import write_output

    if output.json:
        output.data(comparison.to_dict() | ({"gate": outcome.to_dict()} if outcome else {}))
    elif arguments.markdown:
        output.line(comparison.to_markdown().rstrip())
    elif arguments.latex:
        output.line(comparison.to_latex().rstrip())
    else:
        for place, (title, head, rows) in enumerate(text.sections(comparison)):
            (output.line if place else output.note)("")
            output.line(title)
            output.table(head, rows, fold=True)
        output.note(f"\n{text.note(comparison)}")
        for line in text.summary(comparison):
            output.line(line)
    if arguments.html is not None:
        write_output(arguments.html, comparison.to_html().encode(errors="backslashreplace"))
        output.note(f"page: {arguments.html}")
    if outcome is not None and arguments.junit is not None:
        write_output(arguments.junit, outcome.junit())
        output.note(f"junit: {arguments.junit}")
    if outcome is not None and (arguments.github or os.environ.get("GITHUB_ACTIONS") == "true"):
        for line in outcome.annotations():
            output.failure(line)
