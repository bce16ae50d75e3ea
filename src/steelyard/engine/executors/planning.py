"""`steelyard.plan`: the work of an evaluation, before anything is done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from steelyard.config import Settings
from steelyard.engine import AnyMetric, TaskLike, batch_of, conditions_of, lookup_of
from steelyard.engine.events import Listener, silent
from steelyard.engine.executors import LOCAL, plan_batch
from steelyard.engine.executors.workload import Workload
from steelyard.engine.plan import PROFILES, TOP_K, OverwriteStrategy, Profile
from steelyard.retrievers.objects.entrants import Numbers, Passages


def plan(
    models: Any,
    tasks: TaskLike | Iterable[TaskLike] = "builtin",
    *,
    metrics: AnyMetric | Iterable[AnyMetric] = (),
    top_k: int = TOP_K,
    limit: int | None = None,
    seed: int = 0,
    profile: Profile = PROFILES[0],
    eval_splits: Sequence[str] = (),
    candidates: str | None = None,
    depths: Sequence[int] = (),
    chunk: Passages = (),
    overlap: int = 0,
    truncate_dim: Numbers | None = None,
    precision: Numbers | None = None,
    rescore: Numbers | None = None,
    results: str | Path | None = None,
    overwrite_strategy: OverwriteStrategy = "only-missing",
    progress: Listener = silent,
    executor: str = LOCAL,
    measure: bool = True,
    settings: Settings | None = None,
) -> Workload:
    """Return the work that `evaluate` with the same arguments would do.

    Printing it shows a table; `to_dict()` is JSON-ready. With `measure`, each model encodes a few texts, so that the
    time can be estimated; services are not asked to.

    >>> work = plan("bm25", "NanoAlmanac/en")
    >>> work.evaluations, work.stored, work.encodings
    (1, 0, ())
    """
    conditions = conditions_of(metrics, top_k=top_k, limit=limit, seed=seed, profile=profile)
    lookup = lookup_of(results, overwrite_strategy, None)
    variants = {"truncate_dim": truncate_dim, "precision": precision, "rescore": rescore}
    chosen = candidates, depths, variants, (chunk, overlap), eval_splits
    batch = batch_of(models, tasks, conditions, lookup, chosen, progress, settings)
    return plan_batch(batch, executor, measure=measure)
