"""`steelyard show data PATH`: the tasks of your own data, their profile, and every problem at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steelyard.cli._ui.progress import counted, waiting
from steelyard.cli.show.task_profile import print_facts, print_profile

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output
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
    if output.json:
        output.data([_as_data(task, facts) for task, facts in zip(tasks, profiles, strict=True)])
    else:
        for place, (task, facts) in enumerate(zip(tasks, profiles, strict=True)):
            output.line(f"\n{task.reference}" if place else task.reference)
            _print(task, facts, output)
    if others:
        output.note(f"\n{others:,} more tasks were not checked; add --all to check them")
    return 0 if all(task.good for task in tasks) else BAD_DATA


def _as_data(task: Checked, profile: dict[str, Any] | None) -> dict[str, Any]:
    from steelyard.datasets.formats.sidecar import info_facts

    return {
        "reference": task.reference,
        **info_facts(task.info),
        "good": task.good,
        "problems": [problem.to_dict() for problem in task.report.problems],
        "profile": profile,
    }


def _print(task: Checked, profile: dict[str, Any] | None, output: Output) -> None:
    print_facts(task.info, output)
    if profile is not None:
        print_profile(profile, output)
    problems = {severity: task.report.of(severity) for severity in ("error", "warning", "note")}
    counts = [counted(len(own), severity) for severity, own in problems.items() if own]
    output.line(f"\nchecked: {', '.join(counts) or 'no problems'}")
    for problem in task.report.problems:
        output.line(f"  {problem}")
