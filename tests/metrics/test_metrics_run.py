"""trec_eval's measures in an evaluation: asked for by any name, stored, shown, and scored again from a saved run."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_parts import Overlap, small_task

from steelyard import evaluate
from steelyard.engine.plan import Conditions
from steelyard.engine.rescore import rescore
from steelyard.metrics.geometric import geometric_mean
from steelyard.results import ResultStore

ASKED = ["bpref", "gm_map", "iprec_at_recall.0.5", "utility.0,1,0,1", "ndcg.1=3,2=9", "pooled_recall@3", "set_F"]
STORED = [
    *("bpref", "gm_map", "iprec_at_0.5", "utility_0,1,0,1", "ndcg_1=3,2=9", "pooled_recall_at_3", "set_f"),
]


def test_figures_of_an_evaluation(tmp_path: Path) -> None:
    task = small_task()
    results = evaluate(Overlap(), task, metrics=ASKED, results=tmp_path, save_runs="parquet")
    (result,) = results
    assert set(STORED) <= set(result.metrics)
    (stored,) = ResultStore(tmp_path).all()
    assert {name: stored.metrics[name] for name in STORED} == {name: result.metrics[name] for name in STORED}
    columns = result.per_query
    assert result.metrics["gm_map"] == pytest.approx(geometric_mean(columns["map"]), rel=1e-14)
    assert result.metrics["gm_map"] < result.metrics["map"]
    assert result.metrics["bpref"] == pytest.approx(columns["bpref"].mean())
    # Irrelevant documents found and left out: the evaluation knows how many documents there are.
    assert columns["utility_0,1,0,1"].tolist() == (len(task.corpus) - task.qrels.positives).tolist()
    assert {"gm_map", "pooled_recall_at_3"}.isdisjoint(columns)
    with_interval = {name for name in STORED if name in result.intervals}
    assert with_interval == {"bpref", "iprec_at_0.5", "utility_0,1,0,1", "ndcg_1=3,2=9", "set_f"}
    titles = [results.table(name)[0][0] for name in STORED]
    assert titles == ["bpref", "GMAP", "iprec@0.5", "utility.0,1,0,1", "nDCG.1=3,2=9", "pooled recall@3", "F"]
    (again,) = rescore(ResultStore(tmp_path), [task], Conditions.of(metrics=[*ASKED, "infAP"]))
    assert {name: again.metrics[name] for name in STORED} == {name: result.metrics[name] for name in STORED}
    assert 0 < again.metrics["infap"] <= 1
