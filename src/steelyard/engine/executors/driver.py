"""The driver of a distributed batch: plans shards task by task, stores results as they arrive, yields them in order.

Stored results are used as in a local batch, and encodings that are in the store are not computed again. So a driver
that was killed is simply started again, and does only the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from steelyard.engine.batch import NOT_STORED, Batch, Failed, attempt, relabelled
from steelyard.engine.events import Distributed, Finished, Loading
from steelyard.engine.executors.dispatch import Dispatcher, Executor
from steelyard.engine.executors.shards import EvaluateShard, Group, Outcome, Shard, groups_of
from steelyard.engine.executors.task_shards import encode_shards, task_texts
from steelyard.engine.interrupts import Interrupts
from steelyard.engine.plan import Evaluation, Model
from steelyard.results import Result
from steelyard.results.keys import digest
from steelyard.types.samples import AnyTask

Place = tuple[int, str]
"""The position of a task in the batch, and the name of a model in tables."""


def run_distributed(batch: Batch, executor: Executor) -> Iterator[Result]:
    """Yield the results of a batch, in the order of a local one; the executor is closed at the end."""
    try:
        batch.prepare()
        yield from _Driver(batch, executor).run()
    finally:
        executor.close()


class _Driver:
    def __init__(self, batch: Batch, executor: Executor) -> None:
        self._batch = batch
        self._executor = executor
        self._groups, self._own = groups_of(batch.models, batch.settings, batch.conditions, batch.tasks)
        self._results: dict[Place, Result] = {}
        self._order = [(position, model.shown) for position in range(len(batch.tasks)) for model in batch.models]
        self._waiting: dict[str, tuple[int, list[Evaluation]]] = {}
        """The evaluations of each shard, and the position of its task."""
        self._texts = self._shards = 0

    def run(self) -> Iterator[Result]:
        """Yield each result as soon as all before it are there."""
        dispatcher = Dispatcher(self._executor, self._groups, self._plan())
        outcomes = dispatcher.run()
        with Interrupts() as interrupts:
            while True:
                with interrupts.allowed():
                    try:
                        outcome = next(outcomes)
                    except StopIteration:
                        break
                if outcome is not None:
                    self._take(outcome)
                self._batch.listen(
                    Distributed(self._executor.name, dispatcher.workers, self._texts, self._shards, dispatcher.retries)
                )
                yield from self._ready()
        if self._own:  # while no worker computes
            for position, task in enumerate(self._batch.tasks):
                for result in replace(self._batch, models=self._own, tasks=[task]).run_tasks():
                    self._results[position, result.model] = result
        yield from self._ready()

    def _plan(self) -> Iterator[Shard]:
        """Yield the shards of one group after the other, so that a worker loads its models once."""
        for group in self._groups:
            models = [model for model in self._batch.models if model.spec in group.models and model not in self._own]
            for position, reference in enumerate(self._batch.tasks):
                yield from self._plan_task(position, reference, group, models)

    def _plan_task(
        self, position: int, reference: str | AnyTask, group: Group, models: Sequence[Model]
    ) -> Iterator[Shard]:
        batch = self._batch
        name = reference if isinstance(reference, str) else reference.name
        batch.listen(Loading(name))
        loaded = attempt(lambda: batch.load_task(name, reference))
        if isinstance(loaded, Failed):  # recorded as in a local batch
            for result in replace(batch, models=models, tasks=[reference]).run_tasks():
                self._results[position, result.model] = result
            return
        task, facts = loaded
        missing: list[Evaluation] = []
        for model in models:
            evaluation = batch.lookup.evaluation(model.on(task.info), task.name, facts, batch.conditions)
            if evaluation.stored is not None:
                batch.lookup.remove_failures(evaluation.stored)
                self._deliver(position, model, evaluation.stored, stored=True)
            elif batch.lookup.strategy == "only-cache":
                self._deliver(position, model, batch.failed(evaluation, NOT_STORED))
            else:
                missing.append(evaluation)
        if not missing:
            return
        needs: list[str] = []
        names = {evaluation.model.shown for evaluation in missing}
        chosen = [model for model in models if model.shown in names]
        for texts in task_texts(task, chosen, batch.conditions.profile):
            for shard in encode_shards(texts, task, group.number):
                needs.append(shard.id)
                yield shard
        id = f"{group.number}/{position}"
        self._waiting[id] = position, missing
        forms = {evaluation.key: batch.run_forms(evaluation) for evaluation in missing}
        hashes = tuple(digest(model.settings) for model in chosen)
        yield EvaluateShard(id, group.number, reference, hashes, forms, batch.lookup.save_runs, tuple(needs))

    def _take(self, outcome: Outcome) -> None:
        """Store the results of a shard."""
        self._shards += 1
        self._texts += outcome.encoded
        if outcome.shard not in self._waiting:
            return
        position, evaluations = self._waiting.pop(outcome.shard)
        if outcome.failure is not None:
            for evaluation in evaluations:
                failed = self._batch.failed(evaluation, Failed(outcome.failure, ""))
                self._deliver(position, evaluation.model, failed)
        models = {evaluation.key: evaluation.model for evaluation in evaluations}
        for result, attachments in outcome.results:
            self._deliver(position, models[result.key], self._batch.store_result(result, attachments))

    def _deliver(self, position: int, model: Model, result: Result, *, stored: bool = False) -> None:
        shown = relabelled(result, model)
        self._results[position, model.shown] = shown
        self._batch.listen(Finished(shown, stored))

    def _ready(self) -> Iterator[Result]:
        while self._order and self._order[0] in self._results:
            yield self._results.pop(self._order.pop(0))
