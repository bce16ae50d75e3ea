"""Row 14: reading data: a Nano-set folder, JSON Lines, a BEIR folder."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

from cases import bm25
from harness.case import Case, Contestant


def make(documents: int, queries: int) -> Path:
    """Return a BEIR folder: corpus.jsonl, queries.jsonl, qrels/test.tsv."""
    texts, asked, rows, _ = bm25.make(documents, queries, "en")
    folder = Path(tempfile.mkdtemp(prefix="steelyard-bench-beir-")) / "made"
    (folder / "qrels").mkdir(parents=True)
    for name, some in (("corpus", texts), ("queries", asked)):
        with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            for number, text in enumerate(some):
                file.write(json.dumps({"_id": f"{name[0]}{number}", "title": "", "text": text}) + "\n")
    judged = [f"q{query}\tc{row}\t1\n" for query, row in enumerate(rows.tolist())]
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(judged), encoding="utf-8")
    return folder


def ours(folder: Path) -> Callable[[], dict[str, float]]:
    """Read, check and number everything: ids, duplicates, judgements."""
    from steelyard import load_task

    load_task(str(make(20, 5)))  # a first call imports what it needs, as the peer has imported before

    def work() -> dict[str, float]:
        task = load_task(str(folder))
        return {"documents": float(len(task.corpus)), "queries": float(len(task.queries))}

    return work


def with_datasets(folder: Path) -> Callable[[], dict[str, float]]:
    """Datasets' JSON reader, and dictionaries of texts by id as evaluators need them; nothing is checked."""
    from datasets import load_dataset

    cache = tempfile.mkdtemp(prefix="steelyard-bench-datasets-")

    def work() -> dict[str, float]:
        read = {}
        for name in ("corpus", "queries"):
            table = load_dataset("json", data_files=str(folder / f"{name}.jsonl"), split="train", cache_dir=cache)
            read[name] = dict(zip(table["_id"], table["text"], strict=True))
        return {"documents": float(len(read["corpus"])), "queries": float(len(read["queries"]))}

    return work


def with_json(folder: Path) -> Callable[[], dict[str, float]]:
    """A loop over lines with the standard library, as BEIR's own loader does; nothing is checked."""

    def work() -> dict[str, float]:
        read: dict[str, dict[str, str]] = {}
        for name in ("corpus", "queries"):
            with (folder / f"{name}.jsonl").open(encoding="utf-8") as file:
                rows = (json.loads(line) for line in file)
                read[name] = {row["_id"]: row["text"] for row in rows}
        return {"documents": float(len(read["corpus"])), "queries": float(len(read["queries"]))}

    return work


CASES = [
    Case(
        14,
        f"load-beir-{label}",
        f"A BEIR folder of {documents:,} documents ({size})",
        (
            Contestant("steelyard", "ours"),
            Contestant("datasets", "with_datasets", "tables"),
            Contestant("json", "with_json"),
        ),
        {"documents": documents, "queries": 200},
        rounds=rounds,
        tolerance=0.0,
        quick=quick,
        reason="The memory is that of the libraries of Arrow, and of pandas, which Arrow imports if it is installed.",
    )
    for label, documents, size, rounds, quick in (
        ("10k", 10_000, "5 MB", 5, True),
        ("1gb", 2_000_000, "about 1 GB", 1, False),
    )
]
