"""Rank fusion against a plain dictionary."""

import statistics
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.errors import ModelError, UnknownName, UsageError
from steelyard.retrievers import canonical, composite, load_retriever
from steelyard.retrievers.fusion import adaptive
from steelyard.retrievers.fusion import join as fusion_join
from steelyard.retrievers.fusion.retriever import Fusion, fuse
from steelyard.types import Corpus, Queries, Run, TaskInfo
from steelyard.types.protocols import Unjudged


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
@settings(max_examples=200)
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


def scaled(method, scores):
    """The gains of one list, the obvious way; statistics of the standard library."""
    low, high = min(scores), max(scores)
    if low == high:
        return [{"minmax": 1.0, "combmnz": 1.0, "zscore": 0.0, "dbsf": 0.5, "adaptive": 1.0}[method]] * len(scores)
    if method in ("minmax", "combmnz"):
        return [(score - low) / (high - low) for score in scores]
    mean = statistics.fmean(scores)
    if method in ("zscore", "adaptive"):
        return [(method == "adaptive") + (score - mean) / statistics.pstdev(scores, mean) for score in scores]
    spread = statistics.stdev(scores, mean)
    return [(score - (mean - 3 * spread)) / (6 * spread) for score in scores]


def plain_by_score(runs, method, weights, depth):
    """Fusion of scores by dictionary; the lists as {row: score}."""
    fused = []
    for query in range(len(runs[0])):
        totals: dict[int, float] = {}
        held: Counter[int] = Counter()
        for run, weight in zip(runs, weights, strict=True):
            rows = [int(row) for row in run.rows[query, :depth] if row >= 0]
            gains = scaled(method, [float(score) for score in run.scores[query, : len(rows)]]) if rows else []
            for row, gain in zip(rows, gains, strict=True):
                totals[row] = totals.get(row, 0.0) + weight * gain
                held[row] += 1
        fused.append({row: total * (held[row] if method == "combmnz" else 1) for row, total in totals.items()})
    return fused


@st.composite
def scored_cases(draw):
    queries = draw(st.integers(1, 4))
    runs = []
    for _ in range(draw(st.integers(1, 3))):
        lists = [draw(st.lists(st.integers(0, 12), unique=True, max_size=8)) for _ in range(queries)]
        depth = max(map(len, lists))
        rows = np.array([rows + [-1] * (depth - len(rows)) for rows in lists], dtype=np.int32).reshape(queries, depth)
        few = st.sampled_from([-3.5, -1.0, 0.0, 0.25, 1.0, 2.0, 7.5, 20.0])
        scores = [draw(st.lists(few, min_size=depth, max_size=depth)) for _ in range(queries)]
        runs.append(Run.of(rows, np.array(scores, dtype=np.float32).reshape(queries, depth)))
    return runs, draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=len(runs), max_size=len(runs)))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["minmax", "zscore", "combmnz", "dbsf", "adaptive"])
@given(scored_cases(), st.integers(1, 9))
@settings(max_examples=100)
def test_sums_of_scores_equal_a_dictionary(method, case, depth):
    runs, weights = case
    fused = fuse(runs, method=method, weights=weights, depth=depth)
    expected = plain_by_score(runs, method, weights, depth)
    for rows, scores, wanted in zip(fused.rows, fused.scores, expected, strict=True):
        found = {int(row): score for row, score in zip(rows, scores, strict=True) if row >= 0}
        assert found == {row: pytest.approx(total, abs=1e-5) for row, total in wanted.items()}
    again = Run.of(fused.rows, fused.scores)
    assert (again.rows == fused.rows).all(), "best first, ties by the lower row, also below zero"
    assert np.isneginf(fused.scores[fused.rows < 0]).all()


SCORED = (
    Run.of([[0, 4, 2, 7], [3, 0, -1, -1], [5, -1, -1, -1]], [[9, 4, 3.5, -2], [2, 0.5, 0, 0], [3, 0, 0, 0]]),
    Run.of([[7, 0, 1], [8, 0, 3], [0, 5, -1]], [[0.9, 0.4, 0.1], [0.7, 0.7, 0.7], [0.2, -0.3, 0]]),
    Run.of([[4, -1], [-1, -1], [0, 2]], [[5, 0], [0, 0], [8, 6]]),
)
"""Lists of four, three, two, one and no documents, among them row 0, and one list of equal scores."""


