"""`steelyard show data PATH`: the tasks of your own data, their profile, and every problem at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steelyard.cli._ui.options import stored_results
from steelyard.cli._ui.progress import counted, waiting
from steelyard.cli._ui.wording import print_fact
from steelyard.cli.show.group import group_totals, print_group
from steelyard.cli.show.task_profile import print_facts, print_profile

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from steelyard.cli._ui.output import Output
    from steelyard.comparison.query_power import QueryPower
    from steelyard.datasets.inspection import Checked

MAX_TASKS = 100
"""Tasks that are checked without --all."""
BAD_DATA = 2
"""The exit code where the data has an error."""


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Check and show every task of a path."""
    from steelyard.datasets import profile
    from steelyard.datasets.inspection import check_first

    with waiting(output, f"reading {arguments.name}"):
        tasks, others = check_first(
            arguments.name, None if arguments.all else MAX_TASKS, arguments.settings.missing_judgements
        )
        profiles = [profile(task.task) if task.task is not None else None for task in tasks]
    powers = [_power(task, arguments, output) for task in tasks]
    if output.json:
        output.data([_as_data(*parts) for parts in zip(tasks, profiles, powers, strict=True)])
    else:
        for place, (task, facts, power) in enumerate(zip(tasks, profiles, powers, strict=True)):
            output.line(f"\n{task.reference}" if place else task.reference)
            _print(task, facts, power, output)
        _print_set(tasks, output)
    if others:
        output.note(f"\n{others:,} more tasks were not checked; add --all to check them")
    return 0 if all(task.good for task in tasks) else BAD_DATA


def _print_set(tasks: Sequence[Checked], output: Output) -> None:
    """Print a table of the tasks of a set and their totals, if it has several with documents."""
    from steelyard.types import Task

    rows = [
        {
            "task": one.info.name,
            "type": one.info.type,
            "language": one.info.language,
            "category": one.info.category,
            "retrieval_focus": one.info.metadata.retrieval_focus,
            "queries": len(one.task.queries),
            "documents": len(one.task.corpus),
            "positives": int(one.task.qrels.positives.sum()),
        }
        for one in tasks
        if isinstance(one.task, Task)
    ]
    if len(rows) > 1:
        output.line("")
        print_group(rows, group_totals(rows), output)


def _power(task: Checked, arguments: argparse.Namespace, output: Output) -> QueryPower | None:
    """Return what the queries of a retrieval task can detect, from its stored results if there are several."""
    from steelyard.comparison.query_power import query_power
    from steelyard.types import Task

    if not isinstance(task.task, Task):
        return None
    return query_power(len(task.task.queries), stored_results(arguments, output, task=task.info.name))


def _as_data(task: Checked, profile: dict[str, Any] | None, power: QueryPower | None) -> dict[str, Any]:
    from steelyard.datasets.formats.sidecar import info_facts

    return {
        "reference": task.reference,
        **info_facts(task.info),
        "good": task.good,
        "problems": [problem.to_dict() for problem in task.report.problems],
        "profile": profile,
        "power": None if power is None else power.to_dict(),
    }


def _print(task: Checked, profile: dict[str, Any] | None, power: QueryPower | None, output: Output) -> None:
    print_facts(task.info, output)
    if profile is not None:
        print_profile(profile, output)
    if power is not None:
        _print_power(power, output)
    problems = {severity: task.report.of(severity) for severity in ("error", "warning", "note")}
    counts = [counted(len(own), severity) for severity, own in problems.items() if own]
    output.line(f"\nchecked: {', '.join(counts) or 'no problems'}")
    for problem in task.report.problems:
        output.line(f"  {problem}")


def _print_power(power: QueryPower, output: Output) -> None:
    """Print the smallest difference that the queries can detect, and how many queries smaller ones need."""
    if power.models:
        origin = f"measured with {power.models} stored models"
    else:
        origin = "typical; evaluate two models to measure it"
    smallest = power.detectable_difference
    detectable = f"{smallest:.3f} nDCG@10" if smallest is not None else "none"
    output.line("")
    print_fact(
        output,
        "detectable difference",
        f"{detectable} between two models, number of queries: {power.queries:,} (level 0.05, power 0.8)",
    )
    print_fact(output, "standard deviation", f"{power.deviation:.3f} of per-query differences, {origin}")
    needed = ", ".join(f"{count:,} for {difference:g}" for difference, count in power.queries_needed.items())
    print_fact(output, "queries needed", needed)
