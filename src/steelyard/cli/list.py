"""`steelyard list`: what there is to weigh, to weigh with, and what was weighed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard import config
from steelyard.cli.data_options import RESULTS, TYPES, add_languages
from steelyard.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from steelyard.cli.output import Cell, Output

CATEGORIES = ("natural_language", "code")

Row = dict[str, Any]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `steelyard list`."""
    parser.add_argument("what", nargs="?", default="tasks", choices=tuple(LISTS), help="what to list (default: tasks)")
    add_languages(parser, "what is")
    parser.add_argument("--type", choices=TYPES, help="only tasks of this type")
    parser.add_argument("--category", choices=CATEGORIES, help="only tasks of this category")
    parser.add_argument("--group", metavar="GROUP", help="only tasks of this group; builtin for those without download")
    parser.add_argument("--family", metavar="FAMILY", help="only models of this family, such as dense or rerank")
    parser.add_argument(
        "--installed",
        action="store_true",
        dest="installed_only",
        help="only models whose packages and weights are on this machine",
    )
    parser.add_argument("-o", "--output", "--results", dest="results", metavar="DIR", type=Path, help=RESULTS)


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Print the list; returns the exit code."""
    if arguments.languages and arguments.languages[-1] in LISTS:  # `list -l zh tasks`
        arguments.what = arguments.languages.pop()
    _refuse_filters(arguments)
    rows, columns = LISTS[arguments.what](arguments, output)
    if output.json:
        output.data(rows)
        return 0
    titles = list(columns)
    output.table(titles, [[_cell(row.get(columns[title])) for title in titles] for row in rows])
    output.note(_closing(arguments, len(rows)))
    return 0


def _closing(arguments: argparse.Namespace, count: int) -> str:
    """How many there are, and what to do next."""
    if count:
        what = arguments.what.removesuffix("s") if count == 1 else arguments.what
        return f"{count:,} {what}; steelyard show {'KEY' if arguments.what == 'results' else 'NAME'} opens one"
    if arguments.what == "results" and not any(getattr(arguments, name) for name in TASK_FILTERS):
        folder = arguments.results or config.results_folder()
        return f"no results in {folder}: steelyard run puts them there, -o names another folder"
    codes = "; languages are codes such as zh, deu or cmn-Hans" if arguments.languages else ""
    return f"no {arguments.what} of that kind{codes}"


def _refuse_filters(arguments: argparse.Namespace) -> None:
    allowed = FILTERS[arguments.what]
    for name in {name: None for names in FILTERS.values() for name in names}:
        if getattr(arguments, name) and name not in allowed:
            takes = f"it takes {', '.join(map(_flag, allowed))}" if allowed else "it lists them all"
            raise UsageError(f"list {arguments.what} takes no {_flag(name)}", hint=takes)


def _flag(name: str) -> str:
    return f"--{name.removesuffix('_only')}"


def _cell(value: Any) -> Cell:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value


def task_rows(
    *,
    languages: Sequence[str] = (),
    type: str | None = None,
    category: str | None = None,
    group: str | None = None,
) -> list[Row]:
    """What is known of every task that matches, without loading any."""
    from steelyard.datasets import builtin, catalogue, known_names, task_facts, task_names

    rows, cut = [], builtin.counts()
    for name in task_names([group] if group else known_names(), languages=languages, type=type):
        info = task_facts(name)
        if info is None or (category is not None and info.category != category):
            continue
        entry = catalogue.entries().get(name)
        counts = dict(entry.counts) if entry else cut.get(name, {})
        rows.append(
            {
                "task": name,
                "type": info.type,
                "language": info.language,
                "languages": list(info.languages),
                "category": info.category,
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
            }
        )
    return rows


def _tasks(arguments: argparse.Namespace, output: Output) -> tuple[list[Row], dict[str, str]]:
    rows = task_rows(**_filters(arguments))
    output.detail("the figures are published nDCG@10 of others, to compare with")
    if any(row["builtin"] and row["queries"] is None for row in rows):
        output.note("built-in tasks are counted once they are cut, by the first steelyard run or show of each set")
    return rows, {
        "task": "task",
        "type": "type",
        "language": "language",
        "queries": "queries",
        "documents": "documents",
        "samples": "samples",
        "BM25": "published_bm25_ndcg_at_10",
        "dense": "published_dense_ndcg_at_10",
        "hybrid": "published_hybrid_ndcg_at_10",
        "source": "source",
    }


def _groups(arguments: argparse.Namespace, output: Output) -> tuple[list[Row], dict[str, str]]:
    groups: dict[str, Row] = {}
    for row in task_rows(**_filters(arguments)):
        name = row["task"].split("/")[0]
        group = groups.setdefault(
            name, {"group": name, "tasks": 0, "queries": 0, "languages": [], "builtin": row["builtin"], "source": []}
        )
        group["tasks"] += 1
        group["queries"] = (
            group["queries"] + row["queries"] if row["queries"] and group["queries"] is not None else None
        )
        if row["language"] not in group["languages"]:
            group["languages"].append(row["language"])
        if row["source"] not in group["source"]:
            group["source"].append(row["source"])
    rows = [group | {"languages": sorted(group["languages"])} for group in groups.values()]
    for row in rows:
        row["shown_languages"] = _few(row["languages"])
        row["shown_source"] = _few(row["source"], 1)
    columns = {"group": "group", "tasks": "tasks", "queries": "queries"}
    return rows, columns | {"languages": "shown_languages", "source": "shown_source"}


def _benchmarks(arguments: argparse.Namespace, output: Output) -> tuple[list[Row], dict[str, str]]:
    from steelyard.datasets import benchmark_names, benchmarks

    known = {row["task"]: row for row in task_rows(**_filters(arguments))}
    rows = []
    for name, members in benchmarks().items():
        tasks = [known[task] for task in members if task in known]
        if not tasks:
            continue
        types = list(dict.fromkeys(task["type"] for task in tasks))
        evaluations = [task for task in benchmark_names(name) if task.partition(":")[0] in known]
        rows.append(
            {
                "benchmark": name,
                "tasks": len(tasks),
                "evaluations": len(evaluations),
                "types": types,
                "languages": sorted({task["language"] for task in tasks}),
                "shown_types": _few(types, 6),
                "shown_languages": _few(sorted({task["language"] for task in tasks})),
            }
        )
    output.note("steelyard run MODEL -b NAME weighs a model on one; those of mteb go by mteb:NAME")
    columns = {"benchmark": "benchmark", "tasks": "tasks", "evaluations": "evaluations"}
    return rows, columns | {"types": "shown_types", "languages": "shown_languages"}


def _few(items: list[str], most: int = 4) -> str:
    """The first of many, and how many more.

    >>> _few(["de", "en", "fr"], 2)
    'de, en and 1 more'
    """
    more = len(items) - most
    return ", ".join(items[:most]) + (f" and {more} more" if more > 0 else "")


def _models(arguments: argparse.Namespace, output: Output) -> tuple[list[Row], dict[str, str]]:
    from steelyard.cli import list_models

    rows = list_models.rows(arguments)
    if not output.json:
        rows = list(map(list_models.shown, rows))
        output.note("any other model of a hub or folder works too: FAMILY:ID")
    return rows, list_models.COLUMNS


def _metrics(arguments: argparse.Namespace, output: Output) -> tuple[list[Row], dict[str, str]]:
    from steelyard.metrics import METRICS

    rows = []
    for name in METRICS:
        definition = METRICS.get(name)
        rows.append(
            {
                "metric": name,
                "written": definition.example,
                "trec_eval": definition.trec[0],
                "description": definition.description,
                "formula": definition.formula,
                "from": METRICS.origin(name),
            }
        )
    columns = ("metric", "written", "trec_eval", "description")
    return rows, {name: name for name in columns}


def _results(arguments: argparse.Namespace, output: Output) -> tuple[list[Row], dict[str, str]]:
    from steelyard.datasets.languages import language_code
    from steelyard.results import ResultStore

    store = ResultStore(arguments.results or config.results_folder())
    wanted = set(map(language_code, arguments.languages))
    rows = []
    for result in store.all(lambda error: output.note(f"passed over: {error}")):
        if wanted and result.facts.language not in wanted and wanted.isdisjoint(result.facts.languages):
            continue
        if arguments.group and not result.task.startswith(f"{arguments.group}/"):
            continue
        if arguments.type not in (None, result.facts.type) or arguments.category not in (None, result.facts.category):
            continue
        rows.append(
            {
                "task": result.task,
                "model": result.model,
                "status": result.status,
                "metric": result.main_metric,
                "score": result.score,
                "key": result.key,
                "created": result.created,
                "path": str(result.path) if result.path else None,
            }
        )
    rows.sort(key=lambda row: (row["task"], row["model"], row["created"]))
    columns = ("task", "model", "status", "metric", "score", "created", "key")
    return rows, {name: name for name in columns}


def _filters(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "languages": arguments.languages,
        "type": arguments.type,
        "category": arguments.category,
        "group": arguments.group,
    }


TASK_FILTERS = ("languages", "type", "category", "group")
FILTERS: dict[str, tuple[str, ...]] = {
    "tasks": TASK_FILTERS,
    "groups": TASK_FILTERS,
    "benchmarks": TASK_FILTERS,
    "models": ("languages", "family", "installed_only"),
    "metrics": (),
    "results": TASK_FILTERS,
}
"""The flags that a list understands."""

LISTS: dict[str, Callable[[argparse.Namespace, Output], tuple[list[Row], dict[str, str]]]] = {
    "tasks": _tasks,
    "groups": _groups,
    "benchmarks": _benchmarks,
    "models": _models,
    "metrics": _metrics,
    "results": _results,
}
"""What can be listed: rows as JSON has them, and the columns of the table by title."""
