"""Candidate lists as HAKARI-Bench's own code makes them, and as we do."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.build.candidates.hybrid import Hybrid, fuse_lists
from steelyard.errors import UsageError
from steelyard.retrievers.candidates import drop_last
from steelyard.retrievers.fusion.retriever import fuse
from steelyard.types import Corpus, Qrels, Queries, Ragged, Run, Task, TaskInfo

FIXTURE = json.loads((Path(__file__).parents[2] / "parity" / "hakari" / "hybrid.json").read_text(encoding="utf-8"))


def ragged(lists: list[list[int]]) -> Ragged:
    offsets = np.concatenate(([0], np.cumsum([len(part) for part in lists]))).astype(np.int64)
    return Ragged(offsets, np.array([row for part in lists for row in part], dtype=np.int32))


def fixture_task() -> Task:
    ids = FIXTURE["corpus_ids"]
    corpus = Corpus.of(ids, ids)
    queries = list(FIXTURE["qrels"])
    pairs = [
        (q, corpus.row_of[d]) for q, query in enumerate(queries) for d in FIXTURE["qrels"][query] if d in corpus.row_of
    ]
    qrels = Qrels.of([q for q, _ in pairs], [d for _, d in pairs], [1] * len(pairs), queries=len(queries))
    return Task(TaskInfo("x/belebele"), corpus, Queries(tuple(queries), tuple(queries)), qrels)


def lists_of(task: Task, name: str) -> Ragged:
    return ragged([[task.corpus.row_of[d] for d in FIXTURE[name][query]] for query in task.queries.ids])


def test_the_published_recipe_gives_the_published_lists_id_by_id() -> None:
    task = fixture_task()
    made = Hybrid.hakari().build(task, [lists_of(task, "bm25"), lists_of(task, "dense")], "belebele")
    for q, query in enumerate(task.queries.ids):
        assert [task.corpus.ids[row] for row in made.lists.rows_of(q)] == FIXTURE["expected"][query], query
    guarded = {q for q, query in enumerate(task.queries.ids) if len(FIXTURE["expected"][query]) == 101}
    assert guarded <= set(made.safeguards) and len(guarded) > 10
    assert any(len(made.lists.rows_of(q)) < 100 for q in made.safeguards), "a short list has one, too"


def test_other_constants_seeds_and_splits_give_other_lists() -> None:
    task = fixture_task()
    lists = [lists_of(task, "bm25"), lists_of(task, "dense")]
    published = Hybrid.hakari().build(task, lists, "belebele")
    several = [q for q in published.safeguards if task.qrels.positives[q] > 2]
    assert several
    other = Hybrid.hakari().build(task, lists, "another")
    assert any(other.safeguards[q] != published.safeguards[q] for q in several)
    assert fuse_lists(lists, Hybrid()).rows.tolist() != published.without_safeguards.rows.tolist()


def test_without_safeguards_the_lists_are_those_of_the_models() -> None:
    task = fixture_task()
    lists = [lists_of(task, "bm25"), lists_of(task, "dense")]
    made = Hybrid.hakari().build(task, lists, "belebele")
    plain = Hybrid.hakari(safeguard=False).build(task, lists, "belebele")
    assert plain.safeguards == {}
    assert made.without_safeguards.rows.tolist() == plain.lists.rows.tolist()
    assert made.without_safeguards.counts.max() == 100


def runs_of(lists: Ragged) -> Run:
    depth = int(lists.counts.max())
    rows = np.full((len(lists), depth), -1, dtype=np.int32)
    for q in range(len(lists)):
        rows[q, : lists.counts[q]] = lists.rows_of(q)
    return Run.of(rows, np.broadcast_to(-np.arange(depth, dtype=np.float32), rows.shape))


def test_our_default_is_the_fusion_of_our_retrievers() -> None:
    task = fixture_task()
    bm25, dense = lists_of(task, "bm25"), lists_of(task, "dense")
    ours = fuse_lists([bm25, dense], Hybrid())
    joined = fuse([runs_of(bm25), runs_of(dense)], k=60, top_k=100)
    for q in range(len(task.queries)):
        assert ours.rows_of(q).tolist() == [row for row in joined.rows[q].tolist() if row >= 0]


LISTS = st.lists(st.lists(st.integers(0, 30), unique=True, max_size=12), min_size=3, max_size=3)


@given(
    LISTS,
    LISTS,
    st.sampled_from([Hybrid(top=7, depth=9), Hybrid(k=100, top=7, depth=9, ties="rank-then-id-ascending")]),
)
def test_fusion_is_what_the_words_say(first: list[list[int]], second: list[list[int]], hybrid: Hybrid) -> None:
    made = fuse_lists([ragged(first), ragged(second)], hybrid)
    for q, pair in enumerate(zip(first, second, strict=True)):
        ranks: dict[int, list[int]] = {}
        for part in pair:
            for rank, row in enumerate(part[: hybrid.depth], 1):
                ranks.setdefault(row, []).append(rank)
        scores = {row: sum(1 / (hybrid.k + rank) for rank in places) for row, places in ranks.items()}
        if hybrid.ties == "id-descending":
            wanted = sorted(ranks, key=lambda row: (-np.float32(scores[row]), row))
        else:
            wanted = sorted(ranks, key=lambda row: (-scores[row], min(ranks[row]), -row))
        assert made.rows_of(q).tolist() == wanted[: hybrid.top]


def test_dropping_the_last_entries_of_some_queries() -> None:
    assert drop_last(ragged([[1, 2], [3], [4, 5]]), np.array([0, 2])).rows.tolist() == [1, 3, 4]


def test_lists_of_different_queries_are_refused() -> None:
    with pytest.raises(UsageError, match=r"1.*2"):
        fuse_lists([ragged([[1]]), ragged([[1], [2]])], Hybrid())
    with pytest.raises(UsageError, match="top=0"):
        Hybrid(top=0)
