"""Postings and numbering are the same bits whatever the number of threads."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from steelyard.retrievers.bm25 import retriever as bm25
from steelyard.retrievers.bm25.retriever import Bm25, Bm25Index
from steelyard.retrievers.threads import in_order, threads
from steelyard.text.tokenizer.spans import keys_of_strings
from steelyard.types import Corpus, Queries, TaskInfo

WORDS = [
    "running",
    "cats",
    "ran",
    "café",
    "naïve",
    "東京の猫",
    "ประภาคาร",
    "2026",
    "getCat",
    "houses",
    "house",
    "the",
    "of",
]


def indexed(workers: int, info: TaskInfo, monkeypatch: pytest.MonkeyPatch) -> tuple[Bm25Index, Queries]:
    """An index of some twenty portions, made by so many threads."""
    monkeypatch.setattr(bm25, "_PORTION", (1 << 10, 1 << 10))
    monkeypatch.setattr(bm25, "_SHARED", 0)
    monkeypatch.setattr(bm25, "threads", lambda limit=None: workers)
    rng = np.random.default_rng(11)
    texts = [" ".join(rng.choice(WORDS, rng.integers(0, 12))) + f" w{rng.integers(300)}" for _ in range(600)]
    queries = tuple(" ".join(rng.choice(WORDS, 3)) for _ in range(60))
    corpus = Corpus.of([f"d{number:03d}" for number in range(len(texts))], texts)
    return Bm25().index(corpus, info), Queries(tuple(map(str, range(60))), queries)


@pytest.mark.parametrize("info", [TaskInfo("t/e", language="en"), TaskInfo("t/c", category="code"), TaskInfo("t/x")])
def test_threads_change_nothing_in_the_index(info: TaskInfo, monkeypatch: pytest.MonkeyPatch) -> None:
    one, _ = indexed(1, info, monkeypatch)
    several, _ = indexed(3, info, monkeypatch)
    every = keys_of_strings([*WORDS, *(f"w{number}" for number in range(300))])
    assert one.vocabulary.look_up(every).tolist() == several.vocabulary.look_up(every).tolist()
    assert one.notes == several.notes
    for part in ("offsets", "rows", "weights", "peaks", "floor"):
        np.testing.assert_array_equal(getattr(one.postings, part), getattr(several.postings, part))


def test_portions_are_as_one_and_their_rows_ascend(monkeypatch: pytest.MonkeyPatch) -> None:
    info = TaskInfo("t/en", language="en")
    cut, _ = indexed(2, info, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(bm25, "text_chunks", lambda texts, _: iter([(0, len(texts))]))
        whole, _ = indexed(2, info, patch)
    every = keys_of_strings([*WORDS, *(f"w{number}" for number in range(300))])
    numbers, others = cut.vocabulary.look_up(every), whole.vocabulary.look_up(every)
    assert (numbers >= 0).sum() > 250
    np.testing.assert_array_equal(numbers < 0, others < 0)
    for number, other in zip(numbers[numbers >= 0], others[others >= 0], strict=True):
        here = slice(*cut.postings.offsets[number : number + 2])
        there = slice(*whole.postings.offsets[other : other + 2])
        assert (np.diff(cut.postings.rows[here]) > 0).all()
        np.testing.assert_array_equal(cut.postings.rows[here], whole.postings.rows[there])
        np.testing.assert_array_equal(cut.postings.weights[here], whole.postings.weights[there])


def test_wide_keys_give_what_narrow_ones_give() -> None:
    from steelyard.retrievers.bm25.postings import PostingsBuilder

    # Two rows so far apart that term and row need more than 32 bits.
    terms = np.arange(70_000, dtype=np.int32).repeat(2)
    rows = np.tile(np.array([0, 99_999], dtype=np.int32), 70_000)
    builder = PostingsBuilder(100_000)
    builder.add(terms[::-1].copy(), rows[::-1].copy())
    (portion,) = builder._portions
    np.testing.assert_array_equal(portion.rows, rows)
    np.testing.assert_array_equal(portion.sizes, np.full(70_000, 2))
    assert builder.lengths[[0, 1, 99_999]].tolist() == [70_000, 0, 70_000]


def test_results_come_in_order_and_no_more_than_a_few_wait() -> None:
    drawn: list[int] = []
    names: set[str] = set()

    def items() -> object:
        for item in range(12):
            drawn.append(item)
            yield item

    def late(item: int) -> int:
        names.add(threading.current_thread().name)
        time.sleep(0.02 if item % 3 == 0 else 0)
        return item * item

    for taken, result in enumerate(in_order(late, items(), 2)):  # type: ignore[arg-type]
        assert result == taken**2
        assert len(drawn) <= taken + 3
    assert threading.current_thread().name not in names
    assert threads() >= 1


def test_an_error_in_a_thread_is_raised_where_its_result_is_taken() -> None:
    results = in_order(lambda item: 1 // item, [1, 0, 1], 2)
    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)
