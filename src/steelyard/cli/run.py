"""`steelyard run`: evaluate models on tasks; without arguments, the default models on all built-in sets."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.cli._ui.cost_tables import show_costs, stored_work_lines, with_costs
from steelyard.cli._ui.evaluation_options import add_files, add_stored, add_work, named_tasks, note_splits, write_files
from steelyard.cli._ui.options import Add, integer, note_unknown_languages, with_model_options
from steelyard.cli._ui.process import silence_datasets
from steelyard.cli._ui.progress import Progress, duration
from steelyard.cli._ui.result_tables import show_results
from steelyard.cli._ui.run_outcome import REPORT, collecting, count, exit_code, print_failures, write_report
from steelyard.cli._ui.signals import interrupt_code
from steelyard.cli._ui.study import study_text
from steelyard.errors import ResultError, SteelyardError, UsageError
from steelyard.files import write_output

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from steelyard.cli._ui.output import Output
    from steelyard.cli._ui.parser import Parser
    from steelyard.engine.batch import Batch
    from steelyard.engine.plan import Conditions, SaveRuns
    from steelyard.results import Result, Results, ResultStore
    from steelyard.spec import ModelSpec
    from steelyard.types.samples import AnyTask

MODEL_ONLY = ("costs", "save_runs", "candidates", "depths", "truncate_dim", "precision", "rescore", "chunk", "device")
"""Options that need a model to run, and so cannot be used with --from-runs."""


def configure(parser: Parser) -> None:
    """Add the arguments of the verb."""
    add_work(parser)
    _add_results(parser.add_argument_group("results").add_argument)


def _add_results(add: Add) -> None:
    add_stored(add)
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
    add(
        "--write-study", type=Path, metavar="FILE", help="Also write this command as a study, for `steelyard run FILE`."
    )
    add("--costs", action="store_true", help="Measure latency, encoding rate, index size and price of every model.")
    samples = integer("--cost-samples", at_least=1)
    add("--cost-samples", type=samples, default=100, metavar="N", help="Queries timed for --costs (default: 100).")


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Evaluate, print the table, write the report, and return the exit code."""
    refuse_misplaced(arguments)
    note_unknown_languages(arguments.languages, output)
    if arguments.write_study is not None:
        write_output(arguments.write_study, study_text(arguments).encode())
        output.note(f"study:   {arguments.write_study}")
    folder = arguments.output or arguments.settings.results
    progress = Progress.for_output(output)
    work = _rescored if arguments.from_runs else _evaluated
    with collecting(progress) as collected:
        for result in work(arguments, folder, progress, output):
            collected.ready.append(result)
    results = collected.results
    if arguments.costs and not collected.interrupted and not collected.store_error:
        results = with_costs(results, arguments.loaded, _tasks(arguments), arguments, output)
    show_results(results, output, metrics=arguments.metrics, summary=bool(arguments.benchmarks))
    show_costs(results, output)
    for place, line in enumerate(stored_work_lines(results)):
        output.note(line if place else f"\n{line}")
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


def _report(results: Results, folder: Path, arguments: argparse.Namespace) -> str:
    """Write the report and return what is printed of it; tasks that were given as paths are read again for their texts.

    Where nothing was evaluated, the report of an earlier run is worth more than a page of failures.
    """
    if (folder / REPORT).exists() and not any(result.done for result in results):
        return f"{folder / REPORT} (of an earlier run: nothing was evaluated now)"
    paths = [task for task in arguments.tasks if Path(task.partition("::")[0].partition(",")[0]).exists()]
    # The names of the evaluated tasks have the type that --type chose.
    evaluated = [task for task in _tasks(arguments) if isinstance(task, str)] if paths else []
    tasks = [task for task in evaluated if any(path in task for path in paths)]
    return str(write_report(results, folder, tasks=tasks, settings=arguments.settings))


def _note_shallow_lists(results: Results, metrics: Sequence[str], output: Output) -> None:
    """Note if lists end before the deepest cut-off of the printed metrics."""
    from steelyard.metrics import parse_many
    from steelyard.results import HEADLINES

    deepest = max(metric.cutoff or 0 for words in (*HEADLINES, *metrics) for metric in parse_many(words))
    shallowest = min((result.settings["top_k"] for result in results), default=deepest)
    if shallowest < deepest:
        output.note(f"\nlists end at rank {shallowest}: relevant documents below it count as not retrieved")


def refuse_misplaced(arguments: argparse.Namespace) -> None:
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
    from steelyard.engine.executors import run_batch

    saved: SaveRuns | None = arguments.save_runs or ("parquet" if arguments.prediction_folder else None)
    batch = prepare_batch(arguments, folder, progress, output, save_runs=saved)
    return run_batch(batch, arguments.executor)


def prepare_batch(
    arguments: argparse.Namespace, folder: Path, progress: Progress, output: Output, save_runs: SaveRuns | None = None
) -> Batch:
    """Check the arguments, load the models and return the batch."""
    from steelyard.engine.batch import Batch, load_models
    from steelyard.engine.plan import ResultLookup
    from steelyard.engine.timing import EmissionsMeter
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
    lookup = ResultLookup(ResultStore(folder), arguments.overwrite_strategy, save_runs)
    models = load_models(
        names,
        candidates=arguments.candidates,
        depths=arguments.depths,
        offered=[name for name in names if name not in named],
        leave_out=lambda unfit: output.note(f"skipped: {unfit.message}"),
        listen=progress,
        settings=arguments.settings,
    )
    arguments.loaded = models
    emissions = EmissionsMeter(arguments.settings) if getattr(arguments, "co2_tracker", False) else None
    return Batch(models, tasks, conditions, lookup, progress, arguments.settings, emissions)


def _tasks(arguments: argparse.Namespace) -> list[str | AnyTask]:
    """Return the tasks of the command line, found once: a set may have thousands."""
    if not hasattr(arguments, "named"):
        arguments.named = named_tasks(arguments, _conditions(arguments).generation, ["builtin"])
    named: list[str | AnyTask] = arguments.named
    return named


def _named(arguments: argparse.Namespace) -> list[ModelSpec]:
    """Return the models of the command line; a task in the place of a model is an error with a hint."""
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
