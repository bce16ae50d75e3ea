"""Scoring a run: Steelyard against pytrec_eval, and against mteb's retrieval scores (pytrec_eval, MRR, 105 nAUCs);
then every measure of trec_eval (all_trec) against pytrec_eval.

    python benchmarks/metrics.py            # 200 x 1,000 and 10,000 x 1,000; the larger takes minutes and 5 GB
    python benchmarks/metrics.py --small

Steelyard computes all 149 keys of mteb from its arrays each time, even where the peer is pytrec_eval alone.
Interleaved repetitions, medians; the ratios are what counts. `dicts` is the time to make the dictionaries of string ids
that both peers need. Without mteb installed its lines are left out, and said to be.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytrec_eval

from steelyard.cli.score.measures import expand
from steelyard.metrics import CUTOFFS, Ranking
from steelyard.metrics.mteb import mteb_scores
from steelyard.metrics.scoring import compute
from steelyard.types import Qrels, Run

sys.path.pop(0)  # this folder, in which mteb.py would be the package `mteb`
try:
    from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores
except ImportError:
    calculate_retrieval_scores = None

LIMIT = 10.0
MEASURES = {f"{name}.{','.join(map(str, CUTOFFS))}" for name in ("ndcg_cut", "map_cut", "recall", "P", "success")}


ALL = tuple(measure.metric for measure in expand(["all_trec"]) if measure.metric is not None)


def make(queries: int, depth: int, documents: int) -> tuple[Run, Qrels, list[str]]:
    """Random lists with a few judged documents each, most of them somewhere in the list."""
    rng = np.random.default_rng(0)
    rows = np.stack([rng.choice(documents, depth, replace=False) for _ in range(queries)]).astype(np.int32)
    run = Run.of(rows, rng.random((queries, depth)).astype(np.float32))
    judged = np.concatenate([np.sort(rng.permutation(depth)[:5]) for _ in range(queries)])
    query = np.repeat(np.arange(queries), 5)
    qrels = Qrels.of(query, run.rows[query, judged], rng.integers(0, 3, len(query)), queries=queries)
    return run, qrels, [f"document-{documents - row:07}" for row in range(documents)]


def everything(run: Run, qrels: Qrels) -> list[Any]:
    """Every measure of trec_eval; those that are one figure of all queries too."""
    ranking = Ranking(run, qrels)
    return [
        metric.definition.whole(ranking, None) if metric.definition.whole else compute(metric, ranking)
        for metric in ALL
    ]


def as_dicts(run: Run, ids: list[str]) -> dict[str, dict[str, float]]:
    return {
        f"q{number}": dict(zip([ids[row] for row in rows], scores, strict=True))
        for number, (rows, scores) in enumerate(zip(run.rows.tolist(), run.scores.tolist(), strict=True))
    }


def judgement_dicts(qrels: Qrels, ids: list[str]) -> dict[str, dict[str, int]]:
    return {
        f"q{q}": {ids[r]: g for r, g in zip(qrels.rows_of(q).tolist(), qrels.grades_of(q).tolist(), strict=True)}
        for q in range(len(qrels))
    }


def timed(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare(queries: int, documents: int, repetitions: int) -> float:
    """The smallest ratio to a peer that has the same job: all of mteb's scores, dictionaries ready."""
    run, qrels, ids = make(queries, 1000, documents)
    found, judged = as_dicts(run, ids), judgement_dicts(qrels, ids)
    jobs: dict[str, Callable[[], Any]] = {
        "steelyard": lambda: mteb_scores(run, qrels),
        "dicts": lambda: as_dicts(run, ids),
        "pytrec_eval": lambda: pytrec_eval.RelevanceEvaluator(judged, MEASURES).evaluate(found),
        "all_trec": lambda: everything(run, qrels),
        "pytrec_eval all_trec": lambda: pytrec_eval.RelevanceEvaluator(judged, {"all_trec"}).evaluate(found),
    }
    if calculate_retrieval_scores is not None:
        jobs["mteb"] = lambda: calculate_retrieval_scores(found, judged, list(CUTOFFS))
        theirs = calculate_retrieval_scores(found, judged, list(CUTOFFS))
        assert theirs.ndcg["NDCG@10"] == mteb_scores(run, qrels)["ndcg_at_10"]
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repetitions):
        for name, work in jobs.items():
            times[name].append(timed(work))
    median = {name: statistics.median(values) for name, values in times.items()}
    print(f"\n{queries:,} queries x 1,000 documents, median of {repetitions}")
    print(f"  steelyard, all 149 scores     {median['steelyard'] * 1000:10.1f} ms")
    ratios = []
    for name in ("pytrec_eval", "mteb"):
        if name not in median:
            print("  mteb                           not installed: pip install --group bench")
            continue
        for label, seconds in ((name, median[name]), (f"{name} + dicts", median[name] + median["dicts"])):
            ratio = seconds / median["steelyard"]
            print(f"  {label:<29} {seconds * 1000:10.1f} ms  {ratio:7.1f} times steelyard")
            ratios.append(ratio)
    of_all = median["pytrec_eval all_trec"] / median["all_trec"]
    print(f"  steelyard, all_trec           {median['all_trec'] * 1000:10.1f} ms")
    print(f"  pytrec_eval, all_trec         {median['pytrec_eval all_trec'] * 1000:10.1f} ms  {of_all:7.1f} times")
    return ratios[2] if len(ratios) > 2 else ratios[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--small", action="store_true", help="leave out the 10,000 queries")
    small = parser.parse_args().small
    ratios = [compare(200, 10_000, 9)]
    if not small:
        ratios.append(compare(10_000, 100_000, 3))
    print(f"\nat least {min(ratios):.1f} times faster (limit {LIMIT:g})")
    return int(min(ratios) < LIMIT)


if __name__ == "__main__":
    sys.exit(main())
