"""Summaries against mteb's own: `_create_summary_table` of mteb 2.26.24 makes the same of the same scores."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from steelyard.cli import main
from steelyard.engine import Results
from steelyard.results import Failure, Result, TaskFacts
from steelyard.results.summary import summarise

MODELS = [
    "intfloat/multilingual-e5-small",
    "intfloat/multilingual-e5-base",
    "BAAI/bge-m3",
    "sentence-transformers/all-MiniLM-L6-v2",
    "moka-ai/m3e-base",
]
TYPES = {"STS": "sts", "Retrieval": "retrieval", "Classification": "classification", "Clustering": "clustering"}
TASKS = {
    "ATEC": ("STS", [("default", "validation"), ("default", "test")]),
    "STS22.v2": ("STS", [("zh", "test"), ("en", "test"), ("de-en", "test")]),
    "T2Retrieval": ("Retrieval", [("default", "dev")]),
    "CovidRetrieval": ("Retrieval", [("default", "dev")]),
    "TNews": ("Classification", [("default", "validation")]),
    "CLSClusteringS2S": ("Clustering", [("default", "test")]),
}
Row = tuple[str, str, str, str, float]
"""Model, task, subset, split, score."""


def rows(seed: int, missing: float, levels: int) -> list[Row]:
    """Scores on a coarse grid, so that many are equal, with holes."""
    draw = random.Random(seed)
    return [
        (model, task, subset, split, draw.randrange(levels) / levels)
        for model in MODELS
        for task, (_, cells) in TASKS.items()
        for subset, split in cells
        if draw.random() >= missing
    ]


def named(task: str, subset: str, split: str) -> str:
    last = TASKS[task][1][-1][1]
    return f"mteb/{task}" + (f"[{subset}]" if subset != "default" else "") + (f":{split}" if split != last else "")


def result(row: Row) -> Result:
    model, task, subset, split, score = row
    facts = TaskFacts(type=TYPES[TASKS[task][0]], split=split, data_hash=f"{task}{subset}{split}")
    return Result(named(task, subset, split), model, {}, "", metrics={"main": score}, main_metric="main", facts=facts)


def theirs(data: list[Row]) -> dict[str, dict[str, Any]]:
    import polars
    from mteb.benchmarks._create_table import _create_summary_table

    frame = polars.DataFrame(data, schema=["model_name", "task_name", "subset", "split", "score"], orient="row")
    table = _create_summary_table(frame)
    return {} if table.is_empty else {line["Model"]: line for line in table.df.iter_rows(named=True)}


@pytest.mark.torch  # imports mteb
@pytest.mark.parametrize(("missing", "levels"), [(0.0, 1000), (0.0, 4), (0.15, 1000), (0.4, 3)])
def test_the_same_as_mteb(missing: float, levels: int) -> None:
    for seed in range(8):
        data = rows(seed, missing, levels)
        expected, found = theirs(data), summarise(map(result, data))
        assert {line.model for line in found.models if line.rank is not None} == set(expected)
        for model, line in expected.items():
            ours = found[model]
            assert ours.rank == line["Rank (Borda)"]
            assert ours.mean_by_task == pytest.approx(line["Mean (Task)"], abs=1e-12)
            assert ours.mean_by_type == pytest.approx(line["Mean (TaskType)"], abs=1e-12)
            for theirs_type, ours_type in TYPES.items():
                if theirs_type in line:
                    assert ours.types[ours_type] == pytest.approx(line[theirs_type], abs=1e-12)
    assert missing or all(line.mean_by_task is not None for line in found.models)


def test_equals_share_their_ranks() -> None:
    data = [
        (model, "TNews", "default", "validation", score) for model, score in zip(MODELS, [3, 5, 5, 1], strict=False)
    ]
    ranks = {line.model: line.rank for line in summarise(map(result, data)).models}
    assert list(ranks.values()) == [1, 1, 3, 4]
    assert list(ranks)[2] == MODELS[0]


def test_a_task_that_failed_for_all_leaves_no_mean() -> None:
    good = result((MODELS[0], "TNews", "default", "validation", 0.5))
    lost = Result("mteb/ATEC:validation", MODELS[0], {}, "", status="failed", error=Failure("HubError", "gone"))
    line = summarise([good, lost])[MODELS[0]]
    assert (line.rank, line.mean_by_task, line.mean_by_type) == (1, None, None)
    assert line.types == {"classification": 0.5, "unknown": None}
    assert line.tasks == {"mteb/TNews": 0.5, "mteb/ATEC": None}


def test_a_failure_before_the_data_was_read_is_of_the_task_that_others_have() -> None:
    failed = Result("mteb/ATEC:validation", MODELS[1], {}, "", status="failed", error=Failure("HubError", "gone"))
    data = [(MODELS[0], "ATEC", "default", split, 0.5) for split in ("validation", "test")]
    summary = summarise([*map(result, data), failed])
    assert summary.types == {"sts": ("mteb/ATEC",)}
    assert (summary[MODELS[0]].mean_by_task, summary[MODELS[1]].mean_by_task) == (0.5, None)
    assert summary[MODELS[1]].rank is None


def test_a_failure_has_the_type_of_a_task_that_is_known_by_name() -> None:
    error = Failure("HubError", "gone")
    facts = [TaskFacts(type="sts", source="hub"), TaskFacts(type="clustering", source="hub"), TaskFacts(type="sts")]
    known, other, local = (Result("mteb/ATEC", "x", {}, "", "failed", error=error, facts=one) for one in facts)
    assert summarise([known]).types == {"sts": ("mteb/ATEC",)}
    assert summarise([known, other]).types == {"sts": ("mteb/ATEC",)}, "the first that is known"
    assert summarise([local]).types == {"unknown": ("mteb/ATEC",)}


def test_the_rounded_score_of_mteb_counts() -> None:
    exact = Result("T/a", "x", {}, "", metrics={"ndcg_at_10": 0.123456789}, mteb={"ndcg_at_10": 0.12346})
    assert summarise([exact])["x"].mean_by_task == 0.12346


def test_results_sum_themselves_up() -> None:
    summary = Results([result((MODELS[0], "TNews", "default", "validation", 0.25))]).summary()
    assert summary.to_dict()["models"][0] == {
        "model": MODELS[0],
        "rank_borda": 1,
        "mean_by_task": 0.25,
        "mean_by_type": 0.25,
        "types": {"classification": 0.25},
        "tasks": {"mteb/TNews": 0.25},
        "complete": {"classification": [1, 1]},
    }


def test_a_benchmark_is_summed_up_at_the_end_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", "bm25", "-b", "NanoAlmanac", "-l", "en", "-o", str(tmp_path), "--no-report", "--limit", "20"]
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (line,) = told["summary"]["models"]
    scores = [split[0]["main_score"] for found in told["results"] for split in found["scores"].values()]
    assert line["mean_by_task"] == pytest.approx(sum(scores) / len(scores), abs=1e-5)
    assert main(command) == 0
    assert "mean (task)" in capsys.readouterr().out


def test_a_type_with_a_task_that_failed_is_partial_and_not_the_mean_of_the_others() -> None:
    """A task that could not be loaded for any model has the type that its name is known by."""

    def made(task: str, score: float | None) -> Result:
        facts = TaskFacts(type="sts", split="test", source="C-MTEB/x", data_hash=None if score is None else task)
        if score is None:
            return Result(task, "m", {}, "", status="failed", error=Failure("HubError", "no network"), facts=facts)
        return Result(task, "m", {}, "", metrics={"main": score}, main_metric="main", facts=facts)

    summary = summarise([made("C-MTEB/ATEC", 0.5), made("C-MTEB/BQ", 0.7), made("C-MTEB/LCQMC", None)])
    assert list(summary.types) == ["sts"] and summary["m"].types["sts"] is None and summary["m"].mean_by_task is None
    assert summary["m"].to_dict()["complete"] == {"sts": [2, 3]}
    columns, rows = summary.table()
    assert dict(zip(columns, rows[0], strict=True))["sts"] == "partial 2/3"
