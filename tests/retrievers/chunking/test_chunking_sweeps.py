"""Lengths of passages as an option of every verb that evaluates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steelyard import compare, evaluate, plan
from steelyard.cli import main
from steelyard.errors import UsageError
from steelyard.racing import race
from steelyard.recommendation import Sampling, recommend
from steelyard.recommendation.expansion import Grid
from steelyard.types import Task

NAMES = ["bm25?chunk=4&overlap=1", "bm25"]
pytestmark = pytest.mark.usefixtures("own_home")


def rivers() -> Task:
    words = ("north", "south", "east", "west", "salt", "iron", "gold", "wool")
    documents = {f"d{n}": f"the river {n} " + " ".join(words[n % 8 :] + words[: n % 8]) for n in range(24)}
    queries = {f"q{n}": f"river {n % 5} {words[n % 8]}" for n in range(24)}
    return Task.of("Sweeps/rivers", documents, queries, {f"q{n}": {f"d{n}": 1} for n in range(24)}, language="en")


@pytest.mark.slow
def test_every_call_takes_lengths_of_passages() -> None:
    assert plan("bm25", rivers(), chunk=[4, None], overlap=1, measure=False).evaluations == 2
    assert list(compare("bm25", tasks=rivers(), chunk=[4, None], overlap=1).models) == NAMES
    assert set(NAMES) <= set(
        json.dumps(race(["bm25"], rivers(), chunk=[4, None], overlap=1, parts=3).to_dict()).split('"')
    )
    grid = Grid(fusions=False)
    found = recommend("bm25", rivers(), grid=grid, chunk=[4, None], overlap=1, sampling=Sampling(4, 1, 2))
    assert {choice.model for choice in found.choices} == set(NAMES)


def test_stored_results_cannot_be_divided_any_more() -> None:
    with pytest.raises(UsageError) as error:
        compare("bm25", evaluate("bm25?k1=0.9", rivers()), tasks=rivers(), chunk=4)
    assert error.value.option == "--chunk"
    with pytest.raises(UsageError) as error:
        race(["bm25", "dense"], rivers(), overlap=3)
    assert error.value.option == "--overlap"


def test_the_commands_take_them_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["-t", "NanoAlmanac/en", "--chunk", "32,none", "-o", str(tmp_path), "--json"]
    assert main(["compare", "bm25", *given, "--limit", "8"]) == 0
    assert json.loads(capsys.readouterr().out)["models"] == ["bm25?chunk=32", "bm25"]
    assert main(["race", "bm25", *given, "--parts", "3"]) in (0, 1)
    assert set(json.dumps(json.loads(capsys.readouterr().out)).split('"')) >= {"bm25?chunk=32", "bm25"}
