"""The size of a task in files is estimated without loading it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from steelyard import evaluate
from steelyard.datasets.formats.file_sizes import SAMPLE, estimate_size
from steelyard.engine.events import Planned


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def small(folder: Path, documents: int, words: int) -> str:
    write_rows(folder / "corpus.jsonl", [{"_id": f"d{n}", "text": f"word{n} " * words} for n in range(documents)])
    write_rows(folder / "queries.jsonl", [{"_id": f"q{n}", "text": f"word{n}"} for n in range(3)])
    (folder / "qrels.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(f"q{n}\td{n}\t1\n" for n in range(3)), encoding="utf-8"
    )
    return str(folder)


@pytest.mark.slow
def test_a_corpus_larger_than_what_is_read_is_estimated_from_its_first_rows(tmp_path: Path) -> None:
    found = estimate_size(small(tmp_path, 20_000, 10))
    assert (tmp_path / "corpus.jsonl").stat().st_size > 4 * SAMPLE
    assert found is not None and found.queries == 3
    assert found.documents == pytest.approx(20_000, rel=0.1)
    assert found.length == pytest.approx(90, rel=0.1)


def test_documents_with_a_table_of_questions_and_files_of_samples_have_a_size(tmp_path: Path) -> None:
    folder = tmp_path / "handbook"
    folder.mkdir()
    for n in range(4):
        (folder / f"{n}.md").write_text("x" * 50, encoding="utf-8")
    questions = tmp_path / "questions.csv"
    questions.write_text("question,file\nwhy?,1\nhow?,2\n", encoding="utf-8")
    found = estimate_size(f"{folder},{questions}")
    assert found is not None and (found.documents, found.queries, found.length) == (4, 2, 50.0)
    pairs = write_rows(tmp_path / "sts" / "pairs.jsonl", [{"sentence1": "één", "sentence2": "two", "score": 1.0}] * 9)
    found = estimate_size(str(pairs.parent))
    assert found is not None and (found.documents, found.queries, found.length) == (9, 0, 8.0)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("corpus.jsonl.gz", gzip.compress(b'{"_id": "a", "text": "x"}\n', mtime=0)),
        ("corpus.jsonl", b"{broken\n"),
        ("corpus.jsonl", b""),
    ],
    ids=["compressed", "broken", "empty"],
)
def test_files_that_cannot_be_read_this_way_have_no_size(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    assert estimate_size(str(tmp_path)) is None
    assert estimate_size("NanoAlmanac/en") is None and estimate_size(str(tmp_path / "missing")) is None


def test_a_run_knows_the_sizes_of_local_tasks_before_it_loads_them(tmp_path: Path) -> None:
    tasks = [small(tmp_path / "a", 5, 4), small(tmp_path / "b", 40, 40)]
    planned: list[Planned] = []
    evaluate("bm25", tasks, progress=lambda event: planned.append(event) if isinstance(event, Planned) else None)
    assert list(planned[0].sizes) == [(5, 3), (40, 3)]
    short, long = planned[0].lengths
    assert short is not None and long is not None and long > 9 * short
