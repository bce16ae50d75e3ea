"""Dense retrieval with a real encoder and with a small one."""

import numpy as np
import pytest
from encoder_parts import Letters

from steelyard.encoders import load_encoder
from steelyard.encoders.cache.vector_store import VectorStore
from steelyard.retrievers import load_retriever
from steelyard.retrievers.dense import DenseRetriever
from steelyard.types import Corpus, Queries, TaskInfo
from steelyard.types.protocols import Index, Retriever

INFO = TaskInfo("Some/task")
CORPUS = Corpus.of(
    ["en-cat", "en-bank", "de-cat", "zh-rain", "copy-1", "copy-2", "empty"],
    [
        "The cat is sleeping on the sofa.",
        "The central bank raised interest rates.",
        "Die Katze schläft auf dem Sofa.",
        "明天北方会下大雨。",
        "Trains were late because of snow.",
        "Trains were late because of snow.",
        "",
    ],
)
QUERIES = Queries(
    ("1", "2", "3"), ("Where does the cat sleep?", "Will it rain tomorrow in the north?", "delayed trains")
)
pytestmark = pytest.mark.usefixtures("own_home")


def test_the_default_encoder_finds_meaning_across_languages():
    retriever = load_retriever("dense")
    index = retriever.index(CORPUS, INFO)
    run = index.search(QUERIES, 2)
    assert isinstance(retriever, Retriever)
    assert isinstance(index, Index)
    found = [[CORPUS.ids[row] for row in rows] for rows in run.rows]
    assert set(found[0]) == {"en-cat", "de-cat"}
    assert found[1][0] == "zh-rain"
    assert found[2] == ["copy-2", "copy-1"]  # equal scores: the greater id first
    assert run.scores[2, 0] == run.scores[2, 1]
    assert index.size_bytes == 7 * 512 * 4


def test_scores_are_cosines():
    encoder = load_encoder("use-multilingual-v3")
    run = load_retriever("dense").index(CORPUS, INFO).search(QUERIES, 7)
    cosines = encoder.encode(QUERIES.texts, "query") @ encoder.encode(CORPUS.texts, "document").T
    np.testing.assert_allclose(run.scores, np.take_along_axis(cosines, run.rows.astype(int), axis=1), atol=1e-6)


def test_notes_and_settings_say_what_was_done():
    retriever = load_retriever("dense")
    ticks: list[int] = []
    index = retriever.index(CORPUS, INFO, ticks.append)
    assert sum(ticks) == 7
    assert {"texts": 7, "texts_encoded": 6, "texts_from_cache": 0}.items() <= index.notes["documents"].items()
    index.search(QUERIES, 1)
    assert index.notes["queries"]["texts_encoded"] == 3
    again = load_retriever("dense").index(CORPUS, INFO)
    assert {"texts": 7, "texts_encoded": 0, "texts_from_cache": 6}.items() <= again.notes["documents"].items()
    assert (again.matrix == index.matrix).all()
    assert retriever.name == "dense:use-multilingual-v3"
    assert retriever.settings["similarity"] == "cosine"
    assert (retriever.settings["dimension"], retriever.settings["dtype"]) == (512, "float32")


def test_an_encoder_that_declares_dot_is_searched_by_dot():
    encoder = Letters()
    corpus = Corpus.of(["1", "2"], ["aaaa b", "a"])
    queries = Queries(("q",), ("a",))
    by_cosine = DenseRetriever("dense:letters", encoder).index(corpus, INFO).search(queries, 2)
    encoder.similarity = "dot"
    by_dot = DenseRetriever("dense:letters", encoder).index(corpus, INFO).search(queries, 2)
    assert corpus.ids[by_dot.rows[0, 0]] == "1"
    assert by_dot.scores[0].tolist() == [4 + 0.75, 1 + 0.75]
    assert by_cosine.scores.max() <= 1


def test_queries_are_encoded_as_queries():
    encoder = Letters()
    retriever = DenseRetriever("dense:letters", encoder, VectorStore(encoder))
    retriever.index(Corpus.of(["1"], ["abc"]), INFO).search(Queries(("q",), ("abc",)), 1)
    assert encoder.asked == [("document", "abc"), ("query", "abc")]


class Table(Letters):
    """An encoder that has its vectors already, and returns them as they are."""

    vectors = np.array([[3.0, 4.0], [0.0, 2.0]], dtype=np.float32)
    dimension = 2

    def look_up(self, ids, texts, role):
        return self.vectors[: len(texts)]


def test_vectors_that_were_looked_up_stay_as_they_are():
    index = DenseRetriever("dense:table", Table()).index(Corpus.of(["a", "b"], ["x", "y"]), INFO)
    assert index.search(Queries(("1", "2"), ("x", "y")), 1).scores == pytest.approx(1)
    assert Table.vectors.tolist() == [[3, 4], [0, 2]]
