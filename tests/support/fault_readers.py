# ruff: noqa: E501  (seeds are easier to read on one line)
"""Every public reader of foreign input: valid seeds, and the call that must end in a result or an error of ours."""

from __future__ import annotations

import gzip
import io
import json
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from steelyard.build.sample.journal import Journal
from steelyard.build.sample.plan import read_set_file
from steelyard.build.source.source import open_sources
from steelyard.cli._ui.study import study_words
from steelyard.compat.evalscope import read_configs
from steelyard.datasets import check, load_any, task_names
from steelyard.datasets.formats.sidecar import set_facts, task_info
from steelyard.datasets.formats.trec.qrels_runs import read_qrels, read_run
from steelyard.datasets.hubs.snapshots import stored_snapshot
from steelyard.errors import SteelyardError
from steelyard.results import load_results
from steelyard.retrievers import load_retriever
from steelyard.spec import parse

CORPUS = b'{"_id": "d0", "title": "T", "text": "text zero"}\n{"_id": "d1", "text": "text one"}\n{"_id": "d2", "text": "two"}\n'
QUERIES = b'{"_id": "q0", "text": "zero?"}\n{"_id": "q1", "text": "one?"}\n'
QRELS = b"query-id\tcorpus-id\tscore\nq0\td0\t1\nq1\td1\t2\n"
FILES = {"corpus.jsonl": CORPUS, "queries.jsonl": QUERIES, "qrels.tsv": QRELS}


