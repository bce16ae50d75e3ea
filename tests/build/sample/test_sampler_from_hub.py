"""Samples from a hub: shards come one after the other, in pieces, with the real clients against hubs on loopback."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cmteb_parts
import modelscope_server
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from build_parts import big_set, read_lines
from hub_server import COMMIT, Hub, Repository, serve
from loopback import parquet, told_by
from modelscope_server import Scope

from steelyard.build.sample.recipe import Recipe
from steelyard.build.sample.sampler import sample_set
from steelyard.cli import main
from steelyard.datasets import catalogue, load_task

WORKER = """
import json, sys, warnings
from pathlib import Path
from steelyard.build.source import streams
from steelyard.build.sample.sampler import sample_set
from steelyard.build.sample.recipe import Recipe
from steelyard.datasets.hubs import huggingface as hub
from steelyard.datasets.hubs import remote
from steelyard.errors import SteelyardError
hub.WAITS = (0.01, 0.01)
streams.ROWS = 100
reference, folder, recipe = sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3])
events, opened = [], remote.HubDataset.__init__
def watched(self, snapshot, fetch):
    opened(self, snapshot, lambda name, afresh: (events.append(name), fetch(name, afresh))[1])
remote.HubDataset.__init__ = watched
try:
    made = sample_set(reference, folder, Recipe(**recipe), progress=lambda stage: lambda n: events.append([stage, n]))
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


def cut_there(
    hub: Hub | Scope, home: Path, folder: Path, reference: str = "hf://me/big/test", **recipe: Any
) -> dict[str, Any]:
    told: dict[str, Any]
    where = {"HF_ENDPOINT" if isinstance(hub, Hub) else "MODELSCOPE_ENDPOINT": hub.url}
    (told,) = told_by(WORKER, home, reference, str(folder), {**RECIPE, **recipe}, **where)
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
    sample_set(str(local), tmp_path / "same", Recipe(**RECIPE, mine=("bm25",)))
    for config in ("corpus", "queries", "qrels"):
        names = [tmp_path / folder / config / "test.parquet" for folder in ("out", "same")]
        assert names[0].read_bytes() == names[1].read_bytes()
    queries = pq.read_table(tmp_path / "out" / "queries" / "test.parquet").to_pylist()
    assert all(row["instruction"] == f"find {row['_id']}" and row["language"] for row in queries)


def test_another_cut_fetches_nothing(hub: Hub, tmp_path: Path) -> None:
    cut_there(hub, tmp_path, tmp_path / "one")
    before = hub.count("GET", "/resolve/")
    assert before == SHARDS + 4, "the tables, and the card of the source"
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


@pytest.fixture
def scope(source: Path) -> Iterator[Scope]:
    with modelscope_server.serve({"me/big": published(source)}) as running:
        yield running


ON_MODELSCOPE = "modelscope://me/big/test"


def test_modelscope_gives_the_same_cut_shard_by_shard(hub: Hub, scope: Scope, tmp_path: Path) -> None:
    mined = {"mine": ["bm25"]}
    theirs = cut_there(hub, tmp_path, tmp_path / "one", **mined)
    told = cut_there(scope, tmp_path, tmp_path / "two", ON_MODELSCOPE, **mined)
    assert told["events"] == theirs["events"], "a shard is read before the next is fetched"
    facts = told["facts"]["test"]["source"]
    assert facts["revision"] == modelscope_server.COMMIT
    assert facts["fingerprint"] == f"me/big@{modelscope_server.COMMIT}"
    for config in ("corpus", "queries", "qrels"):
        one, two = (tmp_path / folder / config / "test.parquet" for folder in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
    asked = [scope.fetched(shard(number)) for number in range(SHARDS)]
    assert asked == [1] * SHARDS
    cut_there(scope, tmp_path, tmp_path / "three", ON_MODELSCOPE, seed=5)
    assert [scope.fetched(shard(number)) for number in range(SHARDS)] == asked, "another cut fetches nothing"


def test_a_shard_that_modelscope_damages_stops_the_cut_and_it_goes_on_later(scope: Scope, tmp_path: Path) -> None:
    scope.damaged = {shard(2)}
    told = cut_there(scope, tmp_path, tmp_path / "out", ON_MODELSCOPE)
    assert told["error"] in ("HubError", "DataError") and shard(2) in told["message"]
    assert ["reading ids", 100] in told["events"], "what was there had been read"
    scope.damaged = set()
    scope.requests.clear()
    again = cut_there(scope, tmp_path, tmp_path / "out", ON_MODELSCOPE)
    assert again["facts"]["test"]["documents"]["kept"] == 200
    assert [scope.fetched(shard(number)) for number in range(SHARDS)] == [0, 0, 1], "only the damaged shard"


def test_a_dataset_that_modelscope_does_not_have(scope: Scope, tmp_path: Path) -> None:
    told = cut_there(scope, tmp_path, tmp_path / "out", "modelscope://me/other/test")
    assert told["error"] == "HubError" and "me/other" in told["message"]


def copied(files: dict[str, bytes], folder: Path) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of copies of published datasets; what the flags tell the loaders is forgotten after the test."""
    for name in ("STEELYARD_DATA", "STEELYARD_HUB", "STEELYARD_OFFLINE", "HF_HUB_OFFLINE"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return tmp_path / "copies"


@pytest.mark.parametrize("generation", ["v1", "v2"])
def test_a_published_task_is_cut_from_copies_of_either_generation(
    copies: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], generation: str
) -> None:
    entry = catalogue.find("T2Retrieval")
    assert entry is not None
    if generation == "v1":
        files = cmteb_parts.first_generation(entry.type, "T2Retrieval", entry.splits)
        for facts, each in zip(entry.extra["v1"], files, strict=True):
            copied(each, copies / facts["hub"])
    else:
        copied(cmteb_parts.second_generation(entry.type, "T2Retrieval", entry.splits), copies / entry.hub)
    flags = ["--data-dir", str(copies), "--queries", "2", "--docs", "5", "--near", "0", "--json"]
    assert main(["build", "T2Retrieval", "-o", str(tmp_path / "out"), *flags]) == 0
    (facts,) = json.loads(capsys.readouterr().out)["tasks"].values()
    assert facts["queries"]["kept"] == 2 and facts["source"]["from"].endswith("T2Retrieval")
    assert facts["source"]["revision"] is None


def test_a_changed_copy_is_another_source_and_a_damaged_one_is_left_alone(
    copies: Path, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = catalogue.find("T2Retrieval")
    assert entry is not None
    home = copies / entry.hub
    copied(cmteb_parts.second_generation(entry.type, "T2Retrieval", entry.splits), home)
    command = ["build", "T2Retrieval", "-o", str(tmp_path / "out"), "--data-dir", str(copies), "--near", "0", "-q"]
    assert main(command) == 0
    (corpus,) = (home / "corpus").glob("*.parquet")
    table = pq.read_table(corpus)
    corpus.write_bytes(parquet(table.slice(0, table.num_rows - 1)))
    assert main(command) == 2 and "--overwrite" in capsys.readouterr().err
    corpus.write_bytes(b"no table")
    assert main([*command, "--overwrite"]) == 2 and "damaged" in capsys.readouterr().err
    assert corpus.read_bytes() == b"no table"


def test_the_hub_is_a_flag(copies: Path, tmp_path: Path) -> None:
    assert main(["build", "T2Retrieval", "-o", str(tmp_path / "out"), "--hub", "modelscope", "--offline", "-q"]) == 3
    assert "STEELYARD_HUB" not in os.environ