@pytest.mark.parametrize("method", ["minmax", "zscore", "combmnz", "dbsf", "adaptive"])
def test_lists_of_every_length_equal_a_dictionary(method):
    fused = fuse(SCORED, method=method, weights=[1.0, 0.5, 3.0])
    expected = plain_by_score(SCORED, method, [1.0, 0.5, 3.0], 9)
    for rows, scores, wanted in zip(fused.rows, fused.scores, expected, strict=True):
        found = {int(row): score for row, score in zip(rows, scores, strict=True) if row >= 0}
        assert found == {row: pytest.approx(total, abs=1e-5) for row, total in wanted.items()}


@pytest.mark.parametrize("method", ["rrf", "minmax", "zscore", "combmnz", "dbsf", "adaptive"])
def test_blocks_threads_and_wide_corpora_change_nothing(monkeypatch, method):
    draw = np.random.default_rng(0)
    narrow = [
        Run.of(np.stack([draw.choice(100, 20, replace=False) for _ in range(50)]), draw.random((50, 20)))
        for _ in range(3)
    ]
    rows = np.sort(draw.choice(2**31 - 2, 100, replace=True))
    wide = [Run(rows[run.rows].astype(np.int32), run.scores) for run in narrow]
    whole, far = fuse(narrow, method=method), fuse(wide, method=method)
    assert (np.where(whole.rows < 0, -1, rows[whole.rows]) == far.rows).all() and (whole.scores == far.scores).all()
    monkeypatch.setattr(fusion_join, "BLOCK", 420)
    monkeypatch.setattr(fusion_join, "ALONE", 600)
    monkeypatch.setattr(fusion_join, "threads", lambda: 3)
    for runs, before in ((narrow, whole), (wide, far)):
        parts = fuse(runs, method=method)
        assert (before.rows == parts.rows).all() and (before.scores == parts.scores).all()
    assert fuse(narrow, method=method, top_k=7).rows.tolist() == whole.rows[:, :7].tolist()


def test_no_queries_and_lists_of_another_length():
    assert fuse([run_of([]), run_of([])]).rows.shape == (0, 0)
    fused = fuse([run_of([[1, 2, 3], [4]]), run_of([[], []])], method="zscore", top_k=2)
    assert fused.rows.tolist() == [[1, 2], [4, -1]]


def test_a_list_of_weight_0_is_not_read():
    runs = [run_of([[5, 3]]), run_of([[4, 3]])]
    assert fuse(runs, weights=[0, 1]).rows.tolist() == [[4, 3]]


def task_of(language, texts, languages=()):
    queries = Queries(tuple(map(str, range(len(texts)))), tuple(texts))
    info = TaskInfo("Some/task", language=language, languages=languages)
    return Unjudged(info, Corpus.of(["a", "b", "c"], ["x", "y", "z"]), queries)


def test_weights_follow_the_language():
    fusion = Fusion.of({"weights": "1,1", "weights@zh": "0,1", "weights@de": "3,1"}, lists=2)
    weights, told = fusion.weights_for(task_of("zh-Hans", ["什么", "1"]), 2)
    assert weights.tolist() == [[0, 1], [0, 1]] and told == {}, "the task says its language"
    assert fusion.weights_for(task_of("en", ["什么"]), 2)[0].tolist() == [[1, 1]]
    mixed = task_of(
        "multilingual", ["Wo entspringt der Fluss?", "这条河", "Where does the river rise?"], ("de", "zh", "en")
    )
    weights, told = fusion.weights_for(mixed, 2)
    assert weights.tolist() == [[3, 1], [0, 1], [1, 1]], "each query says its own"
    assert told == {"queries_by_weights": {"de": 1, "zh": 1, "others": 1}}
    whole = Fusion.of({"weights@multilingual": "0.2,1"}, lists=2)
    assert whole.weights_for(mixed, 2)[0].tolist() == [[0.2, 1]] * 3
    assert fusion.settings["weights_by_language"] == {"de": [3, 1], "zh": [0, 1]}


