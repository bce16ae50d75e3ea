"""All tasks of a batch: load, evaluate what is missing, store. A failure is recorded, and the others go on."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from steelyard.config import Settings
from steelyard.encoders.cache.cost_log import record_task, recorded_tasks
from steelyard.engine.events import Advanced, Finished, Listener, Loading, Noticed, Opening, Planned, Started, silent
from steelyard.engine.interrupts import Interrupts
from steelyard.engine.limit import limited
from steelyard.engine.plan import (
    Conditions,
    Evaluation,
    Model,
    ResultLookup,
    SaveRuns,
    facts_of,
    known_info,
    known_lengths,
    known_sizes,
)
from steelyard.engine.runs import FORMS, PREDICTIONS, predictions_bytes, run_bytes
from steelyard.engine.task_evaluator import SampleEvaluator, TaskEvaluator, depth_for
from steelyard.engine.timing import EmissionsMeter, measured_emissions
from steelyard.errors import SteelyardError, UsageError
from steelyard.results import MAIN_METRIC, MAIN_METRICS, Failure, Result, TaskFacts
from steelyard.results.display.model_labels import weights_hash
from steelyard.results.keys import digest
from steelyard.results.store import attachment_path
from steelyard.retrievers.bm25.memory import keep_freed_memory
from steelyard.retrievers.composite import stores_of
from steelyard.spec import ModelSpec
from steelyard.types import Task
from steelyard.types.protocols import Retriever
from steelyard.types.samples import AnyTask
from steelyard.vectors.variants import UnsupportedVariant

T = TypeVar("T")
Evaluator = TaskEvaluator | SampleEvaluator


@dataclass(frozen=True, eq=False)
class Batch:
    """Every model on every task, under one set of conditions."""

    models: Sequence[Model]
    tasks: Sequence[str | AnyTask]
    """Names to load, or tasks in memory."""
    conditions: Conditions = field(default_factory=Conditions)
    lookup: ResultLookup = field(default_factory=lambda: ResultLookup(None))
    listen: Listener = silent
    settings: Settings = field(default_factory=Settings.load)
    emissions: EmissionsMeter | None = None

    def run(self) -> Iterator[Result]:
        """Yield the results as they are ready, stored ones included; task by task, in the order given."""
        self.prepare()
        yield from self.run_tasks()

    def prepare(self) -> None:
        """Remove the leftovers of killed runs, report the plan, and check that the results folder can be written."""
        if self.lookup.store is not None:
            self.lookup.store.clean()
        stored = self.lookup.seem_stored(self.models, self.tasks, self.conditions)
        sizes = known_sizes(self.tasks, self.conditions, self.settings) if len(self.tasks) > 1 else [None]
        lengths = known_lengths(self.tasks, self.settings) if len(self.tasks) > 1 else [None]
        names = [model.shown for model in self.models]
        plan = Planned(
            len(names),
            len(self.tasks),
            len(stored),
            names=names,
            sizes=sizes,
            lengths=lengths,
            stored_at=frozenset(stored),
            encoded_at=self._encoded(),
        )
        self.listen(plan)
        if self.lookup.store is not None and len(stored) < plan.evaluations:
            self.lookup.store.ready()

    def _encoded(self) -> frozenset[tuple[str, int]]:
        """Return the evaluations whose vectors seem to be stored, as models and places of tasks."""
        encoded: set[tuple[str, int]] = set()
        for model in self.models:
            stores = [(recorded_tasks(folder), texts) for folder, texts in stores_of(model.retriever)]
            for place, task in enumerate(self.tasks if stores else ()):
                if all(self._texts_key(task, texts) in recorded for recorded, texts in stores):
                    encoded.add((model.shown, place))
        return frozenset(encoded)

    def _texts_key(self, task: str | AnyTask, texts: str) -> str:
        """Return what names the texts of a task in the log of a store, without loading it."""
        conditions, name = self.conditions, task if isinstance(task, str) else task.name
        sample = [conditions.limit, conditions.seed, conditions.limit_documents] if conditions.limit else []
        return digest([name, conditions.generation, sample, texts])

    def run_tasks(self) -> Iterator[Result]:
        """Yield the results like `run`, without preparing: for a batch that is part of a larger one."""
        keep_freed_memory()
        names = [task if isinstance(task, str) else task.name for task in self.tasks]
        with Interrupts() as interrupts:
            for name, reference in zip(names, self.tasks, strict=True):
                for result, stored in self._task(name, reference, interrupts):
                    self.listen(Finished(result, stored))
                    yield result

    def _task(self, name: str, reference: str | AnyTask, interrupts: Interrupts) -> Iterator[tuple[Result, bool]]:
        self.listen(Loading(name))
        start = time.perf_counter()
        with interrupts.allowed():
            loaded = attempt(lambda: self.load_task(name, reference))
        if isinstance(loaded, Failed):
            info = known_info(reference)  # the name that the task will have once it can be read
            for model in self.models:
                facts = TaskFacts(type=info.type, split=info.split, source=info.source) if info else TaskFacts()
                evaluation = self.lookup.evaluation(model, info.name if info else name, facts, self.conditions)
                yield relabelled(self.failed(evaluation, loaded), model), False
            return
        task, facts = loaded
        evaluator = self._evaluator(task, time.perf_counter() - start)
        for model in self.models:
            evaluation = self.lookup.evaluation(model.on(task.info), task.name, facts, self.conditions)
            if evaluation.stored is None and self.lookup.strategy == "only-cache":
                yield relabelled(self.failed(evaluation, NOT_STORED), model), False
            elif evaluation.stored is not None:
                self.lookup.remove_failures(evaluation.stored)
                yield relabelled(evaluation.stored, model), True
            else:
                yield relabelled(self._evaluate(evaluation, evaluator, interrupts, reference), model), False

    def _evaluator(self, task: AnyTask, load_seconds: float) -> Evaluator:
        if not isinstance(task, Task):
            return SampleEvaluator(task, self.conditions, load_seconds)
        retrievers = [model.retriever for model in self.models if model.retriever is not None]
        return TaskEvaluator(task, self.conditions, depth_for(retrievers, self.conditions.top_k), load_seconds)

    def load_task(self, name: str, reference: str | AnyTask) -> tuple[AnyTask, TaskFacts]:
        """Return the task, or its sample, and its facts."""
        from steelyard.datasets import load_any
        from steelyard.datasets.problems import problem_listener

        with problem_listener(lambda problems: self.listen(Noticed(name, problems))):
            whole = reference
            if isinstance(whole, str):
                whole = load_any(whole, generation=self.conditions.generation, settings=self.settings)
        limit, documents = self.conditions.limit, self.conditions.limit_documents
        task = whole if limit is None else limited(whole, limit, self.conditions.seed, documents=documents)
        return task, facts_of(task, self.conditions, whole)

    def _evaluate(
        self, evaluation: Evaluation, evaluator: Evaluator, interrupts: Interrupts, reference: str | AnyTask
    ) -> Result:
        model = evaluation.model
        steps = attempt(lambda: evaluator.steps(model.retriever) if model.retriever is not None else 0)
        self.listen(Started(model.shown, evaluation.task, 0 if isinstance(steps, Failed) else steps))
        if model.failure is not None:
            return self.failed(evaluation, Failed(model.failure, ""))
        if isinstance(steps, Failed):
            return self.failed(evaluation, steps)
        with interrupts.allowed():
            outcome = attempt(lambda: self._result_with_runs(evaluation, evaluator))
        if isinstance(outcome, Failed):
            return self.failed(evaluation, outcome)
        for folder, texts in stores_of(model.retriever):
            record_task(folder, self._texts_key(reference, texts))
        return self.store_result(*outcome)

    def _result_with_runs(self, evaluation: Evaluation, evaluator: Evaluator) -> tuple[Result, dict[str, bytes]]:
        """Return the result and the files that are stored with it."""
        name = f"{evaluation.model.name} {evaluation.task}"
        with measured_emissions(self.emissions, name) as emitted:
            result = evaluator.evaluate(evaluation, lambda done: self.listen(Advanced(done)))
        result = replace(result, notes={**result.notes, **emitted}) if emitted else result
        digest([result.settings, result.notes, result.index_bytes])  # an error of this model if a file cannot hold them
        if isinstance(evaluator, SampleEvaluator):  # there are no ranked lists
            saved = self.lookup.save_runs is not None and evaluator.predictions is not None
            return result, {PREDICTIONS: predictions_bytes(evaluator.predictions)} if saved else {}
        forms = self.run_forms(evaluation)
        return result, {
            f"run.{form}": run_bytes(evaluator.run_of(evaluation), evaluator.task, result.model, form) for form in forms
        }

    def run_forms(self, evaluation: Evaluation) -> list[SaveRuns]:
        """Return the formats of the run: the one asked for, and those of earlier runs, which would be out of date."""
        if (store := self.lookup.store) is None:
            return []
        model, facts = evaluation.model.name, evaluation.facts
        path = store.path(model, evaluation.settings, evaluation.task, facts.data_hash)
        earlier = (form for form in FORMS if attachment_path(path, f"run.{form}").exists())
        return list(dict.fromkeys([*([self.lookup.save_runs] if self.lookup.save_runs else []), *earlier]))

    def store_result(self, result: Result, attachments: Mapping[str, bytes] | None = None) -> Result:
        """Store a result and the files that belong to it."""
        if self.lookup.store is None:
            return result
        return self.lookup.store.put(result, attachments)

    def failed(self, evaluation: Evaluation, failed: Failed) -> Result:
        """Return the failure as a result, and store it unless only stored results are used."""
        if evaluation.stored is not None:  # with the strategy `never`, a failure is not replaced
            return evaluation.stored
        result = evaluation.result(
            status="failed",
            main_metric=MAIN_METRICS.get(evaluation.facts.type, MAIN_METRIC),
            notes={"where": failed.where} if failed.where else {},
            error=failed.failure,
        )
        return result if self.lookup.strategy == "only-cache" else self.store_result(result)


def relabelled(result: Result, model: Model) -> Result:
    """Return a result under the name that tables show; `settings` and the stored file have the model's own."""
    if model.shown == result.model:
        return result
    notes = dict(result.notes)
    if "variant_of" in notes:
        notes["variant_of"] = model.shown.partition("?")[0]
    return replace(result, model=model.shown, notes=notes)


