"""Work divided among cores: every line once, in order, whatever the number of threads."""

import sys
import threading
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest
import threadpoolctl

from steelyard.vectors import threads as threads_module
from steelyard.vectors import topk
from steelyard.vectors.exact_index import ExactIndex

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


@pytest.mark.parametrize("longest", [1, 7, 100, LINES, 10 * LINES])
@pytest.mark.parametrize("lines", [0, 1, threads_module.MIN_ITEMS, LINES - 1, LINES])
def test_every_line_comes_once_and_in_order(threads, lines, longest):
    numbers = list(range(lines))
    parts = threads_module.map_slices(lambda share: numbers[share], lines)
    assert [number for part in parts for number in part] == numbers
    with threads_module.thread_pool(8) as map_parts:
        parts = map_parts(lambda share: numbers[share], lines, longest)
        assert [number for part in parts for number in part] == numbers
        assert all(len(part) <= longest for part in parts)
        slices = map_parts(lambda share: (share.start, share.stop), lines, longest)
    assert slices == [(part.start, part.stop) for part in threads_module.even_slices(lines, longest)]


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


def blas_threads(but="nothing"):
    """Return the threads of each BLAS library; that of faiss, which another test may have loaded, is one of OpenMP."""
    libraries = [library for library in threadpoolctl.threadpool_info() if library["user_api"] == "blas"]
    return [library["num_threads"] for library in libraries if but not in library["filepath"]]


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


def test_blas_has_one_thread_in_the_parts():
    before = blas_threads()
    with threads_module.thread_pool(2) as map_parts:
        for limits in map_parts(lambda share: set(blas_threads(but="faiss")), 8, 1):
            assert limits == {1}
    assert blas_threads() == before


@pytest.mark.parametrize(
    ("queries", "documents", "dimension"),
    [(200, 10_000, 384), (103, 600, 512), (37, 40_000, 100), (1500, 3000, 64), (600, 601, 96), (5, 3000, 96)],
)
@pytest.mark.parametrize("similarity", ["dot", "cosine", "euclidean"])
def test_a_search_has_the_same_bits_with_any_number_of_threads(queries, documents, dimension, similarity):
    """The last bits of a product depend on how it is divided; with two threads that moved 5 % of the scores."""
    rng = np.random.default_rng(6)
    documents, queries = (rng.standard_normal((n, dimension), dtype=np.float32) for n in (documents, queries))
    runs = []
    for threads in (1, 2, 3, 8):
        with threadpoolctl.threadpool_limits(threads, "blas"):
            runs.append(topk.top_k(queries, documents, 50, similarity=similarity))
            if similarity == "dot":
                runs.append(ExactIndex(documents).search(queries, 50)[0])
    assert {(run.rows.tobytes(), run.scores.tobytes()) for run in runs} == {
        (runs[0].rows.tobytes(), runs[0].scores.tobytes())
    }


def test_queries_that_are_searched_in_several_turns_are_found_as_in_one(monkeypatch):
    rng = np.random.default_rng(7)
    documents = rng.integers(-3, 4, (300, 8)).astype(np.float32)  # sums are exact
    queries = rng.integers(-3, 4, (LINES, 8)).astype(np.float32)
    run = topk.top_k(queries, documents, 40)
    monkeypatch.setattr(topk, "BLOCK_SCORES", 300 * LINES // 3)
    turns = topk.top_k(queries, documents, 40)
    assert (run.rows == turns.rows).all()
    assert (run.scores == turns.scores).all()
