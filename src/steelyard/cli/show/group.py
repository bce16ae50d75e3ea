"""`steelyard show group NAME`: the tasks of a group with their focus, published scores, best profile, and totals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steelyard.cli._ui.progress import counted
from steelyard.cli.list.tasks import PUBLISHED, task_rows

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from steelyard.cli._ui.output import Output

COUNTS = ("queries", "documents", "positives")
PROFILES = {"BM25": "BM25", "dense": "Dense", "hybrid": "Reranking hybrid"}
"""The names of profiles on pages, by the titles of their columns."""


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Print a row for each task, totals, and the mean where all tasks have published scores."""
    rows = [{**row, "best_profile": best_profile(row)} for row in task_rows(group=arguments.name)]
    totals = group_totals(rows)
    if output.json:
        output.data({"group": arguments.name, "totals": totals, "tasks": rows})
    else:
        print_group(rows, totals, output)
    return 0


def print_group(rows: Sequence[Mapping[str, Any]], totals: Mapping[str, Any], output: Output) -> None:
    """Print a row for each task, and the totals."""
    scored = any(key in row for row in rows for key in PUBLISHED.values())
    focused, several = any(row["retrieval_focus"] for row in rows), len({row["type"] for row in rows}) > 1
    columns = ["task", *(["type"] if several else []), "language", *(["retrieval_focus"] if focused else []), *COUNTS]
    scores = [*PUBLISHED.values(), "best_profile"] if scored else []
    body = [[row.get(column) for column in (*columns, *scores)] for row in rows]
    means = [totals["means"].get(key) for key in PUBLISHED] if scored else []
    blank = [""] * (len(columns) - 1 - len(COUNTS))
    last = [f"total of {len(rows)}", *blank, *(totals[count] for count in COUNTS), *means, *([""] if scored else [])]
    titles = [column.replace("_", " ") for column in columns]
    output.table([*titles, *(PUBLISHED if scored else ()), *(["best profile"] if scored else [])], [*body, last])
    _print_totals(totals, output)
    if scored:
        output.note("BM25, dense and hybrid: published nDCG@10; their total is the mean")


def best_profile(row: Mapping[str, Any]) -> str | None:
    """Return the profile with the highest published nDCG@10; None without scores.

    >>> best_profile({"published_bm25_ndcg_at_10": 0.1, "published_dense_ndcg_at_10": 0.3})
    'Dense'
    """
    scores = {PROFILES[title]: row[key] for title, key in PUBLISHED.items() if row.get(key) is not None}
    return max(scores, key=lambda name: scores[name], default=None)


def group_totals(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the sums over tasks, languages, categories, and the means of published scores that every task has."""
    sums = {count: sum(row[count] for row in rows) if all(row[count] for row in rows) else None for count in COUNTS}
    complete = {title: key for title, key in PUBLISHED.items() if rows and all(key in row for row in rows)}
    best = [row["best_profile"] for row in rows if row.get("best_profile")]
    return {
        "tasks": len(rows),
        **sums,
        "positives_per_query": sums["positives"] / sums["queries"] if sums["positives"] and sums["queries"] else None,
        "languages": sorted({row["language"] for row in rows}),
        "categories": sorted({row["category"] for row in rows}),
        "means": {title: sum(row[key] for row in rows) / len(rows) for title, key in complete.items()},
        "best_profiles": {name: best.count(name) for name in PROFILES.values() if name in best},
    }


def _print_totals(totals: Mapping[str, Any], output: Output) -> None:
    parts = [counted(totals["tasks"], "task")]
    parts += [f"{totals[count]:,} {count}" for count in COUNTS if totals[count]]
    if totals["positives_per_query"]:
        parts.append(f"{totals['positives_per_query']:.2f} positives per query")
    parts += [f"languages {', '.join(totals['languages'])}", f"categories {', '.join(totals['categories'])}"]
    if totals["best_profiles"]:
        best = ", ".join(f"{name} {count}" for name, count in totals["best_profiles"].items())
        parts.append(f"best profile: {best}")
    output.line("\n" + "; ".join(parts))


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
