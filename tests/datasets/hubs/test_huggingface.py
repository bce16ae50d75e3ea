"""Loading from the hub with the real client, in a process of its own, against a hub on loopback."""

from __future__ import annotations

import hashlib
import io
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hub_server import Hub, Repository, serve
from loopback import Worker, parquet, working

WORKER = """
import json, os, sys, warnings
from steelyard.datasets import load_task
from steelyard.datasets.hubs import huggingface as hub
from steelyard.errors import SteelyardError
hub.WAITS = (0.01, 0.02, 0.04)
for line in sys.stdin:
    asked = json.loads(line)
    os.environ.pop("HF_TOKEN", None)
    os.environ.update(asked["environment"])
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            task = load_task(asked["reference"], **asked["options"])
        told = {
            "name": task.name, "revision": task.info.revision, "language": task.info.language,
            "hash": task.content_hash, "documents": len(task.corpus), "queries": len(task.queries),
            "candidates": sorted(task.candidates), "reference": dict(task.info.reference),
            "warnings": [str(w.message) for w in caught if "repairs" in str(w.message)],
        }
    except SteelyardError as error:
        told = {
            "error": type(error).__name__, "message": error.message, "hint": error.hint, "exit_code": error.exit_code
        }
    print(json.dumps(told), flush=True)
"""


def nano(task: str, salt: str, documents: int = 40) -> dict[str, bytes]:
    """A small Nano-set of one task, as it is published: no scores."""
    ids = [f"d{i}" for i in range(documents)]
    queries = [f"q{i}" for i in range(10)]
    return {
        "README.md": b"# a set\n",
        f"corpus/{task}.parquet": parquet(_id=ids, text=[f"text of number {i} {salt} " * 20 for i in range(documents)]),
        f"queries/{task}.parquet": parquet(_id=queries, text=[f"which is number {i} of {salt}?" for i in range(10)]),
        f"qrels/{task}.parquet": parquet(**{"query-id": queries, "corpus-id": ids[:10], "note": [salt] * 10}),
        f"bm25/{task}.parquet": parquet(
            **{"query-id": queries, "corpus-ids": [ids[i : i + 5] for i in range(10)], "note": [salt] * 10}
        ),
    }


@dataclass
class Client:
    """Loads in a process whose hub client knows only the hub on loopback and a cache of its own."""

    hub: Hub
    home: Path
    worker: Worker

    def __call__(self, reference: str, *, environment: dict[str, str] | None = None, **options: Any) -> dict[str, Any]:
        return self.worker({"reference": reference, "environment": environment or {}, "options": options})

    def holds(self, files: dict[str, bytes], name: str = "hakari-bench/NanoMMTEB-v2", **facts: Any) -> Client:
        """The same client, with a hub that holds one dataset and has forgotten everything else."""
        self.hub.repositories = {name: Repository(files, **facts)}
        self.hub.requests.clear()
        return self


@contextmanager
def started(hub: Hub, home: Path, **environment: str) -> Iterator[Client]:
    with working(WORKER, home, HF_ENDPOINT=hub.url, **environment) as worker:
        yield Client(hub, home, worker)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serve({}) as hub, started(hub, tmp_path_factory.mktemp("home")) as client:
        yield client


@pytest.fixture
def commit(request: pytest.FixtureRequest) -> str:
    """A commit for each test, so that none finds what another fetched."""
    return hashlib.sha1(request.node.name.encode()).hexdigest()


def test_loads_by_catalogue_name_and_fetches_nothing_twice(client: Client, commit: str) -> None:
    client.holds(nano("belebele", commit) | nano("covid", commit), commit=commit)
    first = client("NanoMMTEB-v2/belebele")
    assert (first["documents"], first["queries"], first["candidates"]) == (40, 10, ["bm25"])
    assert first["revision"] == commit and first["language"] == "multilingual"
    assert first["reference"]["bm25_ndcg_at_10"] == pytest.approx(0.0903, abs=1e-3)
    assert client.hub.count("GET", "covid") == client.hub.count("GET", "README") == 0, "only the files of the task"
    assert client.hub.count("GET", "/resolve/") == 4

    client.hub.requests.clear()
    assert client("NanoMMTEB-v2/belebele") == first
    assert client.hub.count("GET", "/resolve/") == client.hub.count("HEAD") == 0
    assert client.hub.count("GET", "/api/") == 1, "only whether main has moved"

    client.hub.requests.clear()
    assert client("NanoMMTEB-v2/belebele", revision=commit)["hash"] == first["hash"]
    assert client.hub.requests == [], "a commit cannot move"
    by_dataset = client("hf://hakari-bench/NanoMMTEB-v2/belebele")
    assert by_dataset == first, "the catalogue knows it under either name"


