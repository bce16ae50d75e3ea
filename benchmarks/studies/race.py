"""Races by simulation and on real per-query scores: how often the best model is dropped, and what is saved.

    python benchmarks/studies/race.py                 tables of docs/race.md; exit 1 if an error rate is above alpha
    python benchmarks/studies/race.py --repeats 2000

1. Equal models: all have the same expected score on every task, so that every drop is an error.
2. One better model: how many rounds until all others are dropped.
3. Real scores: BM25 in several forms, the default encoder in several precisions and their fusions on real tasks. The
   queries of each task are the population; every race draws its own queries from it. The best model is the one with
   the highest mean of the population.
4. A whole race with documents on sets in `--data` (skipped if there are none), and the same models on the full tasks:
   is the winner the same, and how many documents were not encoded?
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

import steelyard
from steelyard import evaluate
from steelyard.racing import Elimination
from steelyard.types import Float64

ALPHA = 0.05
ROUNDS, QUERIES = 10, 20
"""Rounds of a race and queries of each task in one round."""
MODELS = [
    "bm25",
    "bm25?b=0",
    "bm25?k1=0.1",
    "dense",
    "dense?precision=binary",
    "[bm25, dense]",
    "[bm25, dense]?method=rrf",
]
RACERS = ["dense", "dense?precision=binary", "dense?truncate_dim=64", "[bm25, dense]"]
SETS = ["vaswani_en", "cmdd_medical_zh"]
TASKS = ["NanoStdlib/docstring-to-code", "NanoStdlib/code-to-docstring", "NanoAlmanac/en", "NanoCLDR/territory-cards"]


def population(generator: np.random.Generator, models: int, size: int = 2_000) -> Float64:
    """Scores like nDCG: many 0 and 1, correlated between models; all have the same distribution."""
    difficulty = generator.normal(0, 1, (1, size))
    latent = 0.7 * difficulty + 0.7 * generator.normal(0, 1, (models, size))
    return np.clip(np.round(0.5 + 0.5 * latent, 2), 0.0, 1.0)


def one_race(tasks: list[Float64], generator: np.random.Generator) -> Elimination:
    """Draw queries round by round until the race is decided or its rounds are over."""
    race = Elimination(len(tasks[0]), alpha=ALPHA)
    for _ in range(ROUNDS):
        if race.finished:
            break
        scores = {}
        for number, task in enumerate(tasks):
            rows = generator.integers(0, task.shape[1], QUERIES)
            scores[f"T/{number}"] = task[:, rows]
        race.observe(scores)
    return race


def simulated(repeats: int, models: int, gain: float) -> tuple[float, float, float]:
    """Return how often the best was dropped, how often the race was decided, and the mean number of rounds."""
    errors = decided = rounds = 0
    for seed in range(repeats):
        generator = np.random.default_rng(seed)
        tasks = [population(generator, models) for _ in range(4)]
        if gain:
            tasks = [np.concatenate([np.clip(task[:1] + gain, 0, 1), task[1:]]) for task in tasks]
            errors += 0 not in one(race := one_race(tasks, generator))
        else:
            tasks = [np.stack([generator.permuted(task[0]) for _ in range(models)]) for task in tasks]
            errors += bool((race := one_race(tasks, generator)).drops)
        decided += race.finished
        rounds += race.rounds
    return errors / repeats, decided / repeats, rounds / repeats


def one(race: Elimination) -> list[int]:
    return race.active.tolist()


def real_scores() -> tuple[list[str], list[Float64]]:
    results = evaluate(MODELS, TASKS)
    tables = []
    for label in results.labels:
        columns = results.query_columns(label)
        tables.append(np.stack([columns[model].values for model in results.models]))
    return list(results.models), tables


def whole_race(data: Path) -> None:
    """Race on real sets with their documents, and compare the winner with that of the full evaluation."""
    folders = [str(data / name) for name in SETS if (data / name).is_dir()]
    if not folders:
        print(f"skipped: none of {', '.join(SETS)} is in {data}")
        return
    outcome = steelyard.race(RACERS, folders)
    print(f"\nrace on {', '.join(SETS)}\n{outcome}")
    full = evaluate(RACERS, folders).means()
    print("full tasks: " + ", ".join(f"{name} {mean:.4f}" for name, mean in sorted(full.items(), key=lambda p: -p[1])))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1_000)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[3] / "shared" / "data")
    arguments = parser.parse_args()
    worst = 0.0
    print("| scores | models | gain of the best | best dropped | decided | rounds of 10 |\n|---|---|---|---|---|---|")
    for models, gain in ((2, 0.0), (5, 0.0), (5, 0.02), (5, 0.05), (5, 0.1)):
        error, decided, rounds = simulated(arguments.repeats, models, gain)
        worst = max(worst, error)
        print(f"| simulated | {models} | {gain:g} | {error:.1%} | {decided:.0%} | {rounds:.1f} |", flush=True)
    names, tables = real_scores()
    means = np.mean([table.mean(axis=1) for table in tables], axis=0)
    best, second = np.argsort(-means)[:2]
    errors = decided = rounds = work = 0.0
    for seed in range(arguments.repeats):
        race = one_race(tables, np.random.default_rng([seed, 9]))
        errors += best not in race.active
        decided += race.finished
        rounds += race.rounds
        left = {drop.model: drop.round for drop in race.drops}
        work += sum(left.get(model, race.rounds) for model in range(len(names))) / (len(names) * ROUNDS)
    share = [value / arguments.repeats for value in (errors, decided, rounds, work)]
    worst = max(worst, share[0])
    gain = means[best] - means[second]
    print(f"| real | {len(names)} | {gain:.4f} | {share[0]:.1%} | {share[1]:.0%} | {share[2]:.1f} |")
    print(f"real scores: the best is {names[best]}; {1 - share[3]:.0%} of the parts were not evaluated")
    for name, mean in sorted(zip(names, means, strict=True), key=lambda pair: -pair[1]):
        print(f"  {mean:.4f}  {name}")
    whole_race(arguments.data)
    limit = ALPHA + 2 * (ALPHA * (1 - ALPHA) / arguments.repeats) ** 0.5
    print(f"largest error rate {worst:.1%}, allowed {limit:.1%}")
    return 0 if worst <= limit else 1


if __name__ == "__main__":
    sys.exit(main())
