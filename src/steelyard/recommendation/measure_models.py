"""Measure models in fresh processes, one for each set of weights: peak memory is then that of the model alone.

Costs are measured once for a model, a task and a machine, and kept with the vectors.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from steelyard.config import Settings
from steelyard.encoders.devices.child_process import without_main_module, without_secrets
from steelyard.engine.batch import load_models
from steelyard.engine.executors.shards import needed_variables
from steelyard.engine.limit import limited
from steelyard.engine.plan import Model
from steelyard.engine.timing import resident_memory_bytes
from steelyard.errors import SteelyardError, UsageError
from steelyard.files import read_cached, write_cached
from steelyard.recommendation.costs import Costs, measure_costs
from steelyard.recommendation.latency import Sampling
from steelyard.results.keys import digest
from steelyard.results.provenance import provenance
from steelyard.spec import ModelSpec
from steelyard.types import Task
from steelyard.types.protocols import Retriever
from steelyard.types.samples import AnyTask

Report = Callable[[str], None]


@dataclass(frozen=True)
class Request:
    """What a process measures."""

    models: tuple[ModelSpec, ...]
    task: Task
    sampling: Sampling | None
    settings: Settings


def grouped(models: Sequence[ModelSpec]) -> list[list[ModelSpec]]:
    """Return the models that share weights together: variants, fusions and depths of the same parts.

    >>> from steelyard.spec import parse
    >>> names = ["dense:X", "bm25", "dense:X?precision=int8", "[bm25, dense:X]"]
    >>> [[str(model) for model in group] for group in grouped([parse(name) for name in names])]
    [['dense:X', 'dense:X?precision=int8', '[bm25, dense:X]'], ['bm25']]
    """
    groups: dict[frozenset[str], list[ModelSpec]] = {}
    for model in models:
        groups.setdefault(frozenset(_weights(model)), []).append(model)
    return list(groups.values())


def _weights(model: ModelSpec) -> Iterator[str]:
    for part in model.parts:
        yield from _weights(part)
    if model.id:
        yield f"{model.family}:{model.id}@{model.revision}"


def measured_apart(request: Request) -> Iterator[tuple[str, Costs | str]]:
    """Yield the costs of each model, or the reason why there are none, from a fresh process."""
    context = multiprocessing.get_context("spawn")
    near, far = context.Pipe(duplex=False)
    with without_secrets(needed_variables(request.models, request.settings)), without_main_module():
        process = context.Process(target=_measure, args=(far, request), daemon=True)
        process.start()
    far.close()
    try:
        for model in request.models:
            try:
                yield str(model), near.recv()
            except EOFError:
                process.join()
                yield str(model), f"the process ended with exit code {process.exitcode}"
    finally:
        near.close()
        process.terminate()
        process.join()


def _measure(connection: Connection, request: Request) -> None:
    """Measure every model and send its costs."""
    before = resident_memory_bytes() or 0
    for spec in request.models:
        outcome: Costs | str
        try:
            (model,) = load_models([spec], settings=request.settings)
            if model.retriever is None:
                outcome = str(model.failure)
            else:
                outcome = measure_costs(model.retriever, request.task, request.sampling, memory_before=before)
        except SteelyardError as error:
            outcome = str(error)
        connection.send(outcome)
    connection.close()


def largest_task(references: Sequence[str | AnyTask], limit: int | None, settings: Settings) -> Task:
    """Return the searched task with the most documents; an error if there is none."""
    from steelyard.datasets import load_any

    largest: Task | None = None
    for reference in references:
        task = load_any(reference, settings=settings) if isinstance(reference, str) else reference
        if isinstance(task, Task) and (largest is None or len(task.corpus) > len(largest.corpus)):
            largest = task
    if largest is None:
        raise UsageError("at least one task must be a retrieval task, got none", hint="such as -t NanoAlmanac")
    fewer = largest if limit is None else limited(largest, limit, 0)
    assert isinstance(fewer, Task)
    return fewer


def measure_models(
    models: Sequence[Model],
    references: Sequence[str | AnyTask],
    limit: int | None = None,
    *,
    failed: dict[str, str],
    sampling: Sampling | None = None,
    reuse: bool = True,
    report: Report = lambda line: None,
    settings: Settings | None = None,
) -> dict[str, Costs]:
    """Return the costs of every model on the largest task; the reason of one that fails goes to `failed`.

    Models by name are measured in a fresh process for each set of weights, and once: with `reuse`, costs of an earlier
    measurement on this machine are returned, marked as stored.
    """
    settings = settings or Settings.load()
    task = largest_task(references, limit, settings)
    ready = [model for model in models if model.retriever is not None and model.shown not in failed]
    costs: dict[str, Costs] = {}
    for model in ready if reuse else ():
        if (known := _read_costs(model, task, sampling, settings)) is not None:
            costs[model.shown] = known
    missing = [model for model in ready if model.shown not in costs]
    done = 0
    for model in (model for model in missing if model.spec is None):
        done += 1
        report(f"costs {done}/{len(missing)}: {model.shown}")
        try:
            costs[model.shown] = measure_costs(_retriever(model), task, sampling)
        except SteelyardError as error:
            failed[model.shown] = str(error)
    named = {str(model.spec): model for model in missing if model.spec is not None}
    for group in grouped([model.spec for model in missing if model.spec is not None]):
        for spec, outcome in measured_apart(Request(tuple(group), task, sampling, settings)):
            model, done = named[spec], done + 1
            report(f"costs {done}/{len(missing)}: {model.shown}")
            if isinstance(outcome, str):
                failed[model.shown] = outcome
            else:
                costs[model.shown] = outcome
                write_cached(_costs_path(model, task, sampling, settings), outcome.to_dict())
    return costs


def _retriever(model: Model) -> Retriever:
    assert model.retriever is not None
    return model.retriever


def _costs_path(model: Model, task: Task, sampling: Sampling | None, settings: Settings) -> Path:
    """Return the file of the costs of a model on a task, as measured on this machine."""
    device = [provenance()["machine"], settings.device, settings.threads]
    facts = [model.on(task.info).settings, task.content_hash, asdict(sampling or Sampling()), device]
    return settings.home / "costs" / f"{digest(facts)}.json"


def _read_costs(model: Model, task: Task, sampling: Sampling | None, settings: Settings) -> Costs | None:
    """Return the costs of an earlier measurement; None if there is none."""
    try:
        return Costs.from_dict(read_cached(_costs_path(model, task, sampling, settings)))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