def test_offline_after_one_load_knows_the_commit(client: Client, commit: str) -> None:
    client.holds(nano("belebele", commit), commit=commit)
    online = client("NanoMMTEB-v2/belebele")
    client.hub.requests.clear()
    assert client("NanoMMTEB-v2/belebele", offline=True) == online
    never = client("NanoMMTEB-v2/covid", offline=True)
    assert never["error"] == "UnknownName" and "belebele" in never["hint"]
    other = client("NanoBEIR-en/NanoNQ", offline=True)
    assert other["error"] == "HubError" and other["exit_code"] == 3
    with started(client.hub, client.home, HF_HUB_OFFLINE="1") as shut_off:
        assert shut_off("NanoMMTEB-v2/belebele") == online
    assert client.hub.requests == []


def test_a_file_that_was_not_fetched_is_named_offline(client: Client, commit: str) -> None:
    client.holds(nano("belebele", commit), commit=commit)
    client("NanoMMTEB-v2/belebele", candidates=[])
    told = client("NanoMMTEB-v2/belebele", offline=True)
    assert told["error"] == "HubError" and "bm25/belebele.parquet" in told["message"]
    assert client("NanoMMTEB-v2/belebele", offline=True, candidates=[])["candidates"] == []


def test_shards_are_joined_in_order(client: Client, commit: str) -> None:
    whole = nano("belebele", commit)
    table = pq.read_table(io.BytesIO(whole["corpus/belebele.parquet"]))
    sharded = {name: content for name, content in whole.items() if not name.startswith("corpus/")}
    for number, part in enumerate((table.slice(0, 15), table.slice(15))):
        stream = io.BytesIO()
        pq.write_table(part, stream)
        sharded[f"corpus/belebele-0000{number}-of-00002.parquet"] = stream.getvalue()
    one = client.holds(whole, commit=commit)("NanoMMTEB-v2/belebele")
    two = client.holds(sharded, commit=commit[::-1])("NanoMMTEB-v2/belebele")
    assert one["documents"] == 40 and one["hash"] == two["hash"]
    missing = {name: content for name, content in sharded.items() if "00001-of" not in name}
    told = client.holds(missing, commit="e" * 40)("NanoMMTEB-v2/belebele")
    assert told["error"] == "DataError" and "corpus/belebele-00001-of-00002.parquet" in told["message"]


def test_any_dataset_of_the_hub(client: Client, commit: str) -> None:
    files = {
        "corpus.jsonl": b'{"_id": "a", "title": "T", "text": "x"}\n{"_id": "b", "title": "", "text": "y"}\n',
        "queries.jsonl": b'{"_id": "1", "text": "which?"}\n',
        "qrels/test.tsv": b"query-id\tcorpus-id\tscore\n1\ta\t2\n",
    }
    client.holds(files, "someone/own", commit=commit)
    assert client("hf://someone/own/test")["name"] == client("hf://someone/own")["name"] == "own/test"
    assert client("hf://someone/own/test@main")["revision"] == commit


def test_an_interrupted_download_resumes(client: Client, commit: str) -> None:
    files = nano("belebele", commit)
    noise = random.Random(0).randbytes(6 << 20).hex()
    ids = [f"d{i}" for i in range(12)]
    stream = io.BytesIO()
    pq.write_table(
        pa.table({"_id": ids, "text": [noise[i << 20 : (i + 1) << 20] for i in range(12)]}),
        stream, compression="none", use_dictionary=False,
    )  # fmt: skip
    files["corpus/belebele.parquet"] = stream.getvalue()
    client.holds(files, commit=commit)
    client.hub.break_after["corpus/belebele.parquet"] = 11 << 20
    assert client("NanoMMTEB-v2/belebele", candidates=[])["documents"] == 12
    asked = [match for _, path, match in client.hub.requests if "corpus" in path and match]
    assert len(asked) == 1 and int(asked[0].removeprefix("bytes=").removesuffix("-")) >= 10 << 20, "it went on"


