"""Executors on one machine: the same results as a local run, and the plan that they carry out."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import cluster_models
import pytest
from cluster_models import task
from encoder_parts import Letters
from executor_parts import stored_results

import steelyard
from steelyard.cli import main
from steelyard.config import Settings
from steelyard.encoders.cache.batch_plan import PART_TEXTS, planned_batches
from steelyard.engine.batch import load_models
from steelyard.engine.events import Event, Finished, Planned
from steelyard.engine.executors import process_watch
from steelyard.engine.executors.dispatch import ATTEMPTS, Ready
from steelyard.engine.executors.process_watch import ProcessWatch, Use
from steelyard.engine.executors.processes import ProcessExecutor
from steelyard.engine.executors.progress_file import ProgressFile
from steelyard.engine.executors.ray_actors import Request
from steelyard.engine.executors.shards import HUB_VARIABLES, EncodeShard, Group, groups_of, needed_variables
from steelyard.engine.executors.task_shards import encode_shards, task_texts
from steelyard.engine.plan import Conditions
from steelyard.errors import MissingPart, UnknownName, UsageError
from steelyard.results import Result
from steelyard.retrievers.dense import DenseRetriever
from steelyard.spec import parse

LETTERS = "dense:cluster_models:letters?version=1"
MODELS = [LETTERS, f"{LETTERS}&precision=int8", f"[bm25, {LETTERS}]", "bm25"]
TASKS = [task("Mine/one", 700), task("Mine/two", 600)]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("local")
    evaluated = steelyard.evaluate(
        MODELS, TASKS, results=folder / "results", settings=Settings.load(home=folder / "home")
    )
    assert [result.status for result in evaluated] == ["done"] * 8
    return stored_results(folder / "results")


@pytest.fixture
def logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STEELYARD_TEST_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["processes?workers=2", "slurm?cluster=local&workers=2&shards=4&folder={}/jobs"])
def test_results_are_those_of_a_local_run(
    executor: str, local: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if executor.startswith("slurm"):
        pytest.importorskip("submitit")
        paths = [str(Path(cluster_models.__file__).parent), os.environ.get("PYTHONPATH", "")]
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))  # jobs are new processes
    settings = Settings.load(home=tmp_path / "home")
    results = steelyard.evaluate(
        MODELS, TASKS, results=tmp_path / "results", settings=settings, executor=executor.format(tmp_path)
    )
    expected = [(name, model) for name in ("Mine/one", "Mine/two") for model in _names()]
    assert [(result.task, result.model) for result in results] == expected  # in the order of a local run
    assert stored_results(tmp_path / "results") == local


def _names() -> list[str]:
    return [model.name for model in load_models(MODELS)]


@pytest.mark.slow
def test_killed_process_loses_nothing_and_a_second_run_does_nothing(
    local: dict[str, object], tmp_path: Path, logged: Path
) -> None:
    settings = Settings.load(home=tmp_path / "home")

    def kill_the_first() -> None:
        for _ in range(600):
            lines = [line.split() for line in logged.read_text().splitlines()] if logged.exists() else []
            pids = [int(line[2]) for line in lines if line[1] != "1" and int(line[2]) != os.getpid()]
            if pids:
                os.kill(pids[0], signal.SIGKILL)
                return
            time.sleep(0.02)

    killer = threading.Thread(target=kill_the_first)
    killer.start()
    steelyard.evaluate(MODELS, TASKS, results=tmp_path / "results", settings=settings, executor="processes?workers=2")
    killer.join()
    assert stored_results(tmp_path / "results") == local
    before = logged.read_text().count("\n")
    events: list[Event] = []
    steelyard.evaluate(
        MODELS, TASKS, results=tmp_path / "results", settings=settings, executor="processes", progress=events.append
    )
    assert sum(isinstance(event, Finished) and event.stored for event in events) == 8
    assert logged.read_text().count("\n") <= before + 1  # one word, to find the dimension


@pytest.mark.slow
def test_a_batch_that_kills_its_worker_is_given_up(tmp_path: Path, logged: Path) -> None:
    model = "dense:cluster_models:poisoned?version=1"
    tasks = [task("Mine/one", 600), task("Mine/bad", 600, poison=True)]
    settings = Settings.load(home=tmp_path / "home")
    good, bad = steelyard.evaluate(model, tasks, settings=settings, executor="processes?workers=1", warn=False)
    assert good.done and bad.error is not None and bad.error.type == "WorkerError"
    batches = Counter(line.split()[0] for line in logged.read_text().splitlines() if line.split()[1] != "1")
    assert max(batches.values()) == ATTEMPTS == 3  # also the evaluation does not encode it again


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_a_worker_that_leaks_memory_is_replaced_and_nothing_is_lost(
    tmp_path: Path, logged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every batch leaks 60 MB: one worker cannot finish, but several can."""
    monkeypatch.setattr(process_watch, "LOOK_SECONDS", 0.02)
    leaking = "dense:cluster_models:leaking?version=1"
    settings = Settings.load(home=tmp_path / "home")
    results = steelyard.evaluate(leaking, TASKS, settings=settings, executor="processes?workers=1&memory=300MB")
    assert [result.status for result in results] == ["done", "done"]
    workers = {line.split()[2] for line in logged.read_text().splitlines()}
    assert len(workers - {str(os.getpid())}) > 1
    expected = steelyard.evaluate(LETTERS, TASKS, settings=settings)
    assert [result.metrics for result in results] == [result.metrics for result in expected]


