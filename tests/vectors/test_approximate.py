"""Approximate indexes: recall against exact search, reproducible, and equal to the library called directly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cluster_models import task

import steelyard
from steelyard.config import Settings
from steelyard.errors import ModelError, UsageError
from steelyard.retrievers.model_variants import variants
from steelyard.types import Float32
from steelyard.vectors.approximate import ApproximateIndex, Approximation, overlap
from steelyard.vectors.similarity import similarity
from steelyard.vectors.topk import normalised, top_k
from steelyard.vectors.variants import Variant

faiss = pytest.importorskip("faiss")


@pytest.fixture(scope="module")
def vectors() -> Float32:
    return normalised(np.random.default_rng(1).standard_normal((3000, 32)).astype(np.float32))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hnsw", "ivfpq", "hnswlib"])
@pytest.mark.parametrize("compared", ["dot", "euclidean"])
def test_recall_is_high_and_the_index_is_reproducible(kind: str, compared: str, vectors: Float32) -> None:
    if kind == "hnswlib":
        pytest.importorskip("hnswlib")
    queries = vectors[:50] + np.float32(0.05)
    runs = [
        ApproximateIndex(vectors, Approximation(kind), similarity(compared)).search(queries, 1000) for _ in range(2)
    ]
    assert runs[0].rows.tobytes() == runs[1].rows.tobytes()
    shares = overlap(runs[0], top_k(queries, vectors, 100, similarity=compared))
    assert shares["index_recall_at_10"] > (0.3 if kind == "ivfpq" else 0.9)  # codes of 8 bytes for 128
    assert (runs[0].depth == 100) == (kind != "ivfpq")  # a graph returns its candidates, no more


def test_hnsw_is_that_of_faiss(vectors: Float32) -> None:
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    index = faiss.IndexHNSWFlat(32, 32, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction, index.hnsw.efSearch = 200, 40
    index.add(vectors)
    _, expected = index.search(vectors[:20], 40)
    faiss.omp_set_num_threads(threads)
    run = ApproximateIndex(vectors, Approximation("hnsw", ef=40), similarity("dot")).search(vectors[:20], 100)
    assert [set(row) for row in run.rows.tolist()] == [set(row) for row in expected.tolist()]


def test_more_candidates_find_more(vectors: Float32) -> None:
    queries, exact = vectors[100:200], top_k(vectors[100:200], vectors, 10)
    shares = []
    for ef in (10, 200):
        found = ApproximateIndex(vectors, Approximation("hnsw", ef=ef), similarity("dot")).search(queries, 10)
        shares.append(overlap(found, exact)["index_recall_at_10"])
    assert shares[0] < shares[1]


def test_variant_notes_what_it_lost(tmp_path: Path) -> None:
    names = "dense:cluster_models:letters?version=1&index=none,hnsw,ivfpq&ef=10,100"
    settings = Settings.load(home=tmp_path)
    results = steelyard.evaluate(names, task("Mine/ann", 600), settings=settings)
    assert [result.status for result in results] == ["done"] * len(results)
    base, *others = results
    assert "index_recall_at_10" not in base.notes
    for result in others:
        assert 0 < result.notes["index_recall_at_10"] <= 1 and result.notes["variant_of"] == base.model
        assert result.notes["exact_search_seconds"] >= 0 and result.index_bytes


def test_grids_leave_exact_search_once() -> None:
    specs = [str(spec) for spec in variants("dense:X?index=none,hnsw&ef=10,20")]
    assert specs == ["dense:X", "dense:X?ef=10&index=hnsw", "dense:X?ef=20&index=hnsw"]


@pytest.mark.parametrize(
    ("options", "option"),
    [({"index": "annoy"}, "index"), ({"ef": "10"}, "ef"), ({"index": "hnsw", "ef": "0"}, "ef"),
     ({"index": "hnsw", "precision": "int8"}, "index")],
)  # fmt: skip
def test_wrong_options_are_errors(options: dict[str, str], option: str) -> None:
    with pytest.raises(UsageError) as caught:
        Variant.of(options)
    assert caught.value.option == option


def test_ivfpq_needs_documents(vectors: Float32) -> None:
    with pytest.raises(ModelError) as caught:
        ApproximateIndex(vectors[:100], Approximation("ivfpq"), similarity("dot"))
    assert caught.value.found == 100
