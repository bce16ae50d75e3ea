"""Stored results with and without the contaminated queries: does the leak explain the lead?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.audit.findings import TaskFindings
from steelyard.audit.lexical.normal_form import Bools
from steelyard.errors import ResultError
from steelyard.results import Result, ResultStore
from steelyard.stats import mean_interval, paired_test
from steelyard.types import Float64

SHUFFLES = 10_000
ALPHA = 0.05


def rescore(findings: TaskFindings, folder: str | Path, *, metric: str | None = None) -> dict[str, Any] | None:
    """Return the scores of every stored model on all, on clean and on contaminated queries; None without results.

    The results must be of the data that was audited. `leads` compares the best model with each other one by a paired
    test on all queries and on the clean ones alone.
    """
    results = _results(findings, Path(folder))
    if not results:
        return None
    metric = metric or results[0].main_metric
    columns, mask, skipped = _columns(findings, results, metric)
    if not columns or not mask.any() or mask.all():
        return None
    order = sorted(columns, key=lambda model: (-columns[model].mean(), model))
    return {
        "task": findings.task,
        "metric": metric,
        "queries": len(mask),
        "contaminated": int(mask.sum()),
        "models": [_model(model, columns[model], mask) for model in order],
        "leads": [_lead(order[0], other, columns, mask) for other in order[1:]],
        "skipped": skipped,
    }


def _results(findings: TaskFindings, folder: Path) -> list[Result]:
    stored = ResultStore(folder).find(task=findings.task)
    same = [result for result in stored if result.done and result.facts.data_hash == findings.data_hash]
    newest: dict[str, Result] = {}
    for result in sorted(same, key=lambda one: one.created):
        newest[result.model] = result
    return list(newest.values())


def _columns(
    findings: TaskFindings, results: list[Result], metric: str
) -> tuple[dict[str, Float64], Bools, list[dict[str, str]]]:
    """Return the values of each model in one order of queries, and which queries are contaminated."""
    contaminated = set(findings.contaminated)
    columns: dict[str, Float64] = {}
    ids: tuple[str, ...] = ()
    skipped = []
    for result in results:
        try:
            queries = result.per_query
        except ResultError as error:
            skipped.append({"model": result.model, "reason": error.message})
            continue
        if metric not in queries:
            skipped.append({"model": result.model, "reason": f"it has no values of {metric} by query"})
            continue
        ids = ids or queries.ids
        place = {id_: row for row, id_ in enumerate(queries.ids)}
        columns[result.model] = queries[metric][[place[id_] for id_ in ids]]
    return columns, np.array([id_ in contaminated for id_ in ids], dtype=np.bool_), skipped


def _model(model: str, values: Float64, mask: Bools) -> dict[str, Any]:
    """Return the scores of one model; `effect` is contaminated minus clean queries, with a permutation test."""
    interval = mean_interval(values[~mask])
    effect, p_value = _label_test(values, mask)
    return {
        "model": model,
        "all": float(values.mean()),
        "clean": float(values[~mask].mean()),
        "clean_low": interval.low,
        "clean_high": interval.high,
        "contaminated": float(values[mask].mean()),
        "effect": effect,
        "effect_p": p_value,
    }


def _label_test(values: Float64, mask: Bools, seed: int = 0) -> tuple[float, float]:
    """Return how much higher the contaminated queries score, and how often shuffled marks give as large a gap."""
    effect = float(values[mask].mean() - values[~mask].mean())
    rng = np.random.default_rng(seed)
    count, total, size = int(mask.sum()), float(values.sum()), len(values)
    as_large = 0
    for _ in range(SHUFFLES):
        inside = float(values[rng.permutation(size)[:count]].sum())
        gap = inside / count - (total - inside) / (size - count)
        as_large += abs(gap) >= abs(effect) - 1e-12
    return effect, (as_large + 1) / (SHUFFLES + 1)


def _lead(leader: str, other: str, columns: Mapping[str, Float64], mask: Bools) -> dict[str, Any]:
    """Return the lead of a model over another on all and on clean queries, and what the leak has to do with it."""
    whole = paired_test(columns[leader], columns[other])
    clean = paired_test(columns[leader][~mask], columns[other][~mask])
    if not whole.significant(ALPHA):
        meaning = "no lead: the difference may be chance with all queries"
    elif clean.difference <= 0:
        meaning = "the leak explains the lead: without contaminated queries the other model is as good or better"
    elif not clean.significant(ALPHA):
        meaning = "the leak may explain the lead: without contaminated queries the difference may be chance"
    else:
        meaning = "the lead remains without contaminated queries"
    return {
        "leader": leader,
        "other": other,
        "all": _test(whole),
        "clean": _test(clean),
        "explained": whole.significant(ALPHA) and not (clean.difference > 0 and clean.significant(ALPHA)),
        "meaning": meaning,
    }


def _test(test: Any) -> dict[str, float]:
    return {
        "difference": test.difference,
        "low": test.interval.low,
        "high": test.interval.high,
        "p_value": test.p_value,
    }
