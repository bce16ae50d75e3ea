"""Block search and pruned search against a plain sum over all postings."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.retrievers.bm25 import search as postings_search
from steelyard.retrievers.bm25.forms import FORMS
from steelyard.retrievers.bm25.postings import PostingsBuilder
from steelyard.retrievers.bm25.retriever import Bm25, Bm25Index
from steelyard.types import Corpus, Queries, Run, TaskInfo

ENGLISH = TaskInfo("x/y", language="und")
FORM_NAMES = tuple(FORMS)


def index_of(texts: list[str], form: str = "lucene") -> Bm25Index:
    corpus = Corpus.of([f"d{len(texts) - row:07d}" for row in range(len(texts))], texts)  # row 0 is the first text
    return Bm25(form=form, delta=FORMS[form].delta).index(corpus, ENGLISH)


def plain_search(index: Bm25Index, query: str) -> dict[int, np.float32]:
    """Return the score of every document that shares a term with the query."""
    postings, terms = index.postings, index._terms([query])
    sums: dict[int, float] = {}
    for term, count in zip(terms.terms.tolist(), terms.counts.tolist(), strict=True):
        place = slice(int(postings.offsets[term]), int(postings.offsets[term + 1]))
        for row, weight in zip(postings.rows[place].tolist(), postings.weights[place].tolist(), strict=True):
            sums[row] = sums.get(row, 0.0) + count * weight
    floor = float(terms.counts @ postings.floor[terms.terms])
    return {row: np.float32(value + floor) for row, value in sums.items()}


def assert_is_the_best(run: Run, expected: dict[int, np.float32], top_k: int) -> None:
    ranked = sorted(((-score, row) for row, score in expected.items() if score > 0))[:top_k]
    rows = [int(row) for row in run.rows[0] if row >= 0]
    assert rows == [row for _, row in ranked]
    np.testing.assert_array_equal(run.scores[0, : len(rows)], [-score for score, _ in ranked])
    assert np.isneginf(run.scores[0, len(rows) :]).all()


@pytest.mark.parametrize("form", FORM_NAMES)
@pytest.mark.parametrize("matches", [0, 1, 5, 9, 10, 11])
@pytest.mark.parametrize("limit", [0, 1 << 16], ids=["pruned", "blocks"])
def test_fewer_matches_than_the_list_is_long(
    form: str, matches: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With fewer than k matches the threshold is 0, and no document without a common term may fill the list."""
    monkeypatch.setattr(postings_search, "_SMALL", limit)
    monkeypatch.setattr(postings_search, "_RARE", 0)
    texts = ["badger otter"] * 40
    for row in range(matches):
        texts[3 * row] += " marmot" * (row % 3 + 1)
    index = index_of(texts, form)
    run = index.search(Queries(("q",), ("marmot unseen",)), 10)
    expected = plain_search(index, "marmot unseen")
    assert len(expected) == matches
    assert_is_the_best(run, expected, 10)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORM_NAMES)
def test_a_corpus_beyond_the_limit_of_blocks(form: str) -> None:
    """65,537 documents are searched with pruning; few of them match, with one rare and one frequent term."""
    random = np.random.default_rng(4)
    texts = ["otter"] * ((1 << 16) + 1)
    for row in random.choice(len(texts), 60, replace=False).tolist():
        texts[row] = " ".join(["marmot"] * int(random.integers(1, 4)) + ["badger"] * int(random.integers(0, 3)))
    texts[-1] = "marmot badger"
    index = index_of(texts, form)
    for query in ("marmot", "badger marmot marmot", "unseen", "marmot badger weasel"):
        for top_k in (5, 59, 60, 61, 1000):
            run = index.search(Queries(("q",), (query,)), top_k)
            assert_is_the_best(run, plain_search(index, query), top_k)
    run = index.search(Queries(("q",), ("otter marmot",)), 100)
    assert_is_the_best(run, plain_search(index, "otter marmot"), 100)


