"""`steelyard run`: evaluate models on tasks; with no arguments, the default models on every built-in set."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.cli import INTERRUPTED
from steelyard.cli._ui.cost_tables import show_costs, with_costs
from steelyard.cli._ui.data_options import RESULTS, add_data_options, add_languages
from steelyard.cli._ui.languages import tell_unknown
from steelyard.cli._ui.model_options import add_model_options, with_model_options
from steelyard.cli._ui.outcome import count, exit_code, gathering, tell_failures, write_report
from steelyard.cli._ui.output import can_redraw
from steelyard.cli._ui.process import silence_datasets
from steelyard.cli._ui.progress import Progress, duration
from steelyard.cli._ui.result_tables import show_results
from steelyard.cli._ui.values import numbers
from steelyard.errors import ResultError, SteelyardError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from steelyard.cli._ui.output import Output
    from steelyard.engine.plan import Conditions
    from steelyard.results import Result, Results
    from steelyard.spec import ModelSpec


def configure(parser: argparse.ArgumentParser) -> None:
    """The arguments of the verb: what is weighed, how, and what is kept of it."""
    _add_what(parser)
    _add_how(parser)
    _add_keeping(parser)


def _add_what(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "models",
        nargs="*",
        metavar="MODEL",
        help="such as bm25, dense:ID@REVISION?option=value, '[bm25, dense] > rerank:ID?depth=50'",
    )
    add("-m", "--model", "--models", action="append", default=[], help="the same, as a flag; may be given again")
    add(
        *("-t", "--tasks"),
        nargs="+",
        action="extend",
        default=[],
        help="names, groups, patterns ('NanoCLDR/*'), paths; default: builtin",
    )
    add(
        *("-b", "--benchmarks"),
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="whole benchmarks, such as C-MTEB, on every split that their tasks are weighed on",
    )
    add_languages(parser)
    add_data_options(parser)
    add("--limit", type=int, metavar="N", help="only N queries of each task, a seeded sample; results say so")


def _add_how(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--metrics",
        nargs="+",
        action="extend",
        default=[],
        help="more metrics, such as nDCG@20 P@5 or nDCG@20,P@5; a table shows each",
    )
    add("--top-k", type=int, metavar="N", help="how deep every list is searched (default: 1000)")
    add(
        "--profile",
        choices=["mteb-2.26", "mteb-1.14"],
        help="whose figures `mteb` holds, and data (default: mteb-2.26)",
    )
    add(
        "--candidates",
        metavar="NAME",
        help="the lists of each task that a reranker without a first stage ranks; hybrids with and without safeguards",
    )
    add("--depths", type=numbers, default=[], metavar="N,N", help="a pipeline's result at each of these rerank depths")
    add("--truncate-dim", default="", metavar="D,D", help="dense models cut to these dimensions, too")
    add("--precision", default="", metavar="P,P", help="and stored as float16, int8, binary, int8@hakari ...")
    rescored = "and each with its N x 100 best rescored in float (N is 4 if left out)"
    add("--rescore", nargs="?", const="4", default="", metavar="N", help=rescored)
    add_model_options(parser)
    add(
        "--device",
        metavar="D,D",
        help="where models compute: auto (default: every GPU, else the CPU), cpu, cuda:1, mps; of several, such as "
        "cuda:0,cuda:1 or cpu,cpu, each gets a process of its own, and they share the texts",
    )


def _add_keeping(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    forms = ["parquet", "trec"]
    add("--save-runs", nargs="?", const=forms[0], choices=forms, help="keep the ranked lists, too (default: parquet)")
    add(
        "--overwrite-strategy",
        choices=["always", "never", "only-missing"],
        default="only-missing",
        help="evaluate anew what is stored; never touch it, not even failures; or do what is missing (default)",
    )
    add(
        "--from-runs",
        action="store_true",
        help="score saved runs with --metrics; no model is run; of several, those made with the --top-k, --limit, "
        "--seed or --profile that is given",
    )
    add("-o", "--output", "--results", dest="output", type=Path, metavar="DIR", help=RESULTS)
    add("--seed", type=int, help="of the sample that --limit draws (default: 0)")
    add("--offline", action="store_true", help="never reach for the network")
    add("--mteb-files", type=Path, metavar="DIR", help="write the results as files of mteb, too: mteb.ResultCache(DIR)")
    add("--no-report", action="store_true", help="write no report.html")
    add("--costs", action="store_true", help="Measure latency, encoding rate, index size and price of every model")
    add("--cost-samples", type=int, default=100, metavar="N", help="Queries timed for --costs (default: 100)")


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Evaluate, show one table, write the report; the exit code says whether something failed, 130 if interrupted."""
    _refuse_misplaced(arguments)
    tell_unknown(arguments.languages, output)
    folder = arguments.output or arguments.settings.results
    progress = Progress(sys.stderr, terminal=can_redraw(sys.stderr), silent=output.quiet)
    work = _rescored if arguments.from_runs else _evaluated
    with gathering(progress) as gathered:
        for result in work(arguments, folder, progress, output):
            gathered.ready.append(result)
    results = gathered.results
    if arguments.costs and not gathered.interrupted and not gathered.broken:
        results = _costed(results, arguments, output)
    show_results(results, output, metrics=arguments.metrics, summary=bool(arguments.benchmarks))
    show_costs(results, output)
    _tell_shallow(results, arguments.metrics, output)
    if gathered.interrupted or gathered.broken:
        onwards = "" if arguments.overwrite_strategy == "always" else "; the same command goes on from there"
        how = "stopped" if gathered.broken else "interrupted"
        output.note(f"\n{how}: {count(results, progress)}{onwards}")
        tell_failures(results, output)
        if gathered.broken:
            raise gathered.broken
        return INTERRUPTED
    output.note(f"\n{count(results, progress)}, {duration(progress.seconds)}")
    output.note(f"results: {folder}")
    try:
        if not arguments.no_report:
            output.note(f"report:  {write_report(results, folder)}")
        if arguments.mteb_files is not None:
            output.note(f"mteb:    {_write_mteb_files(results, arguments.mteb_files)}")
    finally:  # whatever becomes of the report
        tell_failures(results, output)
    return exit_code(results)


