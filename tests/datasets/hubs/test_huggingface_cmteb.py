"""C-MTEB with the real client of the hub, against a hub on loopback: every task, generation and layout; and copies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cmteb_parts as parts
import pytest
from hub_server import Hub, Repository, serve
from loopback import Worker, working

from steelyard.datasets import catalogue, load_any, task_names
from steelyard.errors import DataError, MissingPart, UnknownName, UsageError
from steelyard.types import Task
from steelyard.types.samples import ClusterTask, LabelTask, PairTask

WORKER = """
import json, sys
from steelyard.datasets import load_any
from steelyard.datasets.hubs import huggingface as hub
from steelyard.errors import SteelyardError
hub.WAITS = (0.01, 0.02, 0.04)
for line in sys.stdin:
    asked = json.loads(line)
    try:
        task = load_any(asked.pop("reference"), **asked)
        told = {"name": task.name, "hash": task.content_hash, "revision": task.info.revision, "type": task.info.type,
                "source": task.info.source, "split": task.info.split, "main": task.info.main_metric}
    except SteelyardError as error:
        told = {"error": type(error).__name__, "message": str(error)}
    print(json.dumps(told), flush=True)
"""

TASKS = [entry for group in ("C-MTEB", "C-MTEB.v2") for entry in catalogue.groups()[group]]


@dataclass
class Client:
    hub: Hub
    worker: Worker

    def __call__(self, reference: str, **options: Any) -> dict[str, Any]:
        return self.worker({"reference": reference, **options})


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serve({}) as hub, working(WORKER, tmp_path_factory.mktemp("client"), HF_ENDPOINT=hub.url) as worker:
        yield Client(hub, worker)


def v1_files(entry: catalogue.Entry) -> dict[str, Repository]:
    """The first repositories, each at its pinned commit; those of `.v2` tasks were never others."""
    facts = entry.extra.get("v1")
    splits = entry.extra.get("v1_splits", entry.splits)
    if not facts:
        return v2_files(entry)
    files = parts.first_generation(entry.type, entry.info.task, splits)
    return {fact["hub"]: Repository(each, commit=fact["revision"]) for fact, each in zip(facts, files, strict=True)}


def v2_files(entry: catalogue.Entry) -> dict[str, Repository]:
    splits = entry.extra.get("v1_splits", entry.splits)
    files = parts.second_generation(entry.type, entry.info.task, splits)
    return {entry.hub: Repository(files, commit=str(entry.revision))}


@pytest.mark.parametrize("entry", TASKS, ids=lambda entry: entry.info.task)
def test_every_task_loads_in_both_generations(client: Client, entry: catalogue.Entry) -> None:
    client.hub.repositories = v2_files(entry)
    present = client(entry.name)
    assert (present.get("name"), present["type"]) == (entry.name, entry.type), present
    assert (present["revision"], present["source"]) == (entry.revision, entry.hub), "the pinned commit"
    client.hub.repositories = v1_files(entry)
    first = client(entry.name, generation="v1")
    assert first["hash"] == present["hash"], "both generations are one task"
    pinned = (entry.extra.get("v1") or [{"hub": entry.hub, "revision": entry.revision}])[0]
    assert (first["source"], first["revision"]) == (pinned["hub"], pinned["revision"])
    assert client(f"{entry.name}?generation=v1") == first, "a name can say its generation"
    before = len(client.hub.requests)
    client.hub.repositories = {}
    assert client(entry.name, offline=True) == present and client(entry.info.task, offline=True) == present
    assert client(entry.name, offline=True, generation="v1") == first
    assert len(client.hub.requests) == before, "what was loaded once needs no network"
    for split in entry.splits[:-1]:
        client.hub.repositories = v2_files(entry)
        other = client(f"{entry.name}:{split}")
        assert (other["name"], other["split"]) == (f"{entry.name}:{split}", split) and other["hash"] != present["hash"]


LAYOUTS = [
    (type, layout)
    for type in ("sts", "pair_classification", "classification", "clustering")
    for layout in parts.LAYOUTS
    if layout != "csv" or type in ("sts", "classification")  # a CSV cell holds no list
]


@pytest.mark.parametrize(("type", "layout"), LAYOUTS)
def test_every_layout_of_every_type(client: Client, type: str, layout: str) -> None:
    """The same samples in other files are the same task, also by the dataset's own name."""
    entry = next(entry for entry in TASKS if entry.type == type)
    usual = {entry.hub: Repository(parts.samples(type, "same", entry.splits), commit="a" * 40)}
    client.hub.repositories = usual
    reference = f"{type}:hf://{entry.hub}/{entry.split}"
    expected = client(f"{reference}@{'a' * 40}")
    number = parts.LAYOUTS.index(layout) + 1
    commit = f"{number:02d}" * 20
    client.hub.repositories = {entry.hub: Repository(parts.samples(type, "same", entry.splits, layout), commit=commit)}
    found = client(f"{reference}@{commit}")
    assert found["hash"] == expected["hash"] and found["revision"] == commit, found


