"""Result files of every format become the same rows; a file that cannot be read raises BadFile with the reason."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import numpy as np
import pytest
from result_files import hakari_result, mteb_result, old_mteb_result

from steelyard import evaluate
from steelyard.types import Task
from steelyard.warehouse.readers import BadFile, Model, Score, is_result_file, read_file


def scores(path: str | Path, data: object) -> list[Score]:
    content = data if isinstance(data, bytes) else json.dumps(data).encode()
    return [row for _, row in read_file(Path(path), content) if isinstance(row, Score)]


def test_new_files_of_mteb_give_a_score_per_split_and_subset() -> None:
    data = {**mteb_result("STSB", 0.5, note="kept"), "phases": [1, 2]}
    test, validation = scores("results/BAAI__bge-m3/5617a9/STSB.json", data)
    assert (test.model, test.revision, test.task, test.split) == ("BAAI/bge-m3", "5617a9", "STSB", "test")
    assert (test.main_score, test.metrics, test.languages) == (0.5, {"cosine_spearman": 0.5}, ["cmn-Hans"])
    assert test.extra == {"note": "kept", "phases": [1, 2]}
    assert (validation.split, validation.extra) == ("validation", {"note": "kept"})


def test_old_files_of_mteb_give_a_score_per_subset_under_the_new_names() -> None:
    english, korean = scores("results/m/r/STS17.json", old_mteb_result())
    assert (english.subset, english.metrics) == ("en-en", {"cosine_pearson": 0.81, "cosine_spearman": 0.82})
    assert (english.main_score, korean.main_score) == (0.82, 0.62)
    assert english.seconds == 3.25


def test_the_main_score_of_an_old_file_is_the_metric_that_mteb_declares() -> None:
    data = {"mteb_dataset_name": "T2Retrieval", "dev": {"ndcg_at_10": 0.7, "map_at_10": 0.6}}
    (score,) = scores("results/m/r/T2Retrieval.json", data)
    assert (score.main_score, score.subset) == (0.7, "default")


def test_nan_is_a_missing_main_score_and_stays_in_the_metrics() -> None:
    content = json.dumps(mteb_result("STSB", float("nan"))).encode()
    (score, _) = scores("results/m/r/STSB.json", content)
    assert score.main_score is None
    assert math.isnan(score.metrics["cosine_spearman"])


def test_experiments_are_kept_apart_from_their_model() -> None:
    score, _ = scores("results/org__m/r/experiments/dim_256/STSB.json", mteb_result())
    assert (score.model, score.revision, score.experiment) == ("org/m", "r", "dim_256")


def test_compressed_files_are_read() -> None:
    score, _ = scores("results/org__m/r/STSB.json.gz", gzip.compress(json.dumps(mteb_result()).encode()))
    assert score.main_score == 0.5


def test_results_of_hakari_have_scores_of_each_query() -> None:
    rows = [row for _, row in read_file(Path("x/tiny.json"), json.dumps(hakari_result()).encode())]
    score, model = rows
    assert isinstance(score, Score)
    assert isinstance(model, Model)
    assert (score.task, score.main_score) == ("NanoX/tiny", 0.75)
    queries, values = score.queries["ndcg_at_10"]
    assert queries == ["q1", "q2"]
    assert values == pytest.approx([1.0, 1 / math.log2(3)])
    assert (model.family, model.n_parameters) == ("dense", 33_000_000)


def test_our_own_results_have_intervals_and_scores_of_each_query(tmp_path: Path) -> None:
    task = Task.of(
        "Mine/x", {"a": "red apple", "b": "green pear"}, {"q1": "apple", "q2": "pear"}, {"q1": {"a": 1}, "q2": {"a": 1}}
    )
    (result,) = evaluate("bm25", task, results=tmp_path)
    (path,) = tmp_path.rglob("*.json")
    (score,) = scores(path, path.read_bytes())
    assert (score.model, score.task) == ("bm25", "Mine/x")
    assert score.main_score == result.score
    assert score.low is not None and score.high is not None and score.low <= result.score <= score.high
    queries, values = score.queries["ndcg_at_10"]
    assert dict(zip(queries, np.asarray(values).tolist(), strict=True)) == {"q1": 1.0, "q2": 0.0}


def test_a_table_of_scores_keeps_unknown_columns() -> None:
    (score,) = scores("scores.csv", b"model,task,score,metric,team\nmine,T,0.25,ndcg_at_10,blue\n")
    assert (score.model, score.main_score, score.metrics) == ("mine", 0.25, {"ndcg_at_10": 0.25})
    assert score.extra == {"team": "blue"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.json", b'{"scores": '),
        ("x.json", b"[]"),
        ("x.json", b"\xff\xfe"),
        ("x.json", b'{"a": 1}'),
        ("x.json", b"[" * 100_000),
        ("x.json", b'{"task_name": "T", "scores": []}'),
        ("x.json", b'{"task_name": "T", "scores": {"test": {}}}'),
        ("x.json", b'{"task_name": "T", "scores": {"test": [1]}}'),
        ("x.json", b'{"mteb_dataset_name": "T"}'),
        ("x.json", b'{"steelyard": {"status": "done"}}'),
        ("x.json.gz", b"not gzip"),
        ("x.json.xz", b"\xfd7zXZ\x00"),
        ("x.csv", b"model,task\nm,t\n"),
        ("x.csv", b"model,task,score\nm,t,high\n"),
        ("x.parquet", b"PAR1"),
    ],
)
def test_a_bad_file_is_refused_with_a_reason(name: str, content: bytes) -> None:
    with pytest.raises(BadFile) as caught:
        list(read_file(Path("results/m/r") / name, content))
    assert str(caught.value)


def test_files_next_to_results_are_not_results() -> None:
    assert not any(map(is_result_file, ["x.queries.parquet", ".x.json", "run_settings.jsonl", "README.md"]))
