"""Against trec_eval itself (pytrec_eval), on random runs full of ties, gaps and odd grades."""

from __future__ import annotations

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.metrics import parse, score
from steelyard.metrics.dicts import number_documents, qrels_from_dicts, run_from_dicts

CUTOFFS = (1, 2, 3, 5, 7, 10, 20, 50, 100, 1000)
FAMILIES = ("ndcg_cut", "map_cut", "recall", "P", "success")
MEASURES = {f"{family}.{','.join(map(str, CUTOFFS))}" for family in FAMILIES}
MEASURES |= {"map", "ndcg", "recip_rank", "Rprec", "set_recall", "set_P"}
SPELT = {"set_recall": "recall", "set_P": "precision"}

RunDict = dict[str, dict[str, float]]
QrelsDict = dict[str, dict[str, int]]


def assert_same(run: RunDict, qrels: QrelsDict) -> None:
    theirs = pytrec_eval.RelevanceEvaluator(qrels, MEASURES).evaluate(run)
    queries = list(theirs)
    rows = number_documents(run)
    names = {measure: str(parse(SPELT.get(measure, measure))) for measure in theirs[queries[0]]}
    assert len(names) == len(FAMILIES) * len(CUTOFFS) + 6
    ours = score(run_from_dicts(run, queries, rows), qrels_from_dicts(qrels, queries, rows), names.values()).per_query
    assert {q: {m: ours[name][i] for m, name in names.items()} for i, q in enumerate(queries)} == theirs


@pytest.mark.parametrize("seed", range(8))
def test_equal_to_the_last_bit_on_tie_rich_runs(seed: int) -> None:
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
    assert_same(run, qrels)


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


documents = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=3)
# Denormal numbers are 0 as float32, and trec_eval's reader never met infinity; neither is about ranking.
scores = st.floats(-(2.0**60), 2.0**60, allow_subnormal=False) | st.integers(0, 3).map(float)


@settings(max_examples=150)
@given(
    st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), st.dictionaries(documents, scores, max_size=12), min_size=1),
    st.dictionaries(documents, st.integers(-1, 4), min_size=1, max_size=8),
)
def test_whatever_hypothesis_thinks_of(run: RunDict, judged: dict[str, int]) -> None:
    # Half of the judgements are about documents that were found.
    qrels = {query: judged | {d: i % 3 for i, d in enumerate(list(found)[::2])} for query, found in run.items()}
    assert_same(run, qrels)
