"""`steelyard show`: open one thing: a task, a group, a model, a metric, a result, or data of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.cli import show_samples
from steelyard.cli.data_options import RESULTS, TYPES, add_data_options, heed_data_options
from steelyard.errors import UnknownName, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from steelyard.cli.output import Output
    from steelyard.types import TaskInfo

WIDTH = 160
"""Characters of an example that are shown."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `steelyard show`."""
    parser.add_argument(
        "name",
        nargs="+",
        help="a task, group, model, metric, key of a result, or a path to data; `model NAME` where it could be another",
    )
    parser.add_argument(
        "--load", action="store_true", help="fetch a task or model: a task's profile and examples, a model's settings"
    )
    parser.add_argument("--revision", metavar="REV", help="with --load: the commit, tag or branch to fetch")
    parser.add_argument("--offline", action="store_true", help="with --load: only what is on this machine")
    add_data_options(parser)
    parser.add_argument("-o", "--output", "--results", dest="results", metavar="DIR", type=Path, help=RESULTS)


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Print what is known of the name; 2 where data of one's own has an error."""
    from steelyard.datasets import with_type
    from steelyard.datasets.options import LoadOptions
    from steelyard.datasets.sources import FolderSource

    heed_data_options(arguments)
    *kind, name = arguments.name
    arguments.name = name
    if kind and kind != ["model"]:
        raise UsageError(f"show takes one name, found {len(kind) + 1}", hint="steelyard show NAME, or show model NAME")
    arguments.name = name = name if kind else with_type(name, arguments.type)
    known = _show_model if kind else _what(name)
    if known is not None:
        return known(arguments, output)
    if FolderSource(LoadOptions()).accepts(name):
        return _show_data(arguments, output)
    if (result := _find_result(arguments, output)) is not None:
        output.data(result.to_dict()) if output.json else output.line(str(result))
        return 0
    raise _unknown(name)


def _what(name: str) -> Callable[[argparse.Namespace, Output], int] | None:
    """What the name stands for, told without loading anything."""
    from steelyard.datasets import published
    from steelyard.datasets.options import LoadOptions
    from steelyard.datasets.sources import SOURCES

    if "://" in name or name.startswith(("ir_datasets:", "irds:", "mteb:")):
        return _show_task
    if name.startswith(tuple(f"{type}:" for type in TYPES)):
        return _show_data
    if published.entry_of(name) is not None:
        return _show_task
    for source in ("builtin", "catalogue"):
        tasks = SOURCES.get(source)(LoadOptions())
        if tasks.accepts(name):
            return _show_task if len(tasks.names(name)) == 1 and name.count("/") else _show_group
    if "/" not in name and _is_model(name):
        return _show_model
    from steelyard.metrics.names import parse_many

    try:
        parse_many(name)
    except UsageError:
        return _show_model if _is_model(name) else None
    return _show_metric


def _is_model(name: str) -> bool:
    from steelyard.cli import show_model

    return show_model.is_model(name)


def _show_task(arguments: argparse.Namespace, output: Output) -> int:
    from steelyard.datasets import builtin, load_any, profile, published, task_facts, task_names

    (name,) = names if len(names := task_names([arguments.name])) == 1 else ("",)
    if not name:
        return _show_several(names, output) if arguments.name.startswith("mteb:") else _show_group(arguments, output)
    info, (entry, _) = task_facts(name), published.entry_of(name) or (None, None)
    told: dict[str, Any] = {}
    if arguments.load or info is None or name in builtin.infos():
        task = load_any(name, revision=arguments.revision, offline=arguments.offline or None)
        info, told = task.info, {"profile": profile(task)}
    facts = _facts(info) | ({"counts": dict(entry.counts), **entry.extra} if entry else {}) | told
    scores = _scores(arguments, output, info.name)
    if output.json:
        output.data(facts | {"results": scores})
        return 0
    _say_facts(info, output)
    if entry:
        _say(output, "published counts", ", ".join(f"{key} {value:,}" for key, value in entry.counts.items()))
        for key, value in entry.extra.items():
            if key != "counts":
                _say(output, key.replace("_", " "), _short(_words(value)))
    _say_reference(info, output)
    if told:
        _say_profile(told["profile"], output)
    else:
        output.note(f"\nsteelyard show {name} --load fetches it and shows its profile and examples")
    if scores:
        output.line("\nweighed here:")
        output.table(["model", "metric", "score"], [[row["model"], row["metric"], row["score"]] for row in scores])
    return 0


