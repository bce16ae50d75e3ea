"""Rows 2 and 12: whole tasks of mteb's types with vectors given: what each side spends outside the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from harness.case import Case, Contestant
from harness.made_tasks import Lookup, table_of, task_of

TARGETS = {
    "retrieval": (2, 15.0),
    "reranking": (12, None),
    "sts": (12, 5.0),
    "pair_classification": (12, 5.0),
    "classification": (12, None),
    "clustering": (12, 5.0),
    "clustering_sampled": (12, 5.0),
}
REASONS = {
    "retrieval": "Of our processor time three tenths are the table of vectors and a quarter is the matrix product; "
    "both sides have these. A tenth is the top 1,000 of each query, and a sixth the metrics and their intervals, of "
    "which mteb does not have the intervals.",
    "sts": "Two fifths of our time are the table of vectors, which both sides have. A quarter is the intervals, which "
    "mteb does not have: nearly half of that are numpy's random numbers. A fifth is the similarities, with sums in "
    "torch's order.",
    "clustering_sampled": "More than four fifths of our time are scikit-learn's k-means, which both sides call with "
    "one seed.",
}
Data = tuple[Any, Any, Lookup]


def make(kind: str) -> Data:
    """Return the task, a small one of the same type, and the vectors of both: a first call imports what it needs."""
    task, small = task_of(kind), task_of(kind, 10)
    return task, small, Lookup(table_of(small) | table_of(task))


def ours(data: Data) -> Callable[[], dict[str, float]]:
    from steelyard import evaluate
    from steelyard.encoders.backends.function import from_function
    from steelyard.retrievers.dense import DenseRetriever

    task, small, lookup = data
    lookup.vectors.setdefault("steelyard", next(iter(lookup.vectors.values())))  # asked for to learn the dimension
    model = DenseRetriever("dense:lookup", from_function(lookup, "lookup", batch_size=1 << 20))

    evaluate(model, small)

    def work() -> dict[str, float]:
        (result,) = evaluate(model, task)
        if result.score is None:
            raise SystemExit(str(result.error))
        return {"main_score": float(result.score)}

    return work


def with_mteb(data: Data) -> Callable[[], dict[str, float]]:
    import mteb
    from mteb.models.abs_encoder import AbsEncoder
    from mteb.models.model_meta import ModelMeta, ScoringFunction

    from steelyard.compat.mteb import as_mteb_task

    task, small, lookup = data

    class LookupEncoder(AbsEncoder):
        """The table as a model of mteb, written as its documentation says."""

        def __init__(self) -> None:
            fields = dict.fromkeys(name for name, field in ModelMeta.model_fields.items() if field.is_required())
            known = {"name": "lookup/lookup", "revision": "1", "framework": []}
            similarity = {"similarity_fn_name": ScoringFunction.COSINE}
            self.mteb_model_meta = ModelMeta(**{**fields, **known, **similarity})

        def encode(self, inputs: Any, **_: Any) -> np.ndarray:
            return np.concatenate([lookup(batch["text"]) for batch in inputs])

    model, peer_task, split = LookupEncoder(), as_mteb_task(task), task.info.split

    def work(one: Any = peer_task) -> dict[str, float]:
        done = mteb.evaluate(model, [one], cache=None, show_progress_bar=False, co2_tracker=False)
        return {"main_score": float(done.task_results[0].scores[split][0]["main_score"])}

    work(as_mteb_task(small))
    return work


CASES = [
    Case(
        row,
        f"task-{kind.replace('_', '-')}",
        f"A whole task of type {kind.replace('_', ' ')}, vectors given",
        (Contestant("steelyard", "ours"), Contestant("mteb", "with_mteb", "mteb")),
        {"kind": kind},
        rounds=3,
        by="cpu",
        target=target,
        tolerance=1e-5,  # mteb rounds some scores to five digits
        reason=REASONS.get(kind, ""),
        quick=kind in ("retrieval", "sts", "clustering"),
    )
    for kind, (row, target) in TARGETS.items()
]