def test_pairs_one_a_row_are_those_of_one_row(client: Client) -> None:
    entry = catalogue.entries()["C-MTEB/Ocnli"]
    hashes = []
    for listed, commit in ((True, "1" * 40), (False, "2" * 40)):
        files = parts.table(parts.pairs("x", listed=listed), "validation")
        client.hub.repositories = {entry.hub: Repository(files, commit=commit)}
        told = client("C-MTEB/Ocnli", revision=commit)
        hashes.append(told["hash"])
        assert told["main"] == "max_accuracy"
    assert hashes[0] == hashes[1]


def test_a_damaged_file_is_fetched_again_and_never_kept(client: Client) -> None:
    entry = catalogue.entries()["C-MTEB/LCQMC"]
    files = parts.samples("sts", "broken", ["test"])
    (name,) = (name for name in files if name.endswith(".parquet"))
    client.hub.repositories = {entry.hub: Repository({**files, name: files[name][:-20]}, commit="3" * 40)}
    before = client.hub.count("GET", "/resolve/")
    told = client("C-MTEB/LCQMC", revision="3" * 40)
    assert told["error"] == "DataError" and name in told["message"] and "damaged" in told["message"]
    assert client.hub.count("GET", "/resolve/") >= before + 2
    client.hub.repositories = {entry.hub: Repository(files, commit="3" * 40)}
    assert client("C-MTEB/LCQMC", revision="3" * 40)["type"] == "sts"


def test_a_repository_without_the_split_says_what_it_has(client: Client) -> None:
    entry = catalogue.entries()["C-MTEB/BQ"]
    files = parts.samples("sts", "x", ["train"])
    client.hub.repositories = {entry.hub: Repository(files, commit="4" * 40)}
    told = client("C-MTEB/BQ", revision="4" * 40)
    assert told["error"] == "DataError" and "'test'" in told["message"] and "train" in told["message"]


# Copies on this machine