def _words(value: Any) -> str:
    """A fact of the catalogue; of a repository its name and the beginning of its commit."""
    if isinstance(value, list):
        return ", ".join(map(_words, value))
    return f"{value['hub']}@{value['revision'][:12]}" if isinstance(value, dict) else str(value)


def _show_several(names: Sequence[str], output: Output) -> int:
    """What is known of tasks that no catalogue of ours lists."""
    from steelyard.datasets import task_facts

    infos = {name: info for name in names if (info := task_facts(name)) is not None}
    if output.json:
        output.data({"tasks": [{"reference": name, **_facts(info)} for name, info in infos.items()]})
        return 0
    rows = [[name, info.type, ", ".join(info.languages), info.main_metric] for name, info in infos.items()]
    output.table(["task", "type", "languages", "ranked by"], rows)
    return 0


def _show_group(arguments: argparse.Namespace, output: Output) -> int:
    from steelyard.cli.list import task_rows

    rows = task_rows(group=arguments.name)
    if output.json:
        output.data({"group": arguments.name, "tasks": rows})
        return 0
    figures = [f"published_{profile}_ndcg_at_10" for profile in ("bm25", "dense", "hybrid")]
    columns = ["task", "type", "language", "queries", "documents", "positives", *figures]
    body = [[row.get(column) for column in columns] for row in rows]
    if all(figure in row for row in rows for figure in figures):
        means = [sum(row[figure] for row in rows) / len(rows) for figure in figures]
        body.append([f"mean of {len(rows)}", "", "", None, None, None, *means])
    output.table([*columns[:6], "BM25", "dense", "hybrid"], body)
    output.note("the figures are published nDCG@10, to compare with")
    return 0


def _show_model(arguments: argparse.Namespace, output: Output) -> int:
    from steelyard.cli import show_model

    return show_model.run(arguments, output)


def _show_metric(arguments: argparse.Namespace, output: Output) -> int:
    from steelyard.metrics.names import Metric, canonical_name, parse_many

    bare = canonical_name(arguments.name)  # some stand for many cut-offs; one explanation is enough
    told = [
        {
            "metric": str(metric),
            "written": metric.display,
            "trec_eval": metric.trec,
            "description": metric.definition.description,
            "formula": metric.definition.formula,
        }
        for metric in ((Metric(bare),) if bare else parse_many(arguments.name))
    ]
    if output.json:
        output.data(told)
        return 0
    for facts in told:
        for key, value in facts.items():
            _say(output, key, value)
    return 0


def _show_data(arguments: argparse.Namespace, output: Output) -> int:
    """Every task of a path, every fault at once."""
    from steelyard.datasets import check, profile

    checked = check(arguments.name)
    good = all(task.good for task in checked)
    profiles = [profile(task.task) if task.task is not None else None for task in checked]
    if output.json:
        output.data(
            [
                {
                    "reference": task.reference,
                    **_facts(task.info),
                    "good": task.good,
                    "problems": [problem.to_dict() for problem in task.report.problems],
                    "profile": facts,
                }
                for task, facts in zip(checked, profiles, strict=True)
            ]
        )
        return 0 if good else 2
    for task, facts in zip(checked, profiles, strict=True):
        output.line(f"\n{task.reference}" if task is not checked[0] else task.reference)
        _say_facts(task.info, output)
        if facts is not None:
            _say_profile(facts, output)
        report = task.report
        counts = [_count(len(found), word) for word in ("error", "warning", "note") if (found := report.of(word))]
        output.line(f"\nchecked: {', '.join(counts) or 'nothing wrong'}")
        for problem in report.problems:
            output.line(f"  {problem}")
    return 0 if good else 2


def _facts(info: TaskInfo) -> dict[str, Any]:
    from steelyard.datasets.sidecar import info_facts

    return info_facts(info)


