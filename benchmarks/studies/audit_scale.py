"""The leakage audit at full size: training rows against the queries and positives of 569 tasks, in bounded memory.

    python benchmarks/studies/audit_scale.py                  10 million rows of 100 words (6.7 GB of JSON Lines)
    python benchmarks/studies/audit_scale.py --rows 1000000   fewer rows
    python benchmarks/studies/audit_scale.py --folder DIR     keep the made data in DIR, and use it again

Each task has 200 queries of 12 words and 240 positives of 100 words, the sizes of published Nano-sets. The training
file is made of Zipfian words; every 10,000th row is a positive with three words replaced, and every 50,000th row a
query. The audit runs in a process of its own, as `steelyard.audit(tasks, file)`: reading, index, scan and verdicts
count. All planted texts must be found and nothing else, or the script fails.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

TASKS, QUERIES, POSITIVES = 569, 200, 240
QUERY_WORDS, WORDS = 12, 100
BLOCK = 50_000
EDITED, VERBATIM = 10_000, 50_000
"""Every how many rows an edited positive and a query are planted."""


class Words:
    """Texts of Zipfian words, made by Arrow: a row of Python strings each would take longer than the audit."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(0)
        letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
        names = sorted({"".join(rng.choice(letters, rng.integers(2, 10))) for _ in range(60_000)})
        rng.shuffle(names)
        self.vocabulary = pa.array(names)
        weights = 1 / np.arange(10, len(names) + 10)
        # A table of a million draws: indexing it is twenty times faster than a search in the cumulated weights.
        self.table = np.searchsorted(np.cumsum(weights / weights.sum()), rng.random(1 << 20)).astype(np.int32)
        self.rng = np.random.default_rng(seed)

    def texts(self, count: int, words: int) -> list[str]:
        """Return `count` texts of `words` words."""
        drawn = self.table[self.rng.integers(0, len(self.table), count * words, dtype=np.int32)]
        np.minimum(drawn, len(self.vocabulary) - 1, out=drawn)
        lists = pa.ListArray.from_arrays(
            pa.array(np.arange(count + 1, dtype=np.int32) * words), self.vocabulary.take(pa.array(drawn))
        )
        return list(pc.binary_join(lists, " ").to_pylist())


def evaluation_texts() -> Iterator[tuple[list[str], list[str]]]:
    """Yield the queries and the positives of every task."""
    words = Words(seed=1)
    for _ in range(TASKS):
        yield words.texts(QUERIES, QUERY_WORDS), words.texts(POSITIVES, WORDS)


def tasks() -> list[Any]:
    from steelyard.types import Task

    made = []
    for number, (queries, positives) in enumerate(evaluation_texts()):
        corpus = {f"d{row}": text for row, text in enumerate(positives)}
        asked = {f"q{row}": text for row, text in enumerate(queries)}
        qrels = {f"q{row % QUERIES}": [] for row in range(QUERIES)}
        for row in range(POSITIVES):
            qrels[f"q{row % QUERIES}"].append(f"d{row}")
        made.append(Task.of(f"made/t{number:03}", corpus, asked, qrels))
    return made


def make(path: Path, rows: int) -> None:
    """Write the training file; a shorter or longer one that is there already is written again."""
    count = path.with_suffix(".rows")
    if count.exists() and count.read_text(encoding="ascii") == str(rows):
        return
    flat = list(evaluation_texts())
    words = Words(seed=2)
    with path.open("w", encoding="ascii") as file:
        for first in range(0, rows, BLOCK):
            texts = words.texts(min(BLOCK, rows - first), WORDS)
            for row in range(0, len(texts), EDITED):
                texts[row] = planted(flat, first + row)
            file.writelines(f'{{"id": {row}, "text": "{text}"}}\n' for row, text in enumerate(texts, first))
    count.write_text(str(rows), encoding="ascii")


def planted(flat: list[tuple[list[str], list[str]]], row: int) -> str:
    """Return the text of an evaluation set that is planted in a training row."""
    queries, positives = flat[(row // EDITED) % TASKS]
    if row % VERBATIM == 0:
        return queries[(row // VERBATIM) % QUERIES]
    words = positives[(row // EDITED) % POSITIVES].split()
    for place in (20, 21, 80):
        words[place] = f"edit{place}"
    return " ".join(words)


def expected(rows: int) -> set[tuple[str, str, str]]:
    """Return the task, part and id of every planted text."""
    matches = set()
    for row in range(0, rows, EDITED):
        name = f"made/t{(row // EDITED) % TASKS:03}"
        if row % VERBATIM == 0:
            matches.add((name, "queries", f"q{(row // VERBATIM) % QUERIES}"))
        else:
            matches.add((name, "positives", f"d{(row // EDITED) % POSITIVES}"))
    return matches


def child(path: Path, rows: int) -> None:
    """Audit and print seconds, memory and what was found."""
    from steelyard import audit

    start = time.perf_counter()
    made = tasks()
    making = time.perf_counter() - start
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start, used = time.perf_counter(), time.process_time()
    result = audit(made, path)
    seconds, processor = time.perf_counter() - start, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    matches = {(match.task, match.part, match.id) for match in result.matches}
    wanted = expected(rows)
    facts = {
        "rows": rows,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(processor, 1),
        "rows_per_second": round(rows / seconds),
        "rows_per_cpu_second": round(rows / processor),
        "peak_mb": round(peak),
        "before_mb": round(before),
        "making_the_tasks_s": round(making, 1),
        "planted": len(wanted),
        "missed": len(wanted - matches),
        "not_planted": len(matches - wanted),
    }
    print(json.dumps(facts))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child, arguments.rows)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "training.jsonl"
        start = time.perf_counter()
        make(path, arguments.rows)
        print(f"{path.stat().st_size / 1e9:.1f} GB of training data made in {time.perf_counter() - start:.0f} s")
        command = [sys.executable, __file__, "--child", str(path), "--rows", str(arguments.rows)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    facts = json.loads(done.stdout.strip().splitlines()[-1])
    for name, value in facts.items():
        print(f"{name:22} {value:>14,}")
    return 1 if facts["missed"] or facts["not_planted"] else 0


if __name__ == "__main__":
    sys.exit(main())
