"""Options of `mteb run` in `steelyard run`: splits, types, and files of results and predictions."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.errors import ResultError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steelyard.cli._ui.options import Add
    from steelyard.cli._ui.output import Output
    from steelyard.datasets.options import Generation
    from steelyard.results import Results
    from steelyard.types.samples import AnyTask

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

    given: list[str] = list(arguments.tasks) or ([] if arguments.benchmarks else list(default))
    splits, settings = arguments.eval_splits, arguments.settings
    of_benchmarks = [
        name for one in arguments.benchmarks for name in benchmark_names(one, splits=splits, generation=generation)
    ]
    types = [task_type(word) for word in arguments.task_types] or [arguments.type]
    tasks: dict[str, str | AnyTask] = {}
    for references, on in ((given, splits), (of_benchmarks, None)):
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
    if not tasks and (given or of_benchmarks):
        raise nothing_left([*given, *of_benchmarks], arguments.languages, ", ".join(map(str, types)))
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
