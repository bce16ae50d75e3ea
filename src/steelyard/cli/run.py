"""`steelyard run`: evaluate models on tasks; without arguments, the default models on all built-in sets."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.cli._ui.cost_tables import show_costs, with_costs
from steelyard.cli._ui.mteb_options import add_files, add_splits, named_tasks, note_splits, write_files
from steelyard.cli._ui.options import (
    Add,
    add_languages,
    add_locations,
    add_model_options,
    add_results,
    add_type,
    integer,
    integers,
    note_unknown_languages,
    with_model_options,
)
from steelyard.cli._ui.outcome import collecting, count, exit_code, print_failures, write_report
from steelyard.cli._ui.process import silence_datasets
from steelyard.cli._ui.progress import Progress, duration
from steelyard.cli._ui.result_tables import show_results
from steelyard.cli._ui.signals import interrupt_code
from steelyard.errors import ResultError, SteelyardError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from steelyard.cli._ui.output import Output
    from steelyard.cli._ui.parser import Parser
    from steelyard.engine.plan import Conditions, SaveRuns
    from steelyard.results import Result, Results, ResultStore
    from steelyard.spec import ModelSpec
    from steelyard.types.samples import AnyTask

MODEL_ONLY = ("save_runs", "candidates", "depths", "truncate_dim", "precision", "rescore", "chunk", "device")
"""Options that need a model to run, and so cannot be used with --from-runs."""


def configure(parser: Parser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument(
        "models",
        nargs="*",
        metavar="MODEL",
        help="Models such as bm25, dense:ID@REV?option=value or '[bm25, dense] > rerank:ID'.",
    )
    parser.add_argument(
        *("-m", "--model", "--models"),
        action="append",
        default=[],
        help="One more model; repeatable (default models: bm25, dense and their fusion).",
    )
    _add_data(parser.add_argument_group("tasks and data").add_argument)
    _add_measurement(parser.add_argument_group("measurement").add_argument)
    _add_models(parser.add_argument_group("models").add_argument)
    _add_results(parser.add_argument_group("results").add_argument)


def _add_data(add: Add) -> None:
    add(
        *("-t", "--tasks"),
        nargs="+",
        action="extend",
        default=[],
        metavar="TASK",
        help="Tasks, groups, patterns ('NanoCLDR/*') or paths (default: builtin).",
    )
    add(
        *("-b", "--benchmarks"),
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="Benchmarks such as C-MTEB, on all splits they use (default: none).",
    )
    add_languages(add)
    add_type(add)
    add_splits(add)
    limit = integer("--limit")
    add("--limit", type=limit, metavar="N", help="Evaluate N random queries of each task (default: all).")
    add("--seed", type=integer("--seed"), metavar="N", help="Seed of the sample of --limit (default: 0).")
    add_locations(add)


def _add_measurement(add: Add) -> None:
    add(
        "--metrics",
        nargs="+",
        action="extend",
        default=[],
        metavar="METRIC",
        help="Additional metrics such as nDCG@20 P@5, each shown as a table (default: none).",
    )
    add("--top-k", type=integer("--top-k"), metavar="N", help="Documents to retrieve per query (default: 1000).")
    add(
        "--profile",
        choices=["mteb-2.26", "mteb-1.14"],
        help="Version of mteb whose metrics and data are reproduced (default: mteb-2.26).",
    )
    add(
        "--candidates",
        metavar="NAME",
        help="Candidate lists of the task that a reranker alone ranks (default: those of the task).",
    )


def _add_models(add: Add) -> None:
    add(
        "--depths",
        type=integers("--depths"),
        default=[],
        metavar="N,N",
        help="Evaluate pipelines at each of these rerank depths (default: that of the pipeline).",
    )
    add(
        "--truncate-dim",
        default="",
        metavar="D,D",
        help="Also evaluate dense models with vectors truncated to these dimensions.",
    )
    add(
        "--precision",
        default="",
        metavar="P,P",
        help="Also evaluate dense models with vectors stored as float16, int8, binary ...",
    )
    add(
        "--rescore",
        nargs="?",
        const="4",
        default="",
        metavar="N",
        help="Also rescore the top N x 100 of --precision in float32 (N without a value: 4).",
    )
    add(
        "--chunk",
        default="",
        metavar="N,N",
        help="Divide documents into passages of N tokens; 'none' is the whole document (default: none).",
    )
    add(
        "--overlap",
        type=integer("--overlap", at_least=0),
        default=0,
        metavar="N",
        help="Tokens that two neighbouring passages share (default: 0).",
    )
    add_model_options(add)
    add(
        "--device",
        metavar="D,D",
        help="Devices such as cpu, cuda:1, mps or cuda:0,cuda:1 (default: auto, all GPUs or the CPU).",
    )


def _add_results(add: Add) -> None:
    add_results(add, "-o", "--output", "--output-folder", "--results", dest="output")
    add(
        "--overwrite-strategy",
        choices=["always", "never", "only-missing", "only-cache"],
        default="only-missing",
        help="What to evaluate again; never keeps failures, only-cache evaluates nothing (default: only-missing).",
    )
    add(
        "--save-runs",
        nargs="?",
        const="parquet",
        choices=["parquet", "trec"],
        help="Also store the ranked lists (default: not; without a value: parquet).",
    )
    add(
        "--from-runs",
        action="store_true",
        help="Score stored ranked lists with --metrics instead of running models.",
    )
    add_files(add)
    add("--no-report", action="store_true", help="Do not write report.html.")
    add("--costs", action="store_true", help="Measure latency, encoding rate, index size and price of every model.")
    samples = integer("--cost-samples", at_least=1)
    add("--cost-samples", type=samples, default=100, metavar="N", help="Queries timed for --costs (default: 100).")


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Evaluate, print the table, write the report, and return the exit code."""
    _refuse_misplaced(arguments)
    note_unknown_languages(arguments.languages, output)
    folder = arguments.output or arguments.settings.results
    progress = Progress.for_output(output)
    work = _rescored if arguments.from_runs else _evaluated
    with collecting(progress) as collected:
        for result in work(arguments, folder, progress, output):
            collected.ready.append(result)
    results = collected.results
    if arguments.costs and not collected.interrupted and not collected.store_error:
        results = with_costs(results, _tasks(arguments), arguments, output)
    show_results(results, output, metrics=arguments.metrics, summary=bool(arguments.benchmarks))
    show_costs(results, output)
    _note_shallow_lists(results, arguments.metrics, output)
    if collected.interrupted or collected.store_error:
        onwards = "" if arguments.overwrite_strategy == "always" else "; the same command continues from there"
        how = "stopped" if collected.store_error else "interrupted"
        output.note(f"\n{how}: {count(results, progress)}{onwards}")
        print_failures(results, output)
        if collected.store_error:
            raise collected.store_error
        return interrupt_code()
    output.note(f"\n{count(results, progress)}, {duration(progress.seconds)}")
    output.note(f"results: {folder}")
    try:
        if not arguments.no_report:
            output.note(f"report:  {_report(results, folder, arguments)}")
        write_files(results, arguments, output)
    finally:
        print_failures(results, output)
    return exit_code(results)


