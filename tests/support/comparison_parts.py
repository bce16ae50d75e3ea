"""Results with given per-query scores, for the tests of comparisons and the gate."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.results import QueryScores, Result, TaskFacts
from steelyard.results.keys import result_key
from steelyard.types import Float64

_RNG = np.random.default_rng(3)
OLD = _RNG.uniform(0.2, 0.7, 80)
NEW = OLD + _RNG.normal(0.05, 0.1, 80)


def made(task: str, model: str, values: Float64, **more: Any) -> Result:
    facts = TaskFacts(
        more.pop("language", "en"), queries=len(values), documents=9, data_hash=more.pop("data_hash", "d" * 32),
        limit=more.pop("limit", None), revision=more.pop("revision", None), queries_in_full=80,
    )  # fmt: skip
    metric = more.pop("metric", "ndcg_at_10")
    settings = more.pop("settings", {})
    ids = more.pop("ids", tuple(f"q{i}" for i in range(len(values))))
    return Result(
        task, model, settings, result_key(settings, task, facts), main_metric=metric,
        metrics={metric: float(np.nanmean(values))}, facts=facts,
        queries=QueryScores(ids, None, {metric: values}), **more,
    )  # fmt: skip
