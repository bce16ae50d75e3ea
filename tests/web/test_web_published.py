"""Boards of imported results: which scores are averaged together, and queries where the files have them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from explorer import MODELS, explorer_results
from result_files import hakari_result, model_meta, mteb_result, write_json

from steelyard import compare
from steelyard.cli import main
from steelyard.errors import DataError
from steelyard.warehouse import import_results
from steelyard.warehouse.catalogue import same_data
from steelyard.warehouse.export import Selection, wide_table
from steelyard.warehouse.manifest import WarehouseFolder
from steelyard.web.board import LIMITED, OTHER_DATA, UNRECORDED
from steelyard.web.own_results import from_results
from steelyard.web.published import Library
from steelyard.web.sources import Boards
from steelyard.web.task_details import DetailSources


def import_scores(folder: Path, rows: list[tuple[str, str, Any, dict[str, Any]]]) -> Path:
    """Import results of models on tasks with their data revisions and further fields, and return the warehouse."""
    for model, task, revision, fields in rows:
        content = {**mteb_result(task, 0.5), "dataset_revision": revision, **fields}
        content["scores"] = {"dev": content["scores"]["test"], "test": content["scores"]["test"]}
        write_json(folder / "results" / f"org__{model}" / "r" / f"{task}.json", content)
    import_results([folder / "results"], folder / "w")
    return folder / "w"


def flags_of(warehouse: Path) -> dict[str, int]:
    library = Library(warehouse)
    board = library.board("MTEB(cmn, v1)")
    library.close()
    return {board.models[cell.model].name.removeprefix("org/"): cell.flags for cell in board.cells}


def test_revisions_with_the_same_data_in_another_format_are_averaged_together(tmp_path: Path) -> None:
    old, new = same_data()["T2Retrieval"]
    rows = [("a", "T2Retrieval", old, {}), ("b", "T2Retrieval", new, {}), ("c", "T2Retrieval", "0" * 40, {})]
    flags = flags_of(import_scores(tmp_path, [*rows, ("d", "T2Retrieval", None, {})]))
    assert {name: value & (OTHER_DATA | UNRECORDED) for name, value in flags.items()} == {
        "a": 0,
        "b": 0,
        "c": OTHER_DATA,
        "d": UNRECORDED,
    }


CONVERTED = {
    "CMedQAv1-reranking": ("8d7f1e942507dac42dc58017c1a001c3717da7df", "f77f0345c9b6ac0a2447a3a71483d5b27393cb35"),
    "CMedQAv2-reranking": ("23d186750531a14a0357ca22cd92d712fd512ea0", "01399b6956a4c6bf9edc5b6b90e176aeeb399686"),
    "MMarcoReranking": ("8e0c766dbe9e16e1d221116a3f36795fbade07f6", "91c0f9d5cbd4cdc7ecd7039c5c2e57740cb62b00"),
    "PAWSX": ("9c6a90e430ac22b5779fb019a23e820b11a8b5e1", "bd129d4230ee0551b5469c566bced8da75abae0a"),
    "STSB": ("0cde68302b3541bb8b3c340dc0644b0b745b3dc0", "e036defee8f190911de6fc825a944b928c8cda53"),
    "T2Reranking": ("76631901a18387f85eaa53e5450019b87ad58ef9", "a34fe6bc0dff185af1228e49a0f6fb1de1565627"),
}
"""Revisions of tasks before and after mteb uploaded them again, as they are in published results."""


def test_tasks_that_mteb_uploaded_again_are_averaged_with_earlier_results(tmp_path: Path) -> None:
    rows: list[tuple[str, str, Any, dict[str, Any]]] = [
        (model, task, revision, {})
        for task, revisions in CONVERTED.items()
        for model, revision in zip("ab", revisions, strict=True)
    ]
    library = Library(import_scores(tmp_path, rows))
    cells = library.board("MTEB(cmn, v1)").cells
    library.close()
    assert len(cells) == 2 * len(CONVERTED) and not any(cell.flags & OTHER_DATA for cell in cells)


def test_a_sample_of_the_queries_is_other_data(tmp_path: Path) -> None:
    revision = "1" * 40
    limited = {"steelyard": {f"{split}/default": {"key": "k", "limit": 50} for split in ("dev", "test")}}
    rows: list[tuple[str, str, Any, dict[str, Any]]] = [("a", "STSB", revision, {})]
    flags = flags_of(
        import_scores(tmp_path, [*rows, ("b", "STSB", revision, limited), ("c", "STSB", revision, limited)])
    )
    assert not flags["a"] & OTHER_DATA
    assert flags["b"] & OTHER_DATA and flags["b"] & LIMITED


def test_the_revision_of_a_model_on_the_usual_data_is_preferred(tmp_path: Path) -> None:
    usual, other = "1" * 40, "2" * 40
    rows: list[tuple[str, str, Any, dict[str, Any]]] = [(name, "STSB", usual, {}) for name in ("b", "c")]
    results = tmp_path / "results" / "org__a"
    write_json(results / "r1" / "STSB.json", {**mteb_result("STSB", 0.9), "dataset_revision": other})
    write_json(results / "r1" / "LCQMC.json", mteb_result("LCQMC", 0.9))  # the preferred revision: more tasks
    write_json(results / "r0" / "STSB.json", {**mteb_result("STSB", 0.4), "dataset_revision": usual})
    library = Library(import_scores(tmp_path, rows))
    board = library.board("MTEB(cmn, v1)")
    (cell,) = [c for c in board.cells if (board.models[c.model].name, board.tasks[c.task].name) == ("org/a", "STSB")]
    assert (cell.score, cell.flags & OTHER_DATA) == (0.4, 0)


def test_an_exported_table_does_not_average_other_data(tmp_path: Path) -> None:
    rows: list[tuple[str, str, Any, dict[str, Any]]] = [(name, "STSB", "1" * 40, {}) for name in "ab"]
    warehouse = import_scores(tmp_path, [*rows, ("c", "STSB", "2" * 40, {})])
    _, table = wide_table(warehouse, Selection(benchmark="MTEB(cmn, v1)"))
    assert {name: mean for name, mean, _ in table} == {"org/a": 0.5, "org/b": 0.5, "org/c": None}


def test_a_warehouse_with_marts_of_an_earlier_version_asks_for_an_import(tmp_path: Path) -> None:
    warehouse = import_scores(tmp_path, [("a", "STSB", "1" * 40, {})])
    folder = WarehouseFolder(warehouse)
    folder.commit(replace(folder.manifest(), marts=0))
    with pytest.raises(DataError) as error:
        Library(warehouse)
    assert str(tmp_path / "results") in (error.value.hint or "")
    assert import_results([tmp_path / "results"], warehouse).read == 0
    Library(warehouse).close()


def test_an_old_warehouse_that_was_not_asked_for_leaves_out_published_results_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    explorer_results(tmp_path / "fruit")
    warehouse = tmp_path / "home" / "warehouse"
    (tmp_path / "home").mkdir(exist_ok=True)
    import_scores(tmp_path, [("a", "STSB", "1" * 40, {})]).rename(warehouse)
    folder = WarehouseFolder(warehouse)
    folder.commit(replace(folder.manifest(), marts=0))
    assert main(["web", str(tmp_path / "fruit"), "--export", str(tmp_path / "site")]) == 0
    assert "published results are left out" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "site" / "data").glob("board-*")] == ["board-fruit.js"]
    assert main(["web", "--warehouse", str(warehouse), "--export", str(tmp_path / "site")]) == 2


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Boards, Any]:
    """Boards of a warehouse with results of ours, and those results."""
    folder = tmp_path_factory.mktemp("imported")
    found, tasks = explorer_results(folder / "fruit")
    import_results([folder / "fruit"], folder / "w")
    return Boards(warehouse=folder / "w", sources=DetailSources(tasks=tasks)), found


def test_imported_results_are_compared_query_by_query_as_compare_does(imported: tuple[Boards, Any]) -> None:
    boards, found = imported
    board = boards.board("fruit")
    assert board is not None and board.queries
    first, second = (next(p for p, m in enumerate(board.models) if m.name == name) for name in (MODELS[0], MODELS[2]))
    expected = compare(*([one for one in found if one.model == model] for model in (MODELS[2], MODELS[0])))
    pair = boards.load(f"pair-fruit-{first}-{second}")
    assert (pair["model"], pair["baseline"], pair["queries"]) == (MODELS[0], MODELS[2], 16)
    assert expected.overall is not None
    assert pair["overall"]["p_value"] == pytest.approx(expected.overall.differences[0].p_value, abs=1e-6)
    for one, task in zip(pair["tasks"], expected.tasks, strict=True):
        difference = task.differences[0]
        assert one["difference"] == pytest.approx(difference.difference, abs=1e-6)
        assert (one["low"], one["high"]) == pytest.approx((difference.low, difference.high), abs=1e-6)
        assert (one["wins"], one["ties"], one["losses"]) == (difference.wins, difference.ties, difference.losses)
    assert pair["changes"][0]["query"] == "q1" and pair["changes"][0]["ranks"] == [1, 2]
    assert dict(boards.details("fruit"))[f"pair-fruit-{first}-{second}"] == pair


def test_imported_results_have_the_ties_and_ranks_of_those_in_their_folder(imported: tuple[Boards, Any]) -> None:
    boards, found = imported
    board, own = boards.board("fruit"), from_results(found)
    assert board is not None
    for ours, theirs in ((board.tied, own.tied), *zip(board.leaders, own.leaders, strict=True)):
        assert {board.models[place].name for place in ours} == {own.models[place].name for place in theirs} != set()
    ranks = [
        {one.models[place.model].name: (place.low, place.high, place.group) for place in one.places}
        for one in (board, own)
    ]
    assert ranks[0] == ranks[1] and ranks[0].keys() == set(MODELS)


def test_imported_variants_fold_under_their_model(tmp_path: Path) -> None:
    explorer_results(tmp_path / "fruit")
    for path in (tmp_path / "fruit").rglob("*.json"):
        content = json.loads(path.read_text(encoding="utf-8"))
        if content.get("steelyard", {}).get("model") == MODELS[1]:
            content["steelyard"].setdefault("notes", {})["variant_of"] = MODELS[0]
            write_json(path, content)
    import_results([tmp_path / "fruit"], tmp_path / "w")
    boards = Boards(warehouse=tmp_path / "w")
    board = boards.board("fruit")
    assert board is not None
    assert {model.name: model.variant_of for model in board.models} == {
        MODELS[0]: None,
        MODELS[1]: MODELS[0],
        MODELS[2]: None,
    }
    places = {model.name: place for place, model in enumerate(board.models)}
    first, second = sorted((places[MODELS[0]], places[MODELS[1]]))
    assert boards.load(f"pair-fruit-{first}-{second}")["queries"] == 16


def test_a_task_of_imported_results_lists_its_queries(imported: tuple[Boards, Any]) -> None:
    boards, _ = imported
    details = boards.load("task-fruit-0")
    assert details["total"] == 8 and details["unsolved"] == 1
    assert details["texts"][details["ids"].index("q1")] == "apple"
    assert boards.load("task-fruit-9") is None and boards.load("pair-fruit-0-99") is None


def test_results_of_hakari_are_compared_query_by_query(tmp_path: Path) -> None:
    for name, orders in {"good": "aab", "bad": "bbb"}.items():
        content = hakari_result()
        content["model"]["id"] = f"org/{name}"
        lists = [
            {"query_id": f"q{i}", "corpus_ids": [first, *({"a", "b"} - {first})]} for i, first in enumerate(orders)
        ]
        judged = [{"query_id": f"q{i}", "corpus_id": "a", "score": 1} for i in range(3)]
        content["artifacts"]["top_rankings"] = {"qrels": judged, "rankings": lists}
        gain = 1 / 1.584962500721156  # of a relevant document at rank 2
        content["evaluation"]["aggregate_metric_value"] = (2 + gain) / 3 if name == "good" else gain
        write_json(tmp_path / "hakari" / f"{name}.json", content)
    import_results([tmp_path / "hakari"], tmp_path / "w")
    boards = Boards(warehouse=tmp_path / "w")
    board = boards.board("nanox")
    assert board is not None
    assert [model.name for model in board.models] == ["org/bad", "org/good"]
    pair = boards.load("pair-nanox-0-1")
    assert (pair["tasks"][0]["wins"], pair["tasks"][0]["ties"], pair["tasks"][0]["losses"]) == (0, 1, 2)
    assert pair["changes"][0]["ranks"] == [2, 1]


def test_published_models_without_queries_have_no_pair(tmp_path: Path) -> None:
    write_json(tmp_path / "results" / "org__a" / "r" / "model_meta.json", model_meta("org/a"))
    rows: list[tuple[str, str, Any, dict[str, Any]]] = [(name, "STSB", "1" * 40, {}) for name in "ab"]
    boards = Boards(warehouse=import_scores(tmp_path, rows))
    board = boards.board("mteb-cmn-v1")
    assert board is not None and not board.queries
    assert boards.load("pair-mteb-cmn-v1-0-1") is None and boards.load("task-mteb-cmn-v1-0") is None
