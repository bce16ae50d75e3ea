"""Boards from results and from a warehouse, the static files, and the server's answers and refusals."""

from __future__ import annotations

import json
import re
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from boards import small_board
from result_files import mteb_result, write_json, write_repository

from steelyard import evaluate
from steelyard.cli import main
from steelyard.errors import UnknownName, UsageError
from steelyard.types import Task
from steelyard.warehouse import import_results
from steelyard.web import write_site
from steelyard.web.board import OTHER_DATA, OTHER_REVISION, PARTIAL, TRAINED
from steelyard.web.own_results import from_results
from steelyard.web.published import Library
from steelyard.web.server import application, serve
from steelyard.web.site import ASSETS
from steelyard.web.sources import Boards


def tiny_task(name: str) -> Task:
    corpus = {"a": "red apple", "b": "green pear", "c": "blue plum"}
    return Task.of(name, corpus, {"q1": "apple", "q2": "pear"}, {"q1": {"a": 1}, "q2": {"b": 1}}, language="en")


def test_a_board_of_results_has_their_scores_and_intervals() -> None:
    results = evaluate(["bm25", "bm25?k1=0.9"], [tiny_task("Mine/x"), tiny_task("Mine/y")])
    board = from_results(results)
    assert [model.name for model in board.models] == ["bm25", "bm25?k1=0.9"]
    assert [task.name for task in board.tasks] == ["Mine/x", "Mine/y"]
    assert len(board.cells) == 4
    assert all(cell.low is not None and cell.low <= cell.score <= (cell.high or 0) for cell in board.cells)
    assert board.tasks[0].languages == ("en",)
    assert board.models[0].own


def test_a_board_of_a_warehouse_flags_what_differs(tmp_path: Path) -> None:
    results = write_repository(tmp_path)
    other = mteb_result("STSB", 0.6)
    other["dataset_revision"] = "another"
    write_json(results / "org__third" / "r" / "STSB.json", other)
    write_json(results / "org__fourth" / "r" / "STSB.json", mteb_result("STSB", 0.65))
    import_results([results], tmp_path / "w")
    library = Library(tmp_path / "w")
    board = library.board("MTEB(cmn, v1)")
    flags = {(board.models[c.model].name, board.tasks[c.task].name): c.flags for c in board.cells}
    assert flags["BAAI/bge-small", "LCQMC"] & OTHER_REVISION
    assert flags["BAAI/bge-small", "STSB"] & TRAINED
    assert flags["org/third", "STSB"] & OTHER_DATA
    assert not flags["org/fourth", "STSB"] & (OTHER_DATA | PARTIAL | TRAINED)
    multilingual = library.board("MTEB(Multilingual, v2)")
    partial = {multilingual.tasks[cell.task].name for cell in multilingual.cells if cell.flags & PARTIAL}
    assert partial == {"STS17"}  # two of its eleven subsets
    with pytest.raises(UnknownName):
        library.board("MTEB(cmn, v9)")
    library.close()


def test_the_site_has_no_address_of_another_host_and_no_text_can_end_a_script(tmp_path: Path) -> None:
    page = write_site(tmp_path, [small_board()])
    texts = [path.read_text(encoding="utf-8") for path in tmp_path.rglob("*") if path.is_file()]
    addresses = {address for text in texts for address in re.findall(r"https?://[^\s\"'`]+", text)}
    assert addresses <= {"http://www.w3.org/2000/svg"}
    assert "<script>alert" not in (tmp_path / "data" / "board-small.js").read_text(encoding="utf-8")
    assert page.name == "index.html"
    assert "<script>" not in page.read_text(encoding="utf-8")


def test_a_site_without_results_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        write_site(tmp_path / "none", [])
    assert not (tmp_path / "none").exists()


@pytest.fixture
def client() -> httpx.Client:
    from starlette.testclient import TestClient

    data = {"index": {"boards": []}, "board-small": small_board().payload()}
    return TestClient(application(data.get), base_url="http://127.0.0.1")


def test_the_server_answers_the_page_its_assets_and_data(client: httpx.Client) -> None:
    assert 'data-live="true"' in client.get("/").text
    for name in ASSETS:
        assert client.get(f"/assets/{name}").status_code == 200
    assert client.get("/api/board-small").json()["name"] == "Small"
    assert "/api/index" in client.get("/api/openapi.json").json()["paths"]


@pytest.mark.parametrize(
    "path", ["/assets/../board.py", "/assets/%2e%2e/board.py", "/api/none", "/etc/passwd", "/assets/x.js"]
)
def test_the_server_serves_nothing_else(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_the_server_refuses_other_hosts_and_other_methods(client: httpx.Client) -> None:
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 400
    assert client.post("/api/index").status_code == 405
    policy = client.get("/").headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.slow
@pytest.mark.browser
def test_new_results_appear_without_reloading(page: Any, tmp_path: Path) -> None:
    evaluate("bm25", tiny_task("Mine/x"), results=tmp_path)
    boards = Boards([tmp_path])
    addresses: list[str] = []
    threading.Thread(target=serve, args=(boards.load,), kwargs={"ready": addresses.append}, daemon=True).start()
    while not addresses:
        time.sleep(0.01)
    page.goto(addresses[0])
    page.locator("table.board tbody tr").nth(0).wait_for()
    assert page.locator("table.board tbody tr").count() == 1
    while page.evaluate("Steelyard.stamp") is None:
        page.wait_for_timeout(50)
    evaluate("bm25?k1=0.9", tiny_task("Mine/x"), results=tmp_path)
    page.locator("table.board tbody tr").nth(1).wait_for()


def test_the_verb_writes_a_site_of_results_and_published_boards(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate("bm25", tiny_task("Mine/x"), results=tmp_path / "results")
    import_results([write_repository(tmp_path / "public")], tmp_path / "w")
    arguments = [
        "web",
        str(tmp_path / "results"),
        "--warehouse",
        str(tmp_path / "w"),
        "--export",
        str(tmp_path / "site"),
    ]
    assert main([*arguments, "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert written["boards"][0] == "results"
    assert "MTEB(cmn, v1)" in written["boards"]
    assert main([*arguments, "-b", "MTEB(cmn, v2)"]) == 2
    assert main(["web", str(tmp_path / "none"), "--export", str(tmp_path / "site")]) == 2
    assert main(["web", str(tmp_path / "results"), "--port", "99999"]) == 2
