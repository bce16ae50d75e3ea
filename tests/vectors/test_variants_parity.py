"""Codes and distances against sentence-transformers and faiss, which define them independently."""

import faiss
import numpy as np
import pytest
from sentence_transformers.util.quantization import quantize_embeddings

from steelyard.types import Run
from steelyard.vectors.quantise import BinaryCodes, HakariInt8Codes, Int8Codes
from steelyard.vectors.topk import normalised, top_k
from steelyard.vectors.variants import Variant


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    mean, spread = 0.3 * rng.standard_normal(96), rng.uniform(0.5, 2, 96)
    vectors = normalised((rng.standard_normal((3050, 96)) * spread + mean).astype(np.float32))
    return vectors[:3000], vectors[3000:]


def overlap(found, expected):
    return np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(found.tolist(), expected.tolist(), strict=True)])


def test_binary_codes_are_those_of_sentence_transformers(data):
    documents, _ = data
    assert (BinaryCodes.of(documents).codes == quantize_embeddings(documents, precision="ubinary")).all()


def test_int8_codes_are_within_a_level_of_those_of_sentence_transformers(data):
    """It takes the level below, ours is the nearest; HAKARI-Bench cuts the signed code off, toward 0."""
    documents, _ = data
    theirs = quantize_embeddings(documents, precision="int8", ranges=np.stack([documents.min(0), documents.max(0)]))
    nearest, raw = Int8Codes.of(documents).codes, HakariInt8Codes.of(documents).codes
    above = nearest.astype(int) - theirs
    assert set(np.unique(above).tolist()) == {0, 1} and 0.45 < above.mean() < 0.55
    assert (raw == theirs)[theirs >= 0].all()
    assert set(np.unique(raw.astype(int) - theirs).tolist()) == {0, 1}


def test_hamming_distances_are_those_of_faiss(data):
    documents, queries = data
    index = faiss.IndexBinaryFlat(96)
    index.add(BinaryCodes.of(documents).codes)
    distances, rows = index.search(BinaryCodes.of(queries).codes, 40)
    run = Variant(precision="binary").build(documents).search(queries, 40)
    assert ((96 - run.scores) / 2 == distances).all()
    # Within equal distances faiss goes by what it met first; the sets above the last distance agree.
    for ours, theirs, far in zip(run.rows, rows, distances, strict=True):
        assert set(ours[far < far[-1]].tolist()) == set(theirs[far < far[-1]].tolist())


@pytest.mark.parametrize(
    ("precision", "kind", "atol"),
    [
        ("float16", faiss.ScalarQuantizer.QT_fp16, 1e-5),  # halves round the other way
        ("int8", faiss.ScalarQuantizer.QT_8bit, 6e-3),  # faiss reads a code as the middle of its level
    ],
)
def test_scores_are_those_of_faiss(data, precision, kind, atol):
    documents, queries = data
    index = faiss.IndexScalarQuantizer(96, kind, faiss.METRIC_INNER_PRODUCT)
    index.train(documents)
    index.add(documents)
    scores, rows = index.search(queries, 20)
    run = Variant(precision=precision).build(documents).search(queries, 20)
    np.testing.assert_allclose(run.scores, scores, atol=atol)
    assert overlap(run.rows, rows) > 0.95
    exact = top_k(queries, documents, 20).rows
    assert overlap(run.rows, exact) >= overlap(rows, exact) - 0.005


def test_exact_search_is_that_of_faiss(data):
    documents, queries = data
    index = faiss.IndexFlatIP(96)
    index.add(documents)
    scores, rows = index.search(queries, 50)
    run = top_k(queries, documents, 50)
    assert isinstance(run, Run)
    np.testing.assert_allclose(run.scores, scores, atol=1e-6)
    assert overlap(run.rows, rows) > 0.999


def test_rescored_search_is_that_of_sentence_transformers(data):
    """Oversampled candidates by codes, then their float products: the two-stage search that its docs describe."""
    documents, queries = data
    index = faiss.IndexBinaryFlat(96)
    index.add(BinaryCodes.of(documents).codes)
    _, rows = index.search(BinaryCodes.of(queries).codes, 400)
    scores = np.take_along_axis(queries @ documents.T, rows, axis=1)
    expected = np.take_along_axis(rows, np.argsort(-scores, axis=1)[:, :10], axis=1)
    run = Variant(precision="binary", rescore=4).build(documents).search(queries, 10)
    assert overlap(run.rows, expected) > 0.97  # candidates tie at the last distance, and both choose among them
