"""Cutting a Nano-set from a million generated documents: time and memory, against loading the same source whole.

    python benchmarks/build.py [DOCUMENTS]

Each step runs in a process of its own, so that its peak memory is its own. The same cut from half the documents
shows what a document more costs.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CUT = """
import sys
from pathlib import Path
from steelyard.build.cut import cut
from steelyard.build.recipe import Recipe
cut(sys.argv[1], Path(sys.argv[2]), Recipe(mine=tuple(sys.argv[3:])))
"""
LOAD = "import sys; from steelyard.datasets import load_task; load_task(sys.argv[1])"
MEASURED = """
import resource, subprocess, sys, json, time
start = time.perf_counter()
subprocess.run([sys.executable, "-c", *sys.argv[1:]], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
told = {"wall": time.perf_counter() - start, "cpu": used.ru_utime + used.ru_stime, "mb": used.ru_maxrss / 1024}
print(json.dumps(told))
"""
WORDS = [
    a + b + c for a in "bdfgklmnprst" for b in ("ae", "io", "ou", "ei") for c in ("lan", "mir", "tok", "sen", "dor")
]


def generate(folder: Path, documents: int) -> Path:
    """Passages of 40 made-up words; a query is some of the words of its positive."""
    folder.mkdir()
    rng = random.Random(documents)
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as corpus:
        for number in range(documents):
            words = rng.choices(WORDS, k=20) + [f"{w}{rng.randrange(5000)}" for w in rng.choices(WORDS, k=20)]
            rng.shuffle(words)
            corpus.write(json.dumps({"_id": f"d{number}", "text": " ".join(words)}) + "\n")
            if number < 1000:
                with (folder / "queries.jsonl").open("a", encoding="utf-8") as queries:
                    queries.write(json.dumps({"_id": f"q{number}", "text": " ".join(words[:8])}) + "\n")
    judged = "".join(f"q{number}\td{number}\t1\n" for number in range(1000))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged)
    return folder


def measured(program: str, *arguments: str) -> dict[str, float]:
    command = [sys.executable, "-c", MEASURED, program, *arguments]
    told: dict[str, float] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return told


def main(documents: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        start = time.perf_counter()
        half, full = generate(base / "half", documents // 2), generate(base / "full", documents)
        print(
            f"generated in {time.perf_counter() - start:.0f} s; {documents:,} documents, 200 queries x 10,000 are cut"
        )
        rows = {
            "load the source whole": measured(LOAD, str(full)),
            "cut": measured(CUT, str(full), str(base / "a")),
            "cut, from half as many": measured(CUT, str(half), str(base / "b")),
            "cut, BM25 negatives": measured(CUT, str(full), str(base / "c"), "bm25"),
            "cut, BM25 negatives, from half": measured(CUT, str(half), str(base / "d"), "bm25"),
        }
    whole = rows["load the source whole"]
    for name, told in rows.items():
        ratios = f"time x{told['cpu'] / whole['cpu']:.2f}  memory x{told['mb'] / whole['mb']:.2f}"
        print(f"{name:<32} {told['wall']:7.1f} s wall {told['cpu']:7.1f} s cpu {told['mb']:7.0f} MB   {ratios}")
    each = (rows["cut"]["mb"] - rows["cut, from half as many"]["mb"]) * 2**20 / (documents - documents // 2)
    print(f"a document more costs a cut {each:.0f} bytes, loading {whole['mb'] * 2**20 / documents:.0f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