def test_presets():
    assert Fusion.of({"preset": "hakari"}, lists=2).k == 100
    assert Fusion.of({"preset": "hakari", "k": "7"}, lists=2).k == 7


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
    ("options", "option"),
    [
        ({"k": "-1"}, "k"),
        ({"k": "sixty"}, "k"),
        ({"depth": "0"}, "depth"),
        ({"weights": "1,-1"}, "weights"),
        ({"weights": "0,0"}, "weights"),
        ({"weights@zh": "1,2,3"}, "weights"),
        ({"preset": "hakary"}, "preset"),
        ({"weights": "1,2,3"}, "weights"),
        ({"method": "borda"}, "method"),
        ({"kk": "1"}, "kk"),
        ({"method": "minmax", "k": "10"}, "k"),
        ({"k": "1e308"}, "k"),
        ({"k": "nan"}, "k"),
        ({"weights": ""}, "weights"),
        ({"depth": "1.5"}, "depth"),
        ({"weights": "nan,1"}, "weights"),
        ({"weights": "1e308,1"}, "weights"),
        ({"weights@": "1,2"}, "weights@"),
        ({"weights@jp": "1,2"}, "weights@jp"),
        ({"weights@zh": "1,2", "weights@zho": "2,1"}, "weights"),
    ],
)
def test_invalid_options_are_named(options, option):
    with pytest.raises(UsageError) as caught:
        Fusion.of(options, lists=2)
    assert caught.value.option == option


@pytest.mark.parametrize("method", ["minmax", "zscore", "combmnz", "dbsf", "adaptive"])
@pytest.mark.parametrize("endless", [np.inf, -np.inf])
def test_an_infinite_score_has_no_place_on_a_scale(method, endless):
    """It made the others of its list NaN, and they were dropped without a word."""
    odd = Run.of([[0, 1, 2]], [[3, 2, endless]])
    with pytest.raises(ModelError, match=rf"list 2 .*{method}.*{endless} for query 0"):
        fuse([run_of([[1, 2]]), odd], method=method)
    assert fuse([run_of([[1, 2]]), odd]).lengths.tolist() == [3]
    if endless < 0:  # below the depth it is not read
        assert fuse([run_of([[1, 2]]), odd], method=method, depth=2).lengths.tolist() == [3]


def test_runs_of_different_queries_are_refused():
    with pytest.raises(UsageError):
        fuse([run_of([[1]]), run_of([[1], [2]])])
    with pytest.raises(UsageError):
        fuse([])


def test_names_are_made_whole():
    assert str(canonical("[dense, [bm25, dense]]?k=5")) == (
        "[dense:use-multilingual-v3, [bm25, dense:use-multilingual-v3]]?k=5"
    )
    with pytest.raises(UnknownName, match="'dens'"):
        load_retriever("dens")
    with pytest.raises(UsageError):
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


class Named:
    """A part that is known by its name alone."""

    def __init__(self, name):
        self.name = name
        self.settings = {"name": name}


WORDS, MEANINGS = Named("bm25"), Named("dense:use-multilingual-v3")
ANIMALS = Unjudged(
    TaskInfo("Some/animals", language="en", languages=("en",)),
    Corpus.of(["c", "b", "a"], ["the red fox sleeps", "stock markets fell sharply", "rain in the north"]),
    Queries(("q1", "q2"), ("red fox sleeping", "weather over mountains")),
)


def test_the_times_of_parts_and_of_combining_are_kept_apart(monkeypatch):
    now = iter([10.0, 11.5, 14.0, 18.0])
    monkeypatch.setattr(composite.time, "perf_counter", lambda: next(now))
    corpus = Corpus.of(["a", "b", "c"], ["red apple", "green pear", "red pear"])
    index = load_retriever("[bm25, bm25?k1=0.9]?k=60").index(corpus, TaskInfo("X/y"))
    index.search(Queries(("q",), ("red",)), 2)
    assert index.notes["part_seconds"] == [1.5, 2.5]
    assert index.notes["combine_seconds"] == 4.0