@dataclass(frozen=True)
class Failed:
    """An error, and the place in the code where it was raised."""

    failure: Failure
    where: str


NOT_STORED = Failed(
    Failure("MissingPart", "the result is not stored", "evaluate it: use another --overwrite-strategy than only-cache"),
    "",
)


def attempt(work: Callable[[], T], *, raises: type[SteelyardError] | tuple[()] = ()) -> T | Failed:
    """Return the value of the work, or its failure. One of the two places where every error is caught."""
    try:
        return work()
    except (Exception, SystemExit) as error:  # a model or a task may fail in any way; the others go on
        if isinstance(error, raises) or Interrupts.raised(error):
            raise
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}"
        if isinstance(error, SteelyardError):
            return Failed(Failure(type(error).__name__, error.message, error.hint), where)
        if isinstance(error, SystemExit):
            message = f"the code tried to end the process: exit({'' if error.code is None else repr(error.code)})"
            return Failed(Failure("SystemExit", message, "raise an error instead"), where)
        return Failed(Failure(type(error).__name__, str(error) or "no message"), where)


def load_models(
    models: Sequence[str | ModelSpec | Retriever],
    *,
    candidates: str | None = None,
    depths: Sequence[int] = (),
    offered: Sequence[ModelSpec] = (),
    leave_out: Callable[[UnsupportedVariant], None] = lambda unfit: None,
    labels: Mapping[int, str] | None = None,
    listen: Listener = silent,
    settings: Settings | None = None,
) -> list[Model]:
    """Load the models, each once. A wrong name is a UsageError; a model that fails to load is recorded as a failure.

    With `candidates`, a reranker without a first stage ranks the task's lists of that name; with `depths`, a pipeline
    is one model for each depth of its last stage. Variants that were `offered` to all models are left out of those
    that do not have them, and `leave_out` is called; if no model has any, that is an error. `labels` has the names of
    one's own of models that are objects, by `id`. Different models of one name are distinguished by a short hash.
    """
    from steelyard.retrievers.model_variants import expand_models

    settings = settings or Settings.load()
    loaded: dict[str, Model] = {}
    unfit: list[UnsupportedVariant] = []
    everything = expand_models(models, candidates, depths)
    for named in everything:
        if isinstance(named, ModelSpec):
            _know_family(named)
    for named in everything:
        listen(Opening(str(named) if isinstance(named, ModelSpec) else getattr(named, "name", "")))
        try:
            model = _load_model(named, settings)
        except UnsupportedVariant as error:
            if named not in offered:
                raise
            unfit.append(error)
            continue
        label = named.label if isinstance(named, ModelSpec) else (labels or {}).get(id(named))
        model = replace(model, label=label)
        loaded.setdefault(f"{label or ''}={model.name}{digest(model.settings)}", model)
    if unfit and len(unfit) == len(offered):
        raise unfit[0]
    for reason in {error.message: error for error in unfit}.values():
        leave_out(reason)
    return distinguished(list(loaded.values()))


