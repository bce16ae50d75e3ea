"""How long do the tests of a whole leaderboard take? All pairs of 55 models on 550 tasks of 200 queries.

`python benchmarks/studies/compare.py` runs three parts and checks their targets:

1. every statistic of all 1,485 pairs on every task, and of the means over tasks (target: 60 s and 2 GB on 2 cores);
   then the same through `steelyard.compare`, from 30,250 results in memory;
2. the rate of paired randomisation tests against `scipy.stats.permutation_test` for one pair (target: 1,000 times);
3. the share of false positives at 5 % in A/A comparisons of resampled real per-query scores (target: 4 to 6 %).

`--quick` uses a tenth of the tasks. `--real FOLDER` takes the scores of part 3 from a folder of results; otherwise the
default models are evaluated on built-in sets first.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from steelyard.stats.group_means import GroupScores
from steelyard.stats.randomisation import p_values, pair_p_values
from steelyard.vectors.threads import single_threaded_blas

MODELS, TASKS, QUERIES = 55, 550, 200
REAL_TASKS = ("NanoAlmanac", "NanoCLDR")
REAL_MODELS = ("bm25", "dense", "[bm25, dense]")


def leaderboard(models: int, tasks: int, queries: int) -> GroupScores:
    """Scores with the shape of nDCG@10: many ones and zeros, similar models, queries of different difficulty."""
    generator = np.random.default_rng(0)
    quality = np.linspace(-0.5, 0.5, models)[:, None]
    scores = []
    for _ in range(tasks):
        difficulty = generator.normal(0, 1.2, queries)[None, :]
        rank = np.floor(np.exp(generator.normal(1.0, 1.0, (models, queries)) - quality - difficulty)).clip(0)
        scores.append(np.where(rank < 10, 1 / np.log2(rank + 2), 0.0))
    return GroupScores(tuple(f"Group/task-{t}" for t in range(tasks)), tuple(scores))


def all_pairs(tasks: int) -> dict[str, float]:
    group = leaderboard(MODELS, tasks, QUERIES)
    before, cpu = time.perf_counter(), time.process_time()

    with single_threaded_blas():
        pairs = list(combinations(range(MODELS), 2))
        significant = [float((one.p_value < 0.05).mean()) for one in group.task_statistics(pairs)]
        by_task = time.perf_counter() - before
        p_values = group.pair_p_values()
        group.resampled_means()
    seconds = time.perf_counter() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {
        "models": MODELS,
        "tasks": tasks,
        "queries": QUERIES,
        "tests": len(pairs) * (tasks + 1),
        "seconds_by_task": round(by_task, 2),
        "seconds": round(seconds, 2),
        "cpu_seconds": round(time.process_time() - cpu, 2),
        "peak_gigabytes": round(peak, 3),
        "significant_share_by_task": round(float(np.mean(significant)), 4),
        "significant_share_of_means": round(float((p_values[np.triu_indices(MODELS, 1)] < 0.05).mean()), 4),
    }


def through_compare(tasks: int) -> dict[str, float]:
    """The same through `steelyard.compare`: 30,250 results in one `Results`, checks, flags, corrections, ranking."""
    import steelyard
    from steelyard.results import QueryScores, Result, Results

    group = leaderboard(MODELS, tasks, QUERIES)
    ids = tuple(f"q{number}" for number in range(QUERIES))
    positives = np.ones(QUERIES, dtype=np.int32)
    results = Results(
        Result(
            task,
            f"model-{model:02d}",
            {},
            f"{task}-{model}",
            metrics={"ndcg_at_10": float(row.mean())},
            queries=QueryScores(ids, positives, {"ndcg_at_10": row}),
        )
        for task, scores in zip(group.tasks, group.scores, strict=True)
        for model, row in enumerate(scores)
    )
    before, cpu = time.perf_counter(), time.process_time()
    comparison = steelyard.compare(results)
    return {
        "results": len(results),
        "pairs": len(comparison.tasks[0].differences),
        "seconds": round(time.perf_counter() - before, 2),
        "cpu_seconds": round(time.process_time() - cpu, 2),
        "peak_gigabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 3),
    }


def against_scipy() -> dict[str, float]:
    from scipy import stats

    scores = leaderboard(MODELS, 1, QUERIES).scores[0]
    pair_p_values(scores)
    rounds = 5
    before = time.perf_counter()
    for seed in range(rounds):
        pair_p_values(scores, seed=seed)
    ours = MODELS * (MODELS - 1) / 2 * rounds / (time.perf_counter() - before)
    before = time.perf_counter()
    theirs = stats.permutation_test(
        (scores[0], scores[1]),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=10_000,
        rng=np.random.default_rng(0),
    )
    rate = 1 / (time.perf_counter() - before)
    return {
        "our_tests_per_second": round(ours),
        "scipy_tests_per_second": round(rate, 2),
        "ratio": round(ours / rate),
        "our_p": float(pair_p_values(scores)[0, 1]),
        "scipy_p": float(theirs.pvalue),
    }


def real_scores(folder: Path | None) -> list[tuple[str, np.ndarray]]:
    """Per-query scores of real models on real tasks: one (models, queries) matrix for each task."""
    from steelyard import evaluate, load_results
    from steelyard.results.per_query import aligned

    with TemporaryDirectory() as temporary:
        place = folder or Path(temporary)
        if folder is None:
            evaluate(list(REAL_MODELS), list(REAL_TASKS), results=place)
        results = load_results(place)
        scores = []
        for label in results.labels:
            columns = results.query_columns(label)
            if len(columns) > 1:
                scores.append((label, aligned(columns)[1]))
        return scores


def false_positives(folder: Path | None, trials: int = 400) -> dict[str, float]:
    """The share of p < 0.05 where there is no difference: queries resampled, the two models swapped at random."""
    generator = np.random.default_rng(1)
    rejected = tests = 0
    for _, scores in real_scores(folder):
        queries = scores.shape[1]
        if queries < 20:
            continue
        for first in range(len(scores)):
            for second in range(first + 1, len(scores)):
                differences = scores[first] - scores[second]
                if not np.any(differences):
                    continue
                drawn = differences[generator.integers(0, queries, (trials, queries))]
                drawn *= generator.integers(0, 2, drawn.shape) * 2 - 1
                p = p_values(drawn, 2000, seed=int(generator.integers(1 << 31)))
                rejected, tests = rejected + int((p <= 0.05).sum()), tests + trials
    return {"comparisons": tests, "false_positive_share": round(rejected / tests, 4)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--real", type=Path)
    parser.add_argument("--skip-real", action="store_true")
    arguments = parser.parse_args()
    results: dict[str, dict[str, float]] = {"all_pairs": all_pairs(TASKS // 10 if arguments.quick else TASKS)}
    results["compare"] = through_compare(TASKS // 10 if arguments.quick else TASKS)
    results["scipy"] = against_scipy()
    if not arguments.skip_real:
        results["false_positives"] = false_positives(arguments.real)
    print(json.dumps(results, indent=2))
    late = any(
        results[part]["seconds"] > 60 or results[part]["peak_gigabytes"] > 2 for part in ("all_pairs", "compare")
    )
    slow = results["scipy"]["ratio"] < 1000
    share = results.get("false_positives", {}).get("false_positive_share", 0.05)
    return int(late or slow or not 0.04 <= share <= 0.06)


if __name__ == "__main__":
    sys.exit(main())
