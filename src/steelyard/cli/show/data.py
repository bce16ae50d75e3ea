"""`steelyard show PATH`: data of one's own, what it is like, and every fault at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steelyard.cli._ui.progress import counted
from steelyard.cli._ui.waiting import patiently
from steelyard.cli.show.profile import facts_of, say_facts, say_profile

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output
    from steelyard.datasets.inspection import Checked

BAD = 2
"""The exit code where the data has an error."""


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Tell of every task of a path."""
    from steelyard.datasets import check, profile

    with patiently(output, f"reading {arguments.name}"):
        checked = check(arguments.name)
        profiles = [profile(task.task) if task.task is not None else None for task in checked]
    if output.json:
        output.data([_as_data(task, facts) for task, facts in zip(checked, profiles, strict=True)])
    else:
        for task, facts in zip(checked, profiles, strict=True):
            output.line(f"\n{task.reference}" if task is not checked[0] else task.reference)
            _say(task, facts, output)
    return 0 if all(task.good for task in checked) else BAD


def _as_data(task: Checked, profile: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "reference": task.reference,
        **facts_of(task.info),
        "good": task.good,
        "problems": [problem.to_dict() for problem in task.report.problems],
        "profile": profile,
    }


def _say(task: Checked, profile: dict[str, Any] | None, output: Output) -> None:
    say_facts(task.info, output)
    if profile is not None:
        say_profile(profile, output)
    counts = [counted(len(found), word) for word in ("error", "warning", "note") if (found := task.report.of(word))]
    output.line(f"\nchecked: {', '.join(counts) or 'nothing wrong'}")
    for problem in task.report.problems:
        output.line(f"  {problem}")
