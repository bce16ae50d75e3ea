"""`steelyard show task NAME`: facts, profile of the data, published scores and stored results of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steelyard.cli._ui.options import stored_results
from steelyard.cli._ui.wording import print_fact, short
from steelyard.cli.show import group as show_group
from steelyard.cli.show.task_profile import print_facts, print_profile

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output
    from steelyard.datasets.catalogue import Entry
    from steelyard.types import TaskInfo


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Show the task; a name of several tasks is shown as a group."""
    from steelyard.datasets import builtin, load_any, profile, task_facts, task_names
    from steelyard.datasets.formats.sidecar import info_facts
    from steelyard.datasets.hubs import published

    names = task_names([arguments.name], settings=arguments.settings)
    if len(names) != 1:
        if arguments.name.startswith("mteb:"):
            return show_group.show_unlisted(names, output)
        return show_group.run(arguments, output)
    (name,) = names
    info, (entry, _) = task_facts(name), published.entry_of(name) or (None, None)
    loaded: dict[str, Any] = {}
    if arguments.load or info is None or name in builtin.infos():
        task = load_any(name, revision=arguments.revision, settings=arguments.settings)
        info, loaded = task.info, {"profile": profile(task)}
    scores = _scores(arguments, output, info.name)
    if output.json:
        counts = {"counts": dict(entry.counts), **entry.extra} if entry else {}
        output.data(info_facts(info) | counts | loaded | {"results": scores})
        return 0
    print_facts(info, output)
    if entry:
        _print_entry(entry, output)
    _print_reference(info, output)
    if loaded:
        print_profile(loaded["profile"], output)
    else:
        output.note(f"\n`steelyard show {name} --load` downloads it and shows its profile and examples")
    if scores:
        output.line("\nstored results:")
        output.table(["model", "metric", "score"], [[row["model"], row["metric"], row["score"]] for row in scores])
    return 0


def _scores(arguments: argparse.Namespace, output: Output, task: str) -> list[dict[str, Any]]:
    """Return the stored scores of the task, best first."""
    results = [result for result in stored_results(arguments, output, task=task) if result.done]
    return [
        {"model": result.model, "metric": result.main_metric, "score": result.score, "key": result.key}
        for result in sorted(results, key=lambda result: (-(result.score or 0.0), result.model))
    ]


def _print_entry(entry: Entry, output: Output) -> None:
    """Print the facts of the catalogue."""
    print_fact(output, "published counts", ", ".join(f"{key} {value:,}" for key, value in entry.counts.items()))
    for key, value in entry.extra.items():
        if key not in ("counts", "description", "languages"):  # the last two are facts of every task
            whole = key in ("link", "samples_note")
            print_fact(output, key.replace("_", " "), _text(value) if whole else short(_text(value)))


def _text(value: Any) -> str:
    """Return a fact of the catalogue as text; a repository as its name and the start of its commit."""
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return f"{value['hub']}@{value['revision'][:12]}" if isinstance(value, dict) else str(value)


def _print_reference(info: TaskInfo, output: Output) -> None:
    """Print published scores: a row per profile, a column per metric."""
    if not info.reference:
        return
    metrics = list(dict.fromkeys(key.partition("_")[2] for key in info.reference))
    profiles = list(dict.fromkeys(key.partition("_")[0] for key in info.reference))
    output.line("\npublished scores:")
    rows = [[profile, *(info.reference.get(f"{profile}_{metric}") for metric in metrics)] for profile in profiles]
    output.table(["profile", *metrics], rows)
