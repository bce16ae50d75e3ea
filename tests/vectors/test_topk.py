"""Exact search against sorting everything."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.errors import UsageError
from steelyard.vectors import topk
from steelyard.vectors.duplicate_rows import DuplicateRows
from steelyard.vectors.topk import normalised, top_k, top_k_of_scores


@pytest.fixture(params=[(3, 4), (7, 100), (16_384, 1 << 23)], ids=["tiny blocks", "small blocks", "one block"])
def blocks(request, monkeypatch):
    documents, scores = request.param
    monkeypatch.setattr(topk, "BLOCK_DOCUMENTS", documents)
    monkeypatch.setattr(topk, "BLOCK_SCORES", scores)


def sorted_rows(scores, k):
    """All rows by score descending, then row ascending."""
    return np.array([np.lexsort((np.arange(len(line)), -line)) for line in scores])[:, :k]


whole_numbers = st.integers(-2, 2).map(np.float32)  # few values: many ties, also at the cut-off; sums are exact


@given(st.data())
@settings(max_examples=150)
def test_ties_go_to_the_lower_row_also_at_the_cut_off(data):
    n, q, d, k = (data.draw(st.integers(1, high)) for high in (40, 3, 3, 45))
    draw = lambda rows: np.array(data.draw(st.lists(whole_numbers, min_size=rows * d, max_size=rows * d)))  # noqa: E731
    documents, queries = draw(n).reshape(n, d), draw(q).reshape(q, d)
    block = data.draw(st.integers(1, 20))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(topk, "BLOCK_DOCUMENTS", block)
        patch.setattr(topk, "BLOCK_SCORES", 2 * block)
        run = top_k(queries, documents, k)
    scores = queries @ documents.T
    expected = sorted_rows(scores, k)
    assert run.rows.tolist() == expected.tolist()
    assert run.scores.tolist() == np.take_along_axis(scores, expected, axis=1).tolist()
    assert run.rows.dtype == np.int32
    assert run.scores.dtype == np.float32


@pytest.mark.usefixtures("blocks")
def test_real_numbers_come_in_order():
    rng = np.random.default_rng(7)
    documents = rng.standard_normal((200, 24)).astype(np.float32)
    queries = rng.standard_normal((9, 24)).astype(np.float32)
    run = top_k(queries, documents, 50)
    exact = queries.astype(np.float64) @ documents.T.astype(np.float64)
    assert (np.diff(run.scores, axis=1) <= 0).all()
    np.testing.assert_allclose(run.scores, np.take_along_axis(exact, run.rows.astype(np.int64), axis=1), atol=1e-5)
    np.testing.assert_allclose(run.scores, -np.sort(-exact, axis=1)[:, :50], atol=1e-5)


@pytest.mark.usefixtures("blocks")
def test_equal_documents_get_equal_scores_wherever_they_lie():
    rng = np.random.default_rng(3)
    documents = rng.standard_normal((600, 384)).astype(np.float32)
    rows = np.sort(rng.choice(600, 40, replace=False))
    documents[rows] = documents[rows[0]]
    queries = rng.standard_normal((21, 384)).astype(np.float32)
    run = top_k(queries, documents, 600)
    for ranked, scores in zip(run.rows, run.scores, strict=True):
        places = np.flatnonzero(np.isin(ranked, rows))
        assert len(set(scores[places].tolist())) == 1
        assert ranked[places].tolist() == rows.tolist()


def test_equal_documents_get_equal_scores_at_full_size():
    """At this size a plain product gives copies scores that differ in the last bit (OpenBLAS, two threads)."""
    rng = np.random.default_rng(0)
    documents = rng.standard_normal((10_000, 384)).astype(np.float32)
    rows = rng.choice(10_000, 400, replace=False)
    documents[rows] = documents[rows[0]]
    queries = rng.standard_normal((200, 384)).astype(np.float32)
    run = top_k(queries, documents, 10_000)
    of_copies = run.scores[np.isin(run.rows, rows)].reshape(200, 400)
    assert (of_copies == of_copies[:, :1]).all()


def test_rows_with_equal_sums_are_not_taken_for_copies():
    matrix = np.array([[1, 2, 3, 4], [3, 4, 1, 2], [1, 2, 3, 4], [0, 0, 0, 0], [3, 4, 1, 2]], dtype=np.float32)
    copies = DuplicateRows.find(matrix)
    assert (copies.first.tolist(), copies.rows.tolist(), copies.of.tolist()) == ([0, 1], [2, 4], [0, 1])
    odd = np.array([[1, 2, 3], [1, 2, 3], [3, 2, 1]], dtype=np.float32)
    assert DuplicateRows.find(odd).rows.tolist() == [1]


def test_minus_zero_is_zero():
    run = top_k(np.array([[1.0]], dtype=np.float32), np.array([[-0.0], [0.0], [-0.0]], dtype=np.float32), 3)
    assert run.rows.tolist() == [[0, 1, 2]]


def test_cosine_does_not_see_lengths():
    documents = np.array([[10, 0], [1, 1], [0, 0]], dtype=np.float32)
    run = top_k(np.array([[1, 1]], dtype=np.float32), documents, 3, similarity="cosine")
    assert run.rows.tolist() == [[1, 0, 2]]
    np.testing.assert_allclose(run.scores, [[1, np.sqrt(0.5), 0]], atol=1e-6)
    assert normalised(documents).dtype == np.float32


def test_nothing_to_search():
    assert top_k(np.zeros((0, 2), dtype=np.float32), np.ones((3, 2), dtype=np.float32), 2).rows.shape == (0, 2)
    assert top_k(np.ones((2, 2), dtype=np.float32), np.zeros((0, 2), dtype=np.float32), 2).rows.shape == (2, 0)


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(UsageError, match=r"\(1, 2\) and \(1, 3\)"):
        top_k(np.ones((1, 2), dtype=np.float32), np.ones((1, 3), dtype=np.float32), 1)
    with pytest.raises(UsageError, match="l2"):
        top_k(np.ones((1, 2), dtype=np.float32), np.ones((1, 2), dtype=np.float32), 1, similarity="l2")


@pytest.mark.parametrize("scale", [1e-38, 1e-30, 1e-20, 1e-16, 1e-14, 1.0, 1e17, 1e19, 1e30, 1e38])
def test_vectors_of_any_length_are_normalised(scale):
    vectors = (np.array([[3, 4, 0], [0, -1, 1], [0, 0, 0]]) * scale / 4).astype(np.float32)
    wanted = [[0.6, 0.8, 0], [0, -(0.5**0.5), 0.5**0.5], [0, 0, 0]]
    assert np.allclose(normalised(vectors), wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("order", ["random", "ascending", "descending", "ties", "hidden"])
@pytest.mark.parametrize("k", [1, 10, 300, 3_000])
def test_the_top_k_of_a_wide_row_is_that_of_a_full_sort(order, k):
    rng = np.random.default_rng(k)
    scores = rng.standard_normal((7, 6_000)).astype(np.float32)
    if order in ("ascending", "descending"):
        scores.sort(axis=1)
        scores = scores[:, ::-1].copy() if order == "descending" else scores
    if order == "ties":
        scores = np.round(scores)
    if order == "hidden":  # the best ones are where a regular sample does not look
        scores[:, ::16] = -10
        scores[3, 16:] = -20
    run = top_k_of_scores(scores, k)
    expected = sorted_rows(scores, k)
    assert np.array_equal(run.rows, expected)
    assert np.array_equal(run.scores, np.take_along_axis(scores, expected, axis=1))
