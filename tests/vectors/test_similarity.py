"""The four similarities: equal to sentence-transformers', in search, in variants, and as its evaluator ranks."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sentence_transformers import SentenceTransformer, SimilarityFunction, util
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
from sentence_transformers.sentence_transformer.modules import Pooling
from torch_models import save_bert

from steelyard.config import Settings
from steelyard.encoders.backends.function import from_function
from steelyard.engine import evaluate
from steelyard.errors import UsageError
from steelyard.retrievers.search_services.encoding import ServiceVectors
from steelyard.types import Corpus, Qrels, Queries, Task, TaskInfo
from steelyard.vectors.similarity import SIMILARITIES, similarity
from steelyard.vectors.topk import top_k
from steelyard.vectors.variants import BY_DISTANCE, Variant

DISTANCES = ("euclidean", "manhattan")
RANDOM = np.random.default_rng(3)
QUERIES = RANDOM.standard_normal((7, 24)).astype(np.float32)
DOCUMENTS = (RANDOM.standard_normal((5000, 24)) * RANDOM.uniform(0.2, 3, (5000, 1))).astype(np.float32)


def scores_of_library(name, queries, documents):
    compare = {"cosine": "cos_sim", "dot": "dot_score", "euclidean": "euclidean_sim", "manhattan": "manhattan_sim"}
    # In float64, where its own rounding is out of the way.
    return getattr(util, compare[name])(torch.tensor(queries).double(), torch.tensor(documents).double()).numpy()


@pytest.mark.parametrize("name", SIMILARITIES)
def test_scores_and_ranks_are_those_of_sentence_transformers(name):
    theirs = scores_of_library(name, QUERIES, DOCUMENTS)
    ours = top_k(QUERIES, DOCUMENTS, 100, similarity=name)
    assert ours.rows.tolist() == np.argsort(-theirs, axis=1, kind="stable")[:, :100].tolist()
    np.testing.assert_allclose(ours.scores, np.take_along_axis(theirs, ours.rows.astype(int), axis=1), rtol=2e-6)


def test_every_similarity_of_sentence_transformers_is_known():
    late = {"maxsim", "meanmaxsim"}
    assert {*SIMILARITIES, *late} == set(SimilarityFunction.possible_values())


@settings(max_examples=60)
@given(
    name=st.sampled_from(DISTANCES),
    vectors=arrays.arrays(
        np.float32, st.tuples(st.integers(1, 30), st.integers(1, 6)), elements=st.integers(-50, 50).map(float)
    ),
    k=st.integers(1, 40),
)
def test_lists_are_those_of_sorting_all_distances(name, vectors, k):
    apart = vectors[:3, None].astype(np.float64) - vectors[None]
    distances = np.sqrt((apart**2).sum(axis=2)) if name == "euclidean" else np.abs(apart).sum(axis=2)
    expected = np.argsort(distances.astype(np.float32), axis=1, kind="stable")[:, :k]
    run = top_k(vectors[:3], vectors, k, similarity=name)
    assert run.rows.tolist() == expected.tolist()
    np.testing.assert_allclose(run.scores, -np.take_along_axis(distances, expected, axis=1), atol=1e-5)


@pytest.mark.parametrize("name", DISTANCES)
def test_copies_far_apart_score_alike_and_near_vectors_keep_their_order(name):
    """Offsets as large as these leave nothing of the differences if the product is taken in float32."""
    near = np.float32(1000) + RANDOM.uniform(0, 1e-2, (3000, 8)).astype(np.float32)
    near[2500] = near[10]
    run = top_k(near[10:11], near, 3000, similarity=name)
    assert run.rows[0, :2].tolist() == [10, 2500] and run.scores[0, 0] == run.scores[0, 1]
    apart = near.astype(np.float64) - near[10].astype(np.float64)
    distances = np.sqrt((apart**2).sum(axis=1)) if name == "euclidean" else np.abs(apart).sum(axis=1)
    ordered = distances[run.rows[0]]
    assert (np.diff(ordered) >= -1e-6).all() and ordered[-1] > 1e-3


@pytest.mark.parametrize("name", SIMILARITIES)
def test_one_query_and_a_block_of_them_give_the_same_scores(name):
    by = similarity(name)
    block, line = np.empty((7, 5000), np.float32), np.empty(5000, np.float32)
    by.block(QUERIES, DOCUMENTS, block)
    by.line(QUERIES[4], DOCUMENTS, line)
    np.testing.assert_allclose(line, block[4], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", DISTANCES)
@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_codes_are_compared_as_what_they_stand_for(name, precision):
    index = Variant(precision=precision).build(DOCUMENTS, name)
    codes = index.coded.codes
    values = codes.decode() if precision == "int8" else codes.codes.astype(np.float32)
    run = index.search(QUERIES, 50)
    exact = scores_of_library(name, QUERIES, values)
    np.testing.assert_allclose(run.scores, np.take_along_axis(exact, run.rows.astype(int), axis=1), rtol=1e-5)
    np.testing.assert_allclose(run.scores[:, -1], -np.sort(-exact, axis=1)[:, 49], rtol=1e-5)


@pytest.mark.parametrize("documents", [5000, 600])  # few of many are fetched, most of few are computed
@pytest.mark.parametrize("name", DISTANCES)
def test_rescoring_ranks_by_the_distances_of_the_float_vectors(name, documents):
    some = DOCUMENTS[:documents]
    index = Variant(precision="int8", rescore=4, rescore_k=25).build(some, name)
    run, whole = index.search(QUERIES, 25), top_k(QUERIES, some, 25, similarity=name)
    assert run.rows.tolist() == whole.rows.tolist()
    np.testing.assert_allclose(run.scores, whole.scores, rtol=1e-5)


@pytest.mark.parametrize("name", DISTANCES)
def test_truncation_keeps_lengths_for_a_distance_too(name):
    run = Variant(truncate_dim=8).build(DOCUMENTS, name).search(QUERIES, 10)
    kept = [
        m[:, :8] * (np.linalg.norm(m, axis=1) / np.linalg.norm(m[:, :8], axis=1))[:, None] for m in (QUERIES, DOCUMENTS)
    ]
    assert run.rows.tolist() == top_k(*kept, 10, similarity=name).rows.tolist()


@pytest.mark.parametrize("precision", ["binary", "int8@hakari", "binary@hakari"])
def test_codes_that_know_no_distance_are_refused(precision):
    with pytest.raises(UsageError) as error:
        Variant(precision=precision).check(8, "dense:X", "euclidean")
    assert (error.value.option, error.value.found) == ("precision", precision)
    assert precision not in BY_DISTANCE
    Variant(precision=precision).check(8, "dense:X", "dot")


def test_an_unknown_similarity_names_the_four():
    with pytest.raises(UsageError, match="dense:X") as error:
        similarity("hamming", "dense:X")
    assert (error.value.found, error.value.expected) == ("hamming", "cosine or dot or euclidean or manhattan")
    with pytest.raises(UsageError, match="l2"):
        from_function(lambda texts: [[1.0]] * len(texts), "f", similarity="l2")


def test_services_that_compare_otherwise_are_not_given_a_distance(monkeypatch):
    encoder = from_function(lambda texts: [[1.0]] * len(texts), "f", similarity="manhattan")
    monkeypatch.setattr("steelyard.retrievers.search_services.encoding.load_encoder", lambda *_: encoder)
    with pytest.raises(UsageError, match="manhattan"):
        ServiceVectors.of("any/model", Settings())


def small_task():
    words = ["river", "mountain", "bridge", "castle", "harbour", "forest", "desert", "island", "valley", "glacier"]
    random = np.random.default_rng(5)
    texts = [" ".join(random.choice(words, 6)) for _ in range(60)]
    queries = [" ".join(random.choice(words, 3)) for _ in range(12)]
    corpus = Corpus.of([f"d{row:02}" for row in range(60)], texts)
    asked, found = np.repeat(np.arange(12), 5), random.permuted(np.tile(np.arange(60), (12, 1)), axis=1)[:, :5]
    qrels = Qrels.of(asked, found.ravel(), np.ones(60), queries=12)
    return Task(
        TaskInfo("Small/words", "en"), corpus, Queries(tuple(f"q{q}" for q in range(12)), tuple(queries)), qrels
    )


@pytest.mark.parametrize("name", SIMILARITIES)
def test_figures_of_a_model_are_those_of_its_evaluator(tmp_path, monkeypatch, name):
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    modules = [Transformer(str(save_bert(tmp_path / "bert"))), Pooling(32, "mean")]
    folder = tmp_path / "model"
    SentenceTransformer(modules=modules, device="cpu", similarity_fn_name=name).save_pretrained(str(folder))
    task = small_task()
    evaluator = InformationRetrievalEvaluator(
        dict(zip(task.queries.ids, task.queries.texts, strict=True)),
        dict(zip(task.corpus.ids, task.corpus.texts, strict=True)),
        {id_: {task.corpus.ids[row] for row in task.qrels.rows_of(q)} for q, id_ in enumerate(task.queries.ids)},
        mrr_at_k=[10],
        ndcg_at_k=[10],
        map_at_k=[100],
        show_progress_bar=False,
        write_csv=False,
    )
    theirs = evaluator(SentenceTransformer(str(folder), device="cpu"))
    [ours] = evaluate([f"dense:{folder}"], [task])
    assert ours.settings["model_settings"]["similarity"] == name
    pairs = {"ndcg_at_10": "ndcg@10", "mrr_at_10": "mrr@10", "map_at_100": "map@100"}
    for mine, key in pairs.items():
        assert ours.metrics[mine] == pytest.approx(theirs[f"{name}_{key}"], abs=1e-4)
