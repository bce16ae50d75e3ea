"""Whatever texts and ids there are, they come back as they were written."""

from __future__ import annotations

import csv
import gzip
import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steelyard.datasets import load_task

# A carriage return alone ends a line of CSV for some readers and not for others.
text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"), max_size=40)
name = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Zs"]), min_size=1, max_size=12)
documents = st.dictionaries(name, text, min_size=1, max_size=8)
ROWS = list[dict[str, object]]


def jsonl(path: Path, rows: ROWS) -> None:
    path.write_bytes("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())


def jsonl_packed(path: Path, rows: ROWS) -> None:
    body = "".join(json.dumps(row) + "\n\n" for row in rows).encode()
    if path.name.startswith("corpus"):
        path.write_bytes(gzip.compress(body))
    else:
        with pa.output_stream(str(path), compression="zstd") as stream:
            stream.write(body)


def comma(path: Path, rows: ROWS) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(rows)


def parquet(path: Path, rows: ROWS) -> None:
    pq.write_table(pa.Table.from_pylist(rows), path)


FORMATS = {
    "jsonl": (jsonl, ".jsonl", ".jsonl"),
    "packed": (jsonl_packed, ".jsonl.gz", ".ndjson.zst"),
    "csv": (comma, ".csv", ".csv"),
    "parquet": (parquet, ".parquet", ".parquet"),
}


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(corpus=documents, query=text.filter(str.strip), grade=st.integers(-3, 2**31 - 1))
def test_what_is_written_is_read(form: str, corpus: dict[str, str], query: str, grade: int) -> None:
    write, first, others = FORMATS[form]
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / f"corpus{first}", [{"_id": i, "text": t} for i, t in corpus.items()])
        write(Path(folder) / f"queries{others}", [{"_id": "q", "text": query}])
        write(Path(folder) / f"qrels{others}", [{"query-id": "q", "corpus-id": i, "score": grade} for i in corpus])
        task = load_task(Path(folder))
    assert dict(zip(task.corpus.ids, task.corpus.bodies, strict=True)) == corpus
    assert list(task.corpus.ids) == sorted(corpus, key=str.encode, reverse=True)
    assert task.queries.texts == (query,)
    assert task.qrels.rows.tolist() == list(range(len(corpus))) and set(task.qrels.grades.tolist()) == {grade}