@pytest.mark.parametrize("form", FORM_NAMES)
@pytest.mark.parametrize("top_k", [1, 7, 300])
def test_pruned_and_block_search_are_exact(form: str, top_k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(9)
    words = [f"w{number}" for number in range(40)]
    chances = 1 / np.arange(1, 41)
    texts = [" ".join(random.choice(words, 8, p=chances / chances.sum())) for _ in range(250)]
    index = index_of(texts, form)
    monkeypatch.setattr(postings_search, "_RARE", 0)
    for number in range(20):
        query = " ".join(random.choice(words, 1 + number % 5))
        for limit in (0, 1 << 16):
            monkeypatch.setattr(postings_search, "_SMALL", limit)
            assert_is_the_best(index.search(Queries(("q",), (query,)), top_k), plain_search(index, query), top_k)


def test_rare_and_frequent_queries_of_a_large_corpus_keep_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    texts = [f"otter w{number}" + " badger" * int(random.integers(0, 3)) for number in range(300)]
    index = index_of(texts, "lucene")
    asked = ("w7", "otter badger", "w8 w9", "unseen", "", "badger w3", "w4")
    queries = Queries(tuple(map(str, range(len(asked)))), asked)
    whole = index.search(queries, 20)
    pruned: list[int] = []
    best = postings_search.PrunedSearch.best
    monkeypatch.setattr(
        postings_search.PrunedSearch, "best", lambda self, *given: (pruned.append(len(given[0])), best(self, *given))[1]
    )
    monkeypatch.setattr(postings_search, "_SMALL", 299)
    mixed = index.search(queries, 20)
    assert pruned == [1, 2, 0, 0, 1]
    np.testing.assert_array_equal(mixed.rows, whole.rows)
    np.testing.assert_array_equal(mixed.scores, whole.scores)


@pytest.mark.parametrize("top_k", [0, 1, 7, 100, 600, 1300])
def test_block_search_selects_by_score_then_row(top_k: int) -> None:
    """Few distinct scores, so that ties are at the end of every list; as many lines with fewer matches than places."""
    rng = np.random.default_rng(top_k)
    scores = rng.integers(0, 4, (9, 1300)).astype(np.float32) * (rng.random((9, 1)) < 0.7)
    scores[8] = rng.random(1300) < 0.003
    keys = np.sort(postings_search._best_keys(scores, top_k), axis=1)
    rows, best = postings_search._unpack(keys[:, keys.shape[1] - top_k :])
    for line, row, values in zip(scores, rows[:, ::-1], best[:, ::-1], strict=True):
        expected = [place for place in np.lexsort((np.arange(len(line)), -line)) if line[place] > 0][:top_k]
        assert row[values > 0].tolist() == expected
        assert values[values > 0].tolist() == line[expected].tolist()


def test_portions_keep_wide_values() -> None:
    """Rows beyond 16 bits and counts beyond 8 and 16 bits, in one portion and in several."""
    documents, terms = 70_000, np.array([3, 0, 3, 5], dtype=np.int32)
    rows, counts = np.array([0, 65_536, 69_999, 69_998], dtype=np.int32), np.array([1, 300, 70_000, 2])
    every_term, every_row = np.repeat(terms, counts), np.repeat(rows, counts)
    whole, parts = PostingsBuilder(documents), PostingsBuilder(documents)
    whole.add(every_term, every_row)
    for row in sorted(set(rows.tolist())):
        parts.add(every_term[every_row == row], every_row[every_row == row])
    for builder in (whole, parts):
        lengths = builder.lengths.copy()
        postings = builder.finish(6, FORMS["lucene"], 1.2, 0.75, 0.0)
        assert postings.rows.tolist() == [65_536, 0, 69_999, 69_998]
        assert lengths[rows].tolist() == counts.tolist()
        norms = (1 - 0.75 + 0.75 * lengths / (lengths.sum() / documents)).astype(np.float32)
        counts_of = np.array([300, 1, 70_000, 2], dtype=np.float32)
        idf = np.log1p((documents - np.array([1, 2, 2, 1]) + 0.5) / (np.array([1, 2, 2, 1]) + 0.5))
        expected = idf * counts_of / (1.2 * norms[postings.rows] + counts_of)
        np.testing.assert_allclose(postings.weights, expected, rtol=1e-6)


def test_a_term_number_that_does_not_fit_next_to_the_row_keeps_its_value() -> None:
    """With rows of 17 bits, the number 1 << 15 is the first that does not fit into 32 bits."""
    terms, rows = np.array([0, 1 << 15, 1 << 15], dtype=np.int32), np.array([0, 1, 65_535], dtype=np.int32)
    builder = PostingsBuilder(65_536)
    builder.add(terms, rows)
    frequencies = builder.frequencies((1 << 15) + 1)
    assert (frequencies[0], frequencies[1 << 15], frequencies.sum()) == (1, 2, 3)


@pytest.mark.parametrize("cells", [1, 250, 750, 1 << 18])
def test_blocks_of_any_number_of_queries_find_the_same(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(6)
    words = [f"w{number}" for number in range(30)]
    index = index_of([" ".join(random.choice(words, 6)) for _ in range(250)])
    texts = tuple(" ".join(random.choice(words, number % 4)) for number in range(11))
    monkeypatch.setattr(postings_search, "_CELLS", cells)
    run = index.search(Queries(tuple(map(str, range(11))), texts), 20)
    for number, text in enumerate(texts):
        assert_is_the_best(Run(run.rows[number, None], run.scores[number, None]), plain_search(index, text), 20)
