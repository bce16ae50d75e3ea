# ruff: noqa: E501  (seeds are easier to read on one line)
"""Readers of what programs write: results, reports, baselines, audits, imported result files, settings, model heads."""

from __future__ import annotations

import io
import json
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from audit_parts import label_task
from engine_parts import small_task
from fault_readers import RESULT, Reader, lines, model, parquet, put, single
from result_files import hakari_result, mteb_result, old_mteb_result

from steelyard.audit import audit
from steelyard.audit.audit_file import load_audit
from steelyard.comparison.baseline import read_baseline, write_baseline
from steelyard.config import Settings
from steelyard.encoders.model_metadata import tensor_shapes
from steelyard.engine.runs import read_run_file
from steelyard.results import QueryScores, Result, load_results
from steelyard.results.query_scores import queries_path
from steelyard.results.store import ResultStore
from steelyard.warehouse.readers import read_file
from steelyard.warehouse.readers.rows import BadFile
from steelyard.web.report import write_report

RESULT_WITH_KEY = Result("X/y", "bm25", {}, "a" * 32, metrics={"ndcg_at_10": 0.5})
RUN = parquet(**{"query-id": ["q1", "q1"], "corpus-id": ["volga", "nile"], "score": [2.0, 1.5]})
QUERIES = parquet(**{"query-id": ["q0", "q1"], "first-positive": [1, 0], "ndcg_at_10": [1.0, 0.0]})
ROW = {"anchor": "what is a nile", "positive": "the nile is a river", "negative": ["alps"]}


AUDIT = {
    "kind": "leakage",
    "schema_version": 1,
    "created": "2026-11-17",
    "steelyard": "0",
    "settings": {},
    "training": {},
}
AUDIT |= {"tasks": [], "examples": [], "scores": [], "written": {}}


def report(folder: Path, data: bytes) -> object:
    """Write the report of a folder with one result file."""
    put(folder, {"m/rev/x/y-aaaa.json": data})
    return write_report(load_results(folder), folder / "report.html")


def queries(folder: Path, data: bytes) -> object:
    """Read the scores by query next to a result."""
    scores = QueryScores(("q0", "q1"), np.ones(2, dtype=np.int32), {"ndcg_at_10": np.array([1.0, 0.0])})
    stored = ResultStore(folder).put(Result("X/y", "bm25", {}, "a" * 32, metrics={"ndcg_at_10": 0.5}, queries=scores))
    assert stored.path is not None
    queries_path(stored.path).write_bytes(data)
    results = load_results(folder)
    return results.query_columns(results.labels[0])


def imported(name: str) -> Callable[[Path, bytes], object]:
    """Return a reader of a file that `results import` reads; a bad file is listed with its reason."""

    def read(folder: Path, data: bytes) -> object:
        try:
            return list(read_file(put(folder, {name: data}) / name, data))
        except BadFile as error:
            return str(error)

    return read


def imported_queries(folder: Path, data: bytes) -> object:
    """Import a result of ours with its scores by query."""
    content = RESULT_WITH_KEY.to_json().encode()
    path = put(folder, {"y.json": content, "y.queries.parquet": data}) / "y.json"
    try:
        return list(read_file(path, content))
    except BadFile as error:
        return str(error)


def run_file(folder: Path, data: bytes) -> object:
    """Read a run that was kept next to a result."""
    return read_run_file(put(folder, {"y.run.parquet": data}) / "y.run.parquet", small_task())


def training(name: str) -> Callable[[Path, bytes], object]:
    """Return a reader of training data: an audit of a small set, in which bad rows are counted and bad files listed."""

    def read(folder: Path, data: bytes) -> object:
        found = audit(label_task(["what is a nile", "how high are the alps"]), put(folder, {name: data}) / name)
        return found.to_dict()

    return read


def settings(folder: Path, data: bytes) -> object:
    before = Path.cwd()
    os.chdir(put(folder, {"steelyard.toml": data}))
    try:
        return Settings.load()
    finally:
        os.chdir(before)


def baseline() -> bytes:
    import tempfile

    scores = QueryScores(("q0", "q1"), np.ones(2, dtype=np.int32), {"ndcg_at_10": np.array([0.5, 1.0])})
    result = Result("X/y", "bm25", {}, "a" * 32, metrics={"ndcg_at_10": 0.75}, queries=scores)
    with tempfile.TemporaryDirectory() as folder:
        return write_baseline(Path(folder) / "baseline.json", [result]).read_bytes()


def safetensors(shapes: dict[str, object]) -> bytes:
    head = json.dumps(shapes).encode()
    return len(head).to_bytes(8, "little") + head


def typed_parquet() -> bytes:
    """Vectors in Parquet as lists of doubles."""
    stream = io.BytesIO()
    pq.write_table(pa.table({"id": ["d0", "d1"], "vector": [[1.0, 0.0], [0.0, 1.0]]}), stream)
    return stream.getvalue()


def as_bytes(value: object) -> bytes:
    return json.dumps(value).encode()


OUTPUT_READERS = [
    Reader("result_report", report, [as_bytes(RESULT), as_bytes(mteb_result())]),
    Reader("result_queries", queries, [QUERIES]),
    Reader("import_queries", imported_queries, [QUERIES]),
    Reader("run_file", run_file, [RUN]),
    Reader("safetensors_head", single("model.safetensors", tensor_shapes), [safetensors({"a": {"dtype": "F32", "shape": [2, 3]}})]),
    Reader("pre_parquet_types", model("dense", "v.parquet"), [typed_parquet()]),
    Reader("import_mteb", imported("STSB.json"), [as_bytes(mteb_result()), as_bytes(old_mteb_result())]),
    Reader("import_model_meta", imported("model_meta.json"), [as_bytes({"name": "a/b", "n_parameters": 10, "languages": ["eng-Latn"]})]),
    Reader("import_hakari", imported("tiny.json.xz"), [lzma.compress(as_bytes(hakari_result()))]),
    Reader("import_hakari_json", imported("tiny.json"), [as_bytes(hakari_result())]),
    Reader("import_csv", imported("scores.csv"), [b"model,task,metric,score\nbm25,X/y,ndcg_at_10,0.5\n"]),
    Reader("import_parquet", imported("scores.parquet"), [parquet(model=["bm25"], task=["X/y"], score=[0.5])]),
    Reader("baseline", single("baseline.json", read_baseline), [baseline()]),
    Reader("audit_jsonl", training("train.jsonl"), [lines(ROW, {"text": "plain"}, {"messages": [{"role": "user", "content": "hi"}]})]),
    Reader("audit_csv", training("train.csv"), [b"anchor,positive\nwhat,that\n"]),
    Reader("audit_parquet", training("train.parquet"), [parquet(anchor=["what"], positive=["that"])]),
    Reader("audit_json", single("audit.json", load_audit), [as_bytes(AUDIT)]),
    Reader("steelyard_toml", settings, [b'results = "out"\noffline = true\ncache_size = "2 GB"\n']),
]  # fmt: skip
