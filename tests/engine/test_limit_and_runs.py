"""Partial evaluations, runs that are kept, and their re-scoring."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_parts import Overlap, OverlapIndex, small_task
from hypothesis import given
from hypothesis import strategies as st

from steelyard.datasets import write_nano_set
from steelyard.engine import Results, evaluate
from steelyard.engine.batch import Batch, load_models
from steelyard.engine.events import Event, Finished, Loading, Planned
from steelyard.engine.limit import limited
from steelyard.engine.plan import Conditions, ResultLookup
from steelyard.engine.rescore import rescore
from steelyard.engine.runs import run_bytes, saved_run
from steelyard.errors import ResultError, UsageError
from steelyard.results import ResultStore
from steelyard.results.store import attachment_path
from steelyard.types import Corpus, Qrels, Queries, Ragged, Run, Task, TaskInfo
from steelyard.types.protocols import Tick, no_tick
from steelyard.types.samples import ClusterTask, LabelTask, PairTask, Problem, SummaryTask


@given(st.integers(1, 8), st.integers(0, 5))
def test_a_limit_keeps_queries_with_all_their_judgements(limit: int, seed: int) -> None:
    task = small_task()
    lists = Ragged(np.arange(0, 13, 2), np.arange(12, dtype=np.int32) % 8)
    task = replace(task, candidates={"bm25": lists})
    part = limited(task, limit, seed)
    assert len(part.queries) == len(part.qrels) == min(limit, 6) and part.corpus is task.corpus
    kept = [task.queries.row_of[id_] for id_ in part.queries.ids]
    assert kept == sorted(kept)
    for new, old in enumerate(kept):
        assert part.queries.texts[new] == task.queries.texts[old]
        assert part.qrels.rows_of(new).tolist() == task.qrels.rows_of(old).tolist()
        assert part.qrels.grades_of(new).tolist() == task.qrels.grades_of(old).tolist()
        assert part.candidates["bm25"].rows_of(new).tolist() == lists.rows_of(old).tolist()
    assert set(part.queries.ids) <= set(limited(task, limit + 1, seed).queries.ids)


def test_a_partial_result_says_so_and_has_its_own_key(tmp_path: Path) -> None:
    (part,) = evaluate(Overlap(), small_task(), limit=3, seed=1, results=tmp_path)
    (whole,) = evaluate(Overlap(), small_task(), results=tmp_path)
    (other,) = evaluate(Overlap(), small_task(), limit=3, seed=2, results=tmp_path)
    assert part.partial and (part.facts.limit, part.facts.queries, part.facts.queries_in_full) == (3, 3, 6)
    assert part.settings["limit"] == 3 and part.settings["seed"] == 1 and "(partial)" in str(part)
    assert Results([part]).table()[1][0][0] == f"{part.task} (partial)" != Results([whole]).table()[1][0][0]
    assert not whole.partial and whole.facts.queries == 6 and "limit" not in whole.settings
    assert len({part.key, whole.key, other.key}) == 3 == len(ResultStore(tmp_path).all())
    mean = dict(zip(whole.per_query.ids, whole.per_query["ndcg_at_10"], strict=True))
    assert part.score == pytest.approx(np.mean([mean[q] for q in part.per_query.ids]))


runs = st.integers(1, 4).flatmap(
    lambda depth: st.lists(
        st.lists(st.integers(0, 7), unique=True, min_size=0, max_size=depth).map(
            lambda rows: rows + [-1] * (depth - len(rows))
        ),
        min_size=6,
        max_size=6,
    )
)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parquet", "trec"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(rows=runs.filter(lambda rows: any(row >= 0 for line in rows for row in line)), seed=st.integers(0, 99))
def test_a_kept_run_comes_back_to_the_last_bit(
    form: str, dtype: type, rows: list[list[int]], seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    task = small_task()
    scores = np.random.default_rng(seed).normal(size=np.shape(rows)).astype(dtype)
    run = Run.of(rows, scores)
    path = tmp_path_factory.mktemp("runs") / "a.json"
    attachment_path(path, f"run.{form}").write_bytes(run_bytes(run, task, "[a, b]", form))  # type: ignore[arg-type]
    again = saved_run(path, task)
    assert again is not None and again.scores.dtype == dtype
    depth = again.depth
    assert np.array_equal(again.rows, run.rows[:, :depth]) and (run.rows[:, depth:] == -1).all()
    assert np.array_equal(again.scores, run.scores[:, :depth])


@pytest.mark.parametrize("form", ["parquet", "trec"])
def test_rescoring_gives_what_running_would(form: str, tmp_path: Path) -> None:
    task, model = small_task(), Overlap()
    evaluate(model, task, results=tmp_path, save_runs=form, limit=None)  # type: ignore[arg-type]
    evaluate(model, task, results=tmp_path, save_runs=form, limit=3)  # type: ignore[arg-type]
    store = ResultStore(tmp_path)
    conditions = Conditions.of(metrics=["ndcg@7", "hit@2"])
    events: list[Event] = []
    again = list(rescore(store, [task], conditions, listen=events.append))
    assert [type(event) for event in events] == [Planned, Loading, Finished, Finished]
    assert model.indexed == ["Small/geography"] * 2, "no model was run"
    direct = evaluate(Overlap(), task, metrics=["ndcg@7", "hit@2"])[0]
    whole = next(result for result in again if not result.partial)
    assert len(again) == 2 and whole.metrics == direct.metrics and whole.key == direct.key
    assert whole.mteb == direct.mteb and whole.misses == direct.misses
    assert whole.per_query["ndcg_at_7"].tolist() == direct.per_query["ndcg_at_7"].tolist()
    assert whole.notes["rescored_from"] != whole.key and len(store.all()) == 4
    assert evaluate(model, task, results=tmp_path, metrics=["ndcg@7", "hit@2"])[0].created == whole.created
    assert len(model.indexed) == 2


def test_rescoring_wants_runs_of_this_very_data(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    evaluate(Overlap(), small_task(), results=tmp_path)
    with pytest.raises(ResultError) as caught:
        list(rescore(store, [small_task()], Conditions()))
    assert caught.value.path == str(tmp_path)
    evaluate(Overlap(), small_task(), results=tmp_path, save_runs="parquet")
    errors: list[ResultError] = []
    with pytest.raises(ResultError):
        list(rescore(store, [small_task(shift=1)], Conditions(), report=errors.append))
    assert len(errors) == 1 and errors[0].path
    with pytest.raises(ResultError):
        list(rescore(store, [small_task()], Conditions(), models=["bm25"]))
    assert len(list(rescore(store, [small_task()], Conditions(), models=["overlap"]))) == 1


def test_rescoring_takes_the_runs_that_were_made_so_and_tells_several_apart(tmp_path: Path) -> None:
    store, task = ResultStore(tmp_path), small_task()
    for top_k in (2, 1000):
        evaluate(Overlap(), task, results=tmp_path, save_runs="parquet", top_k=top_k)
    conditions, events = Conditions.of(metrics=["ndcg@7"]), list[Event]()
    both = Results(rescore(store, [task], conditions, listen=events.append))
    assert len(both) == 2 and events[0] == Planned(models=1, tasks=1, stored=0, runs=2)
    columns, (row,) = both.distinct_names().table()
    assert sorted(columns[1:]) == ["overlap (top_k 1000)", "overlap (top_k 2)"] and "-" not in row
    (shallow,) = rescore(store, [task], conditions, made={"top_k": 2})
    assert shallow.settings["top_k"] == 2
    with pytest.raises(ResultError):
        list(rescore(store, [task], conditions, made={"top_k": 3}))


def test_the_order_of_metrics_is_no_part_of_the_key() -> None:
    one, other = (
        evaluate(Overlap(), small_task(), metrics=names)[0] for names in (["P@7", "nDCG@8"], ["nDCG@8", "P@7"])
    )
    assert one.key == other.key and one.metrics == other.metrics


def test_rescoring_does_nothing_twice(tmp_path: Path) -> None:
    store, task = ResultStore(tmp_path), small_task()
    made = evaluate(Overlap(), task, results=tmp_path, save_runs="parquet")[0]
    events: list[Event] = []
    (same,) = rescore(store, [task], Conditions(), listen=events.append)
    assert same.notes == made.notes and events[-1] == Finished(same, stored=True), "nothing new was asked for"
    (anew,) = rescore(store, [task], Conditions(), strategy="always")
    assert anew.notes["rescored_from"] == made.key and anew.metrics == made.metrics


def test_what_cannot_be_scored_again_is_a_failure_and_the_others_go_on(tmp_path: Path) -> None:
    folder = write_nano_set(tmp_path / "NanoSmall", [small_task("NanoSmall/a"), small_task("NanoSmall/b", shift=1)])
    names, store = [f"{folder}::a", f"{folder}::b"], ResultStore(tmp_path / "results")
    evaluate([Overlap(), "bm25"], names, results=store.folder, save_runs="parquet")
    (folder / "qrels" / "a.parquet").write_bytes(b"not parquet")
    damaged = next(result for result in store.find("bm25", "NanoSmall/b") if result.path)
    assert damaged.path is not None
    attachment_path(damaged.path, "run.parquet").write_bytes(b"not parquet")
    again = list(rescore(store, names, Conditions.of(metrics=["ndcg@7"])))
    assert [(result.task, result.model) for result in again if result.done] == [("NanoSmall/b", "overlap")]
    assert len(again) == 4 and len(store.all()) == 5, "failures to score again are not kept"


def test_runs_on_a_part_of_the_documents_can_be_rescored_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.engine.limit.OTHERS", 0)
    store = ResultStore(tmp_path)
    lookup = ResultLookup(store, save_runs="parquet")
    (made,) = Batch(load_models([Overlap()]), [small_task()], Conditions(limit=2, limit_documents=True), lookup).run()
    assert made.facts.documents is not None and made.facts.documents_in_full is not None
    assert made.facts.documents < made.facts.documents_in_full
    (again,) = rescore(store, [small_task()], Conditions.of(metrics=["ndcg@7"]))
    assert again.score == made.score and "ndcg_at_7" in again.metrics


def test_asking_for_runs_that_are_not_there_runs_again(tmp_path: Path) -> None:
    model = Overlap()
    evaluate(model, small_task(), results=tmp_path)
    events: list[Event] = []
    evaluate(model, small_task(), results=tmp_path, save_runs="trec", progress=events.append)
    assert Planned(models=1, tasks=1, stored=0) in events
    evaluate(model, small_task(), results=tmp_path, save_runs="trec", progress=events.append)
    assert len(model.indexed) == 2 and Planned(models=1, tasks=1, stored=1) in events


@dataclass
class Drifting(Overlap):
    """A model that changes while its settings stay, as one behind a service may."""

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> OverlapIndex:
        index = super().index(corpus, info, tick)
        return replace(index, texts=index.texts[::-1]) if len(self.indexed) > 1 else index


@pytest.mark.parametrize(("first", "then"), [("parquet", None), ("trec", None), ("parquet", "trec")])
def test_saved_run_belongs_to_its_result(first: str, then: str | None, tmp_path: Path) -> None:
    model, task = Drifting(), small_task()
    (before,) = evaluate(model, task, results=tmp_path, save_runs=first)  # type: ignore[arg-type]
    strategy = "only-missing" if then else "always"
    (after,) = evaluate(model, task, results=tmp_path, save_runs=then, overwrite_strategy=strategy)  # type: ignore[arg-type]
    assert after.path == before.path and after.score != before.score
    (again,) = rescore(ResultStore(tmp_path), [task], Conditions.of(metrics=["ndcg@7"]))
    assert again.score == after.score, "not that of lists which are gone"


def test_ids_that_trec_cannot_hold_are_a_failure(tmp_path: Path) -> None:
    task = small_task()
    blank = replace(task, queries=Queries((*task.queries.ids[:-1], "q é"), task.queries.texts))
    (result,) = evaluate(Overlap(), blank, results=tmp_path, save_runs="trec")
    assert result.error is not None and "'q é'" in result.error.message and "Parquet" in (result.error.hint or "")
    assert tempfile.gettempdir() not in result.error.message


def test_damaged_run_is_an_error_with_its_path(tmp_path: Path) -> None:
    (result,) = evaluate(Overlap(), small_task(), results=tmp_path, save_runs="parquet")
    assert result.path is not None
    path = attachment_path(result.path, "run.parquet")
    whole = path.read_bytes()
    columns = {"query-id": ["q1"], "corpus-id": ["d1"], "rank": [1], "score": ["high"]}
    odd = [columns, {**columns, "score": [1.0], "query-id": [None]}, {"query-id": ["q1"], "corpus-id": ["d1"]}]
    odd.append({**columns, "score": [1.0], "corpus-id": [7]})
    for content in (whole[:-30], b"", b"PAR1", whole[:40] + b"\xff" * 40 + whole[80:], *odd):
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            pq.write_table(pa.table(content), path)
        with pytest.raises(ResultError) as caught:
            saved_run(result.path, small_task())
        assert caught.value.path == str(path)
    path.unlink()
    attachment_path(result.path, "run.trec").write_text("q1 Q0 atlantis 1 0.5 x\n")
    with pytest.raises(ResultError) as caught:
        saved_run(result.path, small_task())
    assert str(caught.value.path).endswith("run.trec")


def test_limit_with_documents_keeps_what_is_judged_and_a_sample_of_the_others() -> None:
    rng = np.random.default_rng(5)
    corpus = Corpus.of([f"d{n:04}" for n in range(2000)], [f"text {n}" for n in range(2000)])
    queries = Queries(tuple(f"q{n}" for n in range(100)), tuple(f"query {n}" for n in range(100)))
    rows = rng.integers(0, 2000, 300)
    rows[::50] = -1
    judged = Qrels.of(np.repeat(np.arange(100), 3), rows, [1] * 300, queries=100)
    lists = Ragged(np.arange(101, dtype=np.int64), rng.integers(0, 2000, 100).astype(np.int32))
    task = Task(TaskInfo("Mine/large"), corpus, queries, judged, {"bm25": lists})
    small = limited(task, 20, seed=3, documents=True)
    again = limited(task, 20, seed=3)
    assert isinstance(small, Task) and isinstance(again, Task)
    assert small.queries.ids == again.queries.ids
    assert list(small.corpus.ids) == sorted(small.corpus.ids, reverse=True)

    def named(part: Task, lists: Ragged) -> list[str]:
        return [part.corpus.ids[row] if row >= 0 else "missing" for row in lists.rows]

    assert named(small, small.qrels) == named(again, again.qrels)
    assert named(small, small.candidates["bm25"]) == named(again, again.candidates["bm25"])
    assert (
        dict(zip(corpus.ids, corpus.bodies, strict=True)).items()
        >= dict(zip(small.corpus.ids, small.corpus.bodies, strict=True)).items()
    )
    kept = set(named(small, small.qrels)) | set(named(small, small.candidates["bm25"]))
    others = len(small.corpus) - len(kept - {"missing"})
    drawn = [id_ for id_ in small.corpus.ids if id_ not in kept]
    assert drawn[:3] == ["d1992", "d1990", "d1989"], "the same in every version: results are stored with the seed"
    assert others == math.ceil((2000 - len(kept - {"missing"})) * 20 / 100)  # more than ten for each of 20 queries
    fewest = limited(limited(task, 99, seed=3, documents=True), 1, seed=3, documents=True)
    assert isinstance(fewest, Task) and len(fewest.corpus) >= 10
    assert limited(task, 100, seed=3, documents=True) is task


def test_ten_other_documents_stay_for_each_query_with_their_titles() -> None:
    corpus = Corpus(
        tuple(f"d{n}" for n in range(100)),
        tuple(f"text {n}" for n in range(100)),
        tuple(f"title {n}" for n in range(100)),
    )
    queries = Queries(tuple(f"q{n}" for n in range(50)), ("query",) * 50)
    judged = Qrels.of(np.arange(50), [0] * 50, [1] * 50, queries=50)  # all of them by the first document
    small = limited(Task(TaskInfo("Mine/one"), corpus, queries, judged), 1, seed=3, documents=True)
    assert isinstance(small, Task) and len(small.corpus) == 11 and small.qrels.rows.tolist() == [0]
    assert small.corpus.ids[0] == "d0" and small.corpus.titles is not None
    texts = zip(small.corpus.ids, small.corpus.bodies, small.corpus.titles, strict=True)
    assert all((body, title) == (f"text {id_[1:]}", f"title {id_[1:]}") for id_, body, title in texts)


@pytest.mark.parametrize("limit", [0, -3])
def test_a_limit_is_at_least_one(limit: int) -> None:
    with pytest.raises(UsageError) as caught:
        limited(small_task(), limit, 0)
    assert (caught.value.option, caught.value.found) == ("limit", limit)


def test_a_limit_keeps_summaries_with_their_scores() -> None:
    rows = tuple((f"human {n}",) for n in range(6)), tuple((f"machine {n}",) for n in range(6))
    task = SummaryTask(TaskInfo("Mine/sums", type="summarization"), *rows, tuple((float(n),) for n in range(6)))
    part = limited(task, 3, seed=1)
    assert isinstance(part, SummaryTask) and len(part.gold) == 3
    for human, machine, gold in zip(part.human, part.machine, part.gold, strict=True):
        assert (human, machine) == ((f"human {gold[0]:.0f}",), (f"machine {gold[0]:.0f}",))


def test_a_limit_keeps_texts_with_their_labels_pairs_and_clusters() -> None:
    texts = tuple(f"text {n}" for n in range(6))
    labels = limited(LabelTask(TaskInfo("Mine/l"), ("a", "b"), (0, 1), texts, tuple(range(6))), 3, seed=1)
    assert isinstance(labels, LabelTask) and len(labels.texts) == 3
    assert labels.texts == tuple(f"text {n}" for n in labels.labels) and labels.train_texts == ("a", "b")
    pairs = limited(PairTask(TaskInfo("Mine/p"), texts, texts[::-1], np.arange(6.0)), 3, seed=1)
    assert isinstance(pairs, PairTask) and len(pairs.gold) == 3
    assert pairs.first == tuple(f"text {n:.0f}" for n in pairs.gold)
    assert pairs.second == tuple(f"text {5 - n:.0f}" for n in pairs.gold)
    problems = Problem(texts, tuple((n,) for n in range(6))), Problem(texts[:2], ((0,), (1,)))
    clusters = limited(ClusterTask(TaskInfo("Mine/c"), problems), 3, seed=1)
    assert isinstance(clusters, ClusterTask) and [len(problem.texts) for problem in clusters.problems] == [3, 2]
    assert clusters.problems[0].texts == tuple(f"text {levels[0]}" for levels in clusters.problems[0].labels)