def test_a_hub_that_stumbles_is_asked_again(client: Client, commit: str) -> None:
    client.holds(nano("belebele", commit), commit=commit)
    client.hub.statuses += [503, 503]
    assert client("NanoMMTEB-v2/belebele")["documents"] == 40
    client.hub.statuses += [503] * 4
    told = client("NanoMMTEB-v2/belebele")
    assert told["error"] == "HubError" and "503" in told["message"] and "later" in told["hint"]


def test_a_wrong_revision_is_said(client: Client, commit: str) -> None:
    told = client.holds(nano("belebele", commit), commit=commit)("NanoMMTEB-v2/belebele", revision="v9")
    assert told["error"] == "HubError" and "'v9'" in told["message"] and "commit" in told["hint"]


@pytest.mark.parametrize("says", [b"<html>Please log in</html>", b"", b"[]", b'{"id": "a/b"}'])
def test_a_page_to_log_in_is_no_hub(client: Client, commit: str, says: bytes) -> None:
    client.holds(nano("belebele", commit), commit=commit)
    client.hub.says = says
    told = client("NanoMMTEB-v2/belebele")
    client.hub.says = None
    assert told["error"] == "HubError"
    assert client.hub.url in told["message"] and "HF_ENDPOINT" in told["hint"]
    assert client("NanoMMTEB-v2/belebele")["revision"] == commit, "nothing of it is remembered"


def test_a_hub_that_says_nothing_is_asked_again(client: Client, commit: str) -> None:
    client.holds(nano("belebele", commit), commit=commit)
    with started(client.hub, client.home, HF_HUB_ETAG_TIMEOUT="1") as impatient:
        client.hub.silences = [3.0]
        assert impatient("NanoMMTEB-v2/belebele")["revision"] == commit
    assert client.hub.count("GET", "/api/") == 2


def test_a_name_that_no_dataset_can_have_is_said(client: Client) -> None:
    told = client("hf://owner/a set/task")
    assert told["error"] == "HubError" and "'owner/a set'" in told["message"] and "hf://" in told["hint"]


def test_a_private_set_wants_a_token(client: Client, commit: str) -> None:
    client.holds(nano("belebele", commit), commit=commit, token="hf_right")
    told = client("NanoMMTEB-v2/belebele")
    assert told["error"] == "HubError" and "401" in told["message"] and "HF_TOKEN" in told["hint"]
    assert client("NanoMMTEB-v2/belebele", environment={"HF_TOKEN": "hf_right"})["documents"] == 40


def test_a_file_cut_short_is_found_and_not_kept(client: Client, commit: str) -> None:
    client.holds(nano("belebele", commit), commit=commit)
    client.hub.short_by["corpus/belebele.parquet"] = 100
    told = client("NanoMMTEB-v2/belebele")
    client.hub.short_by.clear()
    assert told["error"] == "HubError" and "corpus/belebele.parquet" in told["message"]
    assert client("NanoMMTEB-v2/belebele")["documents"] == 40


def test_a_file_that_is_damaged_on_the_hub_is_not_kept(client: Client, commit: str) -> None:
    files = nano("belebele", commit)
    whole = files["corpus/belebele.parquet"]
    damaged = files["corpus/belebele.parquet"] = whole[:-60]
    client.holds(files, commit=commit)
    told = client("NanoMMTEB-v2/belebele")
    assert told["error"] == "DataError" and "corpus/belebele.parquet" in told["message"]
    kept = [path for path in (client.home / "hf").rglob("*") if path.is_file() and path.read_bytes() == damaged]
    assert kept == []
    files["corpus/belebele.parquet"] = whole
    assert client("NanoMMTEB-v2/belebele")["documents"] == 40


