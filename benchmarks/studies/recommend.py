"""`steelyard recommend` on a real set: the table of docs/recommend.md, and how stable its latencies are.

    python benchmarks/studies/recommend.py                         BM25 and the default encoder on NanoStdlib
    python benchmarks/studies/recommend.py --task ../shared/data/cranfield_en

The whole recommendation is made twice from the same vectors. Quality must be the same; the medians of the latencies
are compared, which shows how much of a difference between two choices may come from the machine.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

import steelyard
from steelyard.recommendation import Sampling


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="NanoStdlib/docstring-to-code")
    parser.add_argument("--models", nargs="+", default=["bm25", "dense"])
    parser.add_argument("--samples", type=int, default=100)
    arguments = parser.parse_args()
    runs = []
    for _ in range(2):
        start = time.perf_counter()
        recommendation = steelyard.recommend(
            arguments.models, arguments.task, sampling=Sampling(arguments.samples), remeasure=True
        )
        runs.append(recommendation)
        print(f"{len(recommendation.choices)} choices in {time.perf_counter() - start:.1f} s", flush=True)
    print(runs[0])
    first, second = ({choice.model: choice for choice in run.choices} for run in runs)
    same = all(first[model].quality == second[model].quality for model in first)
    ratios = [second[model].costs.latency.p50 / first[model].costs.latency.p50 for model in first]
    print(f"quality is the same in both runs: {same}")
    print(
        f"p50 of the second run / first: median {statistics.median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f}"
    )
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
