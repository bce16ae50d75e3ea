"""What follows from an audit: clean training data, sets without contaminated queries, scores without them."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from audit_parts import label_task, made_texts
from pyarrow import parquet

from steelyard import load_task
from steelyard.audit import audit
from steelyard.audit.consequences.drop import without
from steelyard.datasets import load_any
from steelyard.errors import DataError, UsageError
from steelyard.results import QueryScores, Result, ResultStore, TaskFacts
from steelyard.types import Task, TaskInfo
from steelyard.types.samples import AnyTask, ClusterTask, PairTask, Problem

TEXTS = made_texts(np.random.default_rng(1), 10)
LEAKING = {3, 7}
OTHERS = made_texts(np.random.default_rng(2), 8)
ROWS = [TEXTS[row] if row in LEAKING else f'{text}, with "marks"\nand lines' for row, text in enumerate(OTHERS)]


def write(path: Path, texts: list[str]) -> Path:
    """Write one text a row in the format of the suffix."""
    if path.name.endswith(".parquet"):
        parquet.write_table(pa.table({"text": texts, "n": list(range(len(texts)))}), path, compression="zstd")
    elif path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "n"])
            writer.writerows(zip(texts, map(str, range(len(texts))), strict=True))
    else:
        lines = "".join(json.dumps({"n": row, "text": text}) + " \n" for row, text in enumerate(texts)).encode()
        path.write_bytes(gzip.compress(lines) if path.suffix == ".gz" else lines)
    return path


def content(path: Path) -> bytes:
    """Return what a reader sees: the bytes, decompressed."""
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.csv"])
def test_clean_changes_no_other_row(name: str, tmp_path: Path) -> None:
    source = write(tmp_path / name, ROWS)
    result = audit(label_task(TEXTS), source, clean=tmp_path / "clean")
    assert result.written["clean"] == {str(tmp_path / "clean" / name): 2}
    before, after = content(source), content(tmp_path / "clean" / name)
    parts = before.split(b"\n")
    expected = b"\n".join(part for part in parts if not any(TEXTS[row].encode() in part for row in LEAKING))
    assert after == expected
    again = audit(label_task(TEXTS), tmp_path / "clean" / name)
    assert again.tasks[0].verdict == "clean"
    assert again.training["rows"] == 6


def test_clean_parquet_has_the_same_schema_and_the_other_rows(tmp_path: Path) -> None:
    source = write(tmp_path / "a.parquet", ROWS)
    audit(label_task(TEXTS), source, clean=tmp_path / "clean")
    before, after = parquet.read_table(source), parquet.read_table(tmp_path / "clean" / "a.parquet")
    assert after == before.filter(pa.array([row not in LEAKING for row in range(8)]))
    packing = parquet.ParquetFile(tmp_path / "clean" / "a.parquet").metadata.row_group(0).column(0).compression
    assert packing == "ZSTD"


def test_clean_json_arrays_and_folders(tmp_path: Path) -> None:
    folder = tmp_path / "training"
    (folder / "inner").mkdir(parents=True)
    (folder / "a.json").write_text(json.dumps({"data": [{"text": text} for text in ROWS]}), encoding="utf-8")
    write(folder / "inner" / "b.jsonl", OTHERS)
    audit(label_task(TEXTS), folder, clean=tmp_path / "clean")
    records = json.loads((tmp_path / "clean" / "a.json").read_text(encoding="utf-8"))
    assert [record["text"] for record in records["data"]] == [ROWS[row] for row in range(8) if row not in LEAKING]
    assert content(tmp_path / "clean" / "inner" / "b.jsonl") == content(folder / "inner" / "b.jsonl")


def test_clean_never_writes_over_its_source(tmp_path: Path) -> None:
    source = write(tmp_path / "a.jsonl", ROWS)
    with pytest.raises(UsageError):
        audit(label_task(TEXTS), source, clean=tmp_path)


def retrieval() -> Task:
    corpus = {f"d{row}": text for row, text in enumerate(TEXTS)}
    queries = {f"q{row}": f"a question about {text[:30]}" for row, text in enumerate(TEXTS)}
    return Task.of("Made/search", corpus, queries, {f"q{row}": {f"d{row}": 1} for row in range(10)}, language="en")


def test_dropped_queries_are_gone_and_the_set_loads_again(tmp_path: Path) -> None:
    task = retrieval()
    result = audit(task, records=[task.queries.texts[2], task.queries.texts[5]], drop=tmp_path / "set")
    rest = load_task(result.written["drop"]["Made/search"])
    assert set(task.queries.ids) - set(rest.queries.ids) == {"q2", "q5"}
    assert (rest.corpus.texts, len(rest.qrels.rows)) == (task.corpus.texts, 8)


def samples() -> list[AnyTask]:
    first, second = tuple(TEXTS[:5]), tuple(TEXTS[5:])
    labels = tuple(("a",) if row % 2 else ("b",) for row in range(10))
    return [
        PairTask(TaskInfo("Made/sts", type="sts"), first, second, np.array([0.5, 1.5, 2.5, 3.5, 4.5])),
        PairTask(TaskInfo("Made/pairs", type="pair_classification"), first, second, np.array([0.0, 1, 0, 1, 0])),
        label_task(TEXTS, "Made/labels"),
        ClusterTask(TaskInfo("Made/clusters", type="clustering"), (Problem(tuple(TEXTS), labels),)),
    ]


@pytest.mark.parametrize("task", samples(), ids=lambda task: task.info.type)
def test_dropped_samples_are_gone_and_the_set_loads_again(task: AnyTask, tmp_path: Path) -> None:
    result = audit(task, records=[TEXTS[0]], drop=tmp_path / "set")
    assert result.tasks[0].contaminated == ("0",)
    rest = load_any(result.written["drop"][task.name])
    assert type(rest) is type(task)
    assert rest.content_hash == without(task, ["0"]).content_hash


def test_a_set_of_which_nothing_is_left_is_a_data_error() -> None:
    with pytest.raises(DataError):
        without(retrieval(), [f"q{row}" for row in range(10)])


def store(folder: Path, model: str, task: Task, values: list[float], data_hash: str | None = None) -> None:
    """Store a result with the given values by query."""
    scores = np.array(values)
    facts = TaskFacts(data_hash=data_hash or task.content_hash)
    queries = QueryScores(task.queries.ids, None, {"ndcg_at_10": scores})
    metrics = {"ndcg_at_10": float(scores.mean())}
    ResultStore(folder).put(Result(task.name, model, {}, model, metrics=metrics, facts=facts, queries=queries))


def long_task() -> tuple[Task, list[str]]:
    """Return a task of 60 queries, and the texts of its first 20."""
    texts = made_texts(np.random.default_rng(3), 60, length=9)
    task = Task.of(
        "Made/long",
        {"d": "a document"},
        {f"q{row:02}": text for row, text in enumerate(texts)},
        {f"q{row:02}": ["d"] for row in range(60)},
    )
    return task, texts[:20]


def test_a_lead_that_the_leak_explains(tmp_path: Path) -> None:
    task, leaked = long_task()
    rng = np.random.default_rng(4)
    plain = rng.uniform(0.3, 0.6, 60)
    store(tmp_path, "honest", task, plain.tolist())
    store(tmp_path, "cheat", task, np.where(np.arange(60) < 20, 1.0, plain - 0.01).tolist())
    (scores,) = audit(task, records=leaked, results=tmp_path).scores
    cheat, honest = scores["models"]
    assert (scores["queries"], scores["contaminated"], cheat["model"]) == (60, 20, "cheat")
    assert cheat["contaminated"] == pytest.approx(1.0)
    assert cheat["clean"] == pytest.approx(float(plain[20:].mean()) - 0.01)
    assert cheat["effect_p"] < 0.01 < honest["effect_p"]
    (lead,) = scores["leads"]
    assert lead["explained"] and lead["all"]["p_value"] < 0.05 and lead["clean"]["difference"] < 0


def test_a_lead_that_remains_without_the_leak(tmp_path: Path) -> None:
    task, leaked = long_task()
    plain = np.random.default_rng(4).uniform(0.3, 0.6, 60)
    store(tmp_path, "honest", task, plain.tolist())
    store(tmp_path, "better", task, (plain + np.linspace(0.1, 0.3, 60)).tolist())
    (scores,) = audit(task, records=leaked, results=tmp_path).scores
    (lead,) = scores["leads"]
    assert (lead["leader"], lead["explained"]) == ("better", False)
    assert lead["clean"]["low"] > 0


def test_results_of_other_data_are_not_used(tmp_path: Path) -> None:
    task, leaked = long_task()
    store(tmp_path, "bm25", task, [0.5] * 60, data_hash="0" * 64)
    assert audit(task, records=leaked, results=tmp_path).scores == ()


def test_the_record_is_what_pages_read(tmp_path: Path) -> None:
    from steelyard.datasets import write_nano_set
    from steelyard.engine.page_inputs import audit_of

    folder = write_nano_set(tmp_path / "set", [retrieval()])
    reference = f"{folder}::search"
    assert audit_of(reference) is None
    texts = load_task(reference).queries.texts
    result = audit(reference, records=[texts[0]], record=True)
    assert list(result.written["record"].values()) == [str(folder / "metadata" / "search.audit.json")]
    stored = audit_of(reference)
    assert stored is not None
    assert (stored.queries_found, stored.documents_found) == (1, 0)


@pytest.mark.parametrize("content", ["", "[]", "{}", "[" * 9000], ids=len)
def test_a_damaged_record_of_another_audit_is_named(content: str, tmp_path: Path) -> None:
    from steelyard.datasets import write_nano_set

    folder = write_nano_set(tmp_path / "set", [retrieval()])
    (folder / "README.md").write_text("# Mine\n", encoding="utf-8")
    damaged = folder / "metadata" / "other.audit.json"
    damaged.parent.mkdir(exist_ok=True)
    damaged.write_text(content, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        audit(f"{folder}::search", records=["one"], record=True)
    assert caught.value.path == str(damaged)


def test_the_card_of_a_set_lists_its_audits_and_keeps_what_people_wrote(tmp_path: Path) -> None:
    from steelyard.datasets import write_nano_set

    folder = write_nano_set(tmp_path / "set", [retrieval()])
    card = folder / "README.md"
    card.write_text("# A set\n\nWritten by hand.\n", encoding="utf-8")
    texts = load_task(f"{folder}::search").queries.texts
    audit(f"{folder}::search", records=[texts[0]], record=True)
    audit(f"{folder}::search", records=["something else entirely, which is in no task"], record=True)
    text = card.read_text(encoding="utf-8")
    assert text.startswith("# A set\n\nWritten by hand.\n") and text.count("## Leakage audit") == 1
    assert "| search | clean | 0 | 0 | 0 |" in text
