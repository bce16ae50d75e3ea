"""The details behind the pages: queries of a task, pairs of models, history, training data, audits, stored metrics."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from boards import small_board
from explorer import HOSTILE, MODELS, explorer_boards, explorer_results, explorer_task
from result_files import model_meta, mteb_result, write_json

from steelyard import audit, compare, evaluate, load_results
from steelyard.cli import main
from steelyard.engine.pages import build_pages
from steelyard.errors import DataError
from steelyard.results import QueryScores, Result, ResultStore, TaskFacts
from steelyard.types import Task
from steelyard.warehouse import import_results
from steelyard.web.board import CONTAMINATED
from steelyard.web.contamination import ModelAudit, with_audits
from steelyard.web.own_results import revisions_of
from steelyard.web.published import Library
from steelyard.web.sources import Boards
from steelyard.web.task_details import DetailSources, task_details


def test_a_task_has_its_queries_with_ranks_lists_and_texts(tmp_path: Path) -> None:
    boards = explorer_boards(tmp_path / "fruit")
    details = boards.load("task-fruit-0")
    assert details["task"] == "Fruit/a" and details["metric"] == "ndcg_at_10"
    assert details["ids"][:2] == ["q1", "q2"] and details["total"] == 8 and details["unsolved"] == 1
    assert details["texts"][0] == "apple"
    third = details["ids"].index("q3")
    names = [details["documents"][place][0] for place in details["positives"][third]]
    assert set(names) == {"d4", "d5"}
    assert sorted(details["ranks"][0][third]) == [1, 2]
    assert details["first"][2][0] == 2
    assert [details["documents"][place][0] for place in details["top"][2][0]][:2] == ["d0", "d1"]
    assert "the" in details["stop"]


def test_without_saved_runs_or_data_scores_and_misses_remain(tmp_path: Path) -> None:
    results = evaluate("bm25", explorer_task("Fruit/a"), results=tmp_path)
    details = task_details(results, "Fruit/a", ["bm25"], DetailSources())
    assert details is not None
    assert details["scores"][0][0] == 1.0 and "texts" not in details and "top" not in details
    assert details["misses"][0][0]["query"] == HOSTILE
    known = task_details(results, "Fruit/a", ["bm25"], DetailSources(tasks=[explorer_task("Fruit/a")]))
    assert known is not None and known["texts"][0] == "apple" and known["top"] == {}


def test_duplicates_of_the_corpus_are_listed(tmp_path: Path) -> None:
    task = explorer_task("Fruit/a")
    corpus = dict(zip(task.corpus.ids, task.corpus.texts, strict=True)) | {"d9": "Red apple!"}
    double = task.of("Fruit/c", corpus, {"q1": "apple"}, {"q1": {"d0": 1}}, language="en")
    details = task_details(evaluate("bm25", double), "Fruit/c", ["bm25"], DetailSources(tasks=[double]))
    assert details is not None
    assert {one["kind"]: one["count"] for one in details["within"]}["duplicate_documents"] == 1


def test_a_task_has_what_its_page_says(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    evaluate("bm25", "NanoAlmanac/health-zh", results=tmp_path / "results")
    build_pages("NanoAlmanac/health-zh", folder, dense="bm25?k1=0.9", results=tmp_path / "made", formats="json")
    boards = Boards([tmp_path / "results"], sources=DetailSources(pages=folder))
    details = boards.load("task-results-0")
    page = json.loads(next(folder.glob("*/*health-zh.json")).read_text(encoding="utf-8"))
    assert [one["text"] for one in details["findings"]] == [one["sentence"] for one in page["findings"]]


def test_pairs_have_the_numbers_of_compare_whatever_else_is_compared(tmp_path: Path) -> None:
    boards = explorer_boards(tmp_path / "fruit")
    found, _ = explorer_results(tmp_path / "fruit")
    expected = compare(*([one for one in found if one.model == model] for model in (MODELS[2], MODELS[0])))
    pair = boards.load("pair-fruit-0-2")
    assert (pair["model"], pair["baseline"]) == (MODELS[0], MODELS[2])
    assert expected.overall is not None
    overall = expected.overall.differences[0]
    assert pair["overall"]["difference"] == pytest.approx(overall.difference, abs=1e-6)
    assert pair["overall"]["p_value"] == pytest.approx(overall.p_value, abs=1e-6)
    for one, task in zip(pair["tasks"], expected.tasks, strict=True):
        difference = task.differences[0]
        assert one["p_holm"] == pytest.approx(difference.p_holm, abs=1e-6)
        assert (one["low"], one["high"]) == pytest.approx((difference.low, difference.high), abs=1e-6)
        assert (one["wins"], one["ties"], one["losses"]) == (difference.wins, difference.ties, difference.losses)
    together = dict(boards.details("fruit"))
    assert together["pair-fruit-0-2"] == pair
    assert [change["query"] for change in pair["changes"]][:1] == ["q1"] and pair["changes"][0]["ranks"] == [1, 2]


@pytest.mark.parametrize(
    "name",
    [
        "task-fruit-9",
        "pair-fruit-0-0",
        "pair-fruit-0-99",
        "pair-fruit-0",
        "task-none-0",
        "x",
        "pair-fruit" + "-1" * 9999 + "x",
    ],
)
def test_names_without_data_have_none(tmp_path: Path, name: str) -> None:
    assert explorer_boards(tmp_path / "fruit").load(name) is None


def test_other_conditions_are_other_rows_and_their_history_names_the_change(tmp_path: Path) -> None:
    task = explorer_task("Fruit/a")
    evaluate("bm25", task, results=tmp_path / "own", top_k=100)
    evaluate("bm25", task, results=tmp_path / "own", top_k=2)
    boards = Boards([tmp_path / "own"])
    board = boards.board("own")
    assert board is not None
    assert sorted(model.name for model in board.models) == ["bm25 (top_k 100)", "bm25 (top_k 2)"]
    history = boards.load("models-own")["history"]
    assert history[0] == history[1] == revisions_of(load_results(tmp_path / "own"), "bm25")
    rows = history[0]
    assert [row["tasks"] for row in rows] == [1, 1] and rows[1]["settings"].startswith("top_k=")


def published(folder: Path) -> Path:
    """Write results of a model with two revisions, and of another one; return the warehouse."""
    results = folder / "results"
    meta = model_meta("org/model", training_datasets={"STSB": ["train"], "Other": ["train"]})
    write_json(results / "org__model" / "r2" / "model_meta.json", meta)
    for revision, scores in (("r1", (0.5,)), ("r2", (0.6, 0.7))):
        for task, score in zip(("STSB", "LCQMC"), scores, strict=False):
            write_json(
                results / "org__model" / revision / f"{task}.json", mteb_result(task, score, mrr_at_10=score / 2)
            )
    write_json(results / "org__other" / "r" / "STSB.json", mteb_result("STSB", 0.8))
    import_results([results], folder / "w")
    return folder / "w"


def test_published_models_have_history_training_data_and_stored_metrics(tmp_path: Path) -> None:
    library = Library(published(tmp_path))
    board = library.board("MTEB(cmn, v1)")
    place = [model.name for model in board.models].index("org/model")
    source = Boards(warehouse=tmp_path / "w").source(board.slug)
    assert source is not None
    details = source.models()
    assert [(row["revision"], row["tasks"], row["common"]) for row in details["history"][place]] == [
        ("r1", 1, 1),
        ("r2", 2, 1),
    ]
    assert [row["mean"] for row in details["history"][place]] == pytest.approx([0.5, 0.6])
    assert set(details["training"][place]) == {"STSB", "Other"}
    assert "mrr_at_10" in board.stored
    metrics = library.metrics(board)
    cells = [(board.models[cell.model].name, board.tasks[cell.task].name) for cell in board.cells]
    assert metrics["mrr_at_10"][cells.index(("org/model", "LCQMC"))] == pytest.approx(0.35)
    assert metrics["mrr_at_10"][cells.index(("org/other", "STSB"))] is None
    library.close()


def test_my_model_has_a_rank_among_the_published_ones(tmp_path: Path) -> None:
    facts = TaskFacts(
        "zh", type="sts", samples=10, revision="0cde68302b3541bb8b3c340dc0644b0b745b3dc0", data_hash="a" * 32
    )
    mine = Result(
        "C-MTEB/STSB",
        "bm25",
        {},
        "key",
        main_metric="cosine_spearman",
        metrics={"cosine_spearman": 0.7},
        facts=facts,
        queries=QueryScores(("a",), None, {"cosine": np.array([0.5])}),
    )
    ResultStore(tmp_path / "own").put(mine)
    warehouse = published(tmp_path)
    import_results([tmp_path / "own"], warehouse)
    board = Library(warehouse).board("MTEB(cmn, v1)")
    assert [model.name for model in board.models if model.own] == ["bm25"]
    task = [one.name for one in board.tasks].index("STSB")
    scores = {board.models[cell.model].name: (cell.score, cell.flags) for cell in board.cells if cell.task == task}
    assert scores["bm25"] == (0.7, 0)  # the same revision of the data as the published scores
    assert sorted(scores, key=lambda name: -scores[name][0]) == ["org/other", "bm25", "org/model"]


def test_an_experiment_is_a_variant_of_its_model(tmp_path: Path) -> None:
    results = tmp_path / "results"
    write_json(results / "org__model" / "r" / "STSB.json", mteb_result("STSB", 0.5))
    write_json(results / "org__model" / "r" / "experiments" / "dim_4" / "STSB.json", mteb_result("STSB", 0.4))
    import_results([results], tmp_path / "w")
    board = Library(tmp_path / "w").board("MTEB(cmn, v1)")
    assert [(model.name, model.variant_of) for model in board.models] == [
        ("org/model", None),
        ("org/model (dim_4)", "org/model"),
    ]
    assert [cell.score for cell in board.cells] == [0.5, 0.4]


@pytest.fixture
def stored_audit(tmp_path: Path) -> Path:
    """An audit that found a query of a task called Fruit/a in training data."""
    question, answer = "Which river of Africa is the longest one?", "The Nile is the longest river of Africa by far."
    task = Task.of("Fruit/a", {"d1": answer}, {"q1": question}, {"q1": {"d1": 1}}, language="en")
    audit(task, records=[(question, answer)], output=tmp_path / "audit")
    return tmp_path / "audit"


def test_an_audit_flags_the_scores_of_the_model_that_it_names(tmp_path: Path, stored_audit: Path) -> None:
    board = explorer_boards(tmp_path / "fruit").board("fruit")
    assert board is not None
    flagged = with_audits(board, [ModelAudit.read(f"{MODELS[1]}={stored_audit}")], {})
    marked = {(cell.model, cell.task) for cell in flagged.cells if cell.flags & CONTAMINATED}
    assert marked == {(1, 0)}
    entry = flagged.audits[0]
    assert entry["models"] == [1] and entry["tasks"][0]["verdict"] in ("contaminated", "severe")
    unnamed = with_audits(board, [ModelAudit.read(str(stored_audit))], {})
    assert not any(cell.flags & CONTAMINATED for cell in unnamed.cells) and unnamed.audits[0]["models"] == []


def test_an_audit_concerns_models_that_declare_its_training_data(tmp_path: Path, stored_audit: Path) -> None:
    content = json.loads((stored_audit / "audit.json").read_text())
    content["training"]["references"] = ["hf://owner/Pairs"]
    (stored_audit / "audit.json").write_text(json.dumps(content))
    read = ModelAudit.read(str(stored_audit))
    assert read.concerns("org/model", ["other/pairs"]) and not read.concerns("org/model", ["pairs-2"])
    board = small_board()
    tasks = [replace(board.tasks[0], name="Fruit/a"), *board.tasks[1:]]
    flagged = with_audits(replace(board, tasks=tasks), [read], {"org/small": ["Pairs"]})
    assert {(c.model, c.task) for c in flagged.cells if c.flags & CONTAMINATED} == {(1, 0)}


def test_audits_and_pages_that_do_not_exist_are_errors(tmp_path: Path) -> None:
    evaluate("bm25", explorer_task("Fruit/a"), results=tmp_path / "own")
    with pytest.raises(DataError):
        ModelAudit.read(str(tmp_path / "none"))
    export = ["web", str(tmp_path / "own"), "--export", str(tmp_path / "site")]
    assert main([*export, "--audit", str(tmp_path / "none")]) == 2
    assert main([*export, "--pages", str(tmp_path / "none")]) == 2
    assert not (tmp_path / "site").exists()


def test_the_verb_exports_details_with_texts_of_given_tasks(tmp_path: Path, stored_audit: Path) -> None:
    explorer_results(tmp_path / "fruit")
    arguments = ["web", str(tmp_path / "fruit"), "--export", str(tmp_path / "site"), "--audit", f"bm25={stored_audit}"]
    assert main(arguments) == 0
    names = {path.stem for path in (tmp_path / "site" / "data").glob("*.js")}
    assert {"task-fruit-0", "task-fruit-1", "pair-fruit-0-1", "models-fruit"} <= names
    assert '"audits":[{' in (tmp_path / "site" / "data" / "board-fruit.js").read_text(encoding="utf-8")


def test_the_progress_of_a_run_is_served_while_it_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "progress.jsonl"
    boards = Boards([tmp_path])
    assert boards.load("stamp") == {"stamp": "0-0", "running": []}
    path.write_text(json.dumps({"state": "running", "evaluations": 4, "finished": 1, "activity": HOSTILE}))
    assert boards.load("stamp")["running"] == [
        {"state": "running", "evaluations": 4, "finished": 1, "activity": HOSTILE}
    ]
    os.utime(path, (1, 1))
    assert boards.load("stamp")["running"] == []
    for content in ("{", "[]", "[" * 9000, json.dumps({"state": "done", "evaluations": 4, "finished": 4})):
        path.write_text(content)
        assert boards.load("stamp")["running"] == []
