"""Passages of every family: documents ranked by brute force over passages made by hand, and whole documents."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import steelyard
from steelyard.encoders.backends import function, sparse_input, token_input
from steelyard.engine.batch import load_models
from steelyard.errors import UnknownName, UsageError
from steelyard.retrievers import load_retriever
from steelyard.retrievers.chunking.chunking import Chunking, passages_of
from steelyard.retrievers.chunking.passage_scorer import PassageScorer
from steelyard.retrievers.chunking.retriever import chunked
from steelyard.retrievers.dense import DenseRetriever
from steelyard.retrievers.late import LateRetriever
from steelyard.retrievers.model_names import result_name
from steelyard.retrievers.model_variants import expand_models, with_chunks
from steelyard.retrievers.pipeline import RerankedRetriever
from steelyard.retrievers.ranking import rank
from steelyard.retrievers.rerank.load import from_function as rerank_function
from steelyard.retrievers.rerank.pair_scores import PairScorer
from steelyard.retrievers.sparse import SparseRetriever
from steelyard.spec import parse
from steelyard.types import Corpus, Queries, Ragged, Run, Task, TaskInfo
from steelyard.types.protocols import Retriever, Unjudged

WORDS = [
    "river",
    "sea",
    "mountain",
    "snow",
    "lake",
    "desert",
    "city",
    "tree",
    "stone",
    "rain",
    "wind",
    "sand",
    "ice",
    "fish",
    "bird",
    "boat",
    "road",
    "salt",
    "leaf",
    "fire",
]
INFO = TaskInfo("made/up", language="en")
DRAW = np.random.default_rng(1)
TEXTS = [" ".join(DRAW.choice(WORDS, DRAW.integers(1, 40))) for _ in range(60)]
CORPUS = Corpus.of(
    [f"d{number:02}" for number in DRAW.permutation(60)], TEXTS, ["Title" if n % 3 else "" for n in range(60)]
)
QUERIES = Queries(tuple(f"q{n}" for n in range(12)), tuple(" ".join(DRAW.choice(WORDS, 3)) for _ in range(12)))


def counts(texts: Sequence[str], role: str = "document") -> np.ndarray:
    """Small whole numbers, so that sums are exact and ties are common."""
    return np.array([[text.split().count(word) for word in WORDS] for text in texts], dtype=np.float32)


def tokens(texts: Sequence[str], role: str) -> list[np.ndarray]:
    units = np.eye(len(WORDS), dtype=np.float32)
    return [units[[WORDS.index(word) for word in text.split() if word in WORDS]] for text in texts]


def models() -> dict[str, Retriever]:
    dense = function.from_function(counts, "counts", similarity="dot")
    sparse = sparse_input.from_function(lambda texts, role: counts(texts) * 1.0, name="counts")
    late = token_input.from_function(tokens, name="words")
    return {
        "bm25": load_retriever("bm25"),
        "dense": DenseRetriever("dense:counts", dense),
        "sparse": SparseRetriever("sparse:counts", sparse),
        "late": LateRetriever("late:words", late),
    }


FAMILIES = ("bm25", "dense", "sparse", "late")


def by_hand(body: str, size: int, overlap: int) -> list[str]:
    words = body.split()
    if len(words) <= size:
        return [body]
    last = len(words) - overlap - 1
    return [" ".join(words[first : first + size]) for first in range(0, last + 1, size - overlap)]


def brute_force(model: Retriever, size: int, overlap: int, best: int, first: bool = False) -> list[dict[str, float]]:
    """The score of every document that has a matching passage, from a search of all passages as documents."""
    titles = CORPUS.titles or ()
    passages = [
        (document, number, title, text)
        for document, title, body in zip(CORPUS.ids, titles, CORPUS.bodies, strict=True)
        for number, text in enumerate(by_hand(body, size, overlap)[: 1 if first else None])
    ]
    names = [f"{document}#{number:03}" for document, number, _, _ in passages]
    corpus = Corpus.of(names, [text for *_, text in passages], [title for _, _, title, _ in passages])
    run = model.index(corpus, INFO).search(QUERIES, len(corpus))
    owned = {document: sum(name.startswith(f"{document}#") for name in names) for document in CORPUS.ids}
    scored: list[dict[str, list[float]]] = [{} for _ in QUERIES.ids]
    for query, (rows, scores) in enumerate(zip(run.rows.tolist(), run.scores.tolist(), strict=True)):
        for row, score in zip(rows, scores, strict=True):
            if row >= 0:
                scored[query].setdefault(corpus.ids[row].partition("#")[0], []).append(score)
    return [
        {document: sum(sorted(own)[::-1][:best]) / min(best, owned[document]) for document, own in line.items()}
        for line in scored
    ]


def assert_documents(run: Run, expected: list[dict[str, float]], top_k: int) -> None:
    for query, scores in enumerate(expected):
        rounded = {document: np.float32(score) for document, score in scores.items()}
        ranked = sorted(rounded, key=lambda document: (rounded[document], document), reverse=True)[:top_k]
        length = run.lengths[query]
        assert [CORPUS.ids[row] for row in run.rows[query][:length]] == ranked
        np.testing.assert_allclose(run.scores[query][:length], [rounded[document] for document in ranked], rtol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("size", "overlap", "score"), [(5, 0, "max"), (7, 3, "max"), (4, 1, "mean3"), (6, 2, "first")])
def test_documents_are_ranked_as_by_brute_force(family, size, overlap, score):
    model = models()[family]
    chunking = Chunking(size, overlap, "words", score)
    expected = brute_force(model, size, overlap, chunking.best, score == "first")
    index = chunked(model, chunking, "x").index(CORPUS, INFO)
    for top_k in (1, 5, 60):
        assert_documents(index.search(QUERIES, top_k), expected, top_k)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("unit", ["words", "sentences", "sections"])
def test_a_passage_longer_than_every_document_changes_nothing(family, unit):
    model = models()[family]
    whole = model.index(CORPUS, INFO).search(QUERIES, 20)
    run = chunked(model, Chunking(1000, 10, unit), "x").index(CORPUS, INFO).search(QUERIES, 20)
    np.testing.assert_array_equal(run.rows, whole.rows)
    np.testing.assert_array_equal(run.scores, whole.scores)


@pytest.mark.parametrize("family", FAMILIES)
def test_candidates_of_a_reranking_task_are_ranked_by_their_passages(family):
    lists = Ragged(np.arange(0, 12 * 20 + 1, 20), np.tile(np.arange(0, 60, 3, dtype=np.int32), 12))
    model = chunked(models()[family], Chunking(5, 1, "words"), "x")
    index = model.index(CORPUS, INFO)
    everything = index.search(QUERIES, 60)
    run = rank(index, QUERIES, lists, 60)
    assert (np.sort(run.rows, axis=1) == np.arange(0, 60, 3)).all()
    for query in range(12):
        wanted = [row for row in everything.rows[query] if row >= 0 and row % 3 == 0]
        assert run.rows[query][: len(wanted)].tolist() == wanted


def shared_words(query: str, texts: list[str]) -> list[float]:
    return [sum(text.split().count(word) for word in query.split()) - len(text) / 100 for text in texts]


@pytest.mark.parametrize(("score", "best"), [("max", 1), ("mean2", 2)])
def test_a_reranker_scores_passages(score, best):
    shared = rerank_function(shared_words, "shared")
    first, scorer = load_retriever("bm25"), PassageScorer(PairScorer(shared), Chunking(5, 2, "words", score))
    model = RerankedRetriever("bm25 > rerank:shared", first, scorer, depth=10)
    assert model.settings["reranker"]["chunking"]["chunk"] == 5
    task = Unjudged(INFO, CORPUS, QUERIES)
    runs = [first.index(CORPUS, INFO).search(QUERIES, 10)]
    run = model.combine(task, runs, 10).run
    for query, text in enumerate(QUERIES.texts):
        scores = {}
        for row in runs[0].rows[query][: runs[0].lengths[query]].tolist():
            titles, passages = CORPUS.titles or (), by_hand(CORPUS.bodies[row], 5, 2)
            values = shared.rerank([text], [[f"{titles[row]} {passage}".strip() for passage in passages]])[0]
            scores[row] = np.float32(np.sort(values)[::-1][:best].astype(np.float64).mean())
        wanted = sorted(scores, key=lambda row: (-scores[row], row))
        assert run.rows[query][: len(wanted)].tolist() == wanted


def test_a_reranker_with_long_passages_is_the_reranker():
    shared = rerank_function(lambda query, texts: [len({*query.split()} & {*text.split()}) for text in texts], "shared")
    task, rows = Unjudged(INFO, CORPUS, QUERIES), np.array([[3, 1, -1]] * 12, dtype=np.int32)
    whole = PairScorer(shared).score(task, rows).scores
    np.testing.assert_array_equal(PassageScorer(PairScorer(shared), Chunking(999)).score(task, rows).scores, whole)


def test_every_word_is_in_a_passage_and_titles_are_kept():
    passages = passages_of(CORPUS, Chunking(6, 2, "words"), None)
    for row, body in enumerate(CORPUS.bodies):
        own = passages.corpus.bodies[passages.offsets[row] : passages.offsets[row + 1]]
        assert list(own) == by_hand(body, 6, 2)
    assert list(passages.corpus.ids) == sorted(passages.corpus.ids, reverse=True)
    assert passages.corpus.titles == tuple((CORPUS.titles or ())[row] for row in passages.owners)


def test_sections_and_sentences():
    body = "# Leave\nTake it. Ask first!\n\n## Sick\nCall us. Rest.\n"
    corpus = Corpus.of(["a"], [body])
    assert passages_of(corpus, Chunking(1, unit="sections"), None).corpus.bodies == (
        "# Leave\nTake it. Ask first!",
        "## Sick\nCall us. Rest.",
    )
    assert len(passages_of(corpus, Chunking(2, 1, unit="sentences"), None).corpus) == 3


def test_an_empty_document_keeps_its_place():
    corpus = Corpus.of(["a", "b"], ["", "one two three"])
    passages = passages_of(corpus, Chunking(1, unit="words"), None)
    assert passages.counts.tolist() == [3, 1]


@pytest.mark.parametrize(
    ("options", "error", "option"),
    [
        ("chunk=0", UsageError, "chunk"),
        ("chunk=many", UsageError, "chunk"),
        ("overlap=3", UsageError, "overlap"),
        ("chunk=8&overlap=8", UsageError, "overlap"),
        ("chunk=8&chunk_score=median", UnknownName, "chunk_score"),
        ("chunk=8&chunk_by=pages", UnknownName, "chunk_by"),
        ("chunk=8&chunk_by=tokens", UsageError, "chunk_by"),  # BM25 does not have tokens of a model
    ],
)
def test_wrong_options(options, error, option):
    with pytest.raises(error) as raised:
        load_retriever(f"bm25?{options}")
    assert raised.value.option == option


def test_models_that_do_not_read_documents_are_refused(tmp_path):
    np.savez(tmp_path / "documents.npz", ids=["a"], vectors=np.ones((1, 2), np.float32))
    np.savez(tmp_path / "queries.npz", ids=["q"], vectors=np.ones((1, 2), np.float32))
    for name in ("candidates:bm25?chunk=8", f"dense:{tmp_path}?chunk=8"):
        with pytest.raises(UsageError) as raised:
            load_retriever(name)
        assert raised.value.option == "chunk"


def test_names():
    assert result_name(parse("[bm25, dense:X]?chunk=064&overlap=0&k=10")) == "[bm25?chunk=64, dense:X?chunk=64]?k=10"
    assert result_name(parse("bm25?chunk=none&overlap=4")) == "bm25"
    names = [str(model) for model in expand_models(["[bm25, dense:X]?chunk=64,none"])]
    assert names == ["[bm25?chunk=64, dense:X?chunk=64]", "[bm25, dense:X]"]
    assert [str(model) for model in with_chunks(["candidates > rerank:X"], "32")] == ["candidates > rerank:X?chunk=32"]
    (model,) = load_models(["bm25?chunk=8&overlap=2"])
    assert model.settings["model_settings"]["chunking"] == {"chunk": 8, "overlap": 2, "by": "words", "score": "max"}


def test_sweep_in_python():
    judged = {query: {CORPUS.ids[number]: 1} for number, query in enumerate(QUERIES.ids)}
    bodies = dict(zip(CORPUS.ids, CORPUS.bodies, strict=True))
    task = Task.of("Mine/x", bodies, dict(zip(QUERIES.ids, QUERIES.texts, strict=True)), judged, language="en")
    results = steelyard.evaluate(["bm25", models()["dense"]], task, chunk=[5, None], overlap=1)
    assert list(results.models) == ["bm25?chunk=5&overlap=1", "bm25", "dense:counts?chunk=5&overlap=1", "dense:counts"]
    notes = next(iter(results.filter(model="bm25?chunk=5&overlap=1"))).notes["passages"]
    assert notes["count"] == sum(len(by_hand(body, 5, 1)) for body in CORPUS.bodies)
    assert next(iter(results.filter(model="dense:counts?chunk=5&overlap=1"))).notes["vectors_per_document"] == (
        pytest.approx(notes["count"] / 60)
    )
