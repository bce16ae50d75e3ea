"""The options of an evaluation, for `steelyard run` and `steelyard plan`: models, tasks, measurement, results.

Splits, types, and files of results and predictions are those of `mteb run`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli._ui.options import (
    Add,
    add_executor,
    add_languages,
    add_locations,
    add_model_options,
    add_passages,
    add_results,
    add_type,
    integer,
    integers,
)
from steelyard.errors import ResultError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steelyard.cli._ui.output import Output
    from steelyard.cli._ui.parser import Parser
    from steelyard.datasets.options import Generation
    from steelyard.results import Results
    from steelyard.types.samples import AnyTask


def add_work(parser: Parser) -> None:
    """Add the models and tasks, and what determines how they are evaluated."""
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
    add_passages(add)
    add_model_options(add)
    add(
        "--device",
        metavar="D,D",
        help="Devices such as cpu, cuda:1, mps or cuda:0,cuda:1 (default: auto, all GPUs or the CPU).",
    )
    add_executor(add)


def add_stored(add: Add) -> None:
    """Add the folder of results, and which of them are used."""
    add_results(add, "-o", "--output", "--output-folder", "--results", dest="output")
    add(
        "--overwrite-strategy",
        choices=["always", "never", "only-missing", "only-cache"],
        default="only-missing",
        help="What to evaluate again; never keeps failures, only-cache evaluates nothing (default: only-missing).",
    )


SHOWN = 5
"""Tasks with several splits that are listed."""


def add_splits(add: Add) -> None:
    """Add the options that choose splits and types."""
    add(
        *("--eval-splits", "--eval_splits"),
        nargs="+",
        action="extend",
        default=[],
        metavar="SPLIT",
        help="Only these splits, such as test (default: every split that mteb evaluates).",
    )
    add(
        "--task-types",
        nargs="+",
        action="extend",
        default=[],
        metavar="TYPE",
        help="Only tasks of these types, in mteb's words: Retrieval STS (default: all).",
    )


def add_files(add: Add) -> None:
    """Add the files of mteb."""
    add("--mteb-files", type=Path, metavar="DIR", help="Also write mteb result files, for mteb.ResultCache(DIR).")
    add(
        "--prediction-folder",
        type=Path,
        metavar="DIR",
        help="Also write predictions as mteb does: ranked lists, similarities, labels (default: not).",
    )
    add(
        "--co2-tracker",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="Measure the emissions of each evaluation with the package codecarbon (default: not).",
    )


def named_tasks(
    arguments: argparse.Namespace, generation: Generation, default: Sequence[str] = ()
) -> list[str | AnyTask]:
    """Return the tasks of the command line and of its benchmarks, on their splits; without any, the default."""
    from steelyard.datasets import benchmark_names
    from steelyard.datasets.references import task_type
    from steelyard.engine import expand, nothing_left

    own_references: list[str] = list(arguments.tasks) or ([] if arguments.benchmarks else list(default))
    splits, settings = arguments.eval_splits, arguments.settings
    of_benchmarks = [
        name for one in arguments.benchmarks for name in benchmark_names(one, splits=splits, generation=generation)
    ]
    types = [task_type(word) for word in arguments.task_types] or [arguments.type]
    tasks: dict[str, str | AnyTask] = {}
    for references, on in ((own_references, splits), (of_benchmarks, None)):
        for type in types if references else ():
            try:
                named = expand(
                    references,
                    languages=arguments.languages,
                    type=type,
                    eval_splits=on,
                    generation=generation,
                    settings=settings,
                )
            except UsageError as error:
                if len(types) == 1 or "matches the filters" not in error.message:
                    raise
                continue
            tasks |= {str(task): task for task in named}
    if not tasks and (own_references or of_benchmarks):
        raise nothing_left([*own_references, *of_benchmarks], arguments.languages, ", ".join(map(str, types)))
    return list(tasks.values())


def note_splits(tasks: Sequence[str | AnyTask], benchmarks: Sequence[str], output: Output) -> None:
    """Print which splits and subsets are evaluated, if a task has several, or a benchmark was named."""
    from steelyard.compat.mteb.mteb_names import task_parts

    parts: dict[str, list[str]] = {}
    for task in tasks:
        if isinstance(task, str) and (task.startswith("mteb:") or "/" in task):
            name, part = task_parts(task.partition("?")[0])
            parts.setdefault(name, []).append(part)
    several = {name: splits for name, splits in parts.items() if len(splits) > 1}
    if not several and not benchmarks:
        return
    count = f"{len(parts)} tasks, {len(tasks)} evaluations" if len(tasks) > 1 else "1 task"
    listed = [
        f"{name} on {', '.join(splits[:SHOWN])}{' ...' * (len(splits) > SHOWN)}" for name, splits in several.items()
    ]
    more = f"; {len(listed) - SHOWN} more tasks on several" if len(listed) > SHOWN else ""
    output.note(f"{count}{': ' if listed else ''}{'; '.join(listed[:SHOWN])}{more}")


def write_files(results: Results, arguments: argparse.Namespace, output: Output) -> None:
    """Write the files of mteb that were asked for."""
    from steelyard.compat.mteb.mteb_files import write_mteb_files
    from steelyard.compat.mteb.predictions import write_all_predictions
    from steelyard.results import Results
    from steelyard.results.display.model_labels import under_own_names

    for option, write in (("mteb_files", write_mteb_files), ("prediction_folder", write_all_predictions)):
        folder: Path | None = getattr(arguments, option)
        if folder is None:
            continue
        try:
            written = write(Results(under_own_names(results)), folder)
        except ResultError as error:
            flag = f"--{option.replace('_', '-')}"
            raise ResultError(error.message, hint=f"choose another folder with {flag}, or free space") from error
        output.note(f"{'mteb:   ' if option == 'mteb_files' else 'predictions:'} {folder} ({len(written)} files)")
