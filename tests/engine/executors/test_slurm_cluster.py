"""A real Slurm cluster of two nodes on loopback: jobs are cancelled, a node and the controller fail, jobs are refused.

After each: nothing is lost, the results are those of a local run, and no batch was computed more often than allowed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import cluster_models
import pytest
from cluster_models import task
from executor_parts import stored_results
from slurm_cluster import SlurmCluster, programs_with, slurm_cluster

import steelyard
from steelyard.config import Settings
from steelyard.engine.executors import slurm, slurm_jobs
from steelyard.engine.executors.dispatch import ATTEMPTS
from steelyard.errors import MissingPart, UsageError
from steelyard.results import Result
from steelyard.types import Task

PROGRAMS = programs_with(os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]))
MISSING = [name for name, path in PROGRAMS.items() if path is None]
LETTERS = "dense:cluster_models:letters?version=1"
TASKS = [task("Mine/one", 1100), task("Mine/two", 600)]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.server,
    pytest.mark.skipif(bool(MISSING) and "CI" not in os.environ, reason=f"no Slurm here: {', '.join(MISSING)}"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[SlurmCluster]:
    assert not MISSING, f"make slurm installs {', '.join(MISSING)}"
    with slurm_cluster({name: path for name, path in PROGRAMS.items() if path is not None}) as running:
        yield running


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """The results of a local run."""
    folder = tmp_path_factory.mktemp("local")
    steelyard.evaluate([LETTERS], TASKS, results=folder / "results", settings=Settings.load(home=folder / "home"))
    return stored_results(folder / "results")


class Lab:
    """Folders for one test, and the log of the batches that nodes have begun."""

    def __init__(self, folder: Path, cluster: SlurmCluster) -> None:
        self.folder, self.cluster = folder, cluster
        self.log = folder / "log"

    def evaluate(self, options: str, model: str = LETTERS, tasks: Sequence[Task] = TASKS) -> list[Result]:
        settings = Settings.load(home=self.folder / "home")
        executor = f"slurm?folder={self.folder}/jobs&{options}"
        return list(
            steelyard.evaluate(
                [model], tasks, results=self.folder / "results", settings=settings, executor=executor, warn=False
            )
        )

    def batches(self) -> list[str]:
        """Return a name for each batch that was begun, in order."""
        lines = [line.split() for line in self.log.read_text().splitlines()] if self.log.exists() else []
        return [line[0] for line in lines if line[1] != "1"]  # one text: to find the dimension

    def meanwhile(self, fault: Callable[[], object]) -> threading.Thread:
        """Do something as soon as a batch has begun."""

        def wait() -> None:
            for _ in range(600):
                if self.batches():
                    fault()
                    return
                time.sleep(0.02)

        thread = threading.Thread(target=wait)
        thread.start()
        return thread

    def jobs(self) -> list[list[str]]:
        """Return number, name, state and node of the jobs that have not ended."""
        return [line.split() for line in self.cluster.command("squeue", "-h", "-o", "%A %j %T %N").splitlines()]

    def wait_until_empty(self) -> None:
        """Wait until no job runs; the last ones end shortly after their results are there."""
        for _ in range(150):
            if not self.jobs():
                return
            time.sleep(0.1)
        raise AssertionError(f"jobs go on: {self.jobs()}")

    def check(self, expected: dict[str, object]) -> None:
        assert stored_results(self.folder / "results") == expected
        counts = Counter(self.batches())
        assert counts and max(counts.values()) <= ATTEMPTS
        self.wait_until_empty()


@pytest.fixture
def lab(cluster: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    cluster.wait_until_idle()
    support = str(Path(cluster_models.__file__).parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([support, os.environ.get("PYTHONPATH", "")]))
    for name, value in cluster.variables.items():
        monkeypatch.setenv(name, value)
    lab = Lab(tmp_path, cluster)
    monkeypatch.setenv("STEELYARD_TEST_LOG", str(lab.log))
    monkeypatch.setattr(slurm_jobs, "LOOK_SECONDS", 0.3)
    monkeypatch.setattr(slurm_jobs, "FILE_SECONDS", 1.0)
    monkeypatch.setattr(slurm, "RETRY_SECONDS", 0.5)
    return lab


def test_results_are_those_of_a_local_run(lab: Lab, local: dict[str, object]) -> None:
    names: list[list[str]] = []
    thread = lab.meanwhile(lambda: names.extend(lab.jobs()))
    assert [result.status for result in lab.evaluate("workers=2&shards=2&cpus=1&memory_gb=0.2&partition=test")] == [
        "done",
        "done",
    ]
    thread.join()
    assert {job[1] for job in names} == {"steelyard"}
    lab.check(local)
    assert max(Counter(lab.batches()).values()) == 1


def test_a_cancelled_job_is_given_to_another(lab: Lab, local: dict[str, object]) -> None:
    """Also without accounting, and with one worker: nobody else would compute its shards."""
    thread = lab.meanwhile(lambda: lab.cluster.command("scancel", lab.jobs()[0][0]))
    lab.evaluate("workers=1&shards=4")
    thread.join()
    lab.check(local)
    assert "CANCELLED" in lab.cluster.command("squeue", "-h", "--states=all", "-o", "%T").split()


def test_a_node_that_fails_loses_nothing(lab: Lab, local: dict[str, object]) -> None:
    killed: list[str] = []

    def kill() -> None:
        killed.append(lab.jobs()[0][3])
        lab.cluster.kill(killed[0])

    thread = lab.meanwhile(kill)
    try:
        lab.evaluate("workers=1&shards=4")
        thread.join()
        lab.check(local)
    finally:
        for node in killed:
            lab.cluster.start(node)


def test_a_controller_that_fails_for_a_while_loses_nothing(lab: Lab, local: dict[str, object]) -> None:
    def fail() -> None:
        lab.cluster.kill("slurmctld")
        time.sleep(4)
        lab.cluster.start("slurmctld")

    thread = lab.meanwhile(fail)
    lab.evaluate("workers=2&shards=4")
    thread.join()
    lab.check(local)


def test_a_controller_that_does_not_come_back_ends_the_batch(
    lab: Lab, local: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was finished before is kept, and a second run does only the rest."""
    monkeypatch.setattr(slurm_jobs, "OUTAGE_SECONDS", 1.0)
    monkeypatch.setattr(slurm_jobs, "COMMAND_SECONDS", 2.0)
    thread = lab.meanwhile(lambda: lab.cluster.kill("slurmctld"))
    try:
        with pytest.raises(MissingPart) as caught:
            lab.evaluate("workers=2&shards=1")
        assert caught.value.hint is not None
    finally:
        thread.join()
        lab.cluster.start("slurmctld")
    lab.cluster.wait_until_idle()
    lab.evaluate("workers=2&shards=4")
    lab.check(local)


