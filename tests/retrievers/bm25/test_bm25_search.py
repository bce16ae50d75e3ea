"""Block search and pruned search against a plain sum over all postings."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.retrievers.bm25 import search as postings_search
from steelyard.retrievers.bm25.forms import FORMS
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
    texts = ["badger otter"] * 40
    for row in range(matches):
        texts[3 * row] += " marmot" * (row % 3 + 1)
    index = index_of(texts, form)
    run = index.search(Queries(("q",), ("marmot unseen",)), 10)
    expected = plain_search(index, "marmot unseen")
    assert len(expected) == matches
    assert_is_the_best(run, expected, 10)


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
    for number in range(20):
        query = " ".join(random.choice(words, 1 + number % 5))
        for limit in (0, 1 << 16):
            monkeypatch.setattr(postings_search, "_SMALL", limit)
            assert_is_the_best(index.search(Queries(("q",), (query,)), top_k), plain_search(index, query), top_k)
