"""Several devices: every family gives what one device gives, and nothing that was started outlives the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from cross_encoders import build
from onnx_export import export
from sentence_transformers import SparseEncoder
from sentence_transformers.sparse_encoder.modules import MLMTransformer, SpladePooling
from torch_models import save_bert

from steelyard.cli import main
from steelyard.encoders import load_encoder
from steelyard.encoders.backends.transformers.device_process import device_pool
from steelyard.encoders.batching import BatchSize, ErrorContext, encode_in_batches
from steelyard.encoders.devices.worker_pool import WorkerPool
from steelyard.errors import ModelError

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """As many threads here as in each process: how torch divides work among them changes the last bit, too."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of each family."""
    folder = tmp_path_factory.mktemp("models")
    dense = save_bert(folder / "dense")
    save_bert(folder / "late", seed=1)
    build(folder / "rerank")
    masked = save_bert(folder / "masked", masked=True)
    SparseEncoder(modules=[MLMTransformer(str(masked)), SpladePooling("max")], device="cpu").save_pretrained(
        str(folder / "sparse")
    )
    (folder / "onnx").mkdir()
    (folder / "onnx" / "tokenizer.json").write_bytes((dense / "tokenizer.json").read_bytes())
    export(dense, folder / "onnx" / "model.onnx", pooled=True)
    return folder


def children(parent: int) -> list[int]:
    """The processes that another has started and that compute: not the one that keeps track of what they share."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            status = (entry / "stat").read_text().rpartition(")")[2].split()
            if entry.name.isdecimal() and int(status[1]) == parent and status[0] != "Z":
                found += [int(entry.name)] if b"spawn_main" in (entry / "cmdline").read_bytes() else []
        except OSError:  # it has ended
            continue
    return found


def until(condition: Any) -> Any:
    """What the condition gives, once it gives something."""
    end = time.monotonic() + 60
    while not (found := condition()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
    return found


def test_two_devices_rank_as_one(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"{family}:{folder / family}?batch_size=4" for family in ("dense", "late", "sparse")]
    names += [
        f"bm25 > rerank:{folder / 'rerank'}?batch_size=4&depth=10",
        f"dense:{folder / 'onnx'}?batch_size=4&max_seq_length=64",
    ]
    for device, output in (("cpu", "one"), ("cpu,cpu", "two")):
        monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / f"home of {output}"))
        monkeypatch.setenv("STEELYARD_DEVICE", "")
        line = ["run", *names, "-t", "NanoAlmanac/en", "--limit", "5", "--save-runs", "trec", "--no-report"]
        assert main([*line, "--device", device, "-o", str(tmp_path / output)]) == 0
    one, two = (sorted((tmp_path / output).rglob("*.trec*")) for output in ("one", "two"))
    assert len(one) == len(two) == len(names), one
    for alone, shared in zip(one, two, strict=True):
        assert alone.relative_to(tmp_path / "one") == shared.relative_to(tmp_path / "two")
        (lists, expected), (found, scores) = (read(path) for path in (alone, shared))
        assert lists == found and len(lists) >= 50
        # How weights lie in memory, which is shared with the processes, changes the last bit on some processors.
        np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-6)


def read(path: Path) -> tuple[list[list[str]], list[float]]:
    """The ranked lists of a file of TREC, and the scores."""
    lines = [line.split(maxsplit=5) for line in path.read_text(encoding="utf-8").splitlines()]
    return [line[:4] for line in lines], [float(line[4]) for line in lines]


def test_vectors_are_those_of_one_device_and_each_batch_ticks(folder: Path) -> None:
    texts = [f"the {'river ' * (number % 7)}{number}" for number in range(20)]
    options = {"batch_size": "3", "device": "cpu"}
    ticks: list[int] = []
    shared = load_encoder(str(folder / "dense"), None, options | {"device": "cpu,cpu"})
    found = shared.encode(texts, "document", ticks.append)
    np.testing.assert_array_equal(found, load_encoder(str(folder / "dense"), None, options).encode(texts, "document"))
    assert sorted(ticks) == [2, *[3] * 6]


def test_an_error_in_a_process_names_text_and_cause_and_the_process_goes_on(folder: Path) -> None:
    # The model has 64 positions, and is told to read more.
    options = {"max_seq_length": "90", "batch_size": "2", "device": "cpu,cpu"}
    encoder = load_encoder(str(folder / "dense"), None, options)
    with pytest.raises(ModelError, match=r"document of 420 .*'tower") as error:
        encoder.encode(["tower " * 70, "a", "b", "c"], "document")
    assert "on cpu" in str(error.value) and "Error: " in str(error.value)
    assert encoder.encode(["tower", "king"], "document").shape == (2, 32)


class Model(torch.nn.Module):
    """A number to multiply by."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = torch.nn.Parameter(torch.tensor(3.0))


