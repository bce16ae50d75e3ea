"""Row 5: all scores of a retrieval run from ranked lists, with nAUC where the peer has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from harness.case import Case, Contestant

CUTOFFS = (1, 3, 5, 10, 20, 100, 1000)
MEASURES = {f"{name}.{','.join(map(str, CUTOFFS))}" for name in ("ndcg_cut", "map_cut", "recall", "P", "success")}
Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, list[str]]


def make(queries: int, depth: int, documents: int) -> Data:
    """Return random lists with five judged documents each: rows, scores, judged rows, grades, ids."""
    rng = np.random.default_rng(0)
    rows = np.stack([rng.choice(documents, depth, replace=False) for _ in range(queries)]).astype(np.int32)
    scores = -np.sort(-rng.random((queries, depth)).astype(np.float32), axis=1)
    places = np.stack([rng.permutation(depth)[:5] for _ in range(queries)])
    judged = np.take_along_axis(rows, places, axis=1)
    grades = rng.integers(1, 3, judged.shape)
    return rows, scores, judged, grades, [f"document-{documents - row:07}" for row in range(documents)]


def dictionaries(data: Data) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    rows, scores, judged, grades, ids = data
    qrels = {
        f"q{n}": {ids[row]: int(grade) for row, grade in zip(one, marks, strict=True)}
        for n, (one, marks) in enumerate(zip(judged.tolist(), grades.tolist(), strict=True))
    }
    run = {
        f"q{n}": {ids[row]: score for row, score in zip(one, values, strict=True)}
        for n, (one, values) in enumerate(zip(rows.tolist(), scores.tolist(), strict=True))
    }
    return qrels, run


def ours(data: Data) -> Callable[[], dict[str, float]]:
    from steelyard.metrics.mteb import mteb_scores
    from steelyard.types import Qrels, Run

    rows, scores, judged, grades, _ = data
    run = Run.of(rows, scores)
    query = np.repeat(np.arange(len(rows)), judged.shape[1])
    qrels = Qrels.of(query, judged.ravel(), grades.ravel(), queries=len(rows))
    mteb_scores(Run.of(rows[:5], scores[:5]), Qrels.of(query[:25], judged[:5].ravel(), grades[:5].ravel(), queries=5))
    return lambda: {"ndcg_at_10": float(mteb_scores(run, qrels)["ndcg_at_10"])}


def with_pytrec_eval(data: Data) -> Callable[[], dict[str, float]]:
    """pytrec_eval with its dictionaries given; no nAUC."""
    import pytrec_eval

    qrels, run = dictionaries(data)

    def work() -> dict[str, float]:
        scores = pytrec_eval.RelevanceEvaluator(qrels, MEASURES).evaluate(run)
        return {"ndcg_at_10": float(np.mean([one["ndcg_cut_10"] for one in scores.values()]))}

    return work


def with_mteb(data: Data) -> Callable[[], dict[str, float]]:
    """Mteb's own retrieval scores: pytrec_eval, MRR, hole, nAUC of every cut-off; dictionaries given."""
    from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores

    qrels, run = dictionaries(data)

    def work() -> dict[str, float]:
        scores = calculate_retrieval_scores(run, qrels, list(CUTOFFS))
        return {"ndcg_at_10": float(scores.ndcg["NDCG@10"])}

    return work


def with_ranx(data: Data) -> Callable[[], dict[str, float]]:
    from ranx import Qrels, Run, evaluate

    qrels, run = dictionaries(data)
    judged, ranked = Qrels(qrels), Run(run)
    names = [f"{name}@{cut}" for name in ("ndcg", "map", "recall", "precision", "hit_rate") for cut in CUTOFFS]
    evaluate(judged, ranked, names)  # compiles
    judged, ranked = Qrels(qrels), Run(run)
    return lambda: {"ndcg_at_10": float(evaluate(judged, ranked, names)["ndcg@10"])}


def with_ir_measures(data: Data) -> Callable[[], dict[str, float]]:
    import ir_measures

    qrels, run = dictionaries(data)
    names: list[Any] = [
        ir_measures.parse_measure(f"{name}@{cut}") for name in ("nDCG", "AP", "R", "P", "Success") for cut in CUTOFFS
    ]
    ndcg = ir_measures.parse_measure("nDCG@10")
    return lambda: {"ndcg_at_10": float(ir_measures.calc_aggregate(names, qrels, run)[ndcg])}


PEERS = (
    Contestant("steelyard", "ours"),
    Contestant("pytrec_eval", "with_pytrec_eval", "metrics"),
    Contestant("mteb", "with_mteb", "mteb"),
)
NOTE = "mteb computes the same scores, its means with pytrec_eval. The other peers compute 35 of the 149 scores."
CASES = [
    Case(
        5,
        "metrics-200",
        "All scores of mteb (149 keys with nAUC) of 200 lists of 1,000; pytrec_eval, ranx and ir_measures: 35 means",
        (*PEERS, Contestant("ranx", "with_ranx", "metrics"), Contestant("ir_measures", "with_ir_measures", "metrics")),
        {"queries": 200, "depth": 1000, "documents": 10_000},
        rounds=7,
        target=50,
        against="mteb",
        tolerance=2e-5,
        note=NOTE,
    ),
    Case(
        5,
        "metrics-10k",
        "All scores of mteb (149 keys with nAUC) of 10,000 lists of 1,000; pytrec_eval: 35 means",
        PEERS,
        {"queries": 10_000, "depth": 1000, "documents": 100_000},
        rounds=2,
        target=50,
        against="mteb",
        tolerance=2e-5,
        note=NOTE,
        quick=False,
    ),
]