@pytest.mark.parametrize("reference", ["NanoMMTEB-v2/belebele", "hf://hakari-bench/NanoMMTEB-v2/belebele"])
def test_every_damaged_file_is_told_at_once(client: Client, commit: str, reference: str) -> None:
    """There is no path for `steelyard show` to list them by."""
    files = nano("belebele", commit)
    files |= {"corpus/belebele.parquet": b"junk", "queries/belebele.parquet": b"junk of another length"}
    told = client.holds(files, commit=commit)(reference)
    assert told["error"] == "DataError" and "corpus/belebele.parquet" in told["message"]
    assert "and 1 more: queries/belebele.parquet: the file is damaged" in told["hint"] and "show" not in told["hint"]


def test_a_home_that_cannot_be_written_to_is_not_taken_for_a_bad_network(
    client: Client, commit: str, tmp_path: Path
) -> None:
    client.holds(nano("belebele", commit), commit=commit)
    (tmp_path / "file").write_text("no folder")
    with started(client.hub, tmp_path / "home", HF_HOME=str(tmp_path / "file"), HF_TOKEN="hf_any") as other:
        told = other("NanoMMTEB-v2/belebele")
    assert told["error"] == "HubError"
    assert "HF_HOME" in told["hint"] and str(tmp_path / "file") in told["hint"] and "network" not in told["hint"]
    assert sum("/api/datasets" in path for _, path, _ in client.hub.requests) <= 1  # nothing is tried again


def test_a_commit_that_cannot_be_noted_does_not_stop_a_load(client: Client, commit: str, tmp_path: Path) -> None:
    client.holds(nano("belebele", commit), commit=commit)
    (tmp_path / "file").write_text("no folder")
    with started(client.hub, tmp_path / "home", STEELYARD_HOME=str(tmp_path / "file" / "home")) as other:
        told = other("NanoMMTEB-v2/belebele")
    assert told["documents"] == 40 and told["revision"] == commit


def test_faults_of_published_sets_are_repaired_and_told(client: Client, commit: str) -> None:
    files = nano("belebele", commit)
    files["qrels/belebele.parquet"] = parquet(**{"query-id": ["q0", "q1", "gone"], "corpus-id": ["d0", "d1", "d2"]})
    client.holds(files, commit=commit)
    told = client("NanoMMTEB-v2/belebele")
    assert told["queries"] == 2 and "'gone' is not in the queries" in told["warnings"][0]
    assert client("NanoMMTEB-v2/belebele", validate="strict")["error"] == "DataError"


def test_a_missing_shard_stops_its_own_task_only(client: Client, commit: str) -> None:
    files = nano("belebele", commit) | nano("covid", commit)
    files["corpus/covid-00000-of-00002.parquet"] = files.pop("corpus/covid.parquet")
    client.holds(files, "me/set", commit=commit)
    assert client("hf://me/set/belebele")["documents"] == 40
    told = client("hf://me/set/covid")
    assert told["error"] == "DataError" and "corpus/covid-00001-of-00002.parquet" in told["message"]


def test_a_dataset_of_splits_stands_for_its_test_split(client: Client, commit: str) -> None:
    whole = nano("test", commit)
    files = {f"{name.split('/')[0]}/{name.split('/')[0]}.parquet": whole[name] for name in whole if "/test" in name}
    qrels = files.pop("qrels/qrels.parquet")
    few = parquet(**{"query-id": ["q0"], "corpus-id": ["d0"], "note": [commit]})
    client.holds({**files, "qrels/test.parquet": qrels, "qrels/train.parquet": few}, "me/splits", commit=commit)
    assert client("hf://me/splits")["name"] == "splits/test"
    assert (client("hf://me/splits")["queries"], client("hf://me/splits/train")["queries"]) == (10, 1)


def test_what_another_tool_fetched_is_there_without_network(client: Client, commit: str) -> None:
    folder = client.home / "hf" / "hub" / "datasets--me--fetched"
    place = next(iter(client.home.rglob("datasets--*")), folder).parent / folder.name
    for name, content in nano("belebele", commit).items():
        path = place / "snapshots" / commit / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(commit)
    client.holds({})
    for reference in ("hf://me/fetched", "hf://me/fetched/belebele", f"hf://me/fetched/belebele@{commit}"):
        told = client(reference, offline=True)
        assert (told.get("documents"), told.get("revision")) == (40, commit), told
    assert not client.hub.requests
