"""A real Ray cluster of several raylets on this machine: workers, raylets and the driver are killed in the middle.

After each: nothing is lost, the results are those of a local run, and no batch was computed more often than allowed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cluster_models import task
from executor_parts import comparable, stored_results
from loopback import Worker, environment, working

from steelyard.encoders.cache.batch_plan import planned_batches
from steelyard.engine.executors.dispatch import ATTEMPTS
from steelyard.engine.executors.task_shards import Texts, encode_shards

pytest.importorskip("ray")
pytestmark = pytest.mark.slow

SUPPORT = Path(__file__).parents[2] / "support"
DRIVER = """
import sys, json
from cluster_models import task
from steelyard import evaluate
models, executor, folder, poison = sys.argv[1:]
tasks = [task("Mine/one", 1600), task("Mine/two", 1200, poison=poison == "yes")]
results = evaluate(models.split(), tasks, results=folder, executor=executor)
print(json.dumps([[result.model, result.task, result.status] for result in results]))
"""
LETTERS = "dense:cluster_models:letters?version=1"


def shard_calls() -> list[int]:
    """Return the calls of the function, with at most 256 texts, for each shard of both tasks."""
    calls = []
    for mine in (task("Mine/one", 1600), task("Mine/two", 1200)):
        for texts in (mine.corpus.texts, mine.queries.texts):
            batches = [[texts[row] for row in rows] for rows in planned_batches(texts)]
            missing = Texts(LETTERS, None, "", "document", texts, batches, texts, len(batches))  # type: ignore[arg-type]
            shards = encode_shards(missing, mine, group=0)
            calls += [sum(-(-len(batch) // 256) for batch in shard.batches) for shard in shards]
    return calls


CALLS = shard_calls()


@dataclass
class Lab:
    """A cluster, and folders for one test."""

    cluster: Worker
    folder: Path
    address: str = ""
    nodes: list[int] = field(default_factory=list)

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def variables(self, home: str = "home") -> dict[str, str]:
        path = os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])
        return environment(self.folder / home, PYTHONPATH=path, STEELYARD_TEST_LOG=str(self.log))

    def add(self, node: str = "") -> int:
        answer = self.cluster({"do": "add", "environment": {"STEELYARD_TEST_NODE": node, **self._logged()}})
        self.address = answer["address"]
        self.nodes.append(int(answer["node"]))
        return self.nodes[-1]

    def kill(self, node: int) -> None:
        self.nodes.remove(node)
        self.cluster({"do": "kill", "node": node})

    def _logged(self) -> dict[str, str]:
        return {"STEELYARD_TEST_LOG": str(self.log)}

    @contextmanager
    def driver(self, models: str = LETTERS, *, poison: bool = False) -> Iterator[subprocess.Popen[str]]:
        command = [sys.executable, "-W", "ignore", "-c", DRIVER, models, f"ray?address={self.address}"]
        command += [str(self.folder / "results"), "yes" if poison else "no"]
        process = subprocess.Popen(
            command, env=self.variables(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        with process:
            try:
                yield process
            finally:
                process.kill()

    def finish(self, process: subprocess.Popen[str]) -> list[list[str]]:
        out, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors[-3000:]
        return list(json.loads(out.splitlines()[-1]))

    def wait_for(self, batches: int, node: str = "") -> list[int]:
        """Wait until so many batches have begun, on a node; return their processes."""
        for _ in range(600):
            lines = [line.split() for line in self.log.read_text().splitlines()] if self.log.exists() else []
            pids = [int(line[2]) for line in lines if line[1] != "1" and (not node or line[3:] == [node])]
            if len(pids) >= batches:
                return pids
            time.sleep(0.05)
        raise AssertionError("no batch was computed")

    def counts(self) -> Counter[str]:
        lines = [line.split() for line in self.log.read_text().splitlines()]
        return Counter(line[0] for line in lines if line[1] != "1")  # one text: to find the dimension

    def check(self) -> None:
        """The results are those of a local run, and no batch was computed too often."""
        expected = reference(self.folder)
        assert stored_results(self.folder / "results") == expected
        counts = self.counts()
        assert len(counts) == sum(CALLS) and max(counts.values()) <= ATTEMPTS


def reference(folder: Path) -> dict[str, object]:
    """The results of a local run of the same tasks, computed once."""
    cache = folder.parent / "local"
    if not cache.exists():
        path = os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])
        variables = environment(cache / "home", PYTHONPATH=path)
        command = [sys.executable, "-W", "ignore", "-c", DRIVER, LETTERS, "local", str(cache / "results"), "no"]
        subprocess.run(command, env=variables, check=True, capture_output=True, timeout=120)
    return stored_results(cache / "results")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    path = os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])
    script = "import ray_cluster; ray_cluster.main()"
    mark = f"STEELYARD_TEST_CLUSTER={uuid.uuid4().hex}"  # every process of the cluster inherits it
    name, _, value = mark.partition("=")
    more = {"PYTHONPATH": path, "RAY_DEDUP_LOGS": "0", "RAY_ADDRESS": "", name: value}
    try:
        with working(script, tmp_path_factory.mktemp("ray"), **more) as process:
            yield process
    finally:
        for pid in processes_with(mark):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def processes_with(mark: str) -> list[int]:
    """Return the processes with that in their environment; none on systems without /proc."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


