"""`steelyard show group NAME`: the tasks of a group with their published scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.cli.list.tasks import PUBLISHED, task_rows

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from steelyard.cli._ui.output import Output

COLUMNS = ("task", "type", "language", "queries", "documents", "positives")


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Print a row for each task, and the mean where all tasks have published scores."""
    rows = task_rows(group=arguments.name)
    if output.json:
        output.data({"group": arguments.name, "tasks": rows})
        return 0
    body = [[row.get(column) for column in (*COLUMNS, *PUBLISHED.values())] for row in rows]
    if all(key in row for row in rows for key in PUBLISHED.values()):
        means = [sum(row[key] for row in rows) / len(rows) for key in PUBLISHED.values()]
        body.append([f"mean of {len(rows)}", "", "", None, None, None, *means])
    output.table([*COLUMNS, *PUBLISHED], body)
    output.note("BM25, dense and hybrid: published nDCG@10")
    return 0


def show_unlisted(names: Sequence[str], output: Output) -> int:
    """Print the facts of tasks that are not in the catalogue, such as a benchmark of the mteb package."""
    from steelyard.datasets import task_facts
    from steelyard.datasets.formats.sidecar import info_facts

    infos = {name: info for name in names if (info := task_facts(name)) is not None}
    if output.json:
        output.data({"tasks": [{"reference": name, **info_facts(info)} for name, info in infos.items()]})
        return 0
    rows = [[name, info.type, ", ".join(info.languages), info.main_metric] for name, info in infos.items()]
    output.table(["task", "type", "languages", "main metric"], rows)
    return 0
