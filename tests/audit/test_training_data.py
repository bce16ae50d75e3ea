"""Readers of training data: every format gives the same texts, and no bad row is skipped silently."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from steelyard.audit.training_data import Batch, TrainingFile, batches, jsonlines, training_files
from steelyard.audit.training_data.columns import detect
from steelyard.errors import DataError, MissingPart, UsageError

RECORDS = [
    {"id": f"r{row}", "query": f"query number {row}", "positive": f"東京 text number {row}"} for row in range(250)
]


def read(path: Path, columns: tuple[str, ...] = ()) -> Batch:
    """Return all batches of a file as one."""
    whole = Batch()
    for block in TrainingFile(path.name, path).blocks(columns):
        batch = block.parse()
        whole.rows_read += batch.rows_read
        whole.texts += batch.texts
        whole.rows += batch.rows
        whole.fields += batch.fields
        whole.problems += batch.problems
    return whole


def write(path: Path) -> Path:
    """Write the records in the format of the suffix."""
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in RECORDS).encode()
    if path.name.endswith(".parquet"):
        parquet.write_table(pa.Table.from_pylist(RECORDS), path, row_group_size=100)
    elif path.suffix in (".csv", ".tsv"):
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(RECORDS[0]), delimiter="," if path.suffix == ".csv" else "\t")
            writer.writeheader()
            writer.writerows(RECORDS)
    elif path.suffix == ".json":
        path.write_text(json.dumps(RECORDS), encoding="utf-8")
    elif path.suffix == ".zst":
        with pa.output_stream(str(path), compression="zstd") as stream:
            stream.write(lines)
    else:
        path.write_bytes(gzip.compress(lines) if path.suffix == ".gz" else lines)
    return path


NAMES = ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.parquet", "a.csv", "a.tsv", "a.json"]


@pytest.mark.parametrize("name", NAMES)
def test_every_format_gives_the_same_texts_and_rows(name: str, tmp_path: Path) -> None:
    batch = read(write(tmp_path / name))
    places = zip(batch.rows, batch.fields, batch.texts, strict=True)
    expected = {(row, key, record[key]) for row, record in enumerate(RECORDS, 1) for key in ("query", "positive")}
    assert set(places) == expected
    assert (batch.rows_read, batch.problems) == (250, [])


@pytest.mark.parametrize("size", [64, 1 << 10, 1 << 20])
def test_blocks_of_any_size_give_the_same_rows(size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonlines, "BLOCK", size)
    batch = read(write(tmp_path / "a.jsonl"))
    assert sorted(batch.rows) == sorted([*range(1, 251), *range(1, 251)])


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ("one text here", ["one text here"]),
        (["first text", "second text"], ["first text", "second text"]),
        (
            [{"role": "user", "content": "a question"}, {"role": "assistant", "content": "an answer"}],
            ["a question", "an answer"],
        ),
        ([{"from": "human", "value": "a question"}], ["a question"]),
        ([["a question", "an answer"]], ["a question", "an answer"]),
        ({"text": "nested text"}, ["nested text"]),
    ],
)
@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_shapes_of_a_value(value: Any, texts: list[str], suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    if suffix == "parquet":
        parquet.write_table(pa.table({"messages": [value, value]}), path)
    else:
        path.write_text(2 * (json.dumps({"messages": value}) + "\n"), encoding="utf-8")
    batch = read(path)
    assert (batch.texts, batch.problems) == (texts * 2, [])


def test_bad_rows_are_listed_with_their_positions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "LONGEST_TEXT", 50)
    path = tmp_path / "bad.jsonl"
    lines = [
        b'{"text": "a good row"}',
        b"{not json",
        b'["a", "list"]',
        b'{"other": 1}',
        b'{"text": 7}',
        b'{"text": "caf\xe9 latin-1"}',
        b"",
        b'{"text": "' + b"long " * 20 + b'"}',
        b'{"text": "the last row"}',
    ]
    path.write_bytes(b"\n".join(lines))
    batch = read(path)
    kinds = [(problem.row, problem.kind) for problem in batch.problems]
    assert kinds == [
        (2, "invalid-json"),
        (3, "not-an-object"),
        (4, "missing-column"),
        (5, "wrong-type"),
        (6, "encoding"),
        (8, "huge-text"),
    ]
    assert batch.rows == [1, 6, 8, 9]
    assert len(batch.texts[2]) == 50


def test_a_row_beyond_the_limit_is_listed_and_the_rest_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonlines, "BLOCK", 64)
    monkeypatch.setattr(jsonlines, "LONGEST_ROW", 200)
    path = tmp_path / "a.jsonl"
    rows = [{"text": "first row"}, {"text": "x" * 1000}, {"text": "third row"}, {"text": "fourth row"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    batch = read(path)
    assert [(problem.row, problem.kind) for problem in batch.problems] == [(2, "huge-row")]
    assert (batch.rows, batch.texts[-1], batch.rows_read) == ([1, 3, 4], "fourth row", 4)


def test_csv_with_line_breaks_blank_lines_and_bad_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'\xef\xbb\xbftext,label\n"two\nlines, one row",1\n\ncaf\xe9 au lait,2\n')
    batch = read(path, ("text",))
    assert batch.texts == ["two\nlines, one row", "caf\ufffd au lait"]
    assert [(problem.row, problem.kind) for problem in batch.problems] == [(3, "encoding")]


def test_title_and_text_are_also_read_as_models_read_them(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"title": "Nile", "text": "A river in Africa."}) + "\n", encoding="utf-8")
    assert read(path).texts == ["Nile", "A river in Africa.", "Nile A river in Africa."]


def test_plain_text_has_a_text_on_every_line(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\ttab\ntwo\n", encoding="utf-8")
    assert read(path).texts == ["one\ttab", "two"]


def test_columns_of_ids_scores_and_addresses_are_not_texts() -> None:
    record = {
        "doc_id": "a b",
        "url": "x y",
        "score": 0.5,
        "anchor": "rivers",
        "remark": "some words here",
        "tag": "one",
    }
    assert detect([record]).names == ("anchor", "remark")


def test_a_column_that_was_asked_for_and_is_missing(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        read(write(tmp_path / "a.parquet"), ("absent",))
    problems = read(write(tmp_path / "a.jsonl"), ("absent",)).problems
    assert {problem.kind for problem in problems} == {"missing-column"}
    assert len(problems) == 250


def test_a_folder_is_read_in_the_order_of_its_paths(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("b/2.jsonl", "1.csv", "notes.md", "dataset_info.json"):
        write(tmp_path / name) if name[0] in "b1" else (tmp_path / name).write_text("{}")
    assert [file.relative for file in training_files([tmp_path])] == ["1.csv", "b/2.jsonl"]


def test_references_that_do_not_exist(tmp_path: Path) -> None:
    with pytest.raises(MissingPart):
        training_files([tmp_path / "absent.jsonl"])
    with pytest.raises(DataError):
        training_files([tmp_path])
    with pytest.raises(UsageError):
        training_files([])
