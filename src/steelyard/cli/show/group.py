"""`steelyard show GROUP`: its tasks, with what others have published of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.cli.list.tasks import PUBLISHED, task_rows

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from steelyard.cli._ui.output import Output

COLUMNS = ("task", "type", "language", "queries", "documents", "positives")


def run(arguments: argparse.Namespace, output: Output) -> int:
    """A row for each task; their mean where all have published figures."""
    rows = task_rows(group=arguments.name)
    if output.json:
        output.data({"group": arguments.name, "tasks": rows})
        return 0
    body = [[row.get(column) for column in (*COLUMNS, *PUBLISHED.values())] for row in rows]
    if all(figure in row for row in rows for figure in PUBLISHED.values()):
        means = [sum(row[figure] for row in rows) / len(rows) for figure in PUBLISHED.values()]
        body.append([f"mean of {len(rows)}", "", "", None, None, None, *means])
    output.table([*COLUMNS, *PUBLISHED], body)
    output.note("the figures are published nDCG@10, to compare with")
    return 0


def show_unlisted(names: Sequence[str], output: Output) -> int:
    """What is known of tasks that no catalogue of ours lists, such as a benchmark of the mteb package."""
    from steelyard.cli.show.profile import facts_of
    from steelyard.datasets import task_facts

    infos = {name: info for name in names if (info := task_facts(name)) is not None}
    if output.json:
        output.data({"tasks": [{"reference": name, **facts_of(info)} for name, info in infos.items()]})
        return 0
    rows = [[name, info.type, ", ".join(info.languages), info.main_metric] for name, info in infos.items()]
    output.table(["task", "type", "languages", "ranked by"], rows)
    return 0
