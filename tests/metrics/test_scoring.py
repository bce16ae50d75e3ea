"""What the scores promise whatever the data, and the parts that trec_eval has no answer for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.errors import DataError, UnknownName, UsageError
from steelyard.metrics import CUTOFFS, DEFAULT_METRICS, METRICS, parse_many, score
from steelyard.metrics.dicts import run_from_dicts
from steelyard.metrics.mteb import legacy_reranking, mteb_scores
from steelyard.metrics.nauc import confidence, nauc
from steelyard.metrics.scoring import leave_out, order_by_double
from steelyard.types import Qrels, Run

DOCUMENTS = 40
EVERY = tuple(metric for name in METRICS for metric in parse_many(name))
ALL = (*DEFAULT_METRICS, *EVERY)


@st.composite
def weighed(draw: st.DrawFn) -> tuple[Run, Qrels]:
    """A run and judgements of up to 6 queries over 40 documents, some of them outside the corpus."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    queries, depth = draw(st.integers(1, 6)), draw(st.integers(1, 30))
    rows = np.stack([rng.permutation(DOCUMENTS)[:depth] for _ in range(queries)])
    rows[rng.random(rows.shape) < draw(st.sampled_from([0.0, 0.3, 1.0]))] = -1
    run = Run.of(rows, rng.integers(0, draw(st.sampled_from([1, 4, 1000])), rows.shape) / 7)
    judged = rng.random((queries, DOCUMENTS)) < draw(st.sampled_from([0.0, 0.1, 0.9]))
    query, row = np.nonzero(judged)
    row[rng.random(len(row)) < 0.1] = -1
    return run, Qrels.of(query, row, rng.integers(0, 4, len(query)), queries=queries)


@settings(max_examples=60)
@given(weighed(), st.sampled_from(["linear", "exponential"]))
def test_bounds_and_growing_cutoffs(pair: tuple[Run, Qrels], gain: str) -> None:
    scores = score(*pair, ALL, gain=gain)  # type: ignore[arg-type]
    for name, values in scores.per_query.items():
        assert name == "utility" or (values.min() >= 0 and values.max() <= 1 + 1e-12), name
    for family in ("recall", "hit_rate", "mrr", "map"):
        series = np.stack([scores.per_query[f"{family}_at_{k}"] for k in CUTOFFS])
        assert (np.diff(series, axis=0) >= 0).all(), family
    for value in scores.whole.values():
        assert value is None or np.isfinite(value)


@settings(max_examples=40)
@given(weighed(), st.integers(0, 1000))
def test_the_order_of_queries_does_not_matter(pair: tuple[Run, Qrels], seed: int) -> None:
    run, qrels = pair
    order = np.random.default_rng(seed).permutation(len(run))
    query = np.repeat(np.arange(len(qrels)), qrels.counts)
    shuffled = Qrels.of(np.argsort(order)[query], qrels.rows, qrels.grades, queries=len(qrels))
    before, after = score(run, qrels, ALL), score(Run(run.rows[order], run.scores[order]), shuffled, ALL)
    for name, values in before.per_query.items():
        assert after.per_query[name].tolist() == values[order].tolist()
    assert after.whole == pytest.approx(before.whole, abs=1e-9)


@settings(max_examples=40)
@given(weighed())
def test_the_numbering_of_documents_matters_only_for_ties(pair: tuple[Run, Qrels]) -> None:
    run, qrels = pair
    distinct = Run.of(run.rows, np.where(run.rows < 0, -1.0, -np.arange(run.depth)))
    renumbered = np.append(np.random.default_rng(1).permutation(DOCUMENTS), -1).astype(np.int32)
    query = np.repeat(np.arange(len(qrels)), qrels.counts)
    again = Qrels.of(query, renumbered[qrels.rows], qrels.grades, queries=len(qrels))
    before, after = score(distinct, qrels, ALL), score(Run(renumbered[distinct.rows], distinct.scores), again, ALL)
    assert {n: v.tolist() for n, v in before.per_query.items()} == {n: v.tolist() for n, v in after.per_query.items()}


@settings(max_examples=40)
@given(weighed())
def test_unjudged_documents_at_the_end_change_nothing(pair: tuple[Run, Qrels]) -> None:
    run, qrels = pair
    tail = np.tile(np.arange(DOCUMENTS, DOCUMENTS + 5, dtype=np.int32), (len(run), 1))
    longer = Run.of(np.hstack([run.rows, tail]), np.hstack([run.scores, np.full(tail.shape, -5.0)]))
    before, after = score(run, qrels), score(longer, qrels)
    assert {n: v.tolist() for n, v in before.per_query.items()} == {n: v.tolist() for n, v in after.per_query.items()}


