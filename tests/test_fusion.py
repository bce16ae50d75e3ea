"""Rank fusion against a plain dictionary."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.errors import UnknownName, UsageError
from steelyard.retrievers import canonical, load_retriever
from steelyard.retrievers.fusion import Fusion, fuse
from steelyard.types import Corpus, Queries, Run, TaskInfo


def run_of(lists):
    """A run whose list `q` holds these rows, best first."""
    depth = max((len(rows) for rows in lists), default=0)
    rows = [list(rows) + [-1] * (depth - len(rows)) for rows in lists]
    return Run.of(
        np.array(rows, dtype=np.int32).reshape(len(lists), depth), -np.arange(depth) * np.ones((len(lists), 1))
    )


def plain(runs, k, weights, depth, top_k):
    """Reciprocal rank fusion, the obvious way."""
    lists = []
    for query in range(len(runs[0])):
        scores: dict[int, float] = {}
        for run, weight in zip(runs, weights, strict=True):
            for rank, row in enumerate(run.rows[query, :depth], start=1):
                if row >= 0:
                    scores[int(row)] = scores.get(int(row), 0.0) + weight / (k + rank)
        ranked = sorted(scores, key=lambda row: (-np.float32(scores[row]), row))[:top_k]
        lists.append([(row, np.float32(scores[row])) for row in ranked])
    return lists


@st.composite
def cases(draw):
    queries = draw(st.integers(1, 4))
    lists = st.lists(st.integers(0, 15), unique=True, max_size=10)
    runs = [run_of([draw(lists) for _ in range(queries)]) for _ in range(draw(st.integers(1, 3)))]
    weights = draw(st.none() | st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.7]), min_size=len(runs), max_size=len(runs)))
    return runs, weights


@given(cases(), st.sampled_from([0, 1, 10, 60]), st.integers(1, 12), st.none() | st.integers(1, 12))
@settings(max_examples=200, deadline=None)
def test_it_equals_a_dictionary(case, k, depth, top_k):
    runs, weights = case
    fused = fuse(runs, k=k, weights=weights, depth=depth, top_k=top_k)
    expected = plain(runs, k, weights or [1.0] * len(runs), depth, top_k)
    found = [
        [(int(row), score) for row, score in zip(rows, scores, strict=True) if row >= 0]
        for rows, scores in zip(fused.rows, fused.scores, strict=True)
    ]
    assert found == expected
    assert np.isneginf(fused.scores[fused.rows < 0]).all()


def test_a_document_of_one_list_counts_there_and_ties_go_to_the_lower_row():
    fused = fuse([run_of([[5, 3]]), run_of([[4, 3]])], k=60)
    assert fused.rows.tolist() == [[3, 4, 5]]


def test_weights_decide():
    runs = [run_of([[1, 2]]), run_of([[2, 1]])]
    assert fuse(runs, weights=[2, 1]).rows.tolist() == [[1, 2]]
    assert fuse(runs, weights=[1, 2]).rows.tolist() == [[2, 1]]


def test_no_documents_at_all():
    fused = fuse([run_of([[], []]), run_of([[], []])])
    assert fused.rows.shape == (2, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": "-1"}, "k is -1"),
        ({"k": "sixty"}, "not a number"),
        ({"depth": "0"}, "depth is 0"),
        ({"weights": "1,-1"}, "weights"),
        ({"weights": "0,0"}, "weights"),
        ({"weights@zh": "1,2,3"}, "3 fusion weights for 2 models"),
        ({"preset": "hakary"}, "unknown fusion preset 'hakary'"),
        ({"weights": "1,2,3"}, "3 fusion weights for 2 models"),
        ({"method": "borda"}, "unknown fusion method 'borda'"),
        ({"kk": "1"}, "unknown fusion option 'kk'"),
    ],
)
def test_a_bad_option_says_so(options, message):
    with pytest.raises(UsageError, match=message):
        Fusion.of(options, lists=2)


def test_runs_of_different_queries_are_refused():
    with pytest.raises(UsageError, match="runs of 1, 2 queries"):
        fuse([run_of([[1]]), run_of([[1], [2]])])
    with pytest.raises(UsageError, match="nothing to fuse"):
        fuse([])


def test_names_are_made_whole():
    assert str(canonical("[dense, [bm25, dense]]?k=5")) == (
        "[dense:use-multilingual-v3, [bm25, dense:use-multilingual-v3]]?k=5"
    )
    with pytest.raises(UnknownName, match="unknown model family 'dens'"):
        load_retriever("dens")
    with pytest.raises(UsageError, match="a fusion needs its models"):
        load_retriever("fusion")


def test_a_fused_retriever_joins_its_parts(monkeypatch, tmp_path):
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path))
    corpus = Corpus.of(["a", "b", "c"], ["the cat sleeps", "stock markets fell", "rain in the north"])
    queries = Queries(("q",), ("a sleeping cat",))
    retriever = load_retriever("[dense, dense]?k=1")
    index = retriever.index(corpus, TaskInfo("Some/task"))
    part = retriever.parts[0].index(corpus, TaskInfo("Some/task"))
    assert index.search(queries, 2).rows.tolist() == part.search(queries, 2).rows.tolist()
    assert index.search(queries, 1).scores[0, 0] == np.float32(1.0)
    assert index.size_bytes == 2 * part.size_bytes
    assert retriever.name == "[dense:use-multilingual-v3, dense:use-multilingual-v3]?k=1"
    assert retriever.settings["fusion"]["k"] == 1.0
    assert retriever.settings["parts"][0]["encoder"] == "use-multilingual-v3"
