"""nDCG@10 of BM25's forms, parameters and analysers on real tasks: what the defaults were chosen by.

    python benchmarks/bm25_quality.py FOLDER [--queries 1000] [--reference bm25.json]

FOLDER holds a folder for each task: corpus.jsonl, queries.jsonl, qrels.tsv, task.json. The reference is a file of
figures and CPU seconds of HAKARI-Bench's BM25 on the first 200 queries.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard.retrievers.bm25 import Bm25, from_spec
from steelyard.spec import parse
from steelyard.types import Corpus, Queries, TaskInfo

TASKS = {
    "xquad_en": "en", "cranfield_en": "en", "vaswani_en": "en", "xquad_ar": "ar", "xquad_th": "th", "xquad_zh": "zh",
    "cmrc2018_zh": "zh", "cmdd_medical_zh": "zh", "jsquad_ja": "ja", "xquad_pool6": "multilingual",
}  # fmt: skip
GRID = [(k1, b) for k1 in (0.6, 0.9, 1.2, 1.5, 2.0) for b in (0.4, 0.6, 0.75, 0.9)]


@dataclass
class Data:
    corpus: Corpus
    queries: Queries
    relevant: list[set[str]]
    info: TaskInfo

    def ndcg(self, model: Bm25) -> tuple[float, float]:
        """nDCG@10 with binary relevance, and CPU seconds of indexing and searching (top 500)."""
        start = time.process_time()
        rows = model.index(self.corpus, self.info).search(self.queries, 500).rows[:, :10]
        seconds = time.process_time() - start
        discounts = 1 / np.log2(np.arange(10) + 2)
        values = []
        for line, wanted in zip(rows, self.relevant, strict=True):
            gains = np.array([row >= 0 and self.corpus.ids[row] in wanted for row in line], dtype=np.float64)
            values.append((gains * discounts[: len(gains)]).sum() / discounts[: len(wanted)].sum())
        return float(np.mean(values)), seconds


def read(folder: Path, language: str, limit: int) -> Data:
    def lines(name: str) -> list[dict[str, str]]:
        return [json.loads(line) for line in (folder / name).read_text("utf-8").strip().split("\n")]

    documents = [document for document in lines("corpus.jsonl") if document["text"].strip()]
    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            relevant.setdefault(query, set()).add(document)
    queries = [query for query in lines("queries.jsonl") if query["_id"] in relevant][:limit]
    texts = ["\n\n".join(filter(None, (document.get("title"), document["text"]))) for document in documents]
    return Data(
        Corpus.of([document["_id"] for document in documents], texts),
        Queries(tuple(query["_id"] for query in queries), tuple(query["text"] for query in queries)),
        [relevant[query["_id"]] for query in queries],
        TaskInfo(f"data/{folder.name}", language=language),
    )


def table(title: str, tasks: dict[str, Data], models: dict[str, Bm25]) -> None:
    print(f"\n## {title}\n\n| | {' | '.join(tasks)} | mean |\n|---|{'---|' * (len(tasks) + 1)}")
    for name, model in models.items():
        values = [data.ndcg(model)[0] for data in tasks.values()]
        shown = " | ".join(f"{value:.4f}" for value in values)
        print(f"| {name} | {shown} | {np.mean(values):.4f} |", flush=True)


def against_reference(folder: Path, reference: dict[str, dict[str, float]]) -> None:
    print("\n## HAKARI-Bench's BM25, first 200 queries\n")
    print("| task | theirs | ours | preset | their CPU s | ours | ratio |\n|---|---|---|---|---|---|---|")
    preset, sums = from_spec(parse("bm25?preset=hakari")), np.zeros(5)
    for task, figures in reference.items():
        data = read(folder / task, TASKS[task], 200)
        data.ndcg(Bm25())
        ours, seconds = data.ndcg(Bm25())
        same, _ = data.ndcg(preset)
        line = np.array([figures["ndcg_at_10"], ours, same, figures["cpu_seconds"], seconds])
        sums += line
        print(f"| {task} | {' | '.join(f'{value:.4f}' for value in line)} | {line[3] / line[4]:.0f}x |", flush=True)
    means = sums / len(reference)
    print(f"| mean | {' | '.join(f'{value:.4f}' for value in means)} | {sums[3] / sums[4]:.0f}x |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--reference", type=Path)
    arguments = parser.parse_args()
    if arguments.reference:
        against_reference(arguments.folder, json.loads(arguments.reference.read_text())["tasks"])
    tasks = {task: read(arguments.folder / task, code, arguments.queries) for task, code in TASKS.items()}
    kinds = {kind: from_spec(parse(f"bm25?analyser={kind}")) for kind in ("default", "segment", "hakari")}
    table("Analysers (lucene, 1.2, 0.75)", tasks, kinds)
    names = ("lucene", "robertson", "atire", "bm25l", "bm25%2B")
    table("Forms (1.2, 0.75)", tasks, {name: from_spec(parse(f"bm25?form={name}")) for name in names})
    table("k1, b (lucene)", tasks, {f"{k1}, {b}": Bm25(k1=k1, b=b) for k1, b in GRID})


if __name__ == "__main__":
    main()
