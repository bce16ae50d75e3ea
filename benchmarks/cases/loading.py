"""Row 14: reading data: a Nano-set, a BEIR folder, a gigabyte of JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from cases import bm25
from harness.case import Case, Contestant
from harness.inputs import kept

DIFFERENT = 100_000
"""Different texts of a large folder; the others are these with a number of their own."""
TABLES = ("corpus", "queries", "qrels")


def make(documents: int, queries: int, tasks: int = 0) -> Path:
    """Return a BEIR folder; with `tasks`, a Nano-set of so many tasks in Parquet."""
    if tasks:
        return kept(
            f"nano-{tasks}x{documents}x{queries}", lambda folder: _write_nano(folder, documents, queries, tasks)
        )
    return kept(f"beir-{documents}x{queries}", lambda folder: _write_beir(folder, documents, queries))


def _write_beir(folder: Path, documents: int, queries: int) -> None:
    """Write corpus.jsonl, queries.jsonl and qrels/test.tsv."""
    texts, asked, rows, _ = bm25.make(min(documents, DIFFERENT), queries, "en")
    (folder / "qrels").mkdir()
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as file:
        for number in range(documents):
            text = texts[number] if number < DIFFERENT else f"{number} {texts[number % DIFFERENT]}"
            file.write(f'{{"_id": "c{number}", "title": "", "text": {json.dumps(text)}}}\n')
    with (folder / "queries.jsonl").open("w", encoding="utf-8") as file:
        for number, text in enumerate(asked):
            file.write(json.dumps({"_id": f"q{number}", "text": text}) + "\n")
    judged = [f"q{query}\tc{row}\t1\n" for query, row in enumerate(rows.tolist())]
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(judged), encoding="utf-8")


def _write_nano(folder: Path, documents: int, queries: int, tasks: int) -> None:
    """Write a Nano-set as hubs have them: tables in Parquet, one file for each task, and a card that lists them."""
    import pyarrow as pa
    from pyarrow import parquet

    texts, asked, rows, _ = bm25.make(documents, queries, "en")
    tables = {
        "corpus": {"_id": [f"c{n}" for n in range(documents)], "text": texts},
        "queries": {"_id": [f"q{n}" for n in range(queries)], "text": asked},
        "qrels": {"query-id": [f"q{n}" for n in range(queries)], "corpus-id": [f"c{row}" for row in rows.tolist()]},
    }
    card = ["---", "configs:"]
    for table, columns in tables.items():
        (folder / table).mkdir()
        card += [f"- config_name: {table}", "  data_files:"]
        for number in range(tasks):
            parquet.write_table(pa.table(columns), folder / table / f"task{number}.parquet")
            card += [f"  - split: task{number}", f"    path: {table}/task{number}.parquet"]
    (folder / "README.md").write_text("\n".join([*card, "---", ""]), encoding="utf-8")


def _limit(folder: Path) -> dict[str, float]:
    return {"limit_disk_mb": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6}


def ours(folder: Path) -> Callable[[], dict[str, float]]:
    """Read, check and number everything: ids, duplicates, judgements."""
    from steelyard import load_task

    load_task(str(make(100, 10)))
    limit = _limit(folder)

    def work() -> dict[str, float]:
        task = load_task(str(folder))
        return {"documents": float(len(task.corpus)), "queries": float(len(task.queries)), **limit}

    return work


def ours_nano(folder: Path) -> Callable[[], dict[str, float]]:
    from steelyard import load_tasks

    list(load_tasks(str(make(100, 10, 1))))

    def work() -> dict[str, float]:
        tasks = list(load_tasks(str(folder)))
        return {"documents": float(sum(len(task.corpus) for task in tasks)), "tasks": float(len(tasks))}

    return work


def with_datasets(folder: Path) -> Callable[[], dict[str, float]]:
    """Datasets' JSON reader, and dictionaries of texts by id as evaluators need them; nothing is checked."""
    from tempfile import mkdtemp

    from datasets import disable_progress_bars, load_dataset

    disable_progress_bars()
    cache = mkdtemp()

    def work() -> dict[str, float]:
        read = {}
        for name in ("corpus", "queries"):
            table = load_dataset("json", data_files=str(folder / f"{name}.jsonl"), split="train", cache_dir=cache)
            read[name] = dict(zip(table["_id"], table["text"], strict=True))
        return {"documents": float(len(read["corpus"])), "queries": float(len(read["queries"]))}

    return work


def with_datasets_nano(folder: Path) -> Callable[[], dict[str, float]]:
    """What NanoBEIREvaluator of sentence-transformers does for each task: three tables, then dictionaries."""
    from tempfile import mkdtemp

    from datasets import disable_progress_bars, load_dataset

    disable_progress_bars()
    cache = mkdtemp()
    names = sorted(path.stem for path in (folder / "corpus").iterdir())

    def work() -> dict[str, float]:
        documents = 0
        for name in names:
            corpus, queries, qrels = (load_dataset(str(folder), one, split=name, cache_dir=cache) for one in TABLES)
            texts = {row["_id"]: row["text"] for row in corpus if len(row["text"]) > 0}
            asked = {row["_id"]: row["text"] for row in queries if len(row["text"]) > 0}
            relevant: dict[str, set[str]] = {}
            for row in qrels:
                relevant.setdefault(row["query-id"], set()).add(row["corpus-id"])
            assert len(asked) == len(relevant)
            documents += len(texts)
        return {"documents": float(documents), "tasks": float(len(names))}

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


CHECKS = (
    "Steelyard checks what it reads (ids that occur twice, missing texts, judgements of unknown documents) and numbers "
    "documents by id; the loop with json does none of this."
)
STRINGS = "Arrow's tables and the strings made from them are in memory at once"
CASES = [
    *(
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
            reason=CHECKS,
            memory_reason=f"{STRINGS}; imports take 110 MB.",
        )
        for label, documents, size, rounds, quick in (
            ("10k", 10_000, "5 MB", 5, True),
            ("1gb", 2_000_000, "about 1 GB", 1, False),
        )
    ),
    Case(
        14,
        "load-nano",
        "A Nano-set of 5 tasks of 5,000 documents and 50 queries, in Parquet",
        (
            Contestant("steelyard", "ours_nano"),
            Contestant("datasets, as NanoBEIREvaluator", "with_datasets_nano", "tables"),
        ),
        {"documents": 5000, "queries": 50, "tasks": 5},
        rounds=5,
        tolerance=0.0,
        reason=CHECKS,
        memory_reason=f"{STRINGS}.",
    ),
]