def _report(results: Results, folder: Path, arguments: argparse.Namespace) -> Path:
    """Write the report; tasks that were given as paths are read again for their texts."""
    paths = [task for task in arguments.tasks if Path(task).exists()]
    return write_report(results, folder, tasks=paths, settings=arguments.settings)


def _note_shallow_lists(results: Results, metrics: Sequence[str], output: Output) -> None:
    """Note if lists end before the deepest cut-off of the printed metrics."""
    from steelyard.metrics import parse_many
    from steelyard.results import HEADLINES

    deepest = max(metric.cutoff or 0 for words in (*HEADLINES, *metrics) for metric in parse_many(words))
    shallowest = min((result.settings["top_k"] for result in results), default=deepest)
    if shallowest < deepest:
        output.note(f"\nlists end at rank {shallowest}: relevant documents below it count as not retrieved")


def _refuse_misplaced(arguments: argparse.Namespace) -> None:
    """Refuse a model after an option that takes several words, where it would be read as a task or a language."""
    from steelyard.retrievers import RETRIEVERS

    for flag in ("tasks", "languages", "metrics", "benchmarks"):
        for word in getattr(arguments, flag):
            family = word.partition("?")[0].partition(":")[0].partition(">")[0].strip()
            if (family in RETRIEVERS or word.startswith("[")) and not Path(word).exists():
                raise UsageError(
                    f"{word} is a model, but follows --{flag}",
                    hint=f"write models first (steelyard run {shlex.quote(word)} --{flag} ...), or after -m",
                    option=f"--{flag}",
                    found=word,
                )


