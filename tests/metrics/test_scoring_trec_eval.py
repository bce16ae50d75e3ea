"""Against trec_eval itself (pytrec_eval), on random runs full of ties, gaps and odd grades."""

from __future__ import annotations

from math import isnan, log

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.metrics import Ranking, parse, score
from steelyard.metrics.dicts import number_documents, qrels_from_dicts, run_from_dicts
from steelyard.metrics.scoring import compute, judged_only

CUTOFFS = (1, 2, 3, 5, 7, 10, 20, 50, 100, 1000)
FAMILIES = ("ndcg_cut", "map_cut", "recall", "P", "success", "relative_P")
RECALL_POINTS = ("0.0", "0.05", "0.1", "0.25", "0.3", "0.5", "0.7", "0.9", "1.0", "1.1")
MULTIPLES = ("0.0", "0.1", "0.2", "0.5", "0.8", "1.0", "1.4", "2.0", "3.7")
WHOLE = (
    *("map", "ndcg", "recip_rank", "Rprec", "set_recall", "set_P", "set_relative_P", "set_map", "set_F", "bpref"),
    *("infAP", "11pt_avg", "utility", "ndcg_rel", "Rndcg", "G", "binG", "gm_map", "gm_bpref"),
)
COUNTS = {"runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret", "relstring"}
"""Of trec_eval's measures those that `steelyard score` counts or prints; see its tests."""
MEASURES = {f"{family}.{','.join(map(str, CUTOFFS))}" for family in FAMILIES} | set(WHOLE)
MEASURES |= {f"iprec_at_recall.{','.join(RECALL_POINTS)}", f"Rprec_mult.{','.join(MULTIPLES)}"}
SPELT = {"set_recall": "recall", "set_P": "precision", "set_relative_P": "relative_p"}

RunDict = dict[str, dict[str, float]]
QrelsDict = dict[str, dict[str, int]]


def test_every_measure_of_trec_eval_is_here() -> None:
    names = {measure.partition(".")[0] for measure in MEASURES}
    assert names | COUNTS == set(pytrec_eval.supported_measures)


def known(value: float) -> float:
    """Nothing found is 0 here; trec_eval divides by the length of an empty list and prints nan."""
    return 0.0 if isnan(value) else value


def assert_same(run: RunDict, qrels: QrelsDict, level: int = 1, *, judged: bool = False) -> None:
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, MEASURES, relevance_level=level, judged_docs_only_flag=judged)
    theirs = evaluator.evaluate(run)
    queries = list(theirs)
    rows = number_documents(run)
    names = {measure: parse(SPELT.get(measure, measure)) for measure in theirs[queries[0]]}
    assert len(names) == len(FAMILIES) * len(CUTOFFS) + len(RECALL_POINTS) + len(MULTIPLES) + len(WHOLE)
    lists, judgements = run_from_dicts(run, queries, rows), qrels_from_dicts(qrels, queries, rows)
    lists = judged_only(lists, judgements) if judged else lists
    ranking = Ranking(lists, judgements, level=level)
    ours = {measure: compute(metric, ranking).tolist() for measure, metric in names.items()}
    for measure in ("gm_map", "gm_bpref"):
        ours[measure] = [log(max(value, 0.00001)) for value in ours[measure]]
    found = {query: {measure: values[i] for measure, values in ours.items()} for i, query in enumerate(queries)}
    assert found == {query: {m: known(value) for m, value in values.items()} for query, values in theirs.items()}
    whole = score(lists, judgements, ["gm_map", "gm_bpref", "bpref"], level=level)
    assert list(whole.per_query) == ["bpref"]
    for measure in ("gm_map", "gm_bpref"):
        mean = pytrec_eval.compute_aggregated_measure(measure, [theirs[query][measure] for query in queries])
        assert whole[measure] == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize("level", [1, 2, 5])
@pytest.mark.parametrize("seed", range(8))
def test_equal_to_the_last_bit_on_tie_rich_runs(seed: int, level: int) -> None:
    rng = np.random.default_rng(seed)
    ids = [f"{'dDé9'[i % 4]}{i:x}" for i in range(400)]
    run: RunDict = {}
    qrels: QrelsDict = {}
    for number in range(60):
        found = rng.choice(400, size=rng.integers(1, 300), replace=False)
        grid = rng.choice([2, 5, 50, 10**9])
        run[f"q{number}"] = {ids[d]: float(rng.integers(0, grid) / grid - 0.5) for d in found}
        judged = rng.choice(400, size=rng.integers(1, 150), replace=False)
        qrels[f"q{number}"] = {ids[d]: int(rng.choice([-2, -1, 0, 0, 0, 1, 1, 2, 3, 10])) for d in judged}
        qrels[f"q{number}"]["not in the corpus"] = int(rng.integers(0, 3))
    assert_same(run, qrels, level)
    assert_same(run, qrels, level, judged=True)


def test_more_judgements_than_the_table_of_rows_holds() -> None:
    rng = np.random.default_rng(3)
    documents = [f"d{i:05}" for i in range(30_000)]
    run = {f"q{q}": {documents[d]: float(s) for s, d in enumerate(rng.permutation(30_000)[:9000])} for q in range(3)}
    qrels = {f"q{q}": {documents[d]: int(d % 4) for d in rng.permutation(30_000)[:9000]} for q in range(3)}
    assert_same(run, qrels)


def test_more_queries_than_one_block() -> None:
    rng = np.random.default_rng(4)
    run = {f"q{q}": {f"d{d}": float(rng.integers(3)) for d in rng.integers(0, 5000, 8)} for q in range(700)}
    qrels = {f"q{q}": dict.fromkeys(list(run[f"q{q}"])[: q % 4], 1) | {"d1": q % 3} for q in range(700)}
    assert_same(run, qrels)


@pytest.mark.parametrize("measure", ["set_F.0.5", "set_F.3", "11pt_avg.0.2,0.5,0.8"])
def test_numbers_that_are_no_cut_off(measure: str) -> None:
    rng = np.random.default_rng(6)
    run = {f"q{q}": {f"d{d}": float(s) for s, d in enumerate(rng.permutation(40)[:20])} for q in range(9)}
    qrels = {f"q{q}": {f"d{d}": int(d % 3) for d in rng.permutation(40)[:9]} for q in range(9)}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {measure}).evaluate(run)
    rows = number_documents(run)
    found = score(run_from_dicts(run, list(run), rows), qrels_from_dicts(qrels, list(run), rows), [measure])
    (values,) = found.per_query.values()
    assert values.tolist() == [value for query in run for value in theirs[query].values()]


documents = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=3)
# Denormal numbers are 0 as float32, and trec_eval's reader never met infinity; neither is about ranking.
scores = st.floats(-(2.0**60), 2.0**60, allow_subnormal=False) | st.integers(0, 3).map(float)


@settings(max_examples=150)
@given(
    st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), st.dictionaries(documents, scores, max_size=12), min_size=1),
    st.dictionaries(documents, st.integers(-1, 4), min_size=1, max_size=8),
    st.integers(1, 3),
    st.booleans(),
)
def test_whatever_hypothesis_thinks_of(run: RunDict, judged: dict[str, int], level: int, only: bool) -> None:
    # Half of the judgements are about documents that were found. One is never below 0: of a query with no other,
    # trec_eval reads memory that is not its own, and may never come back.
    about = {query: {d: i % 3 for i, d in enumerate(list(found)[::2])} for query, found in run.items()}
    qrels = {query: judged | found | {"outside": 0} for query, found in about.items()}
    assert_same(run, qrels, level, judged=only)
