"""Fuzz readers that are written in Python with atheris, which is guided by the branches that an input reaches.

    pip install atheris
    python tests/faults/atheris_readers.py --seconds 60                    every reader below
    python tests/faults/atheris_readers.py --seconds 600 model_spec

atheris is not a dependency of the tests: it has packages for few systems. What it finds is stored below `corpus`, where
the tests replay it; the number of runs goes into `record.json`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

HERE = Path(__file__).parent
PURE = ("model_spec", "trec_topics", "trec_docs", "score_qrels", "score_run", "clicks_opts", "documents", "references")
PURE += (
    "study_toml",
    "steelyard_toml",
    "eval_yaml",
    "eval_json",
    "set_yaml",
    "http_template",
    "result_json",
    "baseline",
)
PURE += ("task_json", "task_metadata", "manifest_json", "hub_record", "saved_splits", "squad_json", "eval_toml")
PURE += ("import_mteb", "import_model_meta", "import_hakari_json", "import_csv", "audit_json", "safetensors_head")
"""Readers whose parsing is done in Python, or by a parser that is."""


def fuzz(name: str, seconds: float) -> None:
    """Fuzz one reader in this process, which ends with it."""
    import atheris

    with atheris.instrument_imports(include=["steelyard", "yaml"]):
        sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
        from fuzz import READERS, store
        from page import load_record, save_record

    reader = READERS[name]
    shared = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=shared if shared.is_dir() else None))
    seeds = folder / "seeds"
    seeds.mkdir()
    for number, seed in enumerate(reader.seeds):
        (seeds / str(number)).write_bytes(seed)
    work = folder / "work"
    work.mkdir()
    findings: set[str] = set()
    runs, start = 0, time.process_time()

    def one(data: bytes) -> None:
        nonlocal runs
        runs += 1
        try:
            reader.survives(work, data)
        except Exception as error:  # noqa: BLE001  (every kind is a finding)
            place = f"{type(error).__name__} {traceback.extract_tb(error.__traceback__)[-1][:3]}"
            if place not in findings:
                findings.add(place)
                print(f"{name}: {place}: {str(error)[:200]}, stored as {store(name, data)}", flush=True)
        if time.process_time() - start > seconds:
            record = load_record()
            before = record["atheris"].get(name, {"runs": 0, "seconds": 0.0, "findings": 0})
            counts = {"runs": runs, "seconds": round(time.process_time() - start), "findings": len(findings)}
            record["atheris"][name] = {key: before[key] + value for key, value in counts.items()}
            save_record(record)
            print(f"{name}: {runs} runs, {len(findings)} findings", flush=True)
            subprocess.run(["rm", "-r", str(folder)], check=False)
            os._exit(0)  # libFuzzer has no other way to end a run from inside

    atheris.Setup([sys.argv[0], "-timeout=20", "-max_len=4096", "-verbosity=0", str(seeds)], one)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readers", nargs="*", default=list(PURE), metavar="READER", help="readers (default: all)")
    parser.add_argument("--seconds", type=float, default=60.0, help="CPU seconds of each reader")
    parser.add_argument("--here", action="store_true", help="fuzz the one reader in this process")
    options = parser.parse_args()
    if options.here:
        fuzz(options.readers[0], options.seconds)
    codes = [
        subprocess.run(
            [sys.executable, __file__, "--here", "--seconds", str(options.seconds), name], check=False
        ).returncode
        for name in options.readers
    ]
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
