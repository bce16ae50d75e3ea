"""Indexes that are larger than memory give the rows and scores of those in memory, bit by bit."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from encoder_parts import Letters

from steelyard import load_retriever
from steelyard.config import Settings
from steelyard.errors import DataError
from steelyard.retrievers.bm25.retriever import Bm25, Bm25Index
from steelyard.retrievers.bm25.sharded import ShardedPostings
from steelyard.retrievers.dense import DenseRetriever, SharedVectors
from steelyard.types import Corpus, Float32, Queries, Run, TaskInfo
from steelyard.vectors.mapped import BLOCK_ROWS, ShardedMatrix, allocator, in_blocks, is_mapped, release
from steelyard.vectors.maxsim import MaxSim, TokenVectors
from steelyard.vectors.similarity import SIMILARITIES, similarity
from steelyard.vectors.topk import Matrix, normalised, search

INFO = TaskInfo("Mine/large", language="en")


def same(one: Run, other: Run) -> bool:
    return one.rows.tobytes() == other.rows.tobytes() and one.scores.tobytes() == other.scores.tobytes()


@pytest.fixture(scope="module")
def vectors() -> Float32:
    """More than two blocks, with equal rows far apart."""
    matrix = np.random.default_rng(3).standard_normal((2 * BLOCK_ROWS + 777, 24)).astype(np.float32)
    matrix[[BLOCK_ROWS + 5, 2 * BLOCK_ROWS + 9]] = matrix[7]
    matrix[2 * BLOCK_ROWS + 700] = matrix[BLOCK_ROWS + 1]
    return matrix


@pytest.mark.parametrize("name", SIMILARITIES)
@pytest.mark.parametrize("sizes", [(1.0,), (0.3, 0.4, 0.3), (0.01, 0.0, 0.99)], ids=["one", "three", "uneven"])
def test_sharded_search_equals_search_in_memory(
    vectors: Float32, sizes: tuple[float, ...], name: str, tmp_path: Path
) -> None:
    matrix = vectors[:20_000] if name == "manhattan" else vectors  # no matrix product: slow
    edges = np.cumsum([0, *(round(size * len(matrix)) for size in sizes)])
    edges[-1] = len(matrix)
    paths = []
    for number, (start, stop) in enumerate(pairwise(edges)):
        np.save(tmp_path / f"{number}.npy", matrix[start:stop])
        paths.append(tmp_path / f"{number}.npy")
    queries = matrix[[7, 8, BLOCK_ROWS + 1, 3]] + np.float32(0.01)
    found = search(queries, ShardedMatrix.open(paths), 50, similarity(name))
    assert same(found, search(queries, Matrix(matrix), 50, similarity(name)))


def test_shards_of_another_width_are_an_error(tmp_path: Path) -> None:
    for number in (2, 3):
        np.save(tmp_path / f"{number}.npy", np.zeros((1, number), dtype=np.float32))
    with pytest.raises(DataError) as caught:
        ShardedMatrix.open([tmp_path / "2.npy", tmp_path / "3.npy"])
    assert caught.value.path == str(tmp_path / "3.npy")


def test_mapped_matrix_keeps_its_content_when_memory_is_released(vectors: Float32, tmp_path: Path) -> None:
    allocate = allocator(tmp_path, limit=1000)
    matrix = allocate(vectors.shape)
    matrix[:] = vectors
    assert is_mapped(matrix) and is_mapped(matrix[3:5]) and not is_mapped(allocate((2, 2)))
    release(matrix[100:30_000])
    assert (matrix == vectors).all()
    assert in_blocks(normalised, matrix).tobytes() == normalised(vectors).tobytes()
    assert not list(tmp_path.iterdir())  # the file has no name


def corpus_and_queries(documents: int) -> tuple[Corpus, Queries]:
    generator = np.random.default_rng(5)
    words = np.array([f"w{number:x}" for number in range(400)])
    drawn = generator.zipf(1.3, (documents, 12)) % len(words)
    texts = [" ".join(words[row]) for row in drawn]
    texts[5] = ""
    texts[17] = texts[3]
    queries = tuple(" ".join(words[row[:4]]) for row in drawn[:20])
    return Corpus.of([f"d{row:05}" for row in range(documents)], texts), Queries(tuple(map(str, range(20))), queries)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["lucene", "robertson", "atire", "bm25l", "bm25+"])
@pytest.mark.parametrize("portion", [1 << 12, 1 << 15])
def test_bm25_over_shards_equals_bm25_in_memory(
    form: str, portion: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.retrievers.bm25.retriever._PORTION", (portion, portion))
    corpus, queries = corpus_and_queries(3000)
    delta = 0.5 if form in ("bm25l", "bm25+") else 0.0
    whole = Bm25(form=form, delta=delta).index(corpus, INFO)
    sharded = Bm25(form=form, delta=delta, memory=(tmp_path, 100_000)).index(corpus, INFO)
    assert isinstance(sharded.postings, ShardedPostings) and len(sharded.postings.shards) > 2
    assert sharded.notes == {**whole.notes, "shards": len(sharded.postings.shards)}
    for depth in (1, 100, 5000):
        assert same(sharded.search(queries, depth), whole.search(queries, depth))
    assert not list(tmp_path.iterdir())  # the files have no names


def test_bm25_of_the_settings_is_sharded_for_a_large_corpus(tmp_path: Path) -> None:
    corpus, _ = corpus_and_queries(500)
    index = load_retriever("bm25", Settings.load(home=tmp_path, memory_bytes=1000)).index(corpus, INFO)
    assert isinstance(index, Bm25Index) and isinstance(index.postings, ShardedPostings)


@pytest.mark.parametrize("cosine", [True, False])
def test_dense_search_of_a_mapped_corpus_equals_that_in_memory(cosine: bool, tmp_path: Path) -> None:
    corpus, queries = corpus_and_queries(2500)

    def run(memory_bytes: int) -> Run:
        encoder = Letters()
        encoder.similarity = "cosine" if cosine else "dot"
        shared = SharedVectors(encoder, None, Settings.load(home=tmp_path, memory_bytes=memory_bytes))
        index = DenseRetriever("dense:letters", encoder, shared=shared).index(corpus, INFO)
        assert is_mapped(index.matrix) == (memory_bytes < 10_000)
        return index.search(queries, 100)

    assert same(run(1000), run(10**9))


def test_maxsim_of_a_mapped_corpus_equals_that_in_memory(tmp_path: Path) -> None:
    generator = np.random.default_rng(7)
    texts = [generator.standard_normal((count, 16)).astype(np.float32) for count in generator.integers(0, 60, 400)]
    texts[50] = texts[300] = texts[7]  # equal documents
    texts.append(generator.standard_normal((9000, 16)).astype(np.float32))  # longer than a block
    documents = TokenVectors.of(texts)
    queries = TokenVectors.of([text[:9] + np.float32(0.01) for text in texts[:30]])
    parts = [documents.take(range(start, min(start + 64, len(texts)))) for start in range(0, len(texts), 64)]
    mapped = TokenVectors.in_file(parts, tmp_path)
    assert is_mapped(mapped.matrix) and (mapped.matrix == documents.matrix).all()
    for name in ("maxsim", "meanmaxsim"):
        expected = MaxSim(documents.take(range(len(documents)))).search(queries, 200, similarity=name)
        found = MaxSim(mapped).search(queries, 200, similarity=name)
        assert (found.rows == expected.rows).all()
        np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-5)  # blocks begin elsewhere
