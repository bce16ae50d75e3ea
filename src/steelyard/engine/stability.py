"""Stability: the same model on the same task under other batch sizes, dtypes, thread counts and devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.config import Settings
from steelyard.engine import evaluate
from steelyard.errors import MissingPart, ModelError, SteelyardError, UsageError
from steelyard.results import Results
from steelyard.retrievers import canonical
from steelyard.spec import ModelSpec
from steelyard.stats.randomisation import p_values
from steelyard.types import Float64, Task

BATCH_SIZES, DTYPES, THREADS = (1, 8, 64), ("float16", "bfloat16"), (1,)
MARGIN = 0.005
"""Difference of a score that counts for a decision: the usual margin of a gate."""
ALPHA = 0.05
Report = Callable[[str], None]


@dataclass(frozen=True)
class Condition:
    """One way to run the model, and what became of its scores."""

    name: str
    score: float | None = None
    difference: float = 0.0
    """Score minus that of the usual condition."""
    queries_changed: int = 0
    largest_change: float = 0.0
    """Of the score of one query."""
    p_value: float = 1.0
    matters: bool = False
    """Whether a decision could change: p < 0.05, or a difference of at least the margin."""
    reason: str | None = None
    """Why the model does not run this way."""


@dataclass(frozen=True)
class Stability:
    """The usual condition and all others."""

    model: str
    task: str
    metric: str
    score: float
    queries: int
    conditions: tuple[Condition, ...]
    margin: float = MARGIN

    @property
    def unstable(self) -> list[Condition]:
        """The conditions that could change a decision."""
        return [condition for condition in self.conditions if condition.matters]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return columns and rows, one for each condition."""
        columns = ["condition", self.metric, "difference", "queries changed", "largest change", "p", "decision"]
        rows = [["usual", f"{self.score:.6f}", "", "", "", "", ""]]
        for condition in self.conditions:
            if condition.score is None:
                rows.append([condition.name, "-", "-", "-", "-", "-", condition.reason or "not possible"])
                continue
            numbers = [
                f"{condition.difference:+.6f}",
                str(condition.queries_changed),
                f"{condition.largest_change:.4f}",
                f"{condition.p_value:.3f}",
            ]
            rows.append(
                [condition.name, f"{condition.score:.6f}", *numbers, "could change" if condition.matters else "same"]
            )
        return columns, rows

    def sentences(self) -> list[str]:
        """Return the verdict in a sentence or two."""
        tried = [one for one in self.conditions if one.score is not None]
        if not tried:
            return ["No other condition could be tried."]
        moved = [one for one in tried if one.queries_changed]
        if not moved:
            return [f"No score of {self.queries} queries moves under {len(tried)} other conditions."]
        largest = max(moved, key=lambda one: abs(one.difference))
        lines = [
            f"Scores move under {len(moved)} of {len(tried)} conditions, by at most {abs(largest.difference):.6f} "
            f"({largest.name})."
        ]
        names = ", ".join(one.name for one in self.unstable)
        lines.append(
            f"A decision could change: {names}." if names else f"No decision could change (margin {self.margin:g})."
        )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-ready."""
        return {
            "model": self.model,
            "task": self.task,
            "metric": self.metric,
            "score": self.score,
            "queries": self.queries,
            "margin": self.margin,
            "conditions": [vars(one) for one in self.conditions],
            "unstable": [one.name for one in self.unstable],
            "sentences": self.sentences(),
        }


def stability(
    model: str | ModelSpec,
    task: str | Path | Task,
    *,
    limit: int | None = None,
    batch_sizes: Sequence[int] = BATCH_SIZES,
    dtypes: Sequence[str] = DTYPES,
    threads: Sequence[int] = THREADS,
    devices: Sequence[str] | None = None,
    margin: float = MARGIN,
    report: Report = lambda line: None,
    settings: Settings | None = None,
) -> Stability:
    """Evaluate one model on one task under several conditions and report which scores move.

    Nothing is read from the store of vectors: every condition computes. A condition that the model does not have, such
    as a dtype of a model without options, is reported with the reason.
    """
    if not margin >= 0:
        raise UsageError.invalid("margin", expected="at least 0", found=margin, option="--margin")
    usual, own = canonical(model), (settings or Settings.load()).updated(cache_bytes=0)
    report("usual condition")
    base = _scores(usual, task, limit, own)
    if isinstance(base, str):
        raise ModelError(f"{usual} could not be evaluated: {base}", hint="try it with steelyard run")
    name, metric, values = base
    conditions = []
    for label, spec, changed, scope in _conditions(usual, own, batch_sizes, dtypes, threads, devices):
        report(label)
        with scope:
            other = _scores(spec, task, limit, changed)
        conditions.append(
            Condition(label, reason=other) if isinstance(other, str) else _compared(label, values, other[2], margin)
        )
    return Stability(str(usual), name, metric, float(values.mean()), len(values), tuple(conditions), margin)


def _conditions(
    usual: ModelSpec,
    settings: Settings,
    batch_sizes: Sequence[int],
    dtypes: Sequence[str],
    threads: Sequence[int],
    devices: Sequence[str] | None,
) -> list[tuple[str, ModelSpec, Settings, AbstractContextManager[Any]]]:
    """Return label, model, settings and context of every condition; a second run of the usual one comes first."""
    conditions: list[tuple[str, ModelSpec, Settings, AbstractContextManager[Any]]] = [
        ("usual, again", usual, settings, nullcontext())
    ]
    conditions += [
        (f"batch_size={n}", _with(usual, "batch_size", str(n)), settings, nullcontext()) for n in batch_sizes
    ]
    conditions += [(f"dtype={name}", _with(usual, "dtype", name), settings, nullcontext()) for name in dtypes]
    conditions += [(f"threads={n}", usual, settings.updated(threads=n), _limited_threads(n)) for n in threads]
    named = _accelerators() if devices is None else devices
    conditions += [(f"device={name}", _with(usual, "device", name), settings, nullcontext()) for name in named]
    return conditions


def _with(spec: ModelSpec, option: str, value: str) -> ModelSpec:
    """Return the model with an option; in a pipeline or fusion, every encoder gets it."""
    if spec.parts:
        return replace(spec, parts=tuple(_with(part, option, value) for part in spec.parts))
    if spec.family not in ("dense", "sparse", "late", "rerank"):
        return spec
    return replace(spec, options=dict(sorted({**spec.options, option: value}.items())))


def _accelerators() -> list[str]:
    """Return the accelerators of this machine, if torch is installed and sees any."""
    from steelyard.encoders.devices.choice import choose_devices

    try:
        return [name for name in choose_devices(None) if name != "cpu"]
    except MissingPart:
        return []


def _limited_threads(count: int) -> AbstractContextManager[Any]:
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    limits: AbstractContextManager[Any] = threadpool_limits(limits=count)
    return limits


def _scores(
    spec: ModelSpec, task: str | Path | Task, limit: int | None, settings: Settings
) -> tuple[str, str, Float64] | str:
    """Return task, metric and per-query scores; the reason as a text if there are none."""
    try:
        results: Results = evaluate([spec], task, limit=limit, warn=False, settings=settings)
    except SteelyardError as error:
        return str(error)
    if len(results) != 1:
        raise UsageError(f"stability needs one task, got {len(results)}", hint="name one, such as NanoAlmanac/en")
    (result,) = results
    if not result.done:
        return str(result.error)
    columns = results.query_columns(results.labels[0])
    if result.model not in columns:
        return "the task has no per-query scores"
    return result.task, result.main_metric, columns[result.model].values


def _compared(label: str, usual: Float64, other: Float64, margin: float) -> Condition:
    change = other - usual
    difference = float(change.mean())
    p_value = float(p_values(change)[0]) if np.any(change) else 1.0
    return Condition(
        label,
        float(other.mean()),
        difference,
        int(np.count_nonzero(change)),
        float(np.abs(change).max(initial=0.0)),
        p_value,
        bool(p_value < ALPHA or (difference != 0 and abs(difference) >= margin)),
    )
