"""The payload of a board: what the scripts of the page read."""

from __future__ import annotations

import pytest

from steelyard.web import board as boards
from steelyard.web.board import Board, BoardModel, BoardStage, BoardTask, Cell, Failed, Place


def test_flags_are_the_bits_that_the_scripts_test() -> None:
    names = ("PARTIAL", "LIMITED", "OTHER_REVISION", "OTHER_DATA", "TRAINED", "CONTAMINATED", "UNRECORDED")
    assert [getattr(boards, name) for name in names] == [1, 2, 4, 8, 16, 32, 64]


def test_numbers_have_five_digits_and_empty_fields_are_left_out() -> None:
    stages = (BoardStage("bm25", 0.123456789, depth=100), BoardStage("rerank", 0.5, gain=0.25))
    models = (BoardModel("a", bytes=1.23456789, stages=stages, own=True), BoardModel("b", dimension=0, open=True))
    cells = (Cell(0, 0, 0.123456789, 0.1, 0.2000049, flags=8, data="abc"), Cell(1, 0, 0.5))
    board = Board("My board!", "Title", (BoardTask("T", "Retrieval", queries=3),), models, cells)
    payload = board.payload()
    assert payload["tasks"] == [{"name": "T", "type": "Retrieval", "queries": 3}]
    assert payload["models"] == [
        {
            "name": "a",
            "bytes": 1.23457,
            "own": True,
            "stages": [
                {"name": "bm25", "score": 0.12346, "depth": 100},
                {"name": "rerank", "score": 0.5, "gain": 0.25},
            ],
        },
        {"name": "b", "open": True},
    ]
    assert (payload["model"], payload["task"], payload["score"]) == ([0, 1], [0, 0], [0.12346, 0.5])
    assert (payload["low"], payload["high"], payload["flags"]) == ([0.1, None], [0.2, None], [8, None])
    assert payload["data"] == {0: "abc"} and (payload["version"], payload["title"]) == (2, "Title")


def test_columns_without_a_value_are_none() -> None:
    board = Board(
        "x", "", (BoardTask("T"),), (BoardModel("a"),), (Cell(0, 0, 1.0),), {"map": [None], "mrr": [0.333333]}
    )
    payload = board.payload()
    assert payload["low"] is payload["high"] is payload["flags"] is None
    assert payload["metrics"] == {"map": [None], "mrr": [0.33333]} and payload["data"] == {}
    assert payload["queries"] is False and payload["places"] == payload["failures"] == payload["leaders"] == []


def test_places_failures_and_leaders_are_plain_values() -> None:
    details = {
        "places": (Place(0, 1, 2, 1),),
        "failures": (Failed("m", "t", "no"),),
        "leaders": ((0, 1),),
        "tied": (1,),
    }
    payload = Board("x", "", (), (), (), queries=True, **details).payload()  # type: ignore[arg-type]
    assert payload["places"] == [{"model": 0, "low": 1, "high": 2, "group": 1}]
    assert payload["failures"] == [{"model": "m", "task": "t", "error": "no"}]
    assert payload["leaders"] == [[0, 1]] and payload["tied"] == [1] and payload["queries"] is True


@pytest.mark.parametrize(("name", "slug"), [("MTEB(cmn, v1)", "mteb-cmn-v1"), ("--A--b--", "a-b"), ("你好", "board")])
def test_slugs_are_safe_in_addresses(name: str, slug: str) -> None:
    assert Board(name, "", (), (), ()).slug == boards.slug(name) == slug