def distinguished(models: Sequence[Model]) -> list[Model]:
    """Return the models under different names: variants with one label get their options, others a short hash."""
    names = Counter(model.shown for model in models)
    renamed = [
        replace(model, label=_variant_label(model, models)) if names[model.shown] > 1 else model for model in models
    ]
    again = Counter(model.shown for model in renamed)
    return [
        replace(model, label=f"{model.shown}#{weights_hash(model.settings)}") if again[model.shown] > 1 else model
        for model in renamed
    ]


def _variant_label(model: Model, models: Sequence[Model]) -> str | None:
    """Return the label with what the name has beyond the shortest name of that label."""
    if model.label is None:
        return None
    base = min((other.name for other in models if other.label == model.label), key=len)
    rest = model.name.removeprefix(base) if model.name.startswith(base) else f"?{model.name.rpartition('?')[2]}"
    return model.label + (f"?{rest.lstrip('?&')}" if rest else "")


def _know_family(model: ModelSpec) -> None:
    """Raise the error of an unknown family before any model is loaded, which may take minutes."""
    from steelyard.retrievers import RETRIEVERS

    for part in model.parts:
        _know_family(part)
    if not model.parts and model.family:
        attempt(lambda: RETRIEVERS.get(model.family), raises=UsageError)


def _load_model(model: ModelSpec | Retriever, settings: Settings) -> Model:
    """Load the model and its settings: some have to be run for that, and settings may not fit into a key."""
    from steelyard.retrievers import load_retriever
    from steelyard.retrievers.model_names import result_name

    if not isinstance(model, ModelSpec) and not (hasattr(model, "name") and hasattr(model, "index")):
        raise UsageError(
            f"a model must be a name or a retriever, got {type(model).__name__}",
            hint="wrap a function of texts: DenseRetriever('dense:NAME', from_function(FUNCTION, 'NAME'))",
        )

    def described() -> Retriever:
        retriever = load_retriever(model, settings) if isinstance(model, ModelSpec) else model
        digest(retriever.settings)
        return retriever

    name = result_name(model) if isinstance(model, ModelSpec) else model.name
    retriever = attempt(described, raises=UsageError)
    spec = model if isinstance(model, ModelSpec) else None
    if isinstance(retriever, Failed):
        return Model(name, failure=retriever.failure, spec=spec)
    return Model(name, retriever, spec=spec)
