"""The rows of `steelyard list tasks`, `groups` and `benchmarks`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steelyard.cli.list.listing import Listing, Row, few, same_names
from steelyard.errors import UnknownName

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from steelyard.cli._ui.output import Output

PUBLISHED = {title: f"published_{title.lower()}_ndcg_at_10" for title in ("BM25", "dense", "hybrid")}
"""The keys of published nDCG@10 scores by the title of their column."""
SEED = ("text_category", "description", "link", "evalscope_samples", "samples_note")
"""Facts of C-MTEB as in the guide of EvalScope, and why its count of samples is another."""


def task_rows(
    *,
    languages: Sequence[str] = (),
    type: str | None = None,
    category: str | None = None,
    group: str | None = None,
    metadata: bool = True,
) -> list[Row]:
    """Return the known facts of every task that matches, without loading any; without `metadata`, no focus."""
    from steelyard.datasets import builtin, catalogue
    from steelyard.datasets.names import known_names, matching_names, task_facts, task_names

    rows, builtin_counts = [], builtin.counts()
    try:
        names = matching_names(task_names([group]) if group else known_names(), languages, type)
    except UnknownName as error:
        raise UnknownName("group", error.name, error.near, hint="run `steelyard list groups`") from error
    for name in names:
        info = task_facts(name, metadata=metadata)
        if info is None or (category is not None and info.category != category):
            continue
        entry = catalogue.entries().get(name)
        counts = entry.counts if entry else builtin_counts.get(name, {})
        rows.append(
            {
                "task": name,
                "type": info.type,
                "language": info.language,
                "languages": list(info.languages),
                "category": info.category,
                "retrieval_focus": info.metadata.retrieval_focus,
                "queries": counts.get("queries"),
                "documents": counts.get("documents"),
                "positives": counts.get("positives"),
                "samples": counts.get("samples"),
                "labels": counts.get("labels"),
                "splits": list(entry.splits) if entry else [info.split],
                **{f"published_{key}": value for key, value in info.reference.items()},
                "builtin": name in builtin.infos(),
                "source": info.source,
                "revision": info.revision,
                **({key: entry.extra[key] for key in SEED if key in entry.extra} if entry else {}),
            }
        )
    return rows


def _matching(arguments: argparse.Namespace, *, metadata: bool = False) -> list[Row]:
    filters: dict[str, Any] = {name: getattr(arguments, name) for name in ("languages", "type", "category", "group")}
    return task_rows(**filters, metadata=metadata)


def tasks(arguments: argparse.Namespace, output: Output) -> Listing:
    """Return the tasks that match the filters."""
    rows = _matching(arguments, metadata=output.json)  # no column of the table
    output.detail("BM25, dense and hybrid: published nDCG@10")
    if any(row["builtin"] and row["queries"] is None for row in rows):
        output.note("the sizes of a built-in set are known after its first `steelyard run` or `steelyard show`")
    first = same_names("task", "type", "language", "queries", "documents", "samples")
    described = [row for row in rows if "text_category" in row]
    if not described:
        return Listing(rows, {**first, **PUBLISHED, "source": "source"})
    if not output.verbose:
        output.note("category: s2s sentences, p2p paragraphs, s2p both; -v adds description and link")
    published = PUBLISHED if len(described) < len(rows) else {}
    more = {"EvalScope lists": "evalscope_samples", **same_names("description", "link")} if output.verbose else {}
    return Listing(rows, {**first, "category": "text_category", **published, "source": "source", **more})


def groups(arguments: argparse.Namespace, output: Output) -> Listing:
    """Return the groups of those tasks."""
    members: dict[str, list[Row]] = {}
    for row in _matching(arguments):
        members.setdefault(row["task"].split("/")[0], []).append(row)
    rows = [
        {
            "group": name,
            "tasks": len(tasks),
            "queries": sum(row["queries"] for row in tasks) if all(row["queries"] for row in tasks) else None,
            "languages": sorted({row["language"] for row in tasks}),
            "builtin": tasks[0]["builtin"],
            "source": list(dict.fromkeys(row["source"] for row in tasks)),
        }
        for name, tasks in members.items()
    ]
    shown = {"languages": lambda row: few(row["languages"]), "source": lambda row: few(row["source"], 1)}
    return Listing(rows, {**same_names("group", "tasks", "queries"), **shown})


def benchmarks(arguments: argparse.Namespace, output: Output) -> Listing:
    """Return the benchmarks with at least one of those tasks; an evaluation is a task on one of its splits."""
    from steelyard.datasets import benchmark_names, benchmarks

    known = {row["task"]: row for row in _matching(arguments)}
    rows = []
    for name, members in benchmarks().items():
        matching = [known[task] for task in members if task in known]
        if matching:
            rows.append(
                {
                    "benchmark": name,
                    "tasks": len(matching),
                    "evaluations": sum(task.partition(":")[0] in known for task in benchmark_names(name)),
                    "types": list(dict.fromkeys(task["type"] for task in matching)),
                    "languages": sorted({task["language"] for task in matching}),
                }
            )
    output.note("`steelyard run MODEL -b NAME` evaluates a model on one, also on one of mteb: -b 'MTEB(eng, v2)'")
    shown = {"types": lambda row: few(row["types"], 6), "languages": lambda row: few(row["languages"])}
    return Listing(rows, {**same_names("benchmark", "tasks", "evaluations"), **shown})
