"""JSON Lines are parsed by Arrow if they are regular, and line by line if not: both give the same columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from steelyard.datasets.problems import Report
from steelyard.datasets.tables import jsonlines
from steelyard.datasets.tables.columns import CANDIDATES, DOCUMENTS, JUDGEMENTS, QUERIES, Role
from steelyard.datasets.tables.tabular import read_table

REGULAR: dict[str, tuple[Role, list[dict[str, Any]]]] = {
    "documents": (DOCUMENTS, [{"_id": "a", "title": "T", "text": "one"}, {"_id": "b", "text": "two"}]),
    "late title": (DOCUMENTS, [{"_id": "a", "text": "one"}, {"_id": "b", "text": "two", "title": "late"}]),
    "no text": (QUERIES, [{"_id": "a", "text": None}, {"_id": "b", "text": None}]),
    "numbers as ids": (QUERIES, [{"_id": 7, "text": "one"}, {"_id": 8, "text": "two"}]),
    "judgements": (JUDGEMENTS, [{"query-id": "q", "corpus-id": "a", "score": 2}, {"query-id": "q", "corpus-id": "b"}]),
    "lists": (CANDIDATES, [{"query-id": "q", "corpus-ids": ["b", "a"]}, {"query-id": "r", "corpus-ids": []}]),
}


def read(path: Path, role: Role) -> tuple[dict[str, Any], list[str]]:
    report = Report()
    table = read_table([(path.name, path)], role, report)
    columns = {} if table is None else {name: column.to_pylist() for name, column in table.columns.items()}
    return columns, [problem.kind for problem in report.problems]


def write(path: Path, rows: list[Any]) -> Path:
    file = path / "table.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


@pytest.mark.parametrize("name", REGULAR)
def test_regular_lines_are_left_to_arrow_and_read_as_line_by_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    role, rows = REGULAR[name]
    path = write(tmp_path, rows)
    with monkeypatch.context() as patch:
        patch.delattr(jsonlines, "_columns")  # what reads line by line
        fast = read(path, role)
    monkeypatch.setattr(jsonlines, "_read_fast", lambda path, head, role: None)
    assert read(path, role) == fast and fast[0] and not fast[1]


def test_lists_of_ids_are_read_line_by_line(tmp_path: Path) -> None:
    rows = [{"query-id": "q", "corpus-ids": ["b", 7]}, {"query-id": "r", "corpus-ids": []}, {"query-id": "s"}]
    columns, problems = read(write(tmp_path, rows), CANDIDATES)
    assert columns["documents"] == [["b", "7"], [], []] and not problems
    _, problems = read(write(tmp_path, [*rows, {"query-id": "t", "corpus-ids": ["a", None]}]), CANDIDATES)
    assert problems == ["columns"]


@pytest.mark.parametrize(
    ("ids", "rows"), [(["a", "b", 3], (3,)), ([1, 2, "c"], (3,)), ([1, "b"], (1,)), (["a", "b"], None), ([1, 2], None)]
)
def test_ids_are_all_numbers_or_all_strings_and_the_fewer_are_reported(
    ids: list[Any], rows: tuple[int, ...] | None, tmp_path: Path
) -> None:
    report = Report()
    path = write(tmp_path, [{"_id": id_, "text": "x", "title": None} for id_ in ids])
    table = read_table([(path.name, path)], DOCUMENTS, report)
    assert [(one.kind, one.rows) for one in report.problems] == ([("id-type", rows)] if rows else [])
    assert table is not None and table["id"].to_pylist() == [str(id_) for id_ in ids]


@pytest.mark.parametrize("value", [5, [], True, 0.5, {}])
def test_texts_are_strings(value: Any, tmp_path: Path) -> None:
    _, problems = read(write(tmp_path, [{"_id": "a", "text": value}, {"_id": "b", "text": "x"}]), QUERIES)
    assert problems == ["columns"]
    _, problems = read(write(tmp_path, [{"_id": "a", "text": None}, {"_id": "b", "text": "x"}]), QUERIES)
    assert problems == []


@pytest.mark.parametrize("value", [[], True, 0.5, {}])
def test_ids_are_strings_or_whole_numbers(value: Any, tmp_path: Path) -> None:
    _, problems = read(write(tmp_path, [{"_id": value, "text": "x"}, {"_id": 7, "text": "y"}]), QUERIES)
    assert problems == ["columns"]


def test_grades_as_words_numbers_and_nothing(tmp_path: Path) -> None:
    def grades(*values: Any) -> tuple[Any, list[str]]:
        rows = [{"query-id": "q", "corpus-id": f"d{n}", "score": value} for n, value in enumerate(values)]
        columns, problems = read(write(tmp_path, rows), JUDGEMENTS)
        return columns.get("grade"), problems

    assert grades(2, None, 0.5)[1] == grades(2, 1)[1] == []
    assert grades("2", 1)[0] == grades(2, 1)[0] == [2, 1]
    assert grades([1], 2)[1] == ["grade"] and grades([1], {})[0] is None
    assert grades([1], 2**1024, 3) == ([1, 1, 3], ["grade"])
    assert grades([1], 2**1023, 3)[0] == [1, 2.0**1023, 3], "the largest power of two that is a float"
    assert grades([1], 2**1023 + 1, 3)[0] == grades([1], -(2**1023) - 1, 3)[0] == [1, 1, 3]
