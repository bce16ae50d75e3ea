"""Reranking tasks: their own candidates for every model, scored as both versions of mteb do; two stages."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score
from task_parts import ROW_OF, VECTORS, expected, reranking, rows

from steelyard.encoders.backends.function import FunctionEncoder
from steelyard.encoders.backends.function import from_function as encoder_of
from steelyard.engine import evaluate
from steelyard.engine.plan import PROFILES
from steelyard.metrics.mteb import legacy_reranking
from steelyard.results import Result
from steelyard.retrievers.candidates import own_lists
from steelyard.retrievers.dense import DenseRetriever
from steelyard.retrievers.pipeline import pipeline
from steelyard.retrievers.ranking import rank, rank_by_search
from steelyard.retrievers.rerank.load import from_function
from steelyard.types import Corpus, Qrels, Queries, Ragged, Run, Task, TaskInfo
from steelyard.types.protocols import Tick, Unjudged, no_tick
from steelyard.vectors.variants import Variant

NEAREST = f"rerank:{__name__}:nearest"
MTEB = Path(__file__).parents[2] / "parity" / "mteb"
NAUC = 1e-12


def encoder() -> FunctionEncoder:
    return encoder_of(lambda texts: VECTORS[[ROW_OF.get(text.strip(), 0) for text in texts]], "minilm")


def one(model: Any, task: Task, **conditions: Any) -> Result:
    (result,) = evaluate(model, task, **conditions)
    assert result.error is None, result.error
    return result


@dataclass(frozen=True)
class StoredIndex:
    """The scores that mteb had, so that rounding decides nothing; it can score pairs, and cannot search."""

    corpus: Corpus
    notes: Mapping[str, Any] = field(default_factory=dict)
    size_bytes: int = 0

    def search(self, queries: Queries, top_k: int) -> Run:
        raise AssertionError("nothing is to be searched on a reranking task")

    def rank(self, queries: Queries, lists: Ragged) -> Run:
        run = json.loads((MTEB / "reranking_run.json").read_text())
        depth = int(lists.counts.max())
        found = np.full((len(queries), depth), -1, dtype=np.int32)
        scores = np.zeros((len(queries), depth))
        for place, query in enumerate(queries.ids):
            mine = lists.rows_of(place)
            found[place, : len(mine)] = mine
            scores[place, : len(mine)] = [run[query][self.corpus.ids[row]] for row in mine]
        return Run.of(found, scores)


@dataclass(frozen=True)
class Stored:
    name: str = "stored"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> StoredIndex:
        return StoredIndex(corpus)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_key_of_both_versions(profile: str) -> None:
    theirs = expected(profile)["FixtureReranking"]
    main = theirs.pop("main_score")
    found = one(Stored(), reranking(), profile=profile)
    assert list(found.mteb) == list(theirs)
    for key, value in theirs.items():
        if value is None or not key.lower().startswith("nauc"):
            assert found.mteb[key] == value, key
        else:
            assert found.mteb[key] == pytest.approx(value, abs=NAUC), key
    assert found.main_metric == {"mteb-2.26": "map_at_1000", "mteb-1.14": "map"}[profile]
    assert found.score == pytest.approx(main, abs=1e-5) and found.interval is not None


def test_a_dense_model_scores_the_candidates_and_searches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    task = reranking()
    stored, found = one(Stored(), task), one(DenseRetriever("dense:minilm", encoder()), task)
    apart = np.abs(found.per_query["map_at_1000"] - stored.per_query["map_at_1000"])
    # Two equal texts have equal scores here; in mteb's run of query 17 the matrix product rounded them apart.
    assert np.flatnonzero(apart > 1e-12).tolist() == [17]
    assert found.notes["queries"]["texts"] == len(task.queries)


@pytest.mark.parametrize("compared", ["cosine", "dot", "euclidean", "manhattan"])
def test_candidates_are_scored_as_a_search_scores_them(compared: str) -> None:
    task = reranking()
    lists = task.candidates["top_ranked"]
    given_ = encoder_of(lambda texts: VECTORS[[ROW_OF.get(t.strip(), 0) for t in texts]] * 2, "m", similarity=compared)
    index = DenseRetriever("dense:m", given_).index(task.corpus, task.info)
    ours, whole = index.rank(task.queries, lists), rank_by_search(index, task.queries, lists, len(task.corpus))
    assert ours.lengths.tolist() == lists.counts.tolist()
    np.testing.assert_allclose(
        np.where(ours.rows >= 0, ours.scores, 0), np.where(whole.rows >= 0, whole.scores, 0), atol=1e-4
    )


def test_shortened_vectors_and_codes_rank_candidates_too() -> None:
    task = reranking()
    for variant in (Variant(truncate_dim=64), Variant(precision="int8"), Variant(truncate_dim=128, precision="binary")):
        found = one(DenseRetriever(f"dense:minilm?{variant}", encoder(), variant=variant), task)
        assert found["recall_at_1000"] == 1.0 and 0.5 < (found.score or 0) <= 1


def test_other_models_search_and_what_they_do_not_find_comes_last() -> None:
    corpus = Corpus.of(["a", "b", "c", "d"], ["red apple", "green pear", "red cherry", "blue plum"])
    rows_of = [corpus.row_of[id_] for id_ in ("a", "b", "d")]
    lists = Ragged(np.array([0, 3]), np.array(rows_of, dtype=np.int32))
    qrels = Qrels.of([0, 0], [corpus.row_of["a"], corpus.row_of["d"]], [1, 1], queries=1)
    queries = Queries(("q",), ("red fruit",))
    task = Task(TaskInfo("X/y", language="en", type="reranking"), corpus, queries, qrels, {"top_ranked": lists})
    found = one("bm25", task, save_runs=None)
    # `c` matches as well as `a`, and is no candidate; of `d` and `b`, which do not match, the greater id comes first.
    assert (found["recall_at_1"], found["precision_at_3"], found["map_at_1000"]) == (0.5, pytest.approx(2 / 3), 1.0)


@pytest.mark.parametrize("scores", [[3.0, -5.0], [3.0, -np.inf], [1e9, 9e8], [-1e9, -2e9], [np.inf, np.inf]])
def test_what_is_not_found_comes_last_on_any_scale(scores: list[float]) -> None:
    class Found:
        def search(self, queries: Queries, top_k: int) -> Run:
            return Run.of([[1, 2]], [scores])

    ranked = rank_by_search(Found(), Queries(("q",), ("",)), Ragged(np.array([0, 3]), np.array([3, 1, 2], np.int32)), 4)
    assert ranked.rows.tolist() == [[1, 2, 3]]


def test_a_reranker_alone_ranks_the_candidates_of_the_task() -> None:
    task = reranking()
    texts = dict(zip(task.corpus.texts, task.corpus.ids, strict=True))
    assert len(texts) < len(task.corpus), "some texts are there twice, and tie"
    found = one(NEAREST, task)
    dense = one(DenseRetriever("dense:minilm", encoder()), task)
    assert found.model == NEAREST and found.notes["rerank"]["pairs"] == len(task.corpus)
    assert found.score == pytest.approx(dense.score, abs=1e-12)
    after = one(f"dense:{__name__}:embedded > {NEAREST}", task)
    assert after.score == found.score, "a first stage only orders the same candidates"


def nearest(query: str, texts: list[str]) -> list[float]:
    asked, *found = (VECTORS[ROW_OF[text.strip()]].astype(np.float64) for text in (query, *texts))
    return [float(vector @ asked / np.linalg.norm(vector)) for vector in found]


def embedded(texts: list[str]) -> np.ndarray:
    return VECTORS[[ROW_OF.get(text.strip(), 0) for text in texts]]


def test_a_reranker_alone_says_what_it_lacks_on_any_other_task() -> None:
    task = replace(reranking(), info=TaskInfo("Fixture/search", type="retrieval"))
    (found,) = evaluate(NEAREST, task)
    assert found.error is not None and "--candidates" in (found.error.hint or "")


def test_a_reranking_task_without_candidates_is_a_fault_of_its_own() -> None:
    bare = replace(reranking(), candidates={})
    (dense, alone) = evaluate([DenseRetriever("dense:m", encoder()), NEAREST], bare)
    for found in (dense, alone):
        assert found.error is not None and "top_ranked" in found.error.message
    two = replace(bare, candidates={"bm25": bare.qrels, "hybrid": bare.qrels})
    (found,) = evaluate(DenseRetriever("dense:m", encoder()), two)
    assert found.error is not None and "bm25, hybrid" in found.error.message


def test_candidates_named_twice_are_ranked_once() -> None:
    corpus, queries = Corpus.of(["a", "b", "c"], ["x", "y", "z"]), Queries(("q", "r"), ("x", "y"))
    lists = Ragged(np.array([0, 3, 4]), np.array([2, 0, 2, 1], dtype=np.int32))
    own = own_lists(Unjudged(TaskInfo("X/y", type="reranking"), corpus, queries, {"top_ranked": lists}))
    assert own is not None
    assert (own.offsets.tolist(), own.rows.tolist()) == ([0, 2, 3], [0, 2, 1])


def test_the_metric_that_the_task_names_is_its_main_one() -> None:
    task = reranking()
    other = replace(task, info=replace(task.info, main_metric="mrr_at_10"))
    assert one(Stored(), other).main_metric == "mrr_at_10"
    wrong = replace(task, info=replace(task.info, main_metric="v_measure"))
    (found,) = evaluate(Stored(), wrong)
    assert found.error is not None and "v_measure" in found.error.message


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=15))
def test_the_precision_of_1_14_is_scikit_learns_and_ties_go_to_the_good(pairs: list[tuple[int, bool]]) -> None:
    scores, good = np.array([score for score, _ in pairs]) / 4, np.array([mark for _, mark in pairs])
    run = Run.of([list(range(len(pairs)))], [scores])
    found = legacy_reranking(run, Qrels.of([0] * len(pairs), list(range(len(pairs))), good, queries=1))
    if good.all() or not good.any():
        assert len(found.queries) == 0
        return
    assert found.average_precision[0] == pytest.approx(average_precision_score(good, scores), abs=1e-12)
    order = np.lexsort((~good, -scores))
    rank_ = int(np.flatnonzero(good[order])[0]) + 1
    assert found.reciprocal_rank[0] == (1 / rank_ if rank_ <= 10 else 0)


def retrieval() -> Task:
    documents, asked = rows("retrieval_corpus"), rows("retrieval_queries")
    corpus = Corpus.of([d["_id"] for d in documents], [d["text"] for d in documents], [d["title"] for d in documents])
    judged = json.loads((MTEB / "retrieval_qrels.json").read_text())
    asked = [query for query in asked if query["_id"] in judged]
    queries = Queries(tuple(query["_id"] for query in asked), tuple(query["text"] for query in asked))
    columns = [
        (place, corpus.row_of.get(document, -1), grade)
        for place, query in enumerate(queries.ids)
        for document, grade in judged[query].items()
    ]
    q, d, g = zip(*columns, strict=True)
    return Task(
        TaskInfo("Fixture/retrieval", type="retrieval"), corpus, queries, Qrels.of(q, d, g, queries=len(queries))
    )


def test_two_stages_are_those_of_mteb_with_what_is_below_cut_off() -> None:
    task = retrieval()
    stored = json.loads((MTEB / "twostage_run.json").read_text())
    query_of = dict(zip(task.queries.texts, task.queries.ids, strict=True))
    ids: dict[str, list[str]] = {}
    for id_, text in zip(task.corpus.ids, task.corpus.texts, strict=True):
        ids.setdefault(text, []).append(id_)

    def formula(query: str, texts: list[str]) -> list[float]:
        scores = stored[query_of[query]]
        return [next((scores[id_] for id_ in ids[text] if id_ in scores), -9.0) for text in texts]

    model = pipeline(DenseRetriever("dense:minilm", encoder()), from_function(formula, "formula"), depth=10, tail="cut")
    found = one(model, task)
    theirs = json.loads((MTEB / "expected_2.26.24.json").read_text())["TwoStage_top10"]
    keys = [key for key in theirs if not key.startswith(("nauc", "main", "previous"))]
    assert {key: found.mteb[key] for key in keys} == {key: theirs[key] for key in keys}
    assert found["recall_at_10"] == found["recall_at_1000"], "what was not reranked is gone"


def test_the_front_door_ranks_by_search_where_an_index_cannot_score_pairs() -> None:
    task = reranking()
    index = DenseRetriever("dense:minilm", encoder()).index(task.corpus, task.info)

    @dataclass
    class SearchOnly:
        notes: Mapping[str, Any] = field(default_factory=dict)
        size_bytes: int = 0

        def search(self, queries: Queries, top_k: int) -> Run:
            return index.search(queries, top_k)

    lists = task.candidates["top_ranked"]
    by_search = rank(SearchOnly(), task.queries, lists, len(task.corpus))
    assert (by_search.lengths == lists.counts).all()
    assert np.mean(by_search.rows == index.rank(task.queries, lists).rows) > 0.98