def test_gain_is_linear_unless_exponential_is_asked_for() -> None:
    run, qrels = Run.of([[0, 1]], [[2, 1]]), Qrels.of([0, 0], [0, 1], [1, 3], queries=1)
    discount = 1 / np.log2(3)
    assert score(run, qrels, ["ndcg"])["ndcg"] == pytest.approx((1 + 3 * discount) / (3 + discount))
    assert score(run, qrels, ["ndcg"], gain="exponential")["ndcg"] == pytest.approx((1 + 7 * discount) / (7 + discount))


def test_interpolated_precision_never_rises_with_recall() -> None:
    rng = np.random.default_rng(5)
    rows = np.stack([rng.permutation(DOCUMENTS)[:25] for _ in range(50)])
    query, row = np.nonzero(rng.random((50, DOCUMENTS)) < 0.3)
    scores = score(Run.of(rows, rng.random(rows.shape)), Qrels.of(query, row, np.ones(len(row)), queries=50), EVERY)
    curve = np.stack([scores.per_query[str(metric)] for metric in parse_many("iprec_at_recall")])
    assert (np.diff(curve, axis=0) <= 0).all()
    assert scores.per_query["11pt_avg"] == pytest.approx(curve.mean(axis=0), abs=1e-15)
    assert scores.per_query["rprec_mult_at_1.0"].tolist() == scores.per_query["r_precision"].tolist()


def test_pooled_recall_is_not_the_mean_of_recalls() -> None:
    run = Run.of([[0], [9]], [[1], [1]])
    qrels = Qrels.of([0, 1, 1, 1], [0, 1, 2, 3], [1, 1, 1, 1], queries=2)
    scores = score(run, qrels, ["recall@1"])
    assert (scores["recall_at_1"], scores["pooled_recall_at_1"]) == (0.5, 0.25)
    assert score(run, qrels, ["pooled_recall@1"]).whole == {"pooled_recall_at_1": 0.25}


def test_queries_without_positives_count_zero() -> None:
    run, qrels = Run.of([[0], [0], [0]], [[1], [1], [1]]), Qrels.of([0, 1], [0, 0], [1, 0], queries=3)
    scores = score(run, qrels, ["ndcg@10", "map", "recall@10", "judged@1"])
    assert scores["ndcg_at_10"] == scores["map"] == scores["recall_at_10"] == pytest.approx(1 / 3)
    assert scores.per_query["judged_at_1"].tolist() == [1, 1, 0]


def test_nothing_found_and_nothing_judged() -> None:
    nothing = Run(np.zeros((2, 0), dtype=np.int32), np.zeros((2, 0)))
    scores = score(nothing, Qrels.of([], [], [], queries=2), ALL)
    assert set(scores.means.values()) == {0.0}
    least = pytest.approx(0.00001)
    assert scores["gm_map"] == least and scores["gm_bpref"] == least
    assert {value for name, value in scores.whole.items() if not name.startswith("gm_")} == {None}
    none = score(Run(np.zeros((0, 5), dtype=np.int32), np.zeros((0, 5))), Qrels.of([], [], [], queries=0))
    assert len(none.per_query) == len(DEFAULT_METRICS) and set(none.means.values()) == {0.0}


def test_the_padding_of_a_list_is_no_document() -> None:
    # Row -1 of query 1 must not be taken for the last row of query 0, though both queries judged that row.
    run, qrels = Run.of([[0], [-1]], [[1], [0]]), Qrels.of([0, 1], [4095, 4095], [1, 1], queries=2)
    assert score(run, qrels, ["hit@1"]).per_query["hit_rate_at_1"].tolist() == [0, 0]


def test_the_query_itself_is_left_out_of_its_list() -> None:
    run = Run.of([[0, 1, 2], [3, 4, 5]], [[3, 2, 1], [3, 2, 1]])
    qrels = Qrels.of([0, 1], [2, 3], [1, 1], queries=2)
    assert score(run, qrels, ["mrr"], ignore=[0, -1]).per_query["mrr"].tolist() == [0.5, 1.0]
    short = leave_out(run, [0, 9])
    assert short.rows.tolist() == [[1, 2, -1], [3, 4, 5]] and short.scores[0, 2] == -np.inf
    assert run.rows[0, 0] == 0, "the run that was given stays as it was"


def test_mteb_reads_the_mrr_by_the_unrounded_score() -> None:
    run = Run.of([[0, 1]], [[0.1, 0.1 + 1e-10]])
    qrels = Qrels.of([0], [1], [1], queries=1)
    assert run.rows.tolist() == [[0, 1]] and order_by_double(run).rows.tolist() == [[1, 0]]
    scores = mteb_scores(run, qrels)
    assert (scores["mrr_at_10"], scores["map_at_10"]) == (1.0, 0.5)
    assert score(run, qrels, ["mrr@10"])["mrr_at_10"] == 0.5


def test_nauc_of_a_constant_metric_is_undefined() -> None:
    values = np.array([np.full(7, 0.1), np.full(7, 1 / 3), np.linspace(0, 1, 7)])
    found = nauc(np.arange(7.0)[None], values)
    assert np.isnan(found[:2]).all() and found[2, 0] == pytest.approx(1)
    assert np.isnan(nauc(np.zeros((1, 0)), np.zeros((2, 0)))).all()


