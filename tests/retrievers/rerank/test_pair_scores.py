"""Scores of pairs: each pair of texts once, stored, checked; functions and services as rerankers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from api_server import score_of, serve
from engine_parts import small_task

from steelyard.engine import evaluate
from steelyard.errors import ModelError
from steelyard.metrics import score
from steelyard.retrievers import load_retriever
from steelyard.retrievers.rerank.load import from_function, load_reranker
from steelyard.retrievers.rerank.pair_scores import PART, PairScorer
from steelyard.spec import parse
from steelyard.types import Corpus, Queries, Run, TaskInfo
from steelyard.types.protocols import Reranker, Unjudged

TEXTS = ["red apple", "green pear", "red apple", "blue plum", ""]
ASKED = ["apple", "plum", "apple"]
pytestmark = pytest.mark.usefixtures("own_home")


def task() -> Unjudged:
    corpus = Corpus.of([f"d{row}" for row in range(5)], TEXTS)
    return Unjudged(TaskInfo("Fruit/x"), corpus, Queries(("a", "b", "c"), tuple(ASKED)))


def value(query: str, text: str) -> float:
    return len({*query} & {*text}) + len(text) / 100


class Asked:
    """A function that scores, and the pairs that it was asked for."""

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []

    def __call__(self, query: str, texts: list[str]) -> list[float]:
        self.pairs += [(query, text) for text in texts]
        return [value(query, text) for text in texts]


ROWS = np.array([[0, 2, 4, -1], [4, 3, 2, 1], [1, 0, -1, -1]], dtype=np.int32)


def expected(rows: np.ndarray = ROWS) -> np.ndarray:
    texts = task().corpus.texts
    lines = [[value(q, texts[r]) if r >= 0 else -np.inf for r in line] for q, line in zip(ASKED, rows, strict=True)]
    return np.array(lines, dtype=np.float32)


def test_equal_pairs_are_scored_once_and_every_place_has_its_score() -> None:
    asked, ticks = Asked(), []
    scorer = PairScorer(from_function(asked, "shared"))
    scored = scorer.score(task(), ROWS, ticks.append)
    np.testing.assert_array_equal(scored.scores, expected())
    assert len(asked.pairs) == len(set(asked.pairs)) == 6 and sum(ticks) == 9
    counts = {name: count for name, count in scored.notes.items() if not name.startswith("rerank_seconds")}
    assert counts == {"pairs": 9, "pairs_scored": 6, "pairs_from_cache": 0, "pairs_reused": 0}
    assert scored.reused == 0


def test_the_task_at_hand_is_remembered_and_forgotten() -> None:
    asked, here = Asked(), task()
    scorer = PairScorer(from_function(asked, "shared"))
    scorer.score(here, ROWS[:, :2])
    before, ticks = len(asked.pairs), []
    again = scorer.score(here, ROWS, ticks.append)
    np.testing.assert_array_equal(again.scores, expected())
    assert again.notes["pairs_reused"] == 6 and sum(ticks) == 9 and again.reused > 0
    assert len(asked.pairs) - before == again.notes["pairs_scored"] == 3
    del here
    assert not scorer._memories


def test_what_has_a_version_is_stored_for_ever() -> None:
    first, second, third = Asked(), Asked(), Asked()
    PairScorer(from_function(first, "shared", version="1")).score(task(), ROWS[:, :2])
    scored = PairScorer(from_function(second, "shared", version="1")).score(task(), ROWS)
    np.testing.assert_array_equal(scored.scores, expected())
    assert not set(first.pairs) & set(second.pairs) and scored.notes["pairs_from_cache"] > 0
    PairScorer(from_function(third, "shared", version="2")).score(task(), ROWS)
    assert len(third.pairs) == 6, "another version, other scores"
    PairScorer(from_function(fourth := Asked(), "shared")).score(task(), ROWS)
    assert len(fourth.pairs) == 6, "without a version nobody knows"


def test_a_pair_is_not_its_mirror_image() -> None:
    corpus = Corpus.of(["x", "y"], ["ab", "a"])
    turned = Unjudged(TaskInfo("x"), corpus, Queries(("q", "r"), ("a", "ab")))
    rows = np.array([[0, 1], [0, 1]], dtype=np.int32)
    length = from_function(lambda query, texts: [10 * len(query) + len(text) for text in texts], "length", version="1")
    wanted = [[10 * len(q) + len(corpus.texts[r]) for r in (0, 1)] for q in turned.queries.texts]
    assert PairScorer(length).score(turned, rows).scores.tolist() == wanted
    again = PairScorer(length).score(turned, rows)
    assert again.scores.tolist() == wanted and again.notes["pairs_from_cache"] == 4


def test_no_store_where_none_is_wanted(monkeypatch: pytest.MonkeyPatch, own_home: Path) -> None:
    monkeypatch.setenv("STEELYARD_CACHE_BYTES", "0")
    PairScorer(from_function(Asked(), "shared", version="1")).score(task(), ROWS)
    assert not own_home.exists()


@pytest.mark.parametrize("bad", [np.nan, np.inf, None])
def test_a_score_that_is_none_names_the_pair(bad: float | None) -> None:
    scorer = PairScorer(
        from_function(lambda q, ts: [bad if (q, t) == ("plum", "blue plum") else 1.0 for t in ts], "odd")
    )
    with pytest.raises(ModelError, match=r"(nan|inf) .*'plum'.*'blue plum'"):
        scorer.score(task(), ROWS)


def test_a_wrong_number_of_scores_is_told() -> None:
    with pytest.raises(ModelError, match=r"3 documents.*shape \(1,\)"):
        from_function(lambda query, texts: [1.0], "short").rerank(["q"], [["a", "b", "c"]])

    class Short:
        name, settings, storable = "short", {}, False

        def rerank(self, queries, documents, tick=None):
            return [np.zeros(1, dtype=np.float32) for _ in queries]

    with pytest.raises(ModelError, match=r"short .*3 documents.*shape \(1,\)"):
        PairScorer(Short()).score(task(), ROWS)


def test_what_was_scored_before_an_error_is_kept() -> None:
    corpus = Corpus.of([f"{row:05}" for row in range(PART + 10)], [f"text {row}" for row in range(PART + 10)])
    large = Unjudged(TaskInfo("x"), corpus, Queries(("q",), ("query",)))
    rows = np.arange(PART + 10, dtype=np.int32)[None]

    def fails(query: str, texts: list[str]) -> list[float]:
        if len(texts) < PART:
            raise ConnectionError("gone")
        return [1.0] * len(texts)

    function = from_function(fails, "fails", version="1")
    with pytest.raises(ConnectionError):
        PairScorer(function).score(large, rows)
    function._function = lambda query, texts: [1.0] * len(texts)
    assert PairScorer(function).score(large, rows).notes["pairs_from_cache"] == PART


def test_no_candidates_at_all() -> None:
    scorer = PairScorer(from_function(Asked(), "shared"))
    assert scorer.score(task(), np.empty((3, 0), dtype=np.int32)).scores.shape == (3, 0)
    assert np.isneginf(scorer.score(task(), np.full((3, 2), -1, dtype=np.int32)).scores).all()


def test_a_service_is_a_stage_like_any_other() -> None:
    here = small_task()
    with serve() as api:
        name = f"rerank:api/x?url={api.url}&batch_size=3"
        assert isinstance(load_reranker(parse(name)), Reranker)
        (result,) = evaluate(f"bm25 > {name}&depth=4", here)
        notes = result.notes["rerank"]
        assert notes["pairs_scored"] == notes["pairs"] > 6 and notes["requests"] >= 6
        asked = len(api.requests)
        (again,) = evaluate(f"bm25 > {name}&depth=4", here)
        assert again.notes["rerank"]["pairs_scored"] == 0 and again.metrics == result.metrics
        assert len(api.requests) == asked == notes["requests"]
    before = load_retriever("bm25").index(here.corpus, here.info).search(here.queries, 4)
    scores = [
        [score_of(q, here.corpus.texts[r]) if r >= 0 else 0 for r in rows]
        for q, rows in zip(here.queries.texts, before.rows, strict=True)
    ]
    assert result.score == score(Run.of(before.rows, np.array(scores, dtype=np.float32)), here.qrels)["ndcg_at_10"]
