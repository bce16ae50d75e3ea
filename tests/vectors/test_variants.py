"""Shorter and smaller vectors, against their definitions written out in float64."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from steelyard.errors import UnknownName, UsageError
from steelyard.types import Run
from steelyard.vectors import exact_index, quantise, topk
from steelyard.vectors.quantise import BinaryCodes, Float16Codes, HakariInt8Codes, Int8Codes
from steelyard.vectors.topk import normalised, rank_rows, top_k
from steelyard.vectors.variants import PRECISIONS, Variant, truncate

LOSSY = [name for name in PRECISIONS if name != "float32"]


def vectors(rows, width=48, seed=0, shift=0.3):
    """Unit vectors whose dimensions have different means and spreads, as those of real models do."""
    rng = np.random.default_rng(seed)
    spread, mean = rng.uniform(0.5, 2, width), shift * rng.standard_normal(width)
    return normalised((rng.standard_normal((rows, width)) * spread + mean).astype(np.float32))


DOCUMENTS, QUERIES = vectors(700), vectors(11, seed=0)[:11] + 0.05 * vectors(11, seed=2)

small = st.floats(-4, 4, width=16)
matrices = st.tuples(st.integers(1, 12), st.integers(1, 9)).flatmap(
    lambda shape: arrays(np.float32, shape, elements=small)
)


def by_definition(variant, documents, queries):
    """The scores of a variant without rescoring, in float64 and by the book."""
    if variant.truncate_dim:
        documents, queries = (
            x[:, : variant.truncate_dim]
            * (np.linalg.norm(x, axis=1) / np.linalg.norm(x[:, : variant.truncate_dim], axis=1))[:, None]
            for x in (documents.astype(np.float64), queries.astype(np.float64))
        )
    documents, queries = documents.astype(np.float64), queries.astype(np.float64)
    low, high = documents.min(axis=0), documents.max(axis=0)
    if variant.precision == "float16":
        documents = documents.astype(np.float16).astype(np.float64)
    elif variant.precision == "int8":
        documents = low + np.rint((documents - low) / ((high - low) / 255)) * ((high - low) / 255)
    elif variant.precision == "binary":
        documents, queries = np.where(documents > 0, 1, -1), np.where(queries > 0, 1, -1)
    elif variant.precision == "int8@hakari":
        documents, queries = (
            np.trunc(np.clip((x - low) / ((high - low) / 255) - 128, -128, 127)) for x in (documents, queries)
        )
    return queries @ documents.T


@pytest.mark.parametrize("dimension", [None, 16])
@pytest.mark.parametrize("precision", ["float32", "float16", "int8", "binary"])
def test_every_precision_scores_by_its_definition(precision, dimension):
    variant = Variant(dimension, precision)
    run = variant.build(DOCUMENTS).search(QUERIES, 50)
    scores = by_definition(variant, DOCUMENTS, QUERIES)
    # A value on the border between two levels may fall to either side in float32: one step of one dimension.
    np.testing.assert_allclose(run.scores, np.take_along_axis(scores, run.rows.astype(int), axis=1), atol=2e-3)
    np.testing.assert_allclose(run.scores, -np.sort(-scores, axis=1)[:, :50], atol=2e-3)
    if precision == "binary":
        assert (run.scores == np.rint(run.scores)).all()


def test_raw_codes_are_those_of_hakari():
    documents, queries = normalised(DOCUMENTS), normalised(QUERIES)
    low, high = documents.min(axis=0), documents.max(axis=0)
    steps = (high - low) / np.float32(255)
    codes, asked = (np.trunc(np.clip((x - low) / steps - 128, -128, 127)).astype(int) for x in (documents, queries))
    index = Variant(precision="int8@hakari").build(DOCUMENTS)
    assert isinstance(index.coded.codes, HakariInt8Codes) and (index.coded.codes.codes == codes).all()
    run = index.search(QUERIES, 1000)
    products = asked @ codes.T
    assert run.depth == 100
    assert (run.scores == -np.sort(-products, axis=1)[:, :100]).all()
    assert (run.scores == np.take_along_axis(products, run.rows.astype(int), axis=1)).all()


def test_hakari_looks_again_at_its_100_best_and_no_more():
    plain = Variant(precision="binary@hakari").build(DOCUMENTS).search(QUERIES, 1000)
    again = Variant.of({"precision": "binary@hakari", "rescore": "hakari"}).build(DOCUMENTS).search(QUERIES, 1000)
    assert plain.depth == again.depth == 100
    assert (np.sort(plain.rows, axis=1) == np.sort(again.rows, axis=1)).all()
    assert (np.diff(again.scores, axis=1) <= 0).all() and (again.rows != plain.rows).any()


@given(matrices, matrices, st.integers(1, 20))
@settings(max_examples=100)
def test_binary_is_hamming(documents, queries, k):
    width = min(documents.shape[1], queries.shape[1])
    documents, queries = documents[:, :width], queries[:, :width]
    distances = ((documents > 0)[None] != (queries > 0)[:, None]).sum(axis=2)
    run = Variant(precision="binary").build(documents).search(queries, k)
    order = np.array([np.lexsort((np.arange(len(line)), line)) for line in distances])[:, :k]
    assert run.rows.tolist() == order.tolist()
    assert ((width - run.scores) / 2).tolist() == np.take_along_axis(distances, order, axis=1).tolist()


@given(matrices)
@settings(max_examples=100)
def test_int8_is_never_off_by_more_than_half_a_step(documents):
    codes = Int8Codes.of(documents)
    spread = documents.max(axis=0) - documents.min(axis=0)
    assert (np.abs(codes.decode() - documents) <= spread / 255 / 2 + 1e-5).all()
    assert codes.clipped == 0


def test_int8_is_calibrated_on_a_sample_and_says_what_it_cut():
    documents = vectors(900)
    documents[5] *= 50
    drawn = Int8Codes.of(documents, sample=100)
    again = Int8Codes.of(documents, sample=100)
    assert (drawn.codes == again.codes).all() and 0 < drawn.clipped < 0.1
    assert drawn.codes.min() == -128 and drawn.codes.max() == 127
    levels = np.rint((documents - drawn.lowest) / drawn.step)
    assert drawn.clipped == ((levels < 0) | (levels > 255)).mean()
    assert (drawn.step < Int8Codes.of(documents).step).mean() > 0.9  # the long vector was not in the sample
    kept = np.delete(np.arange(900), 5)
    assert np.abs(drawn.decode() - documents)[kept].mean() < 0.005


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("block", [1, 7, 64, 100_000])
def test_blocks_change_nothing_but_the_last_bit(precision, block, monkeypatch):
    whole = Variant(precision=precision).build(DOCUMENTS).search(QUERIES, 30)
    monkeypatch.setattr(topk, "BLOCK_DOCUMENTS", block)
    monkeypatch.setattr(topk, "BLOCK_SCORES", 3 * block)
    monkeypatch.setattr(quantise, "CHUNK", 5)
    parts = Variant(precision=precision).build(DOCUMENTS).search(QUERIES, 30)
    np.testing.assert_allclose(parts.scores, whole.scores, rtol=1e-5)
    assert (parts.rows == whole.rows).mean() > 0.99


@pytest.mark.parametrize(
    ("precision", "rescore"), [*((name, None) for name in PRECISIONS), *((name, 2) for name in LOSSY)]
)
def test_equal_documents_score_alike(precision, rescore):
    documents = np.repeat(vectors(120, 384), 3, axis=0)[np.random.default_rng(1).permutation(360)]
    run = Variant(precision=precision, rescore=rescore).build(documents).search(vectors(9, 384, seed=5), 360)
    _, group = np.unique(documents, axis=0, return_inverse=True)
    for rows, scores in zip(run.rows, run.scores, strict=True):
        for kind in set(group[rows].tolist()):
            assert len(set(scores[group[rows] == kind].tolist())) == 1
        ties = np.diff(scores) == 0
        assert (np.diff(rows)[ties] > 0).all() and ties.any()


@pytest.mark.parametrize("precision", LOSSY)
@pytest.mark.parametrize("rescore", [None, 1, 3])
def test_a_shorter_list_is_the_beginning_of_a_longer_one(precision, rescore):
    build = Variant(precision=precision, rescore=rescore, rescore_k=20).build
    longest = build(DOCUMENTS).search(QUERIES, 700)
    for k in (1, 10, 35):
        run = build(DOCUMENTS).search(QUERIES, k)
        assert run.rows.tolist() == longest.rows[:, :k].tolist()
        assert run.scores.tolist() == longest.scores[:, :k].tolist()
    limit = 700 if rescore is None else 20 * rescore
    assert longest.depth == (min(limit, 100) if "hakari" in precision else limit)


@pytest.mark.parametrize(
    ("kept", "gather"),
    [(0, 0), (0, 10**9), (10**9, 0)],
    ids=["fetched one by one", "picked from all", "kept from the last search"],
)
def test_rescoring_ranks_the_same_documents_by_float(kept, gather, monkeypatch):
    monkeypatch.setattr(exact_index, "GATHER_COST", gather)
    monkeypatch.setattr(exact_index, "CACHED_SCORES", kept)
    first = Variant(precision="binary").build(DOCUMENTS).search(QUERIES, 60)
    floats = exact_index.ExactIndex(DOCUMENTS)
    floats.search(QUERIES, 3)
    run, seconds = floats.rescore(first, QUERIES)
    assert seconds > 0
    scores = QUERIES.astype(np.float64) @ DOCUMENTS.T.astype(np.float64)
    assert (np.sort(run.rows, axis=1) == np.sort(first.rows, axis=1)).all()
    np.testing.assert_allclose(run.scores, np.take_along_axis(scores, run.rows.astype(int), axis=1), atol=1e-6)
    assert (np.diff(run.scores, axis=1) <= 0).all()
    assert run.rows.dtype == np.int32 and run.scores.dtype == np.float32


def test_rescoring_makes_up_for_what_codes_lose():
    found = top_k(QUERIES, DOCUMENTS, 10).rows

    def kept(**variant):
        rows = Variant(**variant).build(DOCUMENTS).search(QUERIES, 10).rows
        return np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found.tolist(), rows.tolist(), strict=True)])

    binary, raw, int8 = kept(precision="binary"), kept(precision="int8@hakari"), kept(precision="int8")
    assert binary < kept(precision="binary", rescore=1) <= kept(precision="binary", rescore=4)
    assert raw < int8 and int8 > 0.9 and kept(precision="float16") > 0.98
    assert kept(precision="int8", rescore=4) == 1


@given(matrices, st.integers(1, 9))
@settings(max_examples=100)
def test_truncation_keeps_lengths(documents, dimension):
    before = documents.copy()
    kept = truncate(documents, dimension)
    assert (documents == before).all()
    assert kept.shape[1] == min(dimension, documents.shape[1]) and kept.dtype == np.float32
    there = np.linalg.norm(documents[:, :dimension].astype(np.float64), axis=1) > 1e-3
    lengths = np.linalg.norm(documents.astype(np.float64), axis=1)
    np.testing.assert_allclose(np.linalg.norm(kept, axis=1)[there], lengths[there], rtol=1e-4)


@given(st.lists(st.lists(st.sampled_from([-0.0, 0.0, 0.5, -1.5]), min_size=4, max_size=4), min_size=1, max_size=5))
def test_ranked_is_run_of(scores):
    rows = np.tile(np.array([3, 0, 2, 1], dtype=np.int32), (len(scores), 1))
    run, slow = rank_rows(rows, np.array(scores, dtype=np.float32)), Run.of(rows, np.array(scores, dtype=np.float32))
    assert run.rows.tolist() == slow.rows.tolist() and run.scores.tolist() == slow.scores.tolist()


def test_bytes():
    sizes = {}
    for precision in PRECISIONS:
        index = Variant(precision=precision).build(DOCUMENTS)
        sizes[precision] = index.notes["bytes_per_document"]
        assert index.size_bytes == pytest.approx(700 * sizes[precision], rel=0.02)
    assert sizes == {
        "float32": 192, "float16": 96, "int8": 48, "binary": 6, "int8@hakari": 48, "binary@hakari": 6
    }  # fmt: skip
    both = Variant(truncate_dim=12, precision="binary", rescore=4).build(DOCUMENTS)
    assert both.notes == {"bytes_per_document": 2, "rescore_bytes_per_document": 48}
    assert both.size_bytes == 700 * 50


def test_nothing_to_search():
    nothing = np.empty((0, 8), dtype=np.float32)
    for precision in PRECISIONS:
        rescore = None if precision == "float32" else 4
        index = Variant(precision=precision, rescore=rescore).build(nothing)
        assert index.search(vectors(3, 8), 5).rows.shape == (3, 0)
        full = Variant(precision=precision, rescore=rescore).build(vectors(4, 8))
        assert full.search(nothing, 5).rows.shape == (0, 4)
        assert full.search(vectors(3, 8), 5).rows.shape == (3, 4)


def test_constant_dimensions_and_great_numbers():
    documents = np.ones((5, 8), dtype=np.float32)
    for precision in PRECISIONS:
        run = Variant(precision=precision).build(documents).search(documents, 5)
        assert run.rows.tolist() == [[0, 1, 2, 3, 4]] * 5 and np.isfinite(run.scores).all()
    assert np.isfinite(Float16Codes.of(np.full((1, 2), 1e6, dtype=np.float32)).codes).all()
    assert BinaryCodes.of(documents).codes.tolist() == [[255]] * 5


@pytest.mark.parametrize(
    "options",
    [
        {"precision": "int4"},
        {"truncate_dim": "many"},
        {"truncate_dim": "0"},
        {"precision": "int8", "rescore": "x"},
        {"precision": "int8", "rescore": "4", "rescore_k": "-1"},
        {"precision": "int8", "rescore": "4", "rescore_k": "0"},
        {"precision": "int8", "rescore_k": "50"},
        {"rescore": "4"},
    ],
)
def test_invalid_options_are_refused(options):
    with pytest.raises(UsageError):
        Variant.of(options)
    with pytest.raises(UnknownName) as unknown:
        Variant(precision="binry")
    assert unknown.value.near == ["binary"]
    with pytest.raises(UsageError):
        Variant(truncate_dim=9).check(8, "dense:X")


def test_scores_that_are_kept_are_those_of_the_queries_asked_for(monkeypatch):
    floats = exact_index.ExactIndex(DOCUMENTS)
    other = QUERIES[::-1].copy()
    for queries in (QUERIES, other, QUERIES):
        run, _ = floats.search(queries, 20)
        plain = top_k(queries, DOCUMENTS, 20)
        assert (run.rows == plain.rows).all()
        assert (run.scores == plain.scores).all()
    monkeypatch.setattr(exact_index, "CACHED_SCORES", 0)
    assert (floats.search(QUERIES, 20)[0].rows == top_k(QUERIES, DOCUMENTS, 20).rows).all()


def test_rescored_scores_are_those_of_the_float_search():
    """To the last bit, so that ties fall the same way."""
    whole = Variant().build(DOCUMENTS).search(QUERIES, len(DOCUMENTS))
    again = Variant(precision="binary", rescore=8).build(DOCUMENTS).search(QUERIES, 50)
    for query in range(len(QUERIES)):
        known = dict(zip(whole.rows[query].tolist(), whole.scores[query].tolist(), strict=True))
        assert [known[row] for row in again.rows[query].tolist()] == again.scores[query].tolist()
