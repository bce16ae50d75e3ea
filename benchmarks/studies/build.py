"""Cutting a Nano-set from generated documents: time and memory, against loading the same source whole.

    python benchmarks/studies/build.py [--docs 1000000] [--no-load] [--no-mining] [--kill] [--folder DIR]

Each step runs in a process of its own, so that its peak memory is its own. The same cut from half the documents
shows what a document more costs. `--kill` also ends the mining cut with SIGKILL half-way, goes on, and compares the
bytes of both sets. Ten million documents take 5 GB of disk; loading them whole would take tens of GB of memory, which
is what `--no-load` is for.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from steelyard.build.sample.journal import Journal
from steelyard.build.sample.sampler import JOURNAL

CUT = """
import sys
from pathlib import Path
from steelyard.build.sample.sampler import sample_set
from steelyard.build.sample.recipe import Recipe
sample_set(sys.argv[1], Path(sys.argv[2]), Recipe(mine=tuple(sys.argv[3:])))
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
COMMON = [
    a + b + c for a in "bdfgklmnprst" for b in ("ae", "io", "ou", "ei") for c in ("lan", "mir", "tok", "sen", "dor")
]
RARE = 5000
PORTION = 10_000
QUERIES = 1000
Told = dict[str, float]


def generate(folder: Path, documents: int) -> Path:
    """Passages of 40 made-up words, half of them rare; a query is some of the words of its positive."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(documents)
    words = np.array([*COMMON, *(f"{word}{number}" for word in COMMON for number in range(RARE))], dtype=object)
    asked: list[str] = []
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as corpus:
        for start in range(0, documents, PORTION):
            count = min(PORTION, documents - start)
            common = rng.integers(0, len(COMMON), (count, 20))
            rare = rng.integers(len(COMMON), len(words), (count, 20))
            picked = words[rng.permuted(np.concatenate([common, rare], axis=1), axis=1)]
            texts = [" ".join(row) for row in picked.tolist()]
            corpus.writelines(f'{{"_id": "d{start + at}", "text": "{text}"}}\n' for at, text in enumerate(texts))
            asked += [" ".join(text.split()[:8]) for text in texts[: max(0, QUERIES - len(asked))]]
    rows = [json.dumps({"_id": f"q{number}", "text": text}) + "\n" for number, text in enumerate(asked)]
    (folder / "queries.jsonl").write_text("".join(rows), encoding="utf-8")
    judged = "".join(f"q{number}\td{number}\t1\n" for number in range(len(asked)))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged)
    return folder


def measured(program: str, *arguments: str) -> Told:
    command = [sys.executable, "-c", MEASURED, program, *arguments]
    costs: Told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return costs


def killed(documents: int, source: str, folder: str, *models: str) -> None:
    """Run a cut until so many documents are mined, then end it as a power cut would."""
    process = subprocess.Popen([sys.executable, "-c", CUT, source, folder, *models])
    while process.poll() is None:
        time.sleep(0.2)
        if any(done >= documents for done in Journal.counts(Path(folder) / JOURNAL / Path(source).name, "mining-?")):
            process.kill()
            process.wait()
            return
    raise SystemExit("the cut was done before it could be killed")


def content(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*/*.parquet")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def show(name: str, costs: Told, whole: Told | None) -> None:
    ratios = f"   time x{costs['cpu'] / whole['cpu']:.2f}  memory x{costs['mb'] / whole['mb']:.2f}" if whole else ""
    line = f"{name:<38} {costs['wall']:7.1f} s wall {costs['cpu']:7.1f} s cpu {costs['mb']:7.0f} MB{ratios}"
    print(line, flush=True)


def main(arguments: argparse.Namespace) -> None:
    documents: int = arguments.docs
    if arguments.folder is not None:
        Path(arguments.folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        base = Path(name)
        start = time.perf_counter()
        half, full = (str(generate(base / part, n)) for part, n in (("half", documents // 2), ("full", documents)))
        size = (base / "full" / "corpus.jsonl").stat().st_size / 1e6
        print(f"{documents:,} documents, {size:,.0f} MB, generated in {time.perf_counter() - start:.0f} s", flush=True)
        whole = None if arguments.no_load else measured(LOAD, full)
        if whole:
            show("load the source whole", whole, whole)
        cut = measured(CUT, full, str(base / "a"))
        show("cut 200 x 10,000", cut, whole)
        less = measured(CUT, half, str(base / "b"))
        show("cut, from half as many", less, whole)
        bytes_each = (cut["mb"] - less["mb"]) * 2**20 / (documents - documents // 2)
        print(f"a document more costs a cut {bytes_each:.0f} bytes", flush=True)
        if not arguments.no_mining:
            mined = measured(CUT, full, str(base / "mined" / "set"), "bm25")
            show("cut, BM25 negatives", mined, whole)
            if arguments.kill:
                again = str(base / "resumed" / "set")
                killed(documents // 2, full, again, "bm25")
                show("the same, killed half-way: the rest", measured(CUT, full, again, "bm25"), whole)
                same = content(base / "mined" / "set") == content(base / "resumed" / "set")
                print("the same bytes" if same else "OTHER BYTES", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=int, default=1_000_000)
    parser.add_argument("--no-load", action="store_true")
    parser.add_argument("--no-mining", action="store_true")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--folder", type=Path, help="where the documents go (default: the temporary folder)")
    main(parser.parse_args())
