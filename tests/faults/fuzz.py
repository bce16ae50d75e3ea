"""Fuzz every reader with mutated inputs, and record cases, seed, seconds and findings of each.

    python tests/faults/fuzz.py --cases 100000                 every reader
    python tests/faults/fuzz.py --cases 2000 jsonl csv         some
    python tests/faults/fuzz.py --seconds 60                   as many cases as fit into a minute of CPU time per reader

A case that does not end in a result or in an error of ours is stored below `corpus`, where the tests replay it. Case
NUMBER of a seed is always the same input, so a run continues where the recorded one of the same seed has ended.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

import pyarrow as pa

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "support"))

from fault_mutation import mutate  # noqa: E402
from fault_output_readers import OUTPUT_READERS  # noqa: E402
from fault_readers import READERS as INPUT_READERS  # noqa: E402
from fault_readers import Reader  # noqa: E402
from page import load_record, save_record, write_page  # noqa: E402

READERS = {reader.name: reader for reader in [*INPUT_READERS, *OUTPUT_READERS]}
FRESH = 20_000
"""Cases after which the folder of a reader is emptied."""


def fuzz(reader: Reader, folder: Path, seed: int, numbers: range, seconds: float) -> tuple[int, int]:
    """Run cases until the numbers or the CPU seconds are used up; return how many cases and findings there were."""
    findings: set[str] = set()
    start, done = time.process_time(), 0
    for number in numbers:
        if time.process_time() - start > seconds:
            break
        if done % FRESH == FRESH - 1:
            shutil.rmtree(folder)
            folder.mkdir()
        data = mutate(reader.seeds, seed, number)
        done += 1
        try:
            reader.survives(folder, data)
        except Exception as error:  # noqa: BLE001  (every kind is a finding)
            place = f"{type(error).__name__} {traceback.extract_tb(error.__traceback__)[-1][:3]}"
            if place not in findings:
                findings.add(place)
                store(reader.name, data)
                print(f"{reader.name}, seed {seed}, number {number}: {place}: {str(error)[:200]}", flush=True)
    return done, len(findings)


def store(name: str, data: bytes) -> Path:
    """Store an input that was not survived; the tests replay it."""
    path = HERE / "corpus" / name / hashlib.sha256(data).hexdigest()[:12]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readers", nargs="*", default=list(READERS), metavar="READER", help="readers (default: all)")
    parser.add_argument("--cases", type=int, default=100_000, help="cases of each reader, recorded ones included")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="CPU seconds of each reader at most")
    parser.add_argument("--seed", type=int, default=16, help="seed of the mutations")
    parser.add_argument("--page", type=Path, help="a docs page to write the table into")
    options = parser.parse_args()
    pa.set_cpu_count(1)  # inputs are small: more threads only cost time
    pa.set_io_thread_count(1)
    found = 0
    shared = Path("/dev/shm")  # files in memory, where there is such a folder
    for name in options.readers:
        record = load_record()
        row = record["readers"].get(name, {})
        before = row if row.get("seed") == options.seed else {"cases": 0, "seconds": 0.0, "findings": 0}
        with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
            start = time.process_time()
            numbers = range(before["cases"], options.cases)
            cases, findings = fuzz(READERS[name], Path(folder), options.seed, numbers, options.seconds)
            seconds = time.process_time() - start
        found += findings
        record["readers"][name] = {
            "cases": before["cases"] + cases,
            "seed": options.seed,
            "seconds": round(before["seconds"] + seconds, 1),
            "findings": before["findings"] + findings,
        }
        save_record(record)
        print(f"{name}: {cases} cases in {seconds:.1f} CPU s, {findings} findings", flush=True)
    if options.page:
        write_page(options.page, load_record())
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