@dataclass(frozen=True)
class Reader:
    """A reader: the call, and inputs that it accepts."""

    name: str
    read: Callable[[Path, bytes], object]
    seeds: Sequence[bytes]
    mutated: str = ""
    """The file of a task that is the input; the tables in its other files are the same in every case."""

    def survives(self, folder: Path, data: bytes) -> None:
        """Read the input; any exception that is not ours is raised."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.read(folder, data)
            except SteelyardError as error:
                assert str(error), "an error without a message"
                assert "\x1b" not in str(error), "an escape sequence in a message"


def lines(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def parquet(**columns: object) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


def arrays(**values: object) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **values)  # type: ignore[arg-type]
    return stream.getvalue()


def array(values: object) -> bytes:
    stream = io.BytesIO()
    np.save(stream, values)  # type: ignore[arg-type]
    return stream.getvalue()


def put(folder: Path, files: dict[str, bytes]) -> Path:
    """Write the files; one that still has the same content as in the last case is left as it is."""
    known = _written.get(folder)
    if known is None:
        _written.clear()
        known = _written[folder] = {}
    for name, content in files.items():
        path = folder / name
        if known.get(name) is content and path.exists():
            continue
        if name not in known:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        known[name] = content
    return folder


_written: dict[Path, dict[str, bytes]] = {}
"""The last contents of the files in the folder of the cases."""


def task_with(name: str, *, without: Sequence[str] = ()) -> Callable[[Path, bytes], object]:
    """Return a reader of a folder in which one file is the input."""

    def read(folder: Path, data: bytes) -> object:
        others = {file: content for file, content in FILES.items() if file not in (*without, name)}
        put(folder, {**others, name: data})
        return load_any(folder, validate="report")

    return read


def typed(type: str, name: str) -> Callable[[Path, bytes], object]:
    return lambda folder, data: load_any(f"{type}:{put(folder, {name: data}) / name}", validate="report")


def single(name: str, read: Callable[[Path], object]) -> Callable[[Path, bytes], object]:
    return lambda folder, data: read(put(folder, {name: data}) / name)


def clicks(name: str) -> Callable[[Path, bytes], object]:
    return lambda folder, data: load_any(f"clicks:{put(folder, {name: data}) / name}", validate="report")


def click_options(folder: Path, data: bytes) -> object:
    put(folder, {"log.jsonl": CLICKS})
    return load_any(f"clicks:{folder / 'log.jsonl'}{data.decode('utf-8', 'surrogateescape')}")


def documents(folder: Path, data: bytes) -> object:
    """The input is a page and a table of questions, apart by a line of ---."""
    page, _, questions = data.partition(b"\n=====\n")
    put(folder, {"page.html": page, "notes.md": page, "questions.csv": questions})
    return load_any(folder, validate="report")


def reference(folder: Path, data: bytes) -> object:
    text = data.decode("utf-8", "surrogateescape")
    if "://" in text or text.lstrip().startswith(("/", "..", "mteb", "ir")) or "NanoStdlib" in text:
        return None  # nothing of the machine or the network
    before = Path.cwd()
    os.chdir(put(folder, FILES))
    try:
        return task_names([text], offline=True) and load_any(text, offline=True)
    finally:
        os.chdir(before)


def nano(name: str) -> Callable[[Path, bytes], object]:
    tables = {
        "corpus/en.parquet": parquet(_id=["d0", "d1"], text=["zero", "one"]),
        "queries/en.parquet": parquet(_id=["q0"], text=["zero?"]),
        "qrels/en.parquet": parquet(**{"query-id": ["q0"], "corpus-id": ["d0"], "score": [1]}),
    }

    def read(folder: Path, data: bytes) -> object:
        put(folder, {**tables, name: data})
        check(folder)
        return load_any(f"{folder}::en", validate="report")

    return read


def snapshot(folder: Path, data: bytes) -> object:
    put(folder, {"hubs/huggingface/me--x.json": data})
    return stored_snapshot(folder, "huggingface", "me/x", "main")


def journal(folder: Path, data: bytes) -> object:
    put(folder, {"scan.npz": data, "key": data[:20]})
    Journal.counts(folder, "*")
    return Journal(folder, "key").recall("scan")


def stream(name: str) -> Callable[[Path, bytes], object]:
    """Return a reader that streams a corpus as `build sample` does."""

    def read(folder: Path, data: bytes) -> object:
        others = {file: content for file, content in FILES.items() if file != "corpus.jsonl"}
        put(folder, {**others, name: data})
        (open_,) = open_sources(str(folder)).values()
        return [len(batch["id"]) for batch in open_().documents(True)]

    return read


def questions_in(name: str, columns: str = "") -> Callable[[Path, bytes], object]:
    """Return a reader of a file of questions with their contexts."""
    return lambda folder, data: load_any(f"{put(folder, {name: data}) / name}{columns}", validate="report")


def corpus_and_questions(folder: Path, data: bytes) -> object:
    """The input is a table of documents and a table of questions that name them, apart by a line of =====."""
    corpus, _, asked = data.partition(b"\n=====\n")
    put(folder, {"documents.csv": corpus, "asked.csv": asked})
    return load_any(f"{folder / 'documents.csv'},{folder / 'asked.csv'}", validate="report")


def arrow(**columns: object) -> bytes:
    stream, table = io.BytesIO(), pa.table(columns)
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    return stream.getvalue()


def saved(name: str) -> Callable[[Path, bytes], object]:
    """Return a reader of a folder of `datasets.save_to_disk` in which one file is the input."""
    files = {
        "dataset_dict.json": b'{"splits": ["test", "dev"]}',
        "test/state.json": b'{"_data_files": [{"filename": "data-00000-of-00001.arrow"}], "_split": "test"}',
        "dev/state.json": b'{"_data_files": [{"filename": "data-00000-of-00001.arrow"}], "_split": "dev"}',
        "test/data-00000-of-00001.arrow": arrow(question=["what", "who"], context=["that", "she"]),
        "dev/data-00000-of-00001.arrow": arrow(question=["why"], context=["because"]),
    }
    return lambda folder, data: load_any(put(folder, {**files, name: data}), validate="report")


def set_file(folder: Path, data: bytes) -> object:
    """A `set.yaml` is a plan of a build, and the facts of the tasks in its folder."""
    path = put(folder, {"set.yaml": data}) / "set.yaml"
    for name, facts in set_facts(folder).items():
        task_info(facts, name=name, source="x")
    return read_set_file(path)


def model(prefix: str, name: str) -> Callable[[Path, bytes], object]:
    return lambda folder, data: load_retriever(f"{prefix}:{put(folder, {name: data}) / name}")


def result(folder: Path, data: bytes) -> object:
    put(folder, {"m/rev/x/y-aaaa.json": data})
    results = load_results(folder)
    return str(results), results.to_markdown()


CLICKS = lines(
    {
        "query": "vpn",
        "doc_id": "d1",
        "text": "vpn doc",
        "clicks": 1,
        "impressions": 5,
        "position": 1,
        "session_id": "s",
    },
    {
        "query": "leave",
        "doc_id": "d2",
        "text": "leave",
        "clicks": 0,
        "session_id": "t",
        "timestamp": "2026-03-01T12:00:00",
        "position": 2,
    },
)
CLICKS_CSV = b"query,doc_id,text,clicks,impressions,position,timestamp\nvpn,d1,vpn doc,1,5,1,2026-03-01T12:00:00\nleave,d2,x,0,1,2,2026-03-02\n"
TOPICS = b"<top>\n<num> Number: q0\n<title> zero &amp; more\n<desc> Description: what\n</top>\n<topic number='q1'><query>one</query></topic>\n"
TREC = b"<DOC>\n<DOCNO> d0 </DOCNO>\n<TITLE>t</TITLE>\n<TEXT>body &amp; soul</TEXT>\n</DOC>\n<DOC><DOCNO>d1</DOCNO>one</DOC>\n"
PAIRS = lines({"sentence1": "a", "sentence2": "b", "score": 5}, {"sentence1": "c", "sentence2": "d", "score": 0.5})
LABELS = lines(*({"text": f"t{n}", "label": n % 2, "split": "train" if n < 4 else "test"} for n in range(6)))
CLUSTERS = lines({"sentences": ["a", "b"], "labels": [1, 2]}, {"sentences": ["c", "d"], "labels": [1, 2]})
RANKED = lines({"query": "q", "positive": ["a"], "negative": ["b", "c"]})
FACTS = {
    "name": "mine",
    "language": "en",
    "languages": ["en", "zh"],
    "category": "natural_language",
    "type": "retrieval",
}
FACTS |= {"licence": "MIT", "ignore_identical_ids": False, "reference": {"bm25_ndcg_at_10": 0.5}, "main_metric": "map"}  # type: ignore[dict-item]
PAPER = {
    "title": "A paper",
    "year": 2020,
    "authors": ["A. B"],
    "url": "https://x.org",
    "doi": "10.1/x",
    "type": "paper",
    "confidence": "human_verified",
}
METADATA = {
    "references": [PAPER],
    "useful_training_data": ["msmarco"],
    "synthetic_data": {"guidance": "ask about names"},
}
SQUAD_ROW = {
    "context": "The Nile is long.",
    "qas": [
        {"id": "1", "question": "What is long?", "is_impossible": False},
        {"id": 2, "question": "Who?", "is_impossible": True},
    ],
}
SQUAD = {"version": "2.0", "data": [{"title": "Nile", "paragraphs": [SQUAD_ROW, {"context": "Alps", "qas": []}]}]}
SET = b"""title: Two sets
licence: MIT
options: {queries: 50, max_positives: 3, seed: 1}
tasks:
  en: {source: ./news, language: en, references: [{title: A paper, year: 2020}], options: {queries: 20}}
  de: ./other
