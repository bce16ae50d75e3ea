"""Races: elimination, division into parts, resumption, bad input."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import steelyard
from steelyard.cli import main
from steelyard.engine.events import Finished
from steelyard.errors import DataError, UsageError
from steelyard.racing import Elimination, race
from steelyard.racing.race_models import divide
from steelyard.types import Task

WORDS = [f"{colour} {animal}" for colour in ("red", "blue", "green", "white") for animal in ("fox", "owl", "crab")]


def task_of(name: str, copies: int = 4) -> Task:
    documents = {
        f"d{n}-{c}": f"a story of the {word} number {c}" for n, word in enumerate(WORDS) for c in range(copies)
    }
    queries = {f"q{n}-{c}": f"{word} {c}" for n, word in enumerate(WORDS) for c in range(copies)}
    qrels = {f"q{n}-{c}": {f"d{n}-{c}": 1} for n in range(len(WORDS)) for c in range(copies)}
    return Task.of(name, documents, queries, qrels, language="en")


def test_equal_models_are_dropped_at_most_as_often_as_the_risk_allows() -> None:
    wrong = 0
    for seed in range(200):
        generator = np.random.default_rng(seed)
        elimination = Elimination(3, alpha=0.05)
        for _ in range(10):
            elimination.observe({task: generator.integers(0, 2, (3, 20)).astype(float) for task in "ab"})
        wrong += bool(elimination.drops)
    assert wrong <= 20, "5% of 200 is 10; 20 has a chance below 1 in 500"


def test_a_clearly_better_model_wins_and_the_log_says_who_beat_whom() -> None:
    generator = np.random.default_rng(0)
    elimination = Elimination(3)
    while not elimination.finished:
        scores = generator.random((3, 30)) * 0.3
        scores[1] += 0.5
        elimination.observe({"T/a": scores})
    assert elimination.active.tolist() == [1]
    assert {drop.model for drop in elimination.drops} == {0, 2}
    assert all(1 in drop.beaten_by for drop in elimination.drops)


def test_every_task_counts_the_same_however_many_queries_it_has() -> None:
    """The first model is better on one task by as much as it is worse on the other, which has ten times the queries."""
    generator = np.random.default_rng(1)
    elimination = Elimination(2)
    for _ in range(30):
        small, large = generator.random((2, 10)) * 0.2, generator.random((2, 100)) * 0.2
        small[0] += 0.3
        large[1] += 0.3
        elimination.observe({"small": small, "large": large})
    assert elimination.active.tolist() == [0, 1]


def test_places_are_kept_for_the_best_two() -> None:
    generator = np.random.default_rng(2)
    elimination = Elimination(3, keep=2)
    while not elimination.finished:
        scores = generator.random((3, 50)) * 0.2 + np.array([[0.5], [0.52], [0.1]])
        elimination.observe({"T/a": scores})
    assert elimination.active.tolist() == [0, 1]


@pytest.mark.parametrize(
    "scores",
    [{}, {"a": np.zeros((3, 4))}, {"a": np.zeros((2, 0))}, {"a": np.full((2, 4), np.nan)}, {"a": np.full((2, 4), 7.0)}],
)
def test_scores_that_cannot_be_raced_by_are_refused(scores: dict[str, np.ndarray]) -> None:
    with pytest.raises(DataError):
        Elimination(2).observe(scores)


@pytest.mark.parametrize("options", [{"keep": 0}, {"keep": 2}, {"alpha": 0.0}, {"alpha": 1.0}])
def test_bad_options_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        Elimination(2, **options)  # type: ignore[arg-type]


def test_parts_have_every_query_once_and_all_documents_that_are_judged() -> None:
    task = task_of("Mine/a")
    parts = divide(task, 4, seed=1)
    assert sorted(query for part in parts.queries for query in part.tolist()) == list(range(len(task.queries)))
    for number in range(len(parts)):
        part = parts.part(number)
        assert (part.qrels.rows >= 0).all() and part.name != task.name
        assert len(part.corpus) == len(task.corpus), "a small corpus is not divided"
    assert len(divide(task, 1000)) == len(task.queries) // 5
    assert [part.tolist() for part in divide(task, 4, seed=1).queries] == [part.tolist() for part in parts.queries]


def test_a_large_corpus_is_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.racing.race_models.FEWEST_DOCUMENTS", 5)
    task = task_of("Mine/a")
    parts = divide(task, 4)
    sizes = [len(part) for part in parts.documents]
    assert max(sizes) < len(task.corpus)
    assert set(np.concatenate(parts.documents).tolist()) == set(range(len(task.corpus)))


def test_a_race_finds_the_better_model_and_resumes(tmp_path: Path) -> None:
    tasks = [task_of("Mine/a", 8), task_of("Mine/b", 8)]
    evaluated: list[bool] = []

    def listen(event: object) -> None:
        if isinstance(event, Finished):
            evaluated.append(event.stored)

    options = {"parts": 8, "results": tmp_path, "progress": listen}
    models = ["bm25", "bm25?k1=0&b=0"]
    first = race(models, tasks, **options)  # type: ignore[arg-type]
    assert not any(evaluated) and first.rounds >= 1
    evaluated.clear()
    again = steelyard.race(models, tasks, **options)  # type: ignore[arg-type]
    assert all(evaluated), "everything was stored: an interrupted race goes on where it was"
    assert again.to_dict() == first.to_dict()
    assert first.sentences() and str(first).startswith("model")


@pytest.mark.slow
def test_a_race_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    """The process is killed after the fifth evaluation; the rerun evaluates the rest and decides as if undisturbed."""
    code = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_race_models import task_of
from steelyard.engine.events import Finished
from steelyard.racing import race
done = 0
def listen(event):
    global done
    done += isinstance(event, Finished)
    if done == 5:
        os.kill(os.getpid(), signal.SIGKILL)
race(["bm25", "bm25?k1=0&b=0"], [task_of("Mine/a", 8)], parts=8, results={str(tmp_path / "killed")!r}, progress=listen)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    stored: list[bool] = []

    def listen(event: object) -> None:
        if isinstance(event, Finished):
            stored.append(event.stored)

    models, task = ["bm25", "bm25?k1=0&b=0"], [task_of("Mine/a", 8)]
    resumed = race(models, task, parts=8, results=tmp_path / "killed", progress=listen)
    assert 4 <= sum(stored) <= 5 and not all(stored), stored
    assert resumed.to_dict() == race(models, task, parts=8, results=tmp_path / "undisturbed").to_dict()


def test_a_race_of_equal_models_is_not_decided(tmp_path: Path) -> None:
    found = race(["bm25", "bm25?k1=1.3"], task_of("Mine/a"), parts=3)
    assert not found.decided and found.saved == 0.0 and len(found.remaining) == 2
    assert any("did not help" in line for line in found.sentences())


def test_one_model_is_not_a_race() -> None:
    with pytest.raises(UsageError):
        race(["bm25"], task_of("Mine/a"))
    with pytest.raises(UsageError):
        race(["bm25", "bm25?b=0"], task_of("Mine/a"), parts=0)


def test_race_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["race", "bm25", "bm25?b=0.7", "-t", "NanoAlmanac/en", "-o", str(tmp_path), "--quiet", "--json"]
    assert main([*words, "--parts", "3"]) == 1, "too close to be decided"
    data = json.loads(capsys.readouterr().out)
    assert set(data["remaining"]) == {"bm25", "bm25?b=0.7"} and data["decided"] is False
    assert main([*words, "--alpha", "2"]) == 2
    assert main([*words, "--best", "5"]) == 2
