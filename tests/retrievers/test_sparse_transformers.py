"""Sparse encoders of sentence-transformers: same vectors, same scores, same figures."""

from __future__ import annotations

import numpy as np
import pytest
from float_parity import assert_float_parity
from sentence_transformers import SparseEncoder
from sentence_transformers.sparse_encoder.evaluation import SparseInformationRetrievalEvaluator
from sentence_transformers.sparse_encoder.modules import MLMTransformer, SpladePooling
from torch_models import DOCUMENTS, QUESTIONS, RELEVANT, save_bert

from steelyard.encoders.backends.sparse_input import as_sparse
from steelyard.encoders.load import load_sparse_encoder
from steelyard.errors import ModelError, UsageError
from steelyard.metrics import score
from steelyard.retrievers import load_retriever
from steelyard.types import Corpus, Qrels, Queries, Task, TaskInfo

INFO = TaskInfo("made/up")
CORPUS = Corpus.of(list(DOCUMENTS), list(DOCUMENTS.values()))
QUERIES = Queries(tuple(QUESTIONS), tuple(QUESTIONS.values()))
pytestmark = pytest.mark.usefixtures("own_home")


@pytest.fixture(scope="module")
def splade(tmp_path_factory):
    bert = save_bert(tmp_path_factory.mktemp("bert"), masked=True)
    model = SparseEncoder(modules=[MLMTransformer(str(bert)), SpladePooling("max")], device="cpu")
    folder = tmp_path_factory.mktemp("splade")
    model.save_pretrained(str(folder))
    return folder


def our_scores(run):
    board = np.zeros((len(QUERIES), len(CORPUS)))
    lines, places = np.nonzero(run.rows >= 0)
    board[lines, run.rows[lines, places]] = run.scores[lines, places]
    return board


def task():
    triples = [(QUERIES.row_of[q], CORPUS.row_of[d]) for q, ids in RELEVANT.items() for d in ids]
    qrels = Qrels.of(*zip(*triples, strict=True), [1] * len(triples), queries=len(QUERIES))
    return Task(INFO, CORPUS, QUERIES, qrels)


def test_what_the_library_gives_is_read_as_it_is(splade):
    model = SparseEncoder(str(splade), device="cpu")
    given = model.encode_document(list(CORPUS.texts))
    read, ours = as_sparse(given), load_sparse_encoder(str(splade)).encode(CORPUS.texts, "document")
    assert given.is_sparse and (read.columns == ours.columns).all()
    assert_float_parity(read.weights, ours.weights)


@pytest.mark.parametrize(("query_cap", "document_cap"), [(None, None), (4, 8), (16, None)])
def test_scores_and_figures_are_the_librarys(splade, query_cap, document_cap):
    model = SparseEncoder(str(splade), device="cpu")
    queries = model.encode_query(list(QUERIES.texts), max_active_dims=query_cap)
    documents = model.encode_document(list(CORPUS.texts), max_active_dims=document_cap)
    caps = {"query_max_active_dims": query_cap, "document_max_active_dims": document_cap}
    options = "&".join(f"{name}={cap}" for name, cap in caps.items() if cap)
    index = load_retriever(f"sparse:{splade}?{options}").index(CORPUS, INFO)
    run = index.search(QUERIES, 10)
    expected = model.similarity(queries, documents)
    expected = (expected.to_dense() if expected.is_sparse else expected).numpy()
    assert_float_parity(our_scores(run), expected)
    assert index.notes["active_dims"] <= (document_cap or index.notes["dimension"])


@pytest.mark.parametrize("cap", [None, 12])
def test_figures_are_those_of_the_librarys_evaluator(splade, cap):
    model = SparseEncoder(str(splade), device="cpu")
    expected = SparseInformationRetrievalEvaluator(QUESTIONS, DOCUMENTS, RELEVANT, max_active_dims=cap)(model)
    caps = f"?query_max_active_dims={cap}&document_max_active_dims={cap}" if cap else ""
    run = load_retriever(f"sparse:{splade}{caps}").index(CORPUS, INFO).search(QUERIES, 10)
    ours = score(run, task().qrels).means
    assert ours["ndcg_at_10"] == pytest.approx(expected["dot_ndcg@10"], abs=1e-6)
    assert ours["mrr_at_10"] == pytest.approx(expected["dot_mrr@10"], abs=1e-6)
    assert 0.2 < ours["ndcg_at_10"] < 1


def test_options_and_settings(splade):
    encoder = load_sparse_encoder(
        str(splade), None, {"max_seq_length": "8", "query_prompt": "what is ", "batch_size": "2"}
    )
    model = SparseEncoder(str(splade), device="cpu")
    model.max_seq_length = 8
    for role, encode in (("query", model.encode_query), ("document", model.encode_document)):
        prompt = "what is " if role == "query" else ""
        expected = encode(list(CORPUS.texts), prompt=prompt).to_dense().numpy()
        ours = encoder.encode(list(CORPUS.texts), role)
        dense = np.zeros_like(expected)
        dense[np.repeat(np.arange(len(ours)), ours.counts), ours.columns] = ours.weights
        assert_float_parity(dense, expected)
    assert encoder.settings["prompts"] == {"query": "what is ", "document": ""}
    assert encoder.settings["max_seq_length"] == 8
    assert encoder.account()["texts_cut"] > 0
    cosine = load_retriever(f"sparse:{splade}?similarity_fn_name=cosine").index(CORPUS, INFO)
    assert cosine.search(QUERIES, 10).scores.max() <= 1 + 1e-6


def test_a_distance_is_refused(splade, tmp_path):
    model = SparseEncoder(str(splade), device="cpu", similarity_fn_name="euclidean")
    model.save_pretrained(str(tmp_path / "far"))
    with pytest.raises(UsageError):
        load_retriever(f"sparse:{tmp_path / 'far'}")


def test_caps_come_from_one_encoding(splade):
    load_retriever(f"sparse:{splade}").index(CORPUS, INFO).search(QUERIES, 5)
    for cap in (4, 16, 64):
        name = f"sparse:{splade}?document_max_active_dims={cap}&query_max_active_dims={cap}"
        index = load_retriever(name).index(CORPUS, INFO)
        index.search(QUERIES, 5)
        assert index.notes["documents"]["texts_encoded"] == index.notes["queries"]["texts_encoded"] == 0
        assert index.notes["bytes_per_document"] <= 8 * cap


def test_a_folder_that_is_no_model(tmp_path):
    with pytest.raises(ModelError):
        load_sparse_encoder(str(tmp_path))