"""
STUDY = b"""tasks = ["NanoAlmanac/en", "./mine"]
metrics = "ndcg_at_10"
limit = 5
costs = true
[models]
base = "bm25"
[variants]
truncate_dim = [64, 128]
[chunking]
chunk = [128, "none"]
"""
MANIFEST = {
    "schema_version": 1,
    "tasks": {"en": FACTS},
    "files": {"corpus/en.parquet": {"rows": 2, "sha256": "0" * 64}},
}
REFERENCES = [
    *(b"NanoAlmanac/en", b"./corpus.jsonl,./queries.jsonl,./qrels.tsv", b".::x", b"sts:./pairs.csv::dev?max_score=5"),
    *(
        b"C-MTEB/ATEC:validation?generation=v9",
        b"clicks:log.csv,c.jsonl?at=1",
        b"NanoAlmanac/*",
        b"~/x",
        b"a,b,c",
        b".",
    ),
]
CONFIG = {"eval_backend": "RAGEval", "eval_config": {"tool": "MTEB", "model": [{"model_name_or_path": "bm25"}]}}
TEMPLATE = {"url": "http://127.0.0.1:9/search?q={query}", "ids": "hits[*].id", "scores": "hits[*].score", "max_k": 100}
SPECS = [
    b"bm25?k1=0.9&b=0.4",
    b"[bm25, dense:api/e5?url=http://x/v1]?weights=0.5,0.5 > rerank:X?depth=5",
    b"dense:a/b@main",
]
RESULT = {"schema_version": 1, "task": "X/y", "model": "bm25", "key": "a" * 32, "metrics": {"ndcg_at_10": 0.5}}

READERS = [
    Reader("jsonl", task_with("corpus.jsonl"), [CORPUS], "corpus.jsonl"),
    Reader("jsonl_queries", task_with("queries.jsonl"), [QUERIES], "queries.jsonl"),
    Reader("jsonl_lists", task_with("candidates.jsonl"), [lines({"query-id": "q0", "corpus-ids": ["d0", "d1"]})], "candidates.jsonl"),
    Reader("json_array", task_with("corpus.json", without=["corpus.jsonl"]), [json.dumps([{"_id": "d0", "text": "x"}]).encode()], "corpus.json"),
    Reader("csv", task_with("corpus.csv", without=["corpus.jsonl"]), [b'id,title,text\nd0,T,"zero, and more"\nd1,,one\n'], "corpus.csv"),
    Reader("tsv_qrels", task_with("qrels.tsv"), [QRELS, b"q0\t0\td0\t1\nq1\t0\td1\t0\n"], "qrels.tsv"),
    Reader("jsonl_qrels", task_with("qrels.jsonl", without=["qrels.tsv"]), [lines({"query-id": "q0", "corpus-id": "d0", "score": 1})], "qrels.jsonl"),
    Reader("parquet", task_with("corpus.parquet", without=["corpus.jsonl"]), [parquet(_id=["d0", "d1"], text=["zero", "one"])], "corpus.parquet"),
    Reader("gzip", task_with("corpus.jsonl.gz", without=["corpus.jsonl"]), [gzip.compress(CORPUS, mtime=0)], "corpus.jsonl.gz"),
    Reader("trec_docs", task_with("corpus.trec", without=["corpus.jsonl"]), [TREC], "corpus.trec"),
    Reader("trec_topics", task_with("topics", without=["queries.jsonl"]), [TOPICS], "topics"),
    Reader("trec_run", task_with("candidates.run"), [b"q0 Q0 d0 1 2.5 tag\nq0 Q0 d1 2 1.5 tag\nq1 Q0 d1 1 1 tag\n"], "candidates.run"),
    Reader("clicks_jsonl", clicks("log.jsonl"), [CLICKS]),
    Reader("clicks_csv", clicks("log.csv"), [CLICKS_CSV]),
    Reader("clicks_opts", click_options, [b"?signal=ctr&at=0.1,0.3&min_impressions=2&positions=ips", b"?since=2026-01-01&eta=1&clip=5"]),
    Reader("pairs_csv", questions_in("faq.csv"), [b'question,context,grade\nwhat?,"that, and more",1\nwho?,she,2\nwhat?,this,\n', b"anchor,positive,negative\na,b,c\n"]),
    Reader("pairs_jsonl", questions_in("faq.jsonl"), [lines({"query": "a", "positive": ["b", "c"], "negative": ["d"]}, {"query": "e", "positive": ["f"], "negative": []})]),
    Reader("pairs_parquet", questions_in("faq.parquet"), [parquet(question=["a", "b"], context=["c", "d"], context_id=["1", "2"])]),
    Reader("pairs_arrow", questions_in("faq.arrow"), [arrow(question=["a", "b"], context=["c", "d"])]),
    Reader("pairs_columns", questions_in("faq.csv", "?question=ask&context=reply"), [b"ask,reply\nwhat?,that\n"]),
    Reader("squad_json", questions_in("squad.json"), [json.dumps(SQUAD).encode()]),
    Reader("corpus_questions", corpus_and_questions, [b"id,text\nd0,zero\nd1,one\n=====\nquestion,document,grade\nhow?,d0,1\nwhy?,d0;d1,2\n"]),
    Reader("saved_splits", saved("dataset_dict.json"), [b'{"splits": ["test", "dev"]}']),
    Reader("saved_state", saved("test/state.json"), [b'{"_data_files": [{"filename": "data-00000-of-00001.arrow"}], "_split": "test"}']),
    Reader("saved_arrow", saved("test/data-00000-of-00001.arrow"), [arrow(question=["a", "b"], context=["c", "d"])]),
    Reader("set_yaml", set_file, [SET]),
    Reader("study_toml", single("study.toml", study_words), [STUDY, b'models = ["bm25"]\ndata = "x.csv"\n']),
    Reader("documents", documents, [b"---\nlayout: page\n---\n# Leave\n<title>VPN</title><p>Ask <b>IT</b>.</p>\n=====\nquestion,file\nhow,page.html\n"]),
    Reader("task_json", task_with("task.json"), [json.dumps(FACTS).encode()], "task.json"),
    Reader("task_metadata", task_with("task.json"), [json.dumps(METADATA).encode()], "task.json"),
    Reader("manifest_json", nano("manifest.json"), [json.dumps(MANIFEST).encode()], "manifest.json"),
    Reader("nano_corpus", nano("corpus/en.parquet"), [parquet(_id=["d0", "d1"], text=["zero", "one"])], "corpus/en.parquet"),
    Reader("nano_candidates", nano("bm25/en.parquet"), [parquet(**{"query-id": ["q0"], "corpus-ids": [["d1", "d0"]]})], "bm25/en.parquet"),
    Reader("sts", typed("sts", "x.jsonl"), [PAIRS]),
    Reader("pair_classification", typed("pair_classification", "x.jsonl"), [PAIRS.replace(b"score", b"label").replace(b"0.5", b"0").replace(b"5", b"1")]),
    Reader("classification", typed("classification", "x.jsonl"), [LABELS]),
    Reader("clustering", typed("clustering", "x.jsonl"), [CLUSTERS, lines({"text": "a", "labels": ["x", "y"]}, {"text": "b", "labels": ["z"]})]),
    Reader("reranking", typed("reranking", "x.jsonl"), [RANKED]),
    Reader("sts_csv", typed("sts", "x.csv"), [b"sentence1,sentence2,score\na,b,1\nc,d,0.5\n"]),
    Reader("references", reference, REFERENCES),
    Reader("score_qrels", single("qrels", read_qrels), [b"q0 0 d0 1\nq0 0 d1 0\n", QRELS, b'{"q1": {"d1": 2}}', parquet(**{"query-id": ["q0"], "corpus-id": ["d0"], "score": [1]})]),
    Reader("score_run", single("run", read_run), [b"q0 Q0 d0 1 0.5 t\n", b'{"q1": {"d1": 2.5}}', parquet(**{"query-id": ["q0"], "corpus-id": ["d0"], "score": [1.5]})]),
    Reader("hub_record", snapshot, [json.dumps({"revisions": {"main": "a" * 40}, "files": {"a" * 40: ["x.parquet"]}}).encode()]),
    Reader("build_journal", journal, [arrays(done=np.int64(3), draws=np.arange(4, dtype=np.uint64))]),
    Reader("build_stream", stream("corpus.jsonl"), [CORPUS], "corpus.jsonl"),
    Reader("build_stream_csv", stream("corpus.csv"), [b"id,title,text\nd0,T,zero\nd1,,one\n"], "corpus.csv"),
    Reader("model_spec", lambda folder, data: parse(data.decode("utf-8", "surrogateescape")), SPECS),
    Reader("eval_json", single("config.json", lambda path: read_configs([path])), [json.dumps(CONFIG).encode()]),
    Reader("eval_yaml", single("config.yaml", lambda path: read_configs([path])), [b"eval_backend: RAGEval\neval_config:\n  tool: MTEB\n  model:\n  - model_name_or_path: bm25\n"]),
    Reader("eval_toml", single("config.toml", lambda path: read_configs([path])), [b"eval_backend = 'RAGEval'\n[eval_config]\ntool = 'MTEB'\nmodel = [{model_name_or_path = 'bm25'}]\n"]),
    Reader("http_template", model("http", "search.json"), [json.dumps(TEMPLATE).encode()]),
    Reader("pre_npz", model("dense", "v.npz"), [arrays(ids=np.array(["d0", "d1"]), vectors=np.eye(2, dtype=np.float32))]),
    Reader("pre_npy", model("dense", "v.npy"), [array(np.eye(2, dtype=np.float32))]),
    Reader("ragged_npz", model("late", "v.npz"), [arrays(ids=np.array(["d0", "d1"]), vectors=np.eye(3, dtype=np.float32), offsets=np.array([0, 2, 3]))]),
    Reader("ragged_jsonl", model("sparse", "v.jsonl"), [lines({"id": "d0", "vector": {"a": 1.5}}, {"id": "d1", "vector": {"b": 2}})]),
    Reader("result_json", result, [json.dumps(RESULT).encode()]),
]  # fmt: skip
