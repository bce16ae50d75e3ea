"""Work divided among cores: every line once, in order, whatever the number of threads."""

import sys
import threading
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest
import threadpoolctl

from steelyard.vectors import threads as threads_module
from steelyard.vectors import topk
from steelyard.vectors.topk import ExactIndex

LINES = 8 * threads_module.MIN_ITEMS


@pytest.fixture(params=[1, 2, 3, 8])
def threads(request, monkeypatch):
    """As if BLAS had so many threads."""

    @contextmanager
    def undivided():
        with threadpoolctl.threadpool_limits(1, "blas"):
            yield request.param

    monkeypatch.setattr(threads_module, "single_threaded_blas", undivided)
    return request.param


@pytest.mark.parametrize("held", [None, 1, 7, 100, LINES, 10 * LINES])
@pytest.mark.parametrize("lines", [0, 1, threads_module.MIN_ITEMS, LINES - 1, LINES])
def test_every_line_comes_once_and_in_order(threads, lines, held):
    numbers = list(range(lines))
    parts = threads_module.map_slices(lambda share: numbers[share], lines, limit=held)
    assert [number for part in parts for number in part] == numbers
    assert all(len(part) <= (held or LINES) for part in parts)


def test_no_more_lines_are_held_than_may_be(threads):
    held, most, lock = [0], [0], threading.Lock()

    def work(share):
        with lock:
            held[0] += share.stop - share.start
            most[0] = max(most[0], held[0])
        sum(range(20_000))
        with lock:
            held[0] -= share.stop - share.start

    threads_module.map_slices(work, 4 * LINES, limit=LINES)
    assert 0 < most[0] <= LINES


def test_all_threads_work_at_the_same_time(threads):
    together = threading.Barrier(threads, timeout=20)
    assert threads_module.map_slices(lambda share: together.wait() >= 0, LINES) == [True] * threads


@pytest.mark.parametrize("error", [IndexError, KeyboardInterrupt])
def test_an_error_in_any_share_is_raised_and_ends_the_work(threads, error):
    done = []

    def work(share):
        if share.start <= LINES // 2 < share.stop:
            raise error(share.start)
        done.append(share)

    with pytest.raises(error):
        threads_module.map_slices(work, LINES)
    assert len(done) == threads - 1  # the others, which were under way


def test_a_search_finds_the_same_with_any_number_of_threads(threads, monkeypatch):
    rng = np.random.default_rng(5)
    documents = rng.integers(-3, 4, (500, 8)).astype(np.float32)  # sums are exact, ties are many
    queries = rng.integers(-3, 4, (LINES, 8)).astype(np.float32)
    scores = queries @ documents.T
    wanted = np.array([np.lexsort((np.arange(len(line)), -line)) for line in scores])[:, :40]
    monkeypatch.setattr(topk, "BLOCK_DOCUMENTS", 64)
    for run in (topk.top_k(queries, documents, 40), ExactIndex(documents).search(queries, 40)[0]):
        assert (run.rows == wanted).all()
        assert (run.scores == np.take_along_axis(scores, wanted, axis=1)).all()


def blas_threads():
    return [library["num_threads"] for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"]


def test_products_are_left_whole_where_that_can_be_asked_for():
    before = blas_threads()
    with threads_module.single_threaded_blas() as threads:
        inside = blas_threads()
    assert set(inside) == {1}
    assert blas_threads() == before
    assert threads == max(before)


def test_whoever_leaves_last_sets_blas_free():
    before = blas_threads()
    first, second = threads_module.single_threaded_blas(), threads_module.single_threaded_blas()
    with ExitStack() as late:
        with first as threads:
            assert late.enter_context(second) == 1  # the cores are taken
        assert set(blas_threads()) == {1}
    assert blas_threads() == before
    assert threads == max(before)


def test_without_the_means_products_are_divided_as_blas_does(monkeypatch):
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    monkeypatch.setattr(threads_module, "_blas", threads_module._blas.__wrapped__)
    with threads_module.single_threaded_blas() as threads:
        assert threads == 1


def test_small_products_of_a_few_items_stay_on_one_thread_of_blas():
    before = blas_threads()
    assert threads_module.map_slices(lambda share: set(blas_threads()), 3, small=True) == [{1}]
    assert threads_module.map_slices(lambda share: blas_threads(), 3) == [before]
    assert blas_threads() == before


def test_a_small_search_of_a_few_queries_has_the_same_bits_with_any_number_of_threads():
    rng = np.random.default_rng(6)
    documents, queries = (rng.standard_normal((n, 96), dtype=np.float32) for n in (3000, 5))
    run = topk.top_k(queries, documents, 50)
    with threadpoolctl.threadpool_limits(1, "blas"):
        alone = topk.top_k(queries, documents, 50)
    assert (run.rows == alone.rows).all()
    assert (run.scores == alone.scores).all()


def test_queries_that_are_searched_in_several_turns_are_found_as_in_one(monkeypatch):
    rng = np.random.default_rng(7)
    documents = rng.integers(-3, 4, (300, 8)).astype(np.float32)  # sums are exact
    queries = rng.integers(-3, 4, (LINES, 8)).astype(np.float32)
    run = topk.top_k(queries, documents, 40)
    monkeypatch.setattr(topk, "BLOCK_SCORES", 300 * LINES // 3)
    turns = topk.top_k(queries, documents, 40)
    assert (run.rows == turns.rows).all()
    assert (run.scores == turns.scores).all()
