"""Cutting from a hub: shards come one after the other, in pieces, with the real client against a hub on loopback."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from build_parts import big_set, read_lines
from hub_server import COMMIT, Hub, Repository, serve
from steelyard.build.cut import cut
from steelyard.build.recipe import Recipe
from steelyard.datasets import load_task

WORKER = """
import json, sys, warnings
from pathlib import Path
from steelyard.build import streams
from steelyard.build.cut import cut
from steelyard.build.recipe import Recipe
from steelyard.datasets import hub
from steelyard.errors import SteelyardError
hub.WAITS = (0.01, 0.01)
streams.ROWS = 100
reference, folder, recipe = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
events, fetch = [], hub._fetch
def fetched(snapshot, name, **how):
    events.append(name)
    return fetch(snapshot, name, **how)
hub._fetch = fetched
try:
    made = cut(reference, folder, Recipe(**recipe), watch=lambda stage: lambda done: events.append([stage, done]))
    told = {"facts": made.facts, "events": events}
except SteelyardError as error:
    told = {"error": type(error).__name__, "message": error.message, "events": events}
print(json.dumps(told))
"""
SHARDS = 3
RECIPE = {"queries": 15, "documents": 200, "seed": 4}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return big_set(tmp_path_factory.mktemp("hub") / "source", documents=900, queries=60)


def parquet(table: pa.Table, **how: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(table, stream, **how)
    return stream.getvalue()


def published(source: Path) -> dict[str, bytes]:
    """The set as a hub has large ones: a corpus in shards of several row groups, instructions in their own table."""
    rows = read_lines(source / "corpus.jsonl")
    size = len(rows) // SHARDS
    files = {
        f"corpus/test-0000{n}-of-0000{SHARDS}.parquet": parquet(
            pa.Table.from_pylist(rows[n * size : (n + 1) * size]), row_group_size=70
        )
        for n in range(SHARDS)
    }
    judged = [line.split("\t") for line in (source / "qrels.tsv").read_text().splitlines()[1:]]
    asked = read_lines(source / "queries.jsonl")
    qrels = {"query-id": [q for q, _, _ in judged], "corpus-id": [d for _, d, _ in judged]}
    told = {"query-id": [line["_id"] for line in asked], "instruction": [f"find {line['_id']}" for line in asked]}
    return {
        **files,
        "queries/test.parquet": parquet(pa.Table.from_pylist(asked)),
        "qrels/test.parquet": parquet(pa.table({**qrels, "score": [int(g) for _, _, g in judged]})),
        "instruction/test.parquet": parquet(pa.table(told)),
        "README.md": b"# a set\n",
    }


@pytest.fixture
def hub(source: Path) -> Iterator[Hub]:
    with serve({"me/big": Repository(published(source))}) as running:
        yield running


def cut_there(hub: Hub, home: Path, folder: Path, reference: str = "hf://me/big/test", **recipe: Any) -> dict[str, Any]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "STEELYARD_"))}
    clean |= {
        "HF_ENDPOINT": hub.url,
        "HF_HOME": str(home / "hf"),
        "STEELYARD_HOME": str(home / "steelyard"),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "NO_PROXY": "127.0.0.1",
    }
    command = [sys.executable, "-c", WORKER, reference, str(folder), json.dumps({**RECIPE, **recipe})]
    done = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def shard(number: int) -> str:
    return f"corpus/test-0000{number}-of-0000{SHARDS}.parquet"


def test_a_shard_is_read_before_the_next_is_fetched(hub: Hub, source: Path, tmp_path: Path) -> None:
    told = cut_there(hub, tmp_path, tmp_path / "out")
    first_pass = [event for event in told["events"] if event[0] == "reading ids" or str(event).startswith("corpus/")]
    first_pass = first_pass[: first_pass.index(shard(2)) + 4]
    expected: list[Any] = []
    for number in range(SHARDS):
        expected += [shard(number), *(["reading ids", 100] for _ in range(3))]
    assert first_pass == expected, "batches of a hundred rows, whatever the row groups; then the next shard"
    facts = told["facts"]["test"]
    assert facts["source"]["revision"] == COMMIT and facts["source"]["documents"] == 900
    assert facts["source"]["from"] == "me/big" and facts["source"]["fingerprint"] == f"me/big@{COMMIT}"


def test_the_cut_is_that_of_the_same_files_on_disk(hub: Hub, source: Path, tmp_path: Path) -> None:
    cut_there(hub, tmp_path, tmp_path / "out", mine=["bm25"])
    local = tmp_path / "local"
    for name, content in published(source).items():
        (local / name).parent.mkdir(parents=True, exist_ok=True)
        (local / name).write_bytes(content)
    cut(str(local), tmp_path / "same", Recipe(**RECIPE, mine=("bm25",)))
    for config in ("corpus", "queries", "qrels"):
        names = [tmp_path / folder / config / "test.parquet" for folder in ("out", "same")]
        assert names[0].read_bytes() == names[1].read_bytes()
    queries = pq.read_table(tmp_path / "out" / "queries" / "test.parquet").to_pylist()
    assert all(row["instruction"] == f"find {row['_id']}" and row["language"] for row in queries)


def test_another_cut_fetches_nothing(hub: Hub, tmp_path: Path) -> None:
    cut_there(hub, tmp_path, tmp_path / "one")
    before = hub.count("GET", "/resolve/")
    assert before == SHARDS + 3
    cut_there(hub, tmp_path, tmp_path / "two", seed=5)
    assert hub.count("GET", "/resolve/") == before


def test_a_shard_that_does_not_come_stops_the_cut_and_it_goes_on_later(hub: Hub, tmp_path: Path) -> None:
    files = hub.repositories["me/big"].files
    last = files.pop(shard(2))
    files[shard(2)] = last[: len(last) // 2]
    told = cut_there(hub, tmp_path, tmp_path / "out")
    assert told["error"] == "DataError" and "damaged" in told["message"] and shard(2) in told["message"]
    assert ["reading ids", 100] in told["events"], "what was there had been read"
    files[shard(2)] = last
    hub.requests.clear()
    again = cut_there(hub, tmp_path, tmp_path / "out")
    assert again["facts"]["test"]["documents"]["kept"] == 200
    assert hub.count("GET", "corpus/") == 1, "only the shard that was damaged"


def test_documents_that_come_twice_are_told_and_left_out(hub: Hub, source: Path, tmp_path: Path) -> None:
    rows = read_lines(source / "corpus.jsonl")
    files = hub.repositories["me/big"].files
    table = pq.read_table(io.BytesIO(files[shard(2)]))
    again = pa.Table.from_pylist([{**rows[n], "text": f"another text {n}"} for n in (0, 5, 700)])
    files[shard(2)] = parquet(pa.concat_tables([table, again.select(table.column_names)]))
    told = cut_there(hub, tmp_path, tmp_path / "out", queries=60, documents=900, near=0.0)
    facts = told["facts"]["test"]
    assert facts["notes"]["repeated_documents"] == 3 and facts["source"]["documents"] == 903
    task = load_task(str(tmp_path / "out"))
    texts = {row["_id"]: row["text"] for row in rows}
    assert len(task.corpus) == 900 and all(
        body == texts[id_] for id_, body in zip(task.corpus.ids, task.corpus.bodies, strict=True)
    ), "the first of two"


def test_by_the_name_of_the_dataset(hub: Hub, tmp_path: Path) -> None:
    told = cut_there(hub, tmp_path, tmp_path / "out", reference="hf://me/big@main")
    assert list(told["facts"]) == ["test"]