def product(model: Model, rows: Any, what: str = "") -> Any:
    """Three times each row, and which process has computed it; what else may happen in the life of one."""
    if what == "greedy" and len(rows) > 2:
        torch.empty(1 << 55)
    if what == "slow":
        time.sleep(600)
    if what == "killed" and 1 in rows:
        os.kill(os.getpid(), signal.SIGKILL)
    return (torch.tensor(rows) * model.factor).detach().numpy(), os.getpid()


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool[Any]]:
    yield device_pool(Model(), ["cpu", "cpu"], product)


def shared_out(pool: WorkerPool[Any], count: int, size: BatchSize, what: str = "") -> Iterator[tuple[Any, Any]]:
    context = ErrorContext("tiny", "number {}".format, "fewer numbers")
    return encode_in_batches(np.ones(count, dtype=np.int64), pool, lambda rows: (rows, what), size, context)


def test_both_processes_work_and_memory_that_runs_out_in_them_halves_the_batches(pool: WorkerPool[Any]) -> None:
    size, processes, seen = BatchSize(8, 100), set(), []
    for rows, (found, process) in shared_out(pool, 60, size, "greedy"):
        assert (found == rows * 3).all() and len(rows) <= 2
        processes.add(process)
        seen += rows.tolist()
    assert sorted(seen) == list(range(60))
    assert size.halved == 2 and (size.texts, len(pool)) == (2, 2)
    assert len(processes) == 2 and os.getpid() not in processes


def test_several_callers_share_the_processes(pool: WorkerPool[Any]) -> None:
    def work(count: int) -> int:
        return sum(int(found.sum()) for _, (found, _) in shared_out(pool, count, BatchSize(2, 100)))

    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(work, [10, 20, 30])) == [3 * count * (count - 1) // 2 for count in (10, 20, 30)]


@LINUX
def test_a_killed_process_is_reported_and_replaced(pool: WorkerPool[Any]) -> None:
    with pytest.raises(ModelError, match=r"tiny .*number 0.*on cpu"):
        list(shared_out(pool, 9, BatchSize(3, 100), "killed"))
    assert sum(int(found.sum()) for _, (found, _) in shared_out(pool, 9, BatchSize(3, 100))) == 3 * 36


@LINUX
def test_leaving_the_pool_stops_its_workers(pool: WorkerPool[Any]) -> None:
    list(shared_out(pool, 9, BatchSize(3, 100)))
    before = set(children(os.getpid()))
    with pool.open() as pending:
        pending.submit(np.arange(2), (np.arange(2), "slow"))
        busy = before - set(until(lambda: children(os.getpid())))
        assert not busy
        time.sleep(0.2)  # the batch is with the process
    assert before - set(children(os.getpid())), "the process that would have slept is gone"


SCRIPT = """
import sys
from steelyard.encoders import load_encoder
print("begun", flush=True)
encoder = load_encoder(sys.argv[1], None, {"device": "cpu,cpu", "batch_size": "4"})
for _ in encoder.encode_parts([f"river {'tower ' * 50} {number}" for number in range(4_000)], "document"):
    print("part", flush=True)
"""


@LINUX
@pytest.mark.parametrize("how", ["interrupted at the start", "killed at work"])
def test_no_process_outlives_the_run(folder: Path, tmp_path: Path, how: str) -> None:
    script = tmp_path / "script.py"  # without the lines that multiprocessing asks of scripts
    script.write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, str(script), str(folder / "dense")]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert run.stdout is not None
    if how == "killed at work":
        assert [run.stdout.readline() for _ in range(2)] == ["begun\n", "part\n"]  # once: it is not run in each process
    started = until(lambda: children(run.pid))
    os.kill(run.pid, signal.SIGKILL) if how == "killed at work" else os.killpg(run.pid, signal.SIGINT)
    _, said = run.communicate(timeout=60)
    until(lambda: not any(Path(f"/proc/{process}").exists() for process in started))
    if how == "interrupted at the start":
        assert said.count("Traceback") == said.count("KeyboardInterrupt") == 1, said
        assert "leaked" not in said
