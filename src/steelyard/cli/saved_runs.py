"""`steelyard run --from-runs`: saved runs scored again, without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steelyard.cli._ui.model_options import with_model_options
from steelyard.errors import ResultError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from steelyard.cli._ui.output import Output
    from steelyard.cli._ui.progress import Progress
    from steelyard.engine.plan import Conditions
    from steelyard.results import Result, ResultStore

NEEDING_A_MODEL = ("save_runs", "candidates", "depths", "truncate_dim", "precision", "rescore", "device")
"""Options of models that are run; here they would change nothing."""


def rescored(
    arguments: argparse.Namespace,
    references: Sequence[str],
    conditions: Conditions,
    made: Mapping[str, Any],
    folder: Path,
    progress: Progress,
    output: Output,
) -> Iterator[Result]:
    """The saved runs of these tasks, `made` so, with the metrics of the conditions; without tasks, of all there are."""
    from steelyard.engine import expand
    from steelyard.engine.rescore import rescore
    from steelyard.results import ResultStore
    from steelyard.retrievers.model_names import result_name

    for name in NEEDING_A_MODEL:
        if getattr(arguments, name):
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} has no place beside --from-runs", hint="no model is run; name those that were")
    store = ResultStore(folder)
    models = [result_name(model) for model in with_model_options([*arguments.models, *arguments.model], arguments)]
    references = references or _saved_tasks(store, output)
    tasks = expand(references, languages=arguments.languages, type=arguments.type, settings=arguments.settings)
    return rescore(
        store,
        tasks,
        conditions,
        models,
        progress,
        lambda error: output.note(f"passed over: {error}"),
        made=made,
        strategy=arguments.overwrite_strategy,
        settings=arguments.settings,
    )


def _saved_tasks(store: ResultStore, output: Output) -> list[str]:
    """The tasks that runs were saved of, by name; one's own data has to be given."""
    from steelyard.engine import expand
    from steelyard.engine.rescore import saved

    found = []
    for task in dict.fromkeys(result.task for result in saved(store, lambda damaged: None)):
        try:
            expand([task])
        except UsageError:
            output.note(f"left out: {task} is not known by name; give the path of its data with --tasks")
        else:
            found.append(task)
    if not found:
        hint = "give its tasks with --tasks, or evaluate with --save-runs parquet first"
        raise ResultError(f"{store.folder} has no saved run of a task that is known by name", hint=hint)
    return found