def test_workers_that_fill_the_memory_of_the_machine_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Together they hold too much: the largest is stopped, although none has a limit of its own."""
    uses = {1: Use(1.0, 400), 2: Use(1.0, 501), 3: Use(1.0, 0)}
    monkeypatch.setattr(process_watch, "machine_memory", lambda: 1000)
    monkeypatch.setattr(process_watch, "uses_of", lambda pids: {pid: uses[pid] for pid in pids})
    assert list(ProcessWatch(0, None).problems([1, 2, 3], waiting=[])) == [2]
    assert ProcessWatch(0, None).problems([1, 3], waiting=[]) == {}
    assert list(ProcessWatch(0, 450).problems([1, 2], waiting=[])) == [2]
    assert list(ProcessWatch(0, 300).problems([1, 3], waiting=[])) == [1]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_pages_of_files_are_not_memory_of_a_process(tmp_path: Path) -> None:
    """In a process of its own: this one may have children that come and go."""
    script = """
import os, sys, numpy as np
from steelyard.engine.executors.process_watch import uses_of
held = lambda: print(uses_of([os.getpid()])[os.getpid()].memory_bytes)
np.save(sys.argv[1], np.ones(40_000_000, dtype=np.uint8))
held()
mapped = np.load(sys.argv[1], mmap_mode="r")
assert mapped.sum() == 40_000_000
held()
own = np.ones(40_000_000, dtype=np.uint8)
held()
"""
    command = [sys.executable, "-c", script, str(tmp_path / "x.npy")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    before, mapped, held = map(int, printed)
    assert mapped - before < 20_000_000 < held - mapped < 60_000_000


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    "executor",
    [
        "processes?workers=1",
        "slurm?cluster=local&workers=1&folder={}/jobs",
        "ray?workers=1",
    ],
)
def test_keys_in_variables_reach_no_worker(
    executor: str, tmp_path: Path, logged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker reads its environment, and that with which it was started: no key of the driver is there."""
    pytest.importorskip({"slurm": "submitit", "ray": "ray"}.get(executor.partition("?")[0], "numpy"))
    secret = "sk-test-1a2b3c4d5e6f"
    for name in ("OPENAI_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "MY_OWN_KEY"):
        monkeypatch.setenv(name, secret)
    monkeypatch.setenv("DATABASE", f"postgresql://me:{secret}@host/db")
    paths = [str(Path(cluster_models.__file__).parent), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    (result,) = steelyard.evaluate(
        "dense:cluster_models:observed?version=1",
        task("Mine/one", 30),
        settings=Settings.load(home=tmp_path / "home"),
        executor=executor.format(tmp_path),
        results=tmp_path / "results",
    )
    assert result.done
    seen = Path(f"{logged}.process").read_bytes()
    assert b"STEELYARD_TEST_LOG" in seen and secret.encode() not in seen
    assert os.environ["OPENAI_API_KEY"] == secret
    inherited = subprocess.run(["env"], capture_output=True, text=True, check=True).stdout
    assert f"OPENAI_API_KEY={secret}" in inherited  # programs that the user starts still get it
    assert [path for path in tmp_path.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()] == []


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_a_worker_gets_the_variables_that_its_models_need(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NAMED_TOKEN", "OTHER_TOKEN"):
        monkeypatch.setenv(name, "sk-test-5d5d5d5d")
    executor = ProcessExecutor({"workers": "1"})
    try:
        number = executor.start(Group(0, (), Settings.load(), Conditions(), ("NAMED_*",)))
        assert [type(event) for event in executor.wait(60)] == [Ready]
        variables = Path(f"/proc/{executor._children[number].process.pid}/environ").read_bytes()
        assert b"NAMED_TOKEN=" in variables and b"OTHER_TOKEN=" not in variables
    finally:
        executor.close()


@pytest.mark.parametrize(
    ("model", "tasks", "vectors", "needed"),
    [
        ("bm25", ["NanoAlmanac/en"], None, []),
        ("my:index?env=A_KEY,B_KEY", [], None, ["A_KEY", "B_KEY"]),
        ("[bm25, my:index?token_env=C&address=x/${D}]", [], None, ["C", "D"]),
        ("dense:owner/name", [], None, list(HUB_VARIABLES)),
        ("bm25", ["owner/private::en"], None, list(HUB_VARIABLES)),
        ("dense:./here", ["."], "s3://bucket/x", ["AWS_*", "FSSPEC_*"]),
    ],
)
def test_variables_that_models_and_tasks_need(
    model: str, tasks: list[str], vectors: str | None, needed: list[str]
) -> None:
    settings = Settings(vectors=vectors)
    assert needed_variables([parse(model)], settings, tasks) == tuple(sorted(needed))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_secrets_reach_no_child_process(tmp_path: Path, logged: Path) -> None:
    """Keys of the settings are neither in the environment nor in the command line of workers, nor sent to them."""
    secret = "sk-test-9f8e7d6c5b4a"
    settings = Settings.load(home=tmp_path / "home", secrets={"MY_KEY": secret})
    model = "dense:cluster_models:observed?version=1"
    (result,) = steelyard.evaluate(
        model, task("Mine/one", 30), settings=settings, executor="processes?workers=1", results=tmp_path / "results"
    )
    assert result.done
    seen = Path(f"{logged}.process").read_bytes()
    assert b"multiprocessing" in seen and secret.encode() not in seen
    groups, _ = groups_of(load_models([model], settings=settings), settings, Conditions())
    assert [group.settings.secrets for group in groups] == [{}]
    assert [path for path in tmp_path.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()] == []


def test_batches_are_ordered_by_length_and_depend_on_the_texts_alone() -> None:
    texts = [f"{'x' * (row % 7)} {row}" for row in range(8 * PART_TEXTS)]
    batches = [[texts[row] for row in rows] for rows in planned_batches(texts)]
    assert sorted(text for batch in batches for text in batch) == sorted(texts)
    assert all(PART_TEXTS // 4 <= len(batch) <= 2 * PART_TEXTS for batch in batches[:-1])
    other = texts[::-1]
    assert [[other[row] for row in rows] for rows in planned_batches(other)] == batches
    lengths = [len(text) for batch in batches for text in batch]
    assert lengths == sorted(lengths)
    for batch in batches:
        assert len(planned_batches(batch)) == 1  # so a worker that gets one batch plans the same


def test_a_new_text_changes_few_batches() -> None:
    texts = [f"{'x' * (row % 7)} {row}" for row in range(8 * PART_TEXTS)]
    before = {frozenset(texts[row] for row in rows) for rows in planned_batches(texts)}
    more = [*texts, "xxx 123456789"]
    after = {frozenset(more[row] for row in rows) for rows in planned_batches(more)}
    assert len(after - before) <= 2 < len(before)


def test_stored_texts_do_not_change_the_composition_of_batches(tmp_path: Path) -> None:
    settings = Settings.load(home=tmp_path)
    (model,) = load_models([LETTERS], settings=settings)

    def shards() -> list[EncodeShard]:
        work = task_texts(TASKS[0], [model], "mteb-2.26")
        return [shard for texts in work for shard in encode_shards(texts, TASKS[0], 0)]

    fresh = shards()
    assert len(fresh) == 3 and isinstance(model.retriever, DenseRetriever)
    model.retriever.store_encodings(fresh[0].batches[0], "document")
    left = shards()
    assert [shard.batches for shard in left] == [shard.batches for shard in fresh[1:]]


def test_groups_share_parts_and_services_stay_in_this_process() -> None:
    letters = DenseRetriever("dense:letters", Letters())
    models = load_models(["bm25", "dense", "[bm25, dense]", "bm25?k1=0.9", letters])
    groups, own = groups_of(models, Settings.load(secrets={"KEY": "secret"}), Conditions())
    assert [[str(spec) for spec in group.models] for group in groups] == [
        ["bm25", "dense:use-multilingual-v3", "[bm25, dense:use-multilingual-v3]"],
        ["bm25?k1=0.9"],
    ]
    assert [model.name for model in own] == ["dense:letters"]
    assert all(not group.settings.secrets for group in groups)


def test_plan_counts_texts_batches_and_bytes(tmp_path: Path) -> None:
    settings = Settings.load(home=tmp_path / "home")
    work = steelyard.plan(MODELS, TASKS, settings=settings, results=tmp_path / "results")
    assert (work.models, work.tasks, work.evaluations, work.stored, work.failed) == (4, 2, 8, 0, 0)
    (encoding,) = work.encodings  # variants and fusions share an encoder
    assert (encoding.texts, encoding.stored, encoding.to_encode) == (1320, 0, 1320)
    assert (encoding.batches, encoding.disk_bytes) == (2 + 2 + 1 + 1, 1320 * (16 * 4 + 20))
    assert encoding.seconds is not None and encoding.seconds > 0 and encoding.price is None
    assert json.loads(json.dumps(work.to_dict()))["encodings"][0]["to_encode"] == 1320
    assert not list((tmp_path / "home").rglob("*.vectors")) and not (tmp_path / "results").exists()
    steelyard.evaluate(LETTERS, TASKS[0], settings=settings, results=tmp_path / "results")
    again = steelyard.plan(MODELS, TASKS, settings=settings, results=tmp_path / "results", measure=False)
    assert (again.stored, again.encodings[0].to_encode, again.encodings[0].seconds) == (1, 610, None)


def test_plan_of_a_service_has_a_price_and_does_not_call_it(tmp_path: Path) -> None:
    model = "dense:api/m?url=http://127.0.0.1:9/v1&dimensions=8&price_per_million_tokens=2&key_env=NONE"
    characters = sum(map(len, {*TASKS[0].corpus.texts, *TASKS[0].queries.texts}))
    work = steelyard.plan(model, TASKS[0], settings=Settings.load(home=tmp_path, secrets={"NONE": "x"}))
    assert not work.problems
    (encoding,) = work.encodings
    assert encoding.price == pytest.approx(2 * characters / 4 / 1e6) and encoding.seconds is None


def test_plan_on_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["plan", "bm25", "-t", "NanoAlmanac/en", "-o", str(tmp_path), "--json", "--executor", "processes"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert (content["evaluations"], content["executor"], content["encodings"]) == (1, "processes", [])


@pytest.mark.parametrize("executor", ["spark", "processes?cores=2", "processes?workers=0", "local?x=1"])
def test_wrong_executors_are_errors(executor: str) -> None:
    with pytest.raises(UsageError) as caught:
        steelyard.plan("bm25", TASKS[0], executor=executor)
    assert caught.value.option in ("executor", "cores", "workers")


def test_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(MissingPart) as caught:
        steelyard.plan("bm25", TASKS[0], executor="ray")
    assert caught.value.hint == "pip install 'steelyard[ray]'"


def test_unknown_executor_lists_the_known_ones() -> None:
    with pytest.raises(UnknownName) as caught:
        steelyard.plan("bm25", TASKS[0], executor="rays")
    assert caught.value.near == ["ray"]


def test_progress_file_has_the_state_of_the_batch(tmp_path: Path) -> None:
    seconds: Iterator[float] = iter([0.0, 1.0, 2.5, 2.6])
    path = tmp_path / "progress.jsonl"
    listen = ProgressFile(path, "ray", lambda event: None, clock=lambda: next(seconds))
    listen(Planned(2, 1, 0))
    assert not path.exists()  # short runs leave no file
    listen(Finished(Result("T/a", "bm25", {}, "k"), stored=True))
    assert json.loads(path.read_text())["state"] == "running"
    listen(Finished(Result("T/a", "dense", {}, "k", status="failed"), stored=False))
    state = json.loads(path.read_text())
    assert {name: state[name] for name in ("executor", "state", "evaluations", "finished", "stored", "failed")} == {
        "executor": "ray", "state": "done", "evaluations": 2, "finished": 2, "stored": 1, "failed": 1,
    }  # fmt: skip


def test_resources_follow_options() -> None:
    assert Request(cpus=2).options["num_cpus"] == 2 and Request().options["max_restarts"] == 0
    assert Request(memory=10**9).fits({"CPU": 8, "memory": 3e9}) == 3