def test_nauc_of_infinite_scores_is_undefined_where_it_asks_how_far_apart_they_are() -> None:
    run = Run.of([[0, 1], [0, 1], [0, 1]], [[np.inf, np.inf], [3.0, 1.0], [2.0, -np.inf]])
    found = nauc(confidence(run), np.array([[1.0, 0.0, 0.5]]))
    assert np.isfinite(found[0, 0])
    assert np.isnan(found[0, 1:]).all()


@pytest.mark.parametrize("score", [None, float("nan")])
def test_a_score_that_is_not_a_number_is_reported_with_query_and_document(score: float | None) -> None:
    run = {"q1": {"a": 1.0}, "q2": {"a": 0.5, "b": score}}
    with pytest.raises(DataError, match=r"'b' for query 'q2'"):
        run_from_dicts(run, ["q1", "q2"], {"b": 0, "a": 1})  # type: ignore[arg-type]


def test_nauc_of_ties_does_not_depend_on_the_order_of_queries() -> None:
    confidences, values = np.array([[1.0, 1, 1, 2, 2, 3, 3, 3, 3, 3]]), np.random.default_rng(0).random((4, 10))
    order = np.random.default_rng(1).permutation(10)
    np.testing.assert_allclose(nauc(confidences, values), nauc(confidences[:, order], values[:, order]), atol=1e-12)


def test_a_run_and_judgements_of_different_tasks_are_refused() -> None:
    with pytest.raises(DataError):
        score(Run.of([[0]], [[1]]), Qrels.of([0], [0], [1], queries=2))


@pytest.mark.parametrize("options", [{"profile": "mteb"}, {"gain": "quadratic"}])
def test_conventions_that_do_not_exist_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(UnknownName, match=next(iter(options))):
        score(Run.of([[0]], [[1]]), Qrels.of([0], [0], [1], queries=1), **options)  # type: ignore[arg-type]


def test_a_level_below_every_judgement_is_refused() -> None:
    with pytest.raises(UsageError):
        score(Run.of([[0]], [[1]]), Qrels.of([0], [0], [1], queries=1), level=-1)


def test_gains_of_ones_own_may_cost_and_may_be_small() -> None:
    # Found: grades 0, 1, 2. The best list has 2 before 1; what costs is in no best list.
    run, qrels = Run.of([[0, 1, 2]], [[3, 2, 1]]), Qrels.of([0, 0, 0], [0, 1, 2], [0, 1, 2], queries=1)
    discount = 1 / np.log2([2, 3, 4])
    found = score(run, qrels, ["ndcg.0=-1,1=2,2=5", "G.1=0.5,2=3"]).per_query
    assert found["ndcg_0=-1,1=2,2=5"].tolist() == pytest.approx([([-1, 2, 5] @ discount) / ([5, 2] @ discount[:2])])
    # Each rank of the best list costs 1 at the least: 3, then 3 + 1, then 3 + 1 + 1.
    expected = (0.5 / np.log2(2 + 4 - 0.5) + 3 / np.log2(2 + 5 - 3.5)) / 3.5
    assert found["g_1=0.5,2=3"].tolist() == pytest.approx([expected])


def test_a_list_of_one_document_has_no_distance_to_the_second() -> None:
    run = Run.of([[0, 1], [2, -1], [-1, -1]], [[0.75, 0.25], [0.5, 0], [0, 0]])
    assert confidence(run).tolist() == [[0.75, 0.5, 0.0], [0.25, 0.0, 0.0], [0.5, 0.0, 0.0]]


def test_scores_made_before_serve_no_list_that_leaves_something_out() -> None:
    run = Run.of(np.array([[0, 1, 2], [3, 4, 5]]), np.array([[3, 2, 1], [3, 2, 1]], dtype=np.float32))
    qrels = Qrels.of([0, 1], [1, 3], [1, 1], queries=2)
    before = score(run, qrels)
    assert mteb_scores(run, qrels, scores=before)["mrr_at_10"] == 0.75
    assert mteb_scores(run, qrels, scores=before, ignore=[0, -1])["mrr_at_10"] == 1.0
    some = Qrels.of([0], [1], [1], queries=2)
    assert mteb_scores(run, some, scores=score(run, some))["mrr_at_10"] == 0.5, "the unjudged query is dropped"


@pytest.mark.parametrize(("rank", "expected"), [(1, 1.0), (10, 0.1), (11, 0.0)])
def test_the_reciprocal_rank_of_mteb_1_14_ends_at_rank_10(rank: int, expected: float) -> None:
    run = Run.of([np.arange(12)], [-np.arange(12.0)])
    qrels = Qrels.of(np.zeros(12), np.arange(12), np.arange(12) == rank - 1, queries=1)
    assert legacy_reranking(run, qrels).reciprocal_rank.tolist() == [expected]
