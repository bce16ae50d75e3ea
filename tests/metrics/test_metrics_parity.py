"""Against answers that pytrec_eval and mteb gave once; see parity/README.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard.metrics import parse, score
from steelyard.metrics.dicts import number_documents, own_rows, qrels_from_dicts, run_from_dicts
from steelyard.metrics.mteb import MtebProfile, mteb_scores
from steelyard.metrics.nauc import CONFIDENCES, confidence, nauc
from steelyard.types import Qrels, Run

PARITY = Path(__file__).parents[1] / "parity"
TOLERANCE = 1e-12
"""For nAUC and its standard deviations, which numpy sums in another order; everything else is equal to the last bit."""


def load(name: str) -> Any:
    return json.loads((PARITY / name).read_text())


def prepare(run: Any, qrels: Any) -> tuple[list[str], Run, Qrels, dict[str, int]]:
    queries = [query for query in run if query in qrels]
    rows = number_documents({query: run[query] for query in queries})
    return queries, run_from_dicts(run, queries, rows), qrels_from_dicts(qrels, queries, rows), rows


def assert_per_query(run: Any, qrels: Any, expected: Any) -> None:
    queries, ours, judged, _ = prepare(run, qrels)
    assert set(queries) == set(expected)
    measures = {measure: str(parse(measure)) for measure in next(iter(expected.values()))}
    found = score(ours, judged, measures.values()).per_query
    got = {q: {m: found[name][i] for m, name in measures.items()} for i, q in enumerate(queries)}
    assert got == expected


def test_pytrec_eval_every_measure_of_every_query() -> None:
    assert_per_query(load("trec/run.json"), load("trec/qrels.json"), load("trec/expected.json")["per_query"])


@pytest.mark.parametrize("case", load("trec/edge_cases.json"), ids=lambda case: case["name"])
def test_edge_cases(case: Any) -> None:
    assert_per_query(case["run"], case["qrels"], case["expected"])


def test_confidences() -> None:
    queries, run, _, _ = prepare(load("trec/run.json"), load("trec/qrels.json"))
    expected = load("trec/expected.json")["confidence"]
    for name, values in zip(CONFIDENCES, confidence(run), strict=True):
        np.testing.assert_allclose(values, [expected[query][name] for query in queries], rtol=0, atol=TOLERANCE)


def our_key(theirs: str) -> str:
    return (
        theirs.replace("@", "_at_")
        .replace("HitRate", "hit_rate")
        .lower()
        .replace("p_at", "precision_at")
        .replace("maprecision", "map")
    )


def test_mteb_means_and_nauc_of_the_tie_rich_run() -> None:
    expected = load("trec/expected.json")
    _, run, qrels, _ = prepare(load("trec/run.json"), load("trec/qrels.json"))
    ours = mteb_scores(run, qrels)
    means = expected["mean_rounded"] | expected["mrr"]
    assert {key: ours[our_key(key)] for key in means} == means
    assert_close({key: ours[our_key(key)] for key in expected["nauc"]}, expected["nauc"])


def test_legacy_nauc_of_the_tie_rich_run() -> None:
    run_dict = load("trec/run.json")
    queries, run, qrels, rows = prepare(run_dict, load("trec/qrels.json"))
    expected = load("trec/expected_legacy_nauc.json")
    given = run_from_dicts(run_dict, queries, rows, ties="given")
    ours = mteb_scores(run, qrels, profile="mteb-1.14", mrr_run=given)
    kinds = [np.argsort(values) for values in confidence(run)[[0, 2]]]
    if [order.tolist() for order in kinds] != load("trec/avx2_order.json"):
        pytest.skip("numpy's unstable sort takes another path on this processor than where the answers were made")
    assert_close({key: ours[our_key(key)] for key in expected["nauc"]}, expected["nauc"])


CASES = [
    ("2.26.24", "FixtureRetrieval", "retrieval", "retrieval", "ndcg_at_10"),
    ("2.26.24", "FixtureRetrievalIgnoreIds", "retrieval", "retrieval", "ndcg_at_10"),
    ("2.26.24", "FixtureReranking", "reranking", "reranking", "map_at_1000"),
    ("2.26.24", "TwoStage_top10", "twostage", "retrieval", "ndcg_at_10"),
    ("1.14.15", "FixtureRetrieval", "retrieval", "retrieval", "ndcg_at_10"),
    ("1.14.15", "FixtureRetrievalIgnoreIds", "retrieval", "retrieval", "ndcg_at_10"),
]


@pytest.mark.parametrize(("version", "task", "run_name", "qrels_name", "main"), CASES)
def test_mteb_every_key(version: str, task: str, run_name: str, qrels_name: str, main: str) -> None:
    run_dict, qrels_dict = load(f"mteb/{run_name}_run.json"), load(f"mteb/{qrels_name}_qrels.json")
    queries, run, qrels, rows = prepare(run_dict, qrels_dict)
    profile: MtebProfile = "mteb-2.26" if version == "2.26.24" else "mteb-1.14"
    ours = mteb_scores(
        run,
        qrels,
        profile=profile,
        main=main,
        ignore=own_rows(queries, rows) if task.endswith("IgnoreIds") else None,
        mrr_run=run_from_dicts(run_dict, queries, rows, ties="given") if profile == "mteb-1.14" else None,
    )
    expected = load(f"mteb/expected_{version}.json")[task]
    assert list(ours) == list(expected)
    assert len(ours) == (149 if profile == "mteb-2.26" else 141)
    nauc = {key for key in expected if key.startswith("nauc_")}
    assert {k: v for k, v in ours.items() if k not in nauc} == {k: v for k, v in expected.items() if k not in nauc}
    assert_close({key: ours[key] for key in nauc}, {key: expected[key] for key in nauc})


def assert_close(ours: dict[str, float | None], theirs: dict[str, float | None]) -> None:
    assert {key for key, value in ours.items() if value is None} == {k for k, value in theirs.items() if value is None}
    keys = [key for key, value in theirs.items() if value is not None]
    np.testing.assert_allclose([ours[k] for k in keys], [theirs[k] for k in keys], rtol=0, atol=TOLERANCE)


def test_queries_without_judgements_are_dropped_as_mteb_drops_them() -> None:
    run_dict, qrels_dict = load("mteb/retrieval_run.json"), load("mteb/retrieval_qrels.json")
    queries, _, _, rows = prepare(run_dict, qrels_dict)
    more = [*queries[:5], "unjudged", *queries[5:]]
    run = run_from_dicts(run_dict | {"unjudged": run_dict[queries[0]]}, more, rows)
    ours = mteb_scores(run, qrels_from_dicts(qrels_dict, more, rows), ignore=own_rows(more, rows))
    expected = load("mteb/expected_2.26.24.json")["FixtureRetrievalIgnoreIds"]
    assert ours["ndcg_at_10"] == expected["ndcg_at_10"]
    assert ours["nauc_map_at_10_std"] == pytest.approx(expected["nauc_map_at_10_std"], abs=TOLERANCE)


def test_scores_that_are_there_already_give_mtebs_keys() -> None:
    rng = np.random.default_rng(3)
    rows = np.stack([rng.permutation(300)[:120] for _ in range(40)])
    run = Run.of(rows, np.round(rng.random(rows.shape), 2).astype(np.float32))
    judged = np.concatenate([rng.choice(300, 4, replace=False) for _ in range(40)])
    qrels = Qrels.of(np.repeat(np.arange(40), 4), judged, rng.integers(0, 4, 160), queries=40)
    assert mteb_scores(run, qrels, scores=score(run, qrels)) == mteb_scores(run, qrels)


def test_two_queries_have_an_abstention_curve_and_one_has_none() -> None:
    confidences = np.array([[1.0, 2.0], [2.0, 1.0]])
    assert nauc(confidences, np.array([[0.0, 1.0]])).tolist() == [[1.0, pytest.approx(-1.0)]]
    assert np.isnan(nauc(confidences[:, :1], np.array([[0.5]]))).all()