def lay_out(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@pytest.mark.parametrize("entry", TASKS, ids=lambda entry: entry.info.task)
def test_copies_of_either_generation(tmp_path: Path, entry: catalogue.Entry) -> None:
    """By owner and name, or by name alone; whichever generation is there is read, the chosen one first."""
    for generation, repositories in (("v1", v1_files(entry)), ("v2", v2_files(entry))):
        for name, repository in repositories.items():
            lay_out(tmp_path / generation / name, repository.files)
            lay_out(tmp_path / f"{generation}-flat" / name.split("/")[1], repository.files)
    loaded = [
        load_any(entry.name, data_dir=tmp_path / folder, offline=True, generation=chosen)
        for folder in ("v1", "v2", "v1-flat", "v2-flat")
        for chosen in ("v1", "v2")
    ]
    assert len({task.content_hash for task in loaded}) == 1
    assert loaded[0].info.revision is None, "nobody knows the commit of a copy"
    if entry.type == "reranking":
        task = loaded[0]
        assert isinstance(task, Task) and list(task.candidates) == ["top_ranked"] and len(task.queries) == 3
        assert task.queries.ids[2] == f"{entry.split}_query2" and "; " not in task.queries.texts[2]
        assert task.corpus.ids[-1] == f"apositive_{entry.split}_query0_00000"


def test_a_folder_of_ones_own_may_stand_for_a_task(tmp_path: Path) -> None:
    folder = tmp_path / "T2Retrieval"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text('{"_id": "d", "text": "文"}\n{"_id": "e", "text": "字"}\n', encoding="utf-8")
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "问"}\n', encoding="utf-8")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n", encoding="utf-8")
    task = load_any("T2Retrieval", data_dir=tmp_path)
    assert isinstance(task, Task) and task.name == "C-MTEB/T2Retrieval" and task.info.ignore_identical_ids
    assert load_any("T2Retrieval", data_dir=folder).content_hash == task.content_hash, "the folder itself will do"


def test_a_copy_that_is_not_there_is_not_fetched(tmp_path: Path) -> None:
    with pytest.raises(MissingPart, match=r"mteb/T2Retrieval.*C-MTEB/T2Retrieval.*--data-dir"):
        load_any("T2Retrieval", data_dir=tmp_path)


def test_a_damaged_copy_is_left_alone(tmp_path: Path) -> None:
    files = parts.samples("sts", "x", ["test"])
    (name,) = (name for name in files if name.endswith(".parquet"))
    lay_out(tmp_path / "C-MTEB" / "LCQMC", {**files, name: files[name][:-20]})
    with pytest.raises(DataError):
        load_any("C-MTEB/LCQMC", data_dir=tmp_path)
    assert (tmp_path / "C-MTEB" / "LCQMC" / name).exists()


def test_constants_of_the_tasks(tmp_path: Path) -> None:
    for name in ("TNews", "IFlyTek", "CLSClusteringS2S", "CLSClusteringS2S.v2", "Ocnli", "STSB"):
        entry = catalogue.find(name)
        assert entry is not None
        for hub, repository in v2_files(entry).items():
            lay_out(tmp_path / hub, repository.files)
    news, apps = (load_any(name, data_dir=tmp_path) for name in ("TNews", "IFlyTek"))
    assert isinstance(news, LabelTask) and (news.samples_per_label, news.experiments) == (32, 10)
    assert isinstance(apps, LabelTask) and (apps.samples_per_label, apps.experiments) == (32, 5)
    whole, drawn = (load_any(f"CLSClusteringS2S{version}", data_dir=tmp_path) for version in ("", ".v2"))
    assert isinstance(whole, ClusterTask) and whole.bootstrap is None and len(whole.problems) == 2
    assert isinstance(drawn, ClusterTask) and drawn.bootstrap is not None and len(drawn.problems) == 1
    assert (drawn.bootstrap.documents, drawn.bootstrap.stratified, drawn.bootstrap.rounds) == (2048, 2048, 10)
    nli = load_any("Ocnli", data_dir=tmp_path)
    assert isinstance(nli, PairTask) and nli.info.main_metric == "max_accuracy" and set(nli.gold) == {0.0, 1.0}


def test_names_with_splits_and_generations() -> None:
    assert task_names(["ATEC:validation"]) == ["C-MTEB/ATEC:validation"]
    assert task_names(["CMedQAv1?generation=v1"]) == ["C-MTEB/CMedQAv1-reranking?generation=v1"]
    assert task_names(["C-MTEB"], type="sts")[0] == "C-MTEB/ATEC" and len(task_names(["C-MTEB"])) == 31
    with pytest.raises(UnknownName):
        task_names(["ATEC:train"])
    with pytest.raises(UsageError, match="'v3'"):
        task_names(["ATEC?generation=v3"])
    with pytest.raises(UsageError, match="'generaton'"):
        task_names(["ATEC?generaton=v1"])
