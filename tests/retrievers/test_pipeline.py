"""Pipelines: names, order, ties, depth and tail, each model paid for once, what every stage is worth."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from engine_parts import Overlap, small_task, words

from steelyard.cli import main
from steelyard.engine import evaluate
from steelyard.errors import UnknownName, UsageError
from steelyard.metrics import score
from steelyard.retrievers import canonical, load_retriever
from steelyard.retrievers.candidates import CandidateRetriever, run_of
from steelyard.retrievers.fusion.retriever import FusedRetriever, Fusion, fuse
from steelyard.retrievers.model_variants import expand_models
from steelyard.retrievers.pipeline import RerankedRetriever, pipeline, with_tail
from steelyard.retrievers.rerank.load import from_function
from steelyard.spec import parse
from steelyard.types import Corpus, Queries, Ragged, Run, Task, TaskInfo
from steelyard.types.protocols import Composite, Reranker, Retriever, Unjudged

pytestmark = pytest.mark.usefixtures("own_home")


@dataclass
class Counting:
    """Scores by a function of query and text, and counts the pairs it is asked for."""

    name: str = "rerank:counting"
    storable = False

    def __post_init__(self) -> None:
        self.settings = {"reranker": self.name}
        self.pairs: list[tuple[str, str]] = []

    def rerank(self, queries, documents, tick=lambda done: None):
        self.pairs += [(query, text) for query, texts in zip(queries, documents, strict=True) for text in texts]
        return [
            np.array([self.value(q, t) for t in ts], dtype=np.float32) for q, ts in zip(queries, documents, strict=True)
        ]

    @staticmethod
    def value(query: str, text: str) -> float:
        return len(words(query) & words(text)) / len(words(text))


def lists_of(run: Run) -> list[list[int]]:
    return [[int(row) for row in rows if row >= 0] for rows in run.rows]


def first_run(task: Task) -> Run:
    return Overlap().index(task.corpus, task.info).search(task.queries, 1000)


def test_names_of_pipelines() -> None:
    spec = parse(" [bm25,dense]?k=10 >rerank:X?tail=cut&depth=50>  rerank:a/b@v1 ")
    assert spec.family == "pipeline"
    assert str(spec) == "[bm25, dense]?k=10 > rerank:X?depth=50&tail=cut > rerank:a/b@v1"
    assert parse(str(spec)) == spec
    assert str(canonical("dense > rerank:X")) == "dense:use-multilingual-v3 > rerank:X"
    nested = parse("[bm25 > rerank:X, dense] > rerank:Y")
    assert [part.family for part in nested.parts[0].parts] == ["pipeline", "dense"] and parse(str(nested)) == nested
    assert parse("rerank:X?prompt=a%3Eb").options == {"prompt": "a>b"}
    assert str(parse("rerank:X?prompt=a%3Eb")) == "rerank:X?prompt=a%3Eb"


@pytest.mark.parametrize("name", ["bm25 >", "> rerank:X", "bm25 > > rerank:X", "bm25 > [rerank:X"])
def test_bad_names_are_refused(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(name)
    assert caught.value.option == "model" and str(caught.value.found) in name


def test_family_in_capitals_has_a_hint_with_the_right_spelling() -> None:
    with pytest.raises(UsageError) as caught:
        parse("BM25?k1=0.9")
    assert caught.value.found == "BM25?k1=0.9" and "bm25" in (caught.value.hint or "")


def test_names_nest_to_a_limit() -> None:
    name = "bm25"
    for _ in range(16):
        name = f"[{name}, bm25]"
    assert str(parse(name)) == name
    with pytest.raises(UsageError) as caught:
        parse(f"[{name}, bm25]")
    assert caught.value.found == 17
    with pytest.raises(UsageError):
        parse("[" * 100_000)


@pytest.mark.parametrize("name", ["bm25?\ud83d=1", "dense:\udcff", "dense:X?a b=1", "dense:X?k[1=2", "bm25?..k=1"])
def test_names_that_could_not_be_written_again_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        parse(name)


@pytest.mark.parametrize(
    ("name", "option", "found"),
    [
        ("bm25 > dense", None, "dense:use-multilingual-v3"),
        ("bm25 > rerank", None, "rerank"),
        ("bm25 > rerank:math:sqrt?depth=0", "depth", "0"),
        ("bm25 > rerank:math:sqrt?depth=" + "9" * 5000, "depth", "9" * 5000),
        ("bm25 > rerank:math:sqrt?depth=", "depth", ""),
        ("bm25 > rerank:math:sqrt?tail=drop", "tail", "drop"),
        ("bm25 > rerank:math:sqrt?deep=1", "deep", "deep"),
        ("bm25 > rerank:math:nothing", ..., ...),
        ("bm25 > rerank:api/X", "url", None),
        ("candidates:X?deep=1", "deep", "deep"),
        ("candidates:X@v1", None, "v1"),
    ],
)
def test_invalid_stages_are_refused(name: str, option: object, found: object) -> None:
    with pytest.raises(UsageError) as caught:
        load_retriever(name)
    if option is not ...:
        assert (caught.value.option, caught.value.found) == (option, found)


def test_a_reranker_alone_cannot_search() -> None:
    corpus = Corpus.of(["a"], ["text"])
    with pytest.raises(UsageError) as caught:
        load_retriever("rerank:math:sqrt").index(corpus, TaskInfo("X/y"))
    assert "--candidates" in (caught.value.hint or "")


def test_composites_meet_the_protocols() -> None:
    both = FusedRetriever("[a, b]", (Overlap("a"), Overlap("b")), Fusion())
    for model in (both, pipeline(both, Counting()), CandidateRetriever("candidates:x", "x")):
        assert isinstance(model, Composite) and isinstance(model, Retriever)
    assert not isinstance(Overlap(), Composite) and isinstance(Counting(), Reranker)


@pytest.mark.parametrize("tail", ["keep", "cut"])
def test_the_head_is_reranked_and_the_tail_keeps_its_order(tail: str) -> None:
    task = small_task()
    before = first_run(task)
    model = pipeline(Overlap(), Counting(), depth=2, tail=tail)
    run = model.combine(Unjudged.of(task), [before], 1000).run
    for query, (was, now) in enumerate(zip(lists_of(before), lists_of(run), strict=True)):
        value = {row: np.float32(Counting.value(task.queries.texts[query], task.corpus.texts[row])) for row in was}
        head = sorted(was[:2], key=lambda row: (-value[row], row))
        assert now == head + (was[2:] if tail == "keep" else [])
    assert max(run.lengths) == (max(before.lengths) if tail == "keep" else 2) and max(before.lengths) > 2
    (result,) = evaluate(model, task)
    assert result.score == score(run, task.qrels)["ndcg_at_10"]


@pytest.mark.parametrize("lowest", [-1e30, -8.5, -1e-6, 0.0, 3e-7, 40.0, 1e30])
def test_the_tail_falls_below_the_head_on_any_scale(lowest: float) -> None:
    head = Run.of([[3, 1], [-1, -1]], np.array([[lowest, lowest], [0, 0]], dtype=np.float32))
    tail = np.array([[9, *range(100, 2000)], [-1] * 1901], dtype=np.int32)
    run = with_tail(head, tail)
    assert (np.diff(run.scores[0]) < 0).sum() == 1901 and run.rows[0, :3].tolist() == [1, 3, 9]
    assert (run.rows[1] == -1).all() and np.isneginf(run.scores[1]).all()
    assert (Run.of(run.rows, run.scores).rows == run.rows).all()


def test_ties_do_not_inherit_the_order_of_the_candidates() -> None:
    task = small_task()
    model = pipeline(Overlap(), from_function(lambda query, texts: [0.0] * len(texts), "indifferent"))
    run = model.combine(Unjudged.of(task), [first_run(task)], 1000).run
    assert all(rows == sorted(rows) for rows in lists_of(run))
    assert any(rows != sorted(rows) for rows in lists_of(first_run(task)))


def test_every_model_is_paid_for_once() -> None:
    task, light, heavy, reranker = small_task(), Overlap("light"), Overlap("heavy", weight=2.0), Counting()
    both = FusedRetriever("[light, heavy]", (light, heavy), Fusion())
    models = [light, heavy, both, pipeline(light, reranker), (last := pipeline(both, reranker))]
    results = evaluate(models, task)
    assert light.indexed == heavy.indexed == [task.name]
    scorers = {id(model.scorer) for model in models if isinstance(model, RerankedRetriever)}
    assert len(scorers) == 2, "objects are not shared; names are"
    shared = replace(models[3], scorer=last.scorer)
    reranker.pairs.clear()
    evaluate([shared, last], task)
    assert len(reranker.pairs) == len(set(reranker.pairs)), "no pair twice"
    alone = evaluate(pipeline(both, Counting()), small_task())[0]
    assert alone.metrics == results[4].metrics and alone.timings["reused"] == 0 < results[4].timings["reused"]
    assert results[4].timings["total"] == pytest.approx(
        sum(results[4].timings[phase] for phase in ("load", "index", "search", "score"))
    )


def test_every_stage_tells_its_figures_its_gain_and_its_ceiling() -> None:
    task, light, heavy = small_task(), Overlap("light"), Overlap("heavy", weight=2.0)
    both = FusedRetriever("[light, heavy]", (light, heavy), Fusion())
    model = pipeline(both, Counting("rerank:one"), Counting("rerank:two"), depth=2)
    middle = model.first
    results = evaluate([light, heavy, both, middle, model], task)
    stages = results[-1].notes["stages"]
    assert [stage["model"] for stage in stages] == [result.model for result in results]
    for stage, result in zip(stages, results, strict=True):
        assert {name: stage[name] for name in ("ndcg_at_10", "hit_rate_at_10", "recall_at_100")} == {
            name: result[name] for name in ("ndcg_at_10", "hit_rate_at_10", "recall_at_100")
        }
    runs = [part.index(task.corpus, task.info).search(task.queries, 1000) for part in (light, heavy)]
    fused = fuse(runs)
    assert stages[3]["recall_ceiling"] == score(fused, task.qrels, ("recall@2",))["recall_at_2"]
    assert stages[2]["recall_ceiling"] == score(fused, task.qrels, ("recall@500",))["recall_at_500"]
    assert stages[3]["gain"]["ndcg_at_10"] == results[3].score - results[2].score
    assert stages[3]["over"] == both.name and stages[3]["reads"] == 2 and "gain" not in stages[0]
    json.dumps(stages, allow_nan=False)
    assert "stages" not in results[0].notes


@dataclass
class Backwards(Overlap):
    """Gives each document the score of another one."""

    def index(self, corpus, info, tick=lambda done: None):
        index = super().index(corpus, info, tick)
        return replace(index, texts=index.texts[::-1])


def words_task(queries: int) -> Task:
    """Return a task whose queries are each a word of one document."""
    texts = {f"d{n:02}": f"word{n:02}" for n in range(queries)}
    asked = {f"q{n:02}": f"word{n:02}" for n in range(queries)}
    return Task.of("Mine/words", texts, asked, {q: {f"d{n:02}": 1} for n, q in enumerate(asked)}, language="en")


def test_a_fusion_has_a_warning_if_it_is_significantly_weaker_than_a_part() -> None:
    good, bad = Overlap("good"), Backwards("bad")
    fused = FusedRetriever("[good, bad]", (good, bad), Fusion(weights=(1, 2)))
    stages = {}
    for queries in (4, 40):
        results = evaluate([good, bad, fused], words_task(queries))
        stages[queries] = results[-1].notes["stages"][-1]
        starred = results.leaders("Mine/words").best
        assert stages[queries]["gain"]["ndcg_at_10"] < 0
        assert ("warning" in stages[queries]) == (fused.name not in starred), "one answer to one question"
    assert "warning" not in stages[4], "four queries cannot show it"
    assert "weaker than good alone" in stages[40]["warning"]
    (result,) = evaluate(replace(fused, fusion=Fusion(weights=(1, 0))), words_task(40))
    assert "warning" not in result.notes["stages"][-1]


def test_depths_are_swept_from_one_scoring() -> None:
    task, reranker = small_task(), Counting()
    results = evaluate([Overlap(), pipeline(Overlap(), reranker)], task, depths=[1, 2, 5])
    assert [result.model for result in results] == [
        "overlap", "overlap > rerank:counting?depth=1", "overlap > rerank:counting?depth=2",
        "overlap > rerank:counting?depth=5",
    ]  # fmt: skip
    assert len(reranker.pairs) == len(set(reranker.pairs)) == first_run(task).top(5).lengths.sum()
    for depth, result in zip((1, 2, 5), results[1:], strict=True):
        alone = evaluate(pipeline(Overlap(), Counting(), depth=depth), task)[0]
        assert alone.metrics == result.metrics and alone.key == result.key
    with pytest.raises(UsageError):
        evaluate(Overlap(), task, depths=[5])
    with pytest.raises(UsageError):
        evaluate("bm25 > rerank:math:sqrt", task, depths=[0])
    assert [str(model) for model in expand_models(["bm25 > rerank:X?depth=9"], None, [9])] == [
        "bm25 > rerank:X?depth=9"
    ]


def test_a_shallow_result_does_not_starve_a_reranker() -> None:
    shallow = evaluate(pipeline(Overlap(), Counting(), depth=5), small_task(), top_k=1)[0]
    full = evaluate(pipeline(Overlap(), Counting(), depth=5), small_task())[0]
    assert shallow.per_query["ndcg_at_1"].tolist() == full.per_query["ndcg_at_1"].tolist()
    assert full["recall_at_100"] > shallow["recall_at_100"], "only the result is cut"


def with_candidates(**lists: list[list[str]]) -> Task:
    task = small_task()
    stored = {}
    for name, ids in lists.items():
        rows = [[task.corpus.row_of[id_] for id_ in line] for line in ids]
        offsets = np.concatenate(([0], np.cumsum([len(line) for line in rows])))
        stored[name] = Ragged(offsets.astype(np.int64), np.array([r for line in rows for r in line], dtype=np.int32))
    return replace(task, candidates=stored)


LISTS = [["nile", "danube", "volga"], ["volga"], ["amber", "etna"], [], ["sahara", "amber"], ["nile", "sahara"]]


def test_a_reranker_ranks_the_candidates_of_a_task() -> None:
    task, reranker = with_candidates(mine=LISTS), Counting()
    model = pipeline(CandidateRetriever("candidates:mine", "mine"), reranker)
    stored, reranked = evaluate([model.first, model], task, top_k=2)
    run = run_of(task.candidates["mine"])
    assert lists_of(run) == [[task.corpus.row_of[id_] for id_ in line] for line in LISTS], "the stored order"
    assert stored.score == score(run.top(2), task.qrels)["ndcg_at_10"]
    assert len(reranker.pairs) == sum(map(len, LISTS)), "all candidates, however few the result keeps"
    assert stored.notes["candidates"] == {"lists": "mine", "shortest": 0, "longest": 3, "safeguards": 0}
    (only,) = evaluate(load_retriever("candidates?depth=1"), task)
    assert only.score == score(run.top(1), task.qrels)["ndcg_at_10"]
    assert reranked.notes["stages"][1]["recall_ceiling"] == score(run, task.qrels, ("recall@3",))["recall_at_3"]


def test_candidates_that_are_not_there_are_named() -> None:
    (result,) = evaluate("candidates:yours", with_candidates(mine=LISTS))
    assert (
        result.error is not None
        and "unknown candidate list 'yours'" in str(result.error)
        and "mine" in str(result.error)
    )
    (result,) = evaluate("candidates", with_candidates(mine=LISTS, other=LISTS))
    assert result.error is not None and "candidates:other" in (result.error.hint or "")
    (result,) = evaluate("candidates", small_task())
    assert result.error is not None and "has no candidate lists" in result.error.message
    with pytest.raises(UsageError):
        load_retriever("candidates:x").index(Corpus.of(["a"], ["b"]), TaskInfo("x"))
    with pytest.raises(UsageError):
        evaluate("bm25", small_task(), candidates="mine")
    with pytest.raises(UnknownName):
        load_retriever("candidate:x")


def test_the_query_itself_is_no_candidate() -> None:
    task = with_candidates(mine=LISTS)
    own = Queries(("nile", *task.queries.ids[1:]), task.queries.texts)
    task = replace(task, queries=own, info=replace(task.info, ignore_identical_ids=True))
    reranker = Counting()
    evaluate(pipeline(CandidateRetriever("candidates:mine", "mine"), reranker), task)
    texts = {text for query, text in reranker.pairs if query == task.queries.texts[0]}
    assert texts == {task.corpus.texts[task.corpus.row_of[id_]] for id_ in ("danube", "volga")}


def test_a_pipeline_searches_without_a_task() -> None:
    task = small_task()
    model = pipeline(Overlap(), Counting(), depth=3)
    index = model.index(task.corpus, task.info)
    expected = model.combine(Unjudged.of(task), [first_run(task)], 4).run
    assert lists_of(index.search(task.queries, 4)) == lists_of(expected)
    assert index.size_bytes > 0 and index.notes["overlap"] == {"analyser": "words"} and "rerank" in index.notes


def test_pipelines_of_names_and_of_nothing() -> None:
    model = pipeline("bm25", "rerank:math:sqrt?depth=7", Counting(), depth=3)
    assert model.name == "bm25 > rerank:math:sqrt?depth=7 > rerank:counting?depth=3"
    assert model.depth == 3 and isinstance(model.first, RerankedRetriever) and model.first.depth == 7
    assert model.settings["depth"] == 3 and model.settings["first"]["depth"] == 7
    with pytest.raises(UsageError):
        pipeline("bm25")


def test_the_command_line_saves_runs_sweeps_depths_and_ranks_candidates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lengths.py").write_text("def fit(query, texts):\n    return [-abs(len(t) - 90) for t in texts]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    out = str(tmp_path / "out")
    command = [
        "run",
        "bm25 > rerank:lengths:fit?version=1",
        "-t",
        "NanoAlmanac/en",
        "--limit",
        "5",
        "-o",
        out,
        "--no-report",
    ]
    assert main([*command, "--depths", "3,9", "--save-runs", "trec", "--json"]) == 0
    results = json.loads(capsys.readouterr().out)
    names = [result["steelyard"]["model"] for result in results]
    assert names == [f"bm25 > rerank:lengths:fit?depth={depth}&version=1" for depth in (3, 9)]
    runs = sorted(Path(out).rglob("*run.trec"))
    assert len(runs) == 2 and all(path.stat().st_size > 1000 for path in runs)
    assert results[1]["steelyard"]["notes"]["rerank"]["pairs_scored"] <= 5 * 6
    assert main([*command, "--depths", "3,nine"]) == 2
    assert "'3,nine'" in capsys.readouterr().err
    assert main(["run", "rerank:lengths:fit", "-t", "NanoAlmanac/en", "-o", out, "--no-report", "--limit", "2"]) == 2
    assert "--candidates" in capsys.readouterr().err
    assert main(["run", "rerank:lengths:fit", "--candidates", "mine", "-t", "NanoAlmanac/en", "-o", out, "-q"]) == 2


def test_a_pipeline_can_be_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ones.py").write_text("def fit(query, texts):\n    return [1] * len(texts)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("bm25 > rerank:ones:fit?depth=5", "[bm25, dense] > rerank:ones:fit"):
        assert main(["show", name]) == 0
        assert str(canonical(name)) in capsys.readouterr().out


@pytest.mark.parametrize(("option", "hint"), [("dept=5", "did you mean 'depth'"), ("below=cut", "stage: depth, tail")])
def test_a_slip_in_an_option_of_a_stage_gets_the_names_of_the_stage(option, hint):
    with pytest.raises(UnknownName) as caught:
        load_retriever(f"bm25 > rerank:steelyard.types:join_title?{option}")
    assert hint in str(caught.value.hint)


@pytest.mark.slow
def test_the_table_of_stages_and_the_warning_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    (tmp_path / "rank_parts.py").write_text("def reversed_(query, texts):\n    return list(range(len(texts)))\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    fused = "[bm25, dense] > rerank:rank_parts:reversed_?depth=5"
    command = ["run", fused, "-t", "NanoAlmanac/cross", "-o", str(tmp_path / "out"), "--no-report"]
    assert main(command) == 0
    told = capsys.readouterr()
    head = next(line for line in told.err.splitlines() if line.startswith("pipeline"))
    assert head.split() == ["pipeline", "stage", "nDCG@10", "gain", "recall", "ceiling"]
    assert len([line for line in told.err.splitlines() if "  > rerank:rank_parts" in line]) == 1
    assert "pipeline" not in told.out, "what was asked for is one table"
    assert "weaker than dense:use-multilingual-v3 alone" in told.err and "(NanoAlmanac/cross)" in told.err
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["steelyard"]["notes"]["stages"][-1]["gain"], "data has them, too"
