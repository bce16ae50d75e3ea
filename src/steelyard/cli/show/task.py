"""`steelyard show TASK`: what is known of it, the profile of its data, what was published, what was weighed here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steelyard.cli._ui.stored_results import stored_results
from steelyard.cli._ui.wording import say, short
from steelyard.cli.show import group as show_group
from steelyard.cli.show.profile import facts_of, say_facts, say_profile

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output
    from steelyard.datasets.catalogue import Entry
    from steelyard.types import TaskInfo


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Tell of the task; a name that stands for several is shown as their group."""
    from steelyard.datasets import builtin, load_any, profile, task_facts, task_names
    from steelyard.datasets.hubs import published

    names = task_names([arguments.name], settings=arguments.settings)
    if len(names) != 1:
        if arguments.name.startswith("mteb:"):
            return show_group.show_unlisted(names, output)
        return show_group.run(arguments, output)
    (name,) = names
    info, (entry, _) = task_facts(name), published.entry_of(name) or (None, None)
    told: dict[str, Any] = {}
    if arguments.load or info is None or name in builtin.infos():
        task = load_any(name, revision=arguments.revision, settings=arguments.settings)
        info, told = task.info, {"profile": profile(task)}
    scores = _scores(arguments, output, info.name)
    if output.json:
        counted = {"counts": dict(entry.counts), **entry.extra} if entry else {}
        output.data(facts_of(info) | counted | told | {"results": scores})
        return 0
    say_facts(info, output)
    if entry:
        _say_entry(entry, output)
    _say_reference(info, output)
    if told:
        say_profile(told["profile"], output)
    else:
        output.note(f"\nsteelyard show {name} --load fetches it and shows its profile and examples")
    if scores:
        output.line("\nweighed here:")
        output.table(["model", "metric", "score"], [[row["model"], row["metric"], row["score"]] for row in scores])
    return 0


def _scores(arguments: argparse.Namespace, output: Output, task: str) -> list[dict[str, Any]]:
    """What models scored on the task, best first."""
    found = [result for result in stored_results(arguments, output, task=task) if result.done]
    return [
        {"model": result.model, "metric": result.main_metric, "score": result.score, "key": result.key}
        for result in sorted(found, key=lambda result: (-(result.score or 0.0), result.model))
    ]


def _say_entry(entry: Entry, output: Output) -> None:
    """What the catalogue has of a published task."""
    say(output, "published counts", ", ".join(f"{key} {value:,}" for key, value in entry.counts.items()))
    for key, value in entry.extra.items():
        if key != "counts":
            say(output, key.replace("_", " "), short(_words(value)))


def _words(value: Any) -> str:
    """A fact of the catalogue; of a repository its name and the beginning of its commit."""
    if isinstance(value, list):
        return ", ".join(map(_words, value))
    return f"{value['hub']}@{value['revision'][:12]}" if isinstance(value, dict) else str(value)


def _say_reference(info: TaskInfo, output: Output) -> None:
    """Published figures: a row for each profile, a column for each metric."""
    if not info.reference:
        return
    metrics = list(dict.fromkeys(key.partition("_")[2] for key in info.reference))
    profiles = list(dict.fromkeys(key.partition("_")[0] for key in info.reference))
    output.line("\npublished figures, to compare with:")
    rows = [[profile, *(info.reference.get(f"{profile}_{metric}") for metric in metrics)] for profile in profiles]
    output.table(["profile", *metrics], rows)
