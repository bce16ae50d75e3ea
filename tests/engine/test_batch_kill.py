"""Kill -9: nothing lost, nothing half-written, and the same command goes on from there.

Real runs are killed at random moments: twenty in the suite, STEELYARD_KILLS=50 for more. As a random moment seldom
falls into a write, a writer is also killed at each single step that it takes on the disk.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from engine_parts import small_task

from steelyard.datasets import write_nano_set
from steelyard.results import QueryScores, Result, ResultStore

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("STEELYARD_KILLS", "20"))
MODELS = ("bm25", "bm25?k1=0.9&b=0.4", "[bm25, bm25?k1=0.9&b=0.4]")
TASKS = 6
EVALUATIONS = len(MODELS) * TASKS


def command(nano: Path, results: Path, *more: str) -> list[str]:
    head = [sys.executable, "-m", "steelyard", "run", *MODELS, "-t", str(nano), "-o", str(results)]
    return [*head, "--save-runs", "parquet", "--no-report", *more]


def killed_run(words: list[str], after: int, delay: float) -> None:
    """Start a run and kill it a moment after its `after`-th evaluation."""
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith(f"{after}/") or (after == 0 and "evaluations:" in line):
                break
        time.sleep(delay)
        process.kill()
        process.stderr.read()


def check_whole(folder: Path) -> dict[str, Result]:
    """Every result file parses strictly and agrees with the Parquet files beside it; by key."""
    results = {}
    for path in folder.rglob("*.json"):
        json.loads(path.read_bytes(), parse_constant=lambda name: pytest.fail(f"{name} in a result"))
        result = Result.from_json(path.read_bytes(), path)
        assert result.done and len(result.per_query) == result.facts.queries == 6
        for metric in ("ndcg_at_10", "map", "recall_at_100"):
            assert result[metric] == pytest.approx(result.per_query[metric].mean(), abs=1e-12)
        interval = result.intervals["ndcg_at_10"]
        assert interval.low <= (result.score or 0) <= interval.high
        results[result.key] = result
    for path in folder.rglob("[!.]*.queries.parquet"):
        assert len(QueryScores.read(path)) == 6, "also where the JSON file never came, Parquet files are whole"
    return results


@pytest.mark.slow
def test_no_kill_loses_or_halves_a_result(tmp_path: Path) -> None:
    names = [f"NanoSmall/t{number}" for number in range(TASKS)]
    nano = write_nano_set(tmp_path / "NanoSmall", [small_task(name, shift=i) for i, name in enumerate(names)])
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    subprocess.run(command(nano, calm), check=True, capture_output=True)
    expected = check_whole(calm)
    assert len(expected) == EVALUATIONS

    dice, seen, leftovers = random.Random(42), 0, 0
    for number in range(KILLS):
        # By turns a run that continues and one that writes anew over what is there.
        again = number % 2 == 1
        after = dice.randrange(4) if again else min(seen + 1, EVALUATIONS - 1) if seen else 0
        more = ("--overwrite-strategy", "always") if again else ()
        killed_run(command(nano, killed, *more), after, dice.random() * 0.08)
        leftovers += len(list(killed.rglob(".*.tmp")))
        found = check_whole(killed)
        assert seen <= len(found) <= EVALUATIONS, "a stored result was lost"
        seen = len(found)

    last = subprocess.run(command(nano, killed), check=True, capture_output=True, text=True)
    if seen:
        assert f"{EVALUATIONS - seen} evaluated" in last.stderr and f"{seen} of {EVALUATIONS}" in last.stderr
    final = check_whole(killed)
    assert final.keys() == expected.keys() and not list(killed.rglob(".*.tmp"))
    for key, result in final.items():
        assert result.metrics == expected[key].metrics and result.intervals == expected[key].intervals
        for metric, values in expected[key].per_query.by_metric.items():
            assert np.array_equal(result.per_query[metric], values)
    assert len(list(killed.rglob("*.run.parquet"))) == EVALUATIONS
    assert len(ResultStore(killed).all()) == EVALUATIONS
    print(f"{KILLS} kills, {leftovers} unfinished files seen and removed, {seen} results before the last run")


WRITER = """
import os, signal, sys
from pathlib import Path
import numpy as np
from steelyard.results import QueryScores, Result, ResultStore, TaskFacts
import pyarrow.parquet, babel.core

def result(value):
    queries = QueryScores(tuple("abcdef"), np.ones(6, np.int32), {"ndcg_at_10": np.full(6, value)})
    facts = TaskFacts("en", queries=6, data_hash="d" * 32)
    return Result("T/a", "bm25", {}, f"key of {value}", metrics={"ndcg_at_10": value}, facts=facts, queries=queries)

def put_and_die(folder, step, value):
    left = [step]
    def count(event="fsync", arguments=()):
        if event == "open" and str(folder) in str(arguments[0]) and arguments[2] & (os.O_WRONLY | os.O_RDWR):
            if not str(arguments[0]).endswith(".tmp"):
                os._exit(3)
        if event in ("open", "os.rename", "os.remove", "os.mkdir", "fsync") and str(folder) in str(arguments or folder):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
    fsync = os.fsync
    os.fsync = lambda number: (count(), fsync(number), count())
    result(0.5).to_json()  # what is imported on the way is not a step
    sys.addaudithook(count)
    ResultStore(folder).put(result(value), {"run.trec": b"x" * 100_000})
    os._exit(0)

root, step = Path(sys.argv[1]), 0
finished = False
while not finished:
    step += 1
    folder = root / f"{step:03}"
    if sys.argv[2] == "over":
        ResultStore(folder).put(result(0.25), {"run.trec": b"old"})
    child = os.fork()
    if not child:
        put_and_die(folder, step, 0.75)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "a file was opened for writing under its own name"
    finished = status == 0
print(step)
"""


@pytest.mark.parametrize("before", ["new", "over"])
def test_a_writer_killed_at_any_step_leaves_all_or_nothing(tmp_path: Path, before: str) -> None:
    written = subprocess.run(
        [sys.executable, "-c", WRITER, str(tmp_path), before], check=True, capture_output=True, text=True
    )
    steps = int(written.stdout)
    assert steps > 12, "the writer takes at least four steps for each of its three files"
    outcomes = []
    for folder in (tmp_path / f"{step:03}" for step in range(1, steps + 1)):
        store = ResultStore(folder)
        found = {result.score: result for result in store.all()}
        for score, result in found.items():
            assert result.per_query["ndcg_at_10"].tolist() == [score] * 6, "a result beside another's values"
            assert result.path is not None
            assert len(result.path.with_suffix(".run.trec").read_bytes()) == (100_000 if score == 0.75 else 3)
        outcomes.append(next(iter(found), None))
        store.clean()
        assert not list(folder.rglob(".*"))
    assert len(outcomes) == steps and outcomes[-1] == 0.75
    assert outcomes == sorted(outcomes, key=[0.25, None, 0.75].index), "first the old one, then none, then the new one"
