"""Fuzz every reader with mutated inputs, and record cases, seed, seconds and findings of each.

    python tests/faults/fuzz.py --cases 100000                 every reader
    python tests/faults/fuzz.py --cases 2000 jsonl csv         some
    python tests/faults/fuzz.py --seconds 60                   as many cases as fit into a minute of CPU time per reader

A case that does not end in a result or in an error of ours is stored below `corpus`, where the tests replay it. Case
NUMBER of a seed is always the same input, so a run continues where the recorded one of the same seed has ended. Seeds
are short, so mutations repeat: an input that occurred before is counted as a case, but not read again.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing import get_context
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from yaml.scanner import Scanner, ScannerError

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "support"))

from fault_mutation import mutate  # noqa: E402
from fault_output_readers import OUTPUT_READERS  # noqa: E402
from fault_readers import READERS as INPUT_READERS  # noqa: E402
from fault_readers import Reader  # noqa: E402
from page import changed_record, load_record, write_page  # noqa: E402

from steelyard.build.source import source  # noqa: E402
from steelyard.config import Settings  # noqa: E402
from steelyard.datasets.formats import task_files  # noqa: E402

READERS = {reader.name: reader for reader in [*INPUT_READERS, *OUTPUT_READERS]}
FRESH = 10_000
"""Cases after which the folder of a reader is made anew and the record is stored."""


def run(reader: Reader, seed: int, cases: int, seconds: float) -> int:
    """Continue the recorded cases of a reader until there are that many; return the number of findings."""
    shared = Path("/dev/shm")  # files in memory, where there is such a folder
    findings: set[str] = set()
    begin, used = load_record()["readers"].get(reader.name, {}), 0.0
    done = first = begin["cases"] if begin.get("seed") == seed else 0
    inputs = {hash(mutate(reader.seeds, seed, number)) for number in range(done)}
    if done and "distinct" not in begin:
        store_row(reader.name, distinct=len(inputs))
    while done < cases and used < seconds:
        with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
            known, start = len(findings), time.process_time()
            numbers = range(done, min(cases, done - done % FRESH + FRESH))
            with ExitStack() as shortcuts:
                if reader.name != "steelyard_toml":
                    shortcuts.enter_context(settings_loaded_once())
                if reader.mutated:
                    shortcuts.enter_context(unchanged_tables_read_once(reader.mutated))
                count = fuzz(reader, Path(folder), seed, numbers, seconds - used, findings, inputs)
            spent = time.process_time() - start
        done, used = done + count, used + spent
        row = load_record()["readers"].get(reader.name, {}) if done > count else {}
        store_row(
            reader.name,
            cases=done,
            distinct=len(inputs),
            seed=seed,
            seconds=round(row.get("seconds", 0.0) + spent, 1),
            findings=row.get("findings", 0) + len(findings) - known,
        )
    print(f"{reader.name}: {done - first} cases in {used:.1f} CPU s, {len(findings)} findings", flush=True)
    return len(findings)


def store_row(name: str, **values: float) -> None:
    """Change the row of a reader in the record."""
    with changed_record() as record:
        record["readers"][name] = record["readers"].get(name, {}) | values


@contextmanager
def settings_loaded_once() -> Iterator[None]:
    """Merge the settings of the environment and of `steelyard.toml` only once; they are the same in every case."""
    settings = Settings.load()
    with patch.object(Settings, "load", lambda **_: settings):
        yield


@contextmanager
def unchanged_tables_read_once(mutated: str) -> Iterator[None]:
    """Read the tables of a task that are the same in every case only once; `test_readers.py` reads all of them."""
    known: dict[tuple[str, ...], tuple[Any, list[Any]]] = {}

    def read(files: Sequence[Any], role: Any, report: Any) -> Any:
        names = (role.name, *(name for name, _ in files))
        if mutated in names:
            return read_table(files, role, report)
        if names not in known:
            own = type(report)()
            known[names] = read_table(files, role, own), own.problems
        table, problems = known[names]
        report.problems += problems
        return table

    read_table = task_files.read_table
    task_files.read_table = source.read_table = read
    try:
        yield
    finally:
        task_files.read_table = source.read_table = read_table


def scan_yaml_in_linear_time() -> None:
    """Replace two loops of PyYAML over all open brackets, for each token, by the same answers from the oldest ones.

    Open brackets are in a dictionary in the order of the file, so those that are too far away come first. A case with
    thousands of brackets would take 50 times as long as the others; `test_readers.py` uses PyYAML as it is.
    """

    def next_possible_simple_key(self: Any) -> int | None:
        return next((key.token_number for key in self.possible_simple_keys.values()), None)

    def stale_possible_simple_keys(self: Any) -> None:
        while self.possible_simple_keys:
            level, key = next(iter(self.possible_simple_keys.items()))
            if key.line == self.line and self.index - key.index <= 1024:
                return
            if key.required:
                message = "could not find expected ':'"
                raise ScannerError("while scanning a simple key", key.mark, message, self.get_mark())
            del self.possible_simple_keys[level]

    Scanner.next_possible_simple_key = next_possible_simple_key
    Scanner.stale_possible_simple_keys = stale_possible_simple_keys


def fuzz(
    reader: Reader, folder: Path, seed: int, numbers: range, seconds: float, findings: set[str], inputs: set[int]
) -> int:
    """Run cases until the numbers or the CPU seconds are used up; return how many, and add findings and inputs."""
    start, done = time.process_time(), 0
    for number in numbers:
        if done % 100 == 0 and time.process_time() - start > seconds:  # reading the clock takes as long as a small case
            break
        data = mutate(reader.seeds, seed, number)
        done += 1
        if hash(data) in inputs:
            continue
        inputs.add(hash(data))
        try:
            reader.survives(folder, data)
        except Exception as error:  # noqa: BLE001  (every kind is a finding)
            place = f"{type(error).__name__} {traceback.extract_tb(error.__traceback__)[-1][:3]}"
            if place not in findings:
                findings.add(place)
                store(reader.name, data)
                print(f"{reader.name}, seed {seed}, number {number}: {place}: {str(error)[:200]}", flush=True)
    return done


def store(name: str, data: bytes) -> Path:
    """Store an input that was not survived; the tests replay it."""
    path = HERE / "corpus" / name / hashlib.sha256(data).hexdigest()[:12]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def prepare(cores: Queue[int]) -> None:
    """Prepare a worker process: what is done once, and a core of its own, so that threads of Arrow need not move."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {cores.get()})
    pa.set_cpu_count(1)  # inputs are small: more threads only cost time
    pa.set_io_thread_count(1)
    scan_yaml_in_linear_time()
    gc.freeze()  # what is imported stays: the collector need not look at it again