def _costed(results: Results, arguments: argparse.Namespace, output: Output) -> Results:
    """Return the results with what their models cost."""
    from steelyard.engine import expand

    references = expand(
        _references(arguments) or ["builtin"],
        languages=arguments.languages,
        type=arguments.type,
        settings=arguments.settings,
    )
    return with_costs(results, references, arguments, output)


def _tell_shallow(results: Results, metrics: Sequence[str], output: Output) -> None:
    """A note where lists end before the deepest cut-off of the figures that are shown."""
    from steelyard.metrics import parse_many
    from steelyard.reports.run_report.figures import DEEPEST

    asked = (metric.cutoff or 0 for words in metrics for metric in parse_many(words))
    shallowest = min((result.settings["top_k"] for result in results), default=DEEPEST)
    if shallowest < max(DEEPEST, *asked, 0):
        output.note(f"\nlists end at rank {shallowest}: what is relevant below counts as not found")


def _refuse_misplaced(arguments: argparse.Namespace) -> None:
    """A model behind an option that takes all words up to the next one: it would be taken for a task or a language."""
    from steelyard.retrievers import RETRIEVERS

    for flag in ("tasks", "languages", "metrics", "benchmarks"):
        for word in getattr(arguments, flag):
            family = word.partition("?")[0].partition(":")[0].partition(">")[0].strip()
            if (family in RETRIEVERS or word.startswith("[")) and not Path(word).exists():
                hint = f"models come first, steelyard run {shlex.quote(word)} --{flag} ..., or behind -m"
                raise UsageError(f"{word} is a model, and stands behind --{flag}", hint=hint)


def _evaluated(arguments: argparse.Namespace, folder: Path, progress: Progress, output: Output) -> Iterator[Result]:
    from steelyard.engine import expand
    from steelyard.engine.batch import Batch, load_models
    from steelyard.engine.plan import Shelf
    from steelyard.results import ResultStore
    from steelyard.retrievers import DEFAULT_MODELS
    from steelyard.retrievers.model_variants import takes_options, with_variants

    conditions = _conditions(arguments)  # first what is soon told: models may take minutes to load
    named = _named(arguments) or with_model_options(DEFAULT_MODELS, arguments)
    if arguments.device and not takes_options(named):
        output.note(f"--device {arguments.device} changes nothing: none of the models is computed on a device")
    names = with_variants(
        named,
        truncate_dim=arguments.truncate_dim,
        precision=arguments.precision,
        rescore=arguments.rescore,
    )
    tasks = expand(
        _references(arguments) or ["builtin"],
        languages=arguments.languages,
        type=arguments.type,
        settings=arguments.settings,
    )
    if any(isinstance(task, str) and task.startswith("mteb:") for task in tasks):
        silence_datasets()
    shelf = Shelf(ResultStore(folder), arguments.overwrite_strategy, arguments.save_runs)
    models = load_models(
        names,
        candidates=arguments.candidates,
        depths=arguments.depths,
        offered=[name for name in names if name not in named],
        leave_out=lambda unfit: output.note(f"left out: {unfit.message}"),
        listen=progress,
        settings=arguments.settings,
    )
    return Batch(models, tasks, conditions, shelf, progress, arguments.settings).run()


def _named(arguments: argparse.Namespace) -> list[ModelSpec]:
    """The models that were named; where a task stands in a model's place, the error says so."""
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
            raise UsageError(f"{name} is a task, not a model", hint=f"tasks stand behind -t: -t {name}") from None
        raise


def _references(arguments: argparse.Namespace) -> list[str]:
    """The tasks that were named, and those of the benchmarks; what mteb calls a benchmark goes by `mteb:NAME`."""
    from steelyard.datasets import benchmark_names

    named = list(arguments.tasks)
    for name in arguments.benchmarks:
        named += [name] if ":" in name else benchmark_names(name, generation=_conditions(arguments).generation)
    return named


def _rescored(arguments: argparse.Namespace, folder: Path, progress: Progress, output: Output) -> Iterator[Result]:
    from steelyard.cli.saved_runs import rescored

    asked = _references(arguments), _conditions(arguments), _given(arguments)
    return rescored(arguments, *asked, folder, progress, output)


def _conditions(arguments: argparse.Namespace) -> Conditions:
    from steelyard.engine.plan import Conditions

    return Conditions.of(metrics=arguments.metrics, **_given(arguments))


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    """The conditions that were given; the others are as ever."""
    from steelyard.results.table import CONDITIONS

    return {name: value for name in CONDITIONS if (value := getattr(arguments, name)) is not None}


def _write_mteb_files(results: Results, folder: Path) -> Path:
    from steelyard.compat.mteb.files import write_mteb_files

    try:
        write_mteb_files(results, folder)
    except ResultError as error:
        raise ResultError(error.message, hint="choose another folder with --mteb-files, or free space") from error
    return folder