def test_a_job_that_slurm_refuses_is_an_error(lab: Lab) -> None:
    with pytest.raises(UsageError) as caught:
        lab.evaluate("partition=nowhere")
    assert caught.value.option == "executor" and "artition" in caught.value.found
    assert not lab.batches() and lab.jobs() == []


def test_models_that_cannot_be_loaded_on_nodes_end_the_batch(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three jobs are tried, and one for each later part of the plan, not three for each shard."""
    _, _, others = os.environ["PYTHONPATH"].partition(os.pathsep)
    monkeypatch.setenv("PYTHONPATH", others)  # of the nodes; this process has the module
    results = lab.evaluate("workers=1&shards=4")
    messages = [result.error.message for result in results if result.error is not None]
    assert len(messages) == 2 and all("cluster_models" in message for message in messages)
    assert len(list((lab.folder / "jobs").glob("*_submission.sh"))) <= 6


def test_a_batch_that_kills_its_job_is_given_up(lab: Lab) -> None:
    tasks = [task("Mine/bad", 600, poison=True), task("Mine/one", 300)]
    bad, good = lab.evaluate("workers=1&shards=4", "dense:cluster_models:poisoned?version=1", tasks)
    assert good.done and bad.error is not None and bad.error.type == "WorkerError"
    assert max(Counter(lab.batches()).values()) == ATTEMPTS


def test_a_driver_that_is_ended_cancels_its_jobs(lab: Lab) -> None:
    command = [sys.executable, "-m", "steelyard", "run", "dense", "-t", "NanoAlmanac/pool", "-o", str(lab.folder)]
    driver = subprocess.Popen(
        [*command, "--executor", f"slurm?folder={lab.folder}/jobs&workers=1", "--quiet"],
        env={**os.environ, "STEELYARD_HOME": str(lab.folder / "home")},
        stderr=subprocess.DEVNULL,
    )
    with driver:
        for _ in range(600):
            if lab.jobs():
                break
            time.sleep(0.05)
        driver.send_signal(signal.SIGTERM)
        assert driver.wait(30) == 143
    lab.wait_until_empty()


def test_without_slurm_the_commands_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(MissingPart) as caught:
        steelyard.evaluate([LETTERS], TASKS, settings=Settings.load(home=tmp_path), executor="slurm")
    assert "sbatch" in caught.value.message