def _say_facts(info: TaskInfo, output: Output) -> None:
    for key, value in _facts(info).items():
        if value is not False and key not in ("reference", "languages"):
            _say(output, key.replace("_", " "), str(value))
    if len(info.languages) > 1:
        _say(output, "languages", ", ".join(info.languages))


def _say_reference(info: TaskInfo, output: Output) -> None:
    if not info.reference:
        return
    metrics = list(dict.fromkeys(key.partition("_")[2] for key in info.reference))
    profiles = list(dict.fromkeys(key.partition("_")[0] for key in info.reference))
    output.line("\npublished figures, to compare with:")
    rows = [[profile, *(info.reference.get(f"{profile}_{metric}") for metric in metrics)] for profile in profiles]
    output.table(["profile", *metrics], rows)


def _say_profile(facts: Mapping[str, Any], output: Output) -> None:
    output.line("")
    if "documents" not in facts:
        for key, value in show_samples.lines(facts):
            _say(output, key, value)
        for *texts, last in show_samples.examples(facts):
            output.line(f"\n  {_short(texts[0])}")
            for text in texts[1:]:
                output.line(f"  {_short(text)}")
            output.line(f"    -> {_short(last)}")
        return
    for part in ("documents", "queries"):
        about = facts[part]
        _say(
            output,
            part,
            f"{about['count']:,} ({about['distinct']:,} distinct, {about['empty']:,} empty), characters "
            f"{_spread(about['chars'])}",
        )
    judged = facts["judgements"]
    grades = ", ".join(f"{count:,} of grade {grade}" for grade, count in judged["grades"].items())
    _say(output, "judgements", f"{judged['count']:,} ({grades}), {judged['outside_corpus']:,} outside the corpus")
    _say(output, "positives a query", _spread(facts["positives_per_query"]))
    for name, lists in facts["candidates"].items():
        _say(
            output,
            f"candidates {name}",
            f"length {_spread(lists['length'])}, recall@100 {lists['pooled_recall_at_100']}",
        )
    _say(output, "content hash", facts["content_hash"])
    for example in facts["examples"]:
        output.line(f"\n  {example['query_id']}  {_short(example['query'])}")
        output.line(f"    -> {example['document_id']}  {_short(example['document'])}")


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number:,} {word}s"


def _spread(values: Mapping[str, Any]) -> str:
    return f"{values['mean']:,} mean, {values['median']:,.0f} median, {values['min']:,} to {values['max']:,}"


def _say(output: Output, key: str, value: str) -> None:
    if not output.quiet:
        output.line(f"{key:<22}{value}")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= WIDTH else f"{line[:WIDTH]}… [{len(text):,} characters]"


def _scores(arguments: argparse.Namespace, output: Output, task: str) -> list[dict[str, Any]]:
    from steelyard import config
    from steelyard.results import ResultStore

    store = ResultStore(arguments.results or config.results_folder())
    found = store.find(task=task, report=lambda error: output.note(f"passed over: {error}"))
    return [
        {"model": result.model, "metric": result.main_metric, "score": result.score, "key": result.key}
        for result in sorted(found, key=lambda result: (-(result.score or 0.0), result.model))
        if result.done
    ]


def _find_result(arguments: argparse.Namespace, output: Output) -> Any:
    from steelyard import config
    from steelyard.results import ResultStore

    try:
        return ResultStore(arguments.results or config.results_folder()).get(arguments.name)
    except UnknownName:
        return None


def _unknown(name: str) -> UnknownName:
    from steelyard.datasets import known_names
    from steelyard.datasets.loading import same_task
    from steelyard.metrics import METRICS
    from steelyard.models import cards
    from steelyard.retrievers import RETRIEVERS

    kinds = "task, group, model, metric, result or path"
    if namesakes := same_task(name):
        return UnknownName(kinds, name, (), hint=namesakes)
    groups = {task.rpartition("/")[0] for task in known_names()}
    everything = [*known_names(), *sorted(groups), *RETRIEVERS, *cards(), *METRICS]
    return UnknownName(kinds, name, everything, hint="steelyard list names them")