def run_named(name: str, seed: int, cases: int, seconds: float) -> int:
    """Run a reader in a worker process, to which only names can be sent."""
    return run(READERS[name], seed, cases, seconds)


def by_time_left(names: Sequence[str], seed: int, cases: int) -> list[str]:
    """Return the readers with those first that take longest, by the record."""
    rows = load_record()["readers"]

    def left(name: str) -> float:
        row = rows.get(name, {})
        if row.get("seed") != seed:
            return float("inf")
        return float(max(cases - row["cases"], 0) * row["seconds"] / max(row["cases"], 1))

    return sorted(names, key=left, reverse=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readers", nargs="*", default=list(READERS), metavar="READER", help="readers (default: all)")
    parser.add_argument("--cases", type=int, default=100_000, help="cases of each reader, recorded ones included")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="CPU seconds of each reader at most")
    parser.add_argument("--seed", type=int, default=16, help="seed of the mutations")
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, help="processes (default: one for each core)"
    )
    parser.add_argument("--page", type=Path, help="a docs page to write the table into")
    options = parser.parse_args()
    if unknown := sorted(set(options.readers) - READERS.keys()):
        parser.error(f"unknown readers: {', '.join(unknown)}; known: {', '.join(READERS)}")
    spawn = get_context("spawn")
    cores = spawn.Queue()
    for core in range(options.workers):
        cores.put(core % (os.cpu_count() or 1))
    with ProcessPoolExecutor(options.workers, spawn, prepare, (cores,)) as pool:
        names = by_time_left(options.readers, options.seed, options.cases)
        found = pool.map(partial(run_named, seed=options.seed, cases=options.cases, seconds=options.seconds), names)
        findings = sum(found)
    if options.page:
        write_page(options.page, load_record())
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