def test_adaptive_weights_follow_the_terms_that_the_best_document_shares():
    words = Run.of([[0, 2], [2, -1]], [[9.0, 1.0], [1.0, 0.0]])
    meanings = Run.of([[0, 1, 2], [2, 1, 0]], [[0.9, 0.2, 0.1], [0.8, 0.3, 0.2]])
    found = adaptive.trust(ANIMALS, [words, meanings], [WORDS, MEANINGS])
    assert found.weights[0, 0] == 1.0, "all three terms of the query are in the document"
    assert found.weights[1, 0] == 0.0, "no term is"
    assert found.notes["queries_in_undeclared_languages"] == 0
    assert set(found.notes["mean_weights"]) == {"bm25", "dense:use-multilingual-v3"}


def test_adaptive_weights_need_lists_of_words_and_of_meanings():
    run = run_of([[0, 1], [1, 0]])
    for parts in ([MEANINGS, MEANINGS], [WORDS, WORDS]):
        assert adaptive.trust(ANIMALS, [run, run], parts).weights.tolist() == [[1, 1], [1, 1]]


def test_an_encoder_counts_less_in_a_language_that_it_does_not_declare():
    run = run_of([[0, 1], [1, 0]])
    hindi = Unjudged(TaskInfo("Some/animals", language="hi"), ANIMALS.corpus, ANIMALS.queries)
    weights = adaptive.trust(hindi, [run, run], [WORDS, MEANINGS]).weights
    assert (weights[:, 1] <= adaptive.UNDECLARED).all()
    unknown = adaptive.trust(hindi, [run, run], [WORDS, Named("dense:someone/unknown")]).weights
    assert (unknown[:, 1] > adaptive.UNDECLARED).all(), "a model that declares nothing keeps its weight"


def test_a_model_folder_declares_its_languages(tmp_path):
    (tmp_path / "README.md").write_text("---\nlanguage:\n- en\n- de\n---\n", encoding="utf-8")
    assert adaptive.declared_languages(f"dense:{tmp_path}") == {"en", "de"}


def test_k_and_the_preset_still_mean_rrf():
    assert Fusion.of({}, lists=2).method == "adaptive"
    assert Fusion.of({"k": "60"}, lists=2).method == Fusion.of({"preset": "hakari"}, lists=2).method == "rrf"
    names = {
        str(load_retriever(f"[bm25, bm25?b=0]?{options}").name)
        for options in ("k=60", "method=rrf", "k=60.0&method=rrf")
    }
    assert names == {"[bm25, bm25?b=0]?method=rrf"}


def test_the_default_and_rrf_have_different_settings():
    default, rrf = load_retriever("[bm25, bm25?b=0]"), load_retriever("[bm25, bm25?b=0]?method=rrf")
    assert default.settings["fusion"]["adaptive"]["version"] == adaptive.VERSION
    assert rrf.settings["fusion"] == {"method": "rrf", "k": 60.0, "weights": None, "depth": 500}


def test_an_encoder_loses_weight_where_it_puts_documents_with_the_words_of_the_query_last():
    words = Run.of([[0, 2], [0, 2]], [[9.0, 1.0], [9.0, 1.0]])
    queries = Queries(("q1", "q2"), ("red fox sleeps", "red fox sleeps"))
    task = Unjudged(ANIMALS.info, Corpus.of(["c", "b", "a"], ["the red fox sleeps"] * 3), queries)
    agrees, opposes = [[0, 2, 1], [0.9, 0.8, 0.1]], [[1, 0, 2], [0.9, 0.1, 0.0]]
    meanings = Run.of([agrees[0], opposes[0]], [agrees[1], opposes[1]])
    weights = adaptive.trust(task, [words, meanings], [WORDS, MEANINGS]).weights
    assert weights[0, 1] > weights[1, 1] >= adaptive.LEAST