def _evaluated(arguments: argparse.Namespace, folder: Path, progress: Progress, output: Output) -> Iterator[Result]:
    from steelyard.engine.batch import Batch, load_models
    from steelyard.engine.plan import ResultLookup
    from steelyard.results import ResultStore
    from steelyard.retrievers import DEFAULT_MODELS
    from steelyard.retrievers.model_variants import takes_options, with_chunks, with_variants

    conditions = _conditions(arguments)  # checked first: models may take minutes to load
    named = _named(arguments) or with_model_options(DEFAULT_MODELS, arguments)
    named = with_chunks(named, arguments.chunk, arguments.overlap)
    if arguments.device and not takes_options(named):
        output.note(f"--device {arguments.device} has no effect: none of the models runs on a device")
    names = with_variants(
        named,
        truncate_dim=arguments.truncate_dim,
        precision=arguments.precision,
        rescore=arguments.rescore,
    )
    tasks = _tasks(arguments)
    note_splits(tasks, arguments.benchmarks, output)
    if any(isinstance(task, str) and task.startswith("mteb:") for task in tasks):
        silence_datasets()
    saved: SaveRuns | None = arguments.save_runs or ("parquet" if arguments.prediction_folder else None)
    lookup = ResultLookup(ResultStore(folder), arguments.overwrite_strategy, saved)
    models = load_models(
        names,
        candidates=arguments.candidates,
        depths=arguments.depths,
        offered=[name for name in names if name not in named],
        leave_out=lambda unfit: output.note(f"skipped: {unfit.message}"),
        listen=progress,
        settings=arguments.settings,
    )
    return Batch(models, tasks, conditions, lookup, progress, arguments.settings).run()


def _tasks(arguments: argparse.Namespace) -> list[str | AnyTask]:
    return named_tasks(arguments, _conditions(arguments).generation, ["builtin"])


def _named(arguments: argparse.Namespace) -> list[ModelSpec]:
    """Return the models of the command line; a task in the place of a model is an error that says so."""
    from steelyard.engine import expand

    named = [*arguments.models, *arguments.model]
    try:
        return with_model_options(named, arguments)
    except UsageError:
        for name in named:
            try:
                expand([name], settings=arguments.settings)
            except SteelyardError:
                continue
            raise UsageError(f"{name} is a task, not a model", hint=f"write tasks after -t: -t {name}") from None
        raise


def _conditions(arguments: argparse.Namespace) -> Conditions:
    from steelyard.engine.plan import Conditions

    return Conditions.of(metrics=arguments.metrics, **_set_conditions(arguments))


def _set_conditions(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the conditions that the command line sets."""
    from steelyard.results.table import CONDITIONS

    return {name: value for name in CONDITIONS if (value := getattr(arguments, name)) is not None}


def _rescored(arguments: argparse.Namespace, folder: Path, progress: Progress, output: Output) -> Iterator[Result]:
    """Score stored ranked lists again, of the tasks of the command line or of all that are known by name."""
    from steelyard.engine import expand
    from steelyard.engine.rescore import rescore
    from steelyard.results import ResultStore
    from steelyard.retrievers.model_names import result_name

    conditions = _conditions(arguments)
    for name in MODEL_ONLY:
        if getattr(arguments, name):
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} cannot be used with --from-runs", hint=f"remove {flag}", option=flag)
    store = ResultStore(folder)
    models = [result_name(model) for model in with_model_options([*arguments.models, *arguments.model], arguments)]
    tasks = named_tasks(arguments, conditions.generation) or expand(
        _saved_tasks(store, output),
        languages=arguments.languages,
        type=arguments.type,
        settings=arguments.settings,
    )
    return rescore(
        store,
        tasks,
        conditions,
        models,
        progress,
        lambda error: output.note(f"skipped: {error}"),
        made=_set_conditions(arguments),
        strategy=arguments.overwrite_strategy,
        settings=arguments.settings,
    )


def _saved_tasks(store: ResultStore, output: Output) -> list[str]:
    """Return the tasks with stored ranked lists that are known by name."""
    from steelyard.engine import expand
    from steelyard.engine.rescore import saved

    tasks = []
    for task in dict.fromkeys(result.task for result in saved(store, lambda damaged: None)):
        try:
            expand([task])
        except UsageError:
            output.note(f"skipped: {task} is not known by name; name the path of its data with --tasks")
        else:
            tasks.append(task)
    if not tasks:
        raise ResultError(
            f"{store.folder} has no ranked lists of a task that is known by name",
            hint="name the tasks with --tasks, or evaluate with --save-runs first",
            path=store.folder,
        )
    return tasks