@pytest.fixture
def lab(cluster: Worker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab without nodes; those that a test adds are killed after it."""
    lab = Lab(cluster, tmp_path_factory.mktemp("lab"))
    yield lab
    for node in list(lab.nodes):
        lab.kill(node)


def test_killed_worker_and_killed_raylet(lab: Lab) -> None:
    nodes = [lab.add("a"), lab.add("b"), lab.add("c")]
    with lab.driver() as driver:
        os.kill(lab.wait_for(1, "a")[0], signal.SIGKILL)  # a worker
        lab.wait_for(1, "b")
        lab.kill(nodes[1])  # a raylet with its worker
        statuses = lab.finish(driver)
    assert {status for _, _, status in statuses} == {"done"}
    lab.check()


def test_killed_driver_does_only_the_rest(lab: Lab) -> None:
    lab.add("a"), lab.add("b")
    with lab.driver() as driver:
        lab.wait_for(7)
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    before = lab.counts()
    with lab.driver() as driver:
        lab.finish(driver)
    lab.check()
    again = lab.counts() - before
    assert len(set(again) & set(before)) <= 2 * max(CALLS)  # two workers, and the shard that each had in hand


def test_poisoned_task_is_given_up_and_the_other_is_not(lab: Lab) -> None:
    lab.add("a"), lab.add("b")
    model = "dense:cluster_models:poisoned?version=1"
    with lab.driver(f"{model} bm25", poison=True) as driver:
        statuses = lab.finish(driver)
    assert statuses == [[model, "Mine/one", "done"], ["bm25", "Mine/one", "done"], [model, "Mine/two", "failed"],
                        ["bm25", "Mine/two", "done"]]  # fmt: skip
    failure = next(
        iter(comparable(path) for path in (lab.folder / "results").rglob("*.json") if "failed" in path.read_text())
    )
    assert failure["steelyard"]["error"]["type"] == "WorkerError"
    # the poisoned batch: in its shard, and again in the shard that evaluates the task
    assert max(lab.counts().values()) <= 2 * ATTEMPTS


def test_slow_node_and_full_disk(lab: Lab) -> None:
    lab.add("slow"), lab.add("full"), lab.add("patient")
    with lab.driver() as driver:
        statuses = lab.finish(driver)
    assert {status for _, _, status in statuses} == {"done"}
    assert lab.wait_for(1, "slow") and lab.wait_for(1, "full")
    lab.check()
