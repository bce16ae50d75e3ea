"""The ranked lists that pages are about, where a set brings none: stored runs, or searches made now."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from steelyard.cli._ui.output import can_redraw
from steelyard.cli._ui.progress import Progress
from steelyard.cli._ui.stored_results import store_of
from steelyard.cli._ui.values import dense_model
from steelyard.errors import SteelyardError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from steelyard.cli._ui.output import Output
    from steelyard.engine.plan import Model
    from steelyard.reports.pages import Profile
    from steelyard.reports.pages.measure.inputs import Kind
    from steelyard.results import Result
    from steelyard.types import Task


class PageRuns:
    """Runs of BM25, a dense model and their hybrid; `fail` is told of every one that cannot be had."""

    def __init__(self, arguments: argparse.Namespace, output: Output, fail: Callable[[str], None]) -> None:
        self.dense = dense_model(arguments.dense)
        self.unusable: SteelyardError | None = None
        """Why the models cannot be had: a slip in `--dense`, which no task can mend."""
        self._arguments = arguments
        self._output = output
        self._fail = fail
        self._models: dict[str, Model] = {}

    def results(self, task: Task, kinds: Sequence[Kind]) -> dict[Kind, Result]:
        """Results of the profiles' models: those that are stored, and those that have to be made."""
        if not kinds:
            return {}
        from steelyard.engine.batch import Batch
        from steelyard.engine.plan import Conditions, Shelf

        models = self._load()
        shelf = Shelf(store_of(self._arguments), "only-missing", "parquet")
        wanted, conditions = [models[kind] for kind in kinds], Conditions.of()
        stored = shelf.outlook(wanted, [task], conditions) == len(wanted)
        progress = Progress(sys.stderr, terminal=can_redraw(sys.stderr), silent=self._output.quiet or stored)
        try:
            results = list(Batch(wanted, [task], conditions, shelf, progress, self._arguments.settings).run())
        finally:
            progress.close()
        for result in results:
            if not result.done:
                self._fail(f"{result.model} on {result.task}: {result.error}")
        return {kind: result for kind, result in zip(kinds, results, strict=True) if result.done}

    def profiles(self, task: Task, results: Mapping[Kind, Result]) -> list[Profile]:
        """The lists that were kept of those results."""
        from steelyard.engine.runs import saved_run
        from steelyard.reports.pages import Profile

        profiles = []
        for kind, result in results.items():
            run = saved_run(result.path, task) if result.path is not None else None
            if run is None:
                self._fail(f"{result.model} on {result.task}: no run was kept")
            else:
                profiles.append(Profile(kind, result.model, run))
        return profiles

    def _load(self) -> dict[str, Model]:
        """The models by profile, loaded once for all tasks."""
        from steelyard.engine.batch import load_models

        if self.unusable is not None:
            raise self.unusable
        if not self._models:
            names = {"bm25": "bm25", "dense": self.dense, "hybrid": f"[bm25, {self.dense}]"}
            try:
                models = load_models(list(names.values()), settings=self._arguments.settings)
                if len(models) < len(names):
                    raise UsageError(
                        f"--dense {self._arguments.dense} is a profile of every page already",
                        hint="name another model: the dense one, which is set beside BM25",
                    )
            except SteelyardError as error:
                self.unusable = error
                raise
            self._models = dict(zip(names, models, strict=True))
        return self._models
