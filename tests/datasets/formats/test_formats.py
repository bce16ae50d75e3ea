"""One small task, written in every way that is read: each gives the same rows, texts and grades."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from steelyard.datasets import DataWarning, load_task, write_nano_set
from steelyard.errors import DataError
from steelyard.types import Task

DOCUMENTS = [
    ("d2", "尼罗河", "非洲最长的河流。"),
    ("d10", "", 'He said "no", twice,\u2028then left.'),
    ("d1", "Amazon", "The largest river by discharge."),
    ("é", "", "Ein Fluss in Köln: der Rhein."),
]
QUERIES = [("q1", "longest river of Africa"), ("q2", '"which" river, and why'), ("q0", "亚马逊河")]
QRELS = [("q1", "d2", 2), ("q2", "d10", 1), ("q2", "d1", 0), ("q0", "d1", 3)]

Write = Callable[[Path], str]


def json_lines(rows: list[dict[str, object]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def delimited(header: list[str], rows: list[tuple[object, ...]], separator: str) -> bytes:
    stream = io.StringIO()
    if separator == ",":
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])
    else:
        stream.write("\n".join(separator.join(map(str, row)) for row in [header, *rows]) + "\n")
    return stream.getvalue().encode()


def beir(folder: Path) -> str:
    (folder / "qrels").mkdir()
    rows = [{"_id": i, "title": t, "text": x, "metadata": {}} for i, t, x in DOCUMENTS]
    (folder / "corpus.jsonl").write_bytes(json_lines(rows))
    (folder / "queries.jsonl").write_bytes(json_lines([{"_id": i, "text": x} for i, x in QUERIES]))
    (folder / "qrels" / "test.tsv").write_bytes(delimited(["query-id", "corpus-id", "score"], QRELS, "\t"))
    (folder / "qrels" / "dev.tsv").write_bytes(delimited(["query-id", "corpus-id", "score"], QRELS[:1], "\t"))
    return str(folder)


def spreadsheet(folder: Path) -> str:
    """As a spreadsheet writes them where the comma is the decimal mark: a mark in front, semicolons, CR LF, quotes."""

    def write(name: str, header: list[str], rows: list[tuple[object, ...]]) -> None:
        stream = io.StringIO()
        csv.writer(stream, delimiter=";", quoting=csv.QUOTE_ALL, lineterminator="\r\n").writerows([header, *rows])
        (folder / name).write_bytes(stream.getvalue().encode("utf-8-sig"))

    write("docs.csv", ["id", "title", "text"], DOCUMENTS)
    write("questions.csv", ["qid", "query"], QUERIES)
    write("judgements.csv", ["qid", "pid", "label"], QRELS)
    return str(folder)


def comma_separated(folder: Path) -> str:
    (folder / "docs.csv").write_bytes(delimited(["docid", "Title", "contents"], DOCUMENTS, ","))
    (folder / "questions.csv").write_bytes(delimited(["qid", "question"], QUERIES, ","))
    (folder / "judgements.csv").write_bytes(delimited(["qid", "pid", "relevance"], QRELS, ","))
    return str(folder)


def tab_separated(folder: Path) -> str:
    (folder / "corpus.tsv").write_bytes(delimited(["id", "title", "body"], DOCUMENTS, "\t"))
    (folder / "queries.tsv").write_bytes(delimited(["qid", "query"], QUERIES, "\t"))
    (folder / "qrels.tsv").write_bytes(delimited(["qid", "pid", "label"], QRELS, "\t"))
    return str(folder)


def tab_separated_without_header(folder: Path) -> str:
    tab_separated(folder)
    for file in folder.iterdir():
        file.write_bytes(file.read_bytes().split(b"\n", 1)[1])
    return str(folder)


def packed(folder: Path) -> str:
    comma_separated(folder)
    (folder / "docs.csv.gz").write_bytes(gzip.compress((folder / "docs.csv").read_bytes()))
    (folder / "docs.csv").unlink()
    for name in ("questions.csv", "judgements.csv"):
        with pa.output_stream(str(folder / f"{name}.zst"), compression="zstd") as stream:
            stream.write((folder / name).read_bytes())
        (folder / name).unlink()
    return str(folder)


def array_of_objects(folder: Path) -> str:
    (folder / "corpus.json").write_text(json.dumps([{"id": i, "title": t, "text": x} for i, t, x in DOCUMENTS]))
    (folder / "queries.json").write_text(json.dumps([{"id": i, "query": x} for i, x in QUERIES]))
    qrels = [{"query_id": q, "doc_id": d, "score": str(g)} for q, d, g in QRELS]
    (folder / "qrels.json").write_text(json.dumps(qrels))
    return str(folder)


def three_parquet_files(folder: Path) -> str:
    ids, titles, texts = zip(*DOCUMENTS, strict=True)
    encoded = pa.array(titles).dictionary_encode()
    pq.write_table(pa.table({"doc_id": ids, "title": encoded, "passage": texts}), folder / "a.parquet")
    pq.write_table(
        pa.table(dict(zip(("query-id", "text"), zip(*QUERIES, strict=True), strict=True))), folder / "b.parquet"
    )
    q, d, g = zip(*QRELS, strict=True)
    pq.write_table(pa.table({"query_id": q, "docid": d, "rel": pa.array(g, pa.float32())}), folder / "c.parquet")
    return ",".join(str(folder / name) for name in ("a.parquet", "b.parquet", "c.parquet"))


def trec(folder: Path) -> str:
    documents = "\n".join(
        f"<DOC>\n<DOCNO> {i} </DOCNO>\n<TITLE>{t}</TITLE>\n<TEXT>\n{x}\n</TEXT>\n</DOC>" for i, t, x in DOCUMENTS
    )
    topics = "\n\n".join(
        f"<top>\n<num> Number: {i}\n<title> {x}\n\n<desc> Description:\nmore\n</top>" for i, x in QUERIES
    )
    (folder / "docs.trec").write_text(documents)
    (folder / "topics.txt").write_text(topics)
    (folder / "qrels.txt").write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in QRELS))
    return str(folder)


def shards(folder: Path) -> str:
    three_parquet_files(folder)
    table = pq.read_table(folder / "a.parquet")
    for place, names in {
        "corpus": ("x-00000-of-00002", "x-00001-of-00002"),
        "queries": ("x",),
        "qrels": ("x",),
    }.items():
        (folder / place).mkdir()
        for number, name in enumerate(names):
            file = folder / place / f"{name}.parquet"
            if place == "corpus":
                pq.write_table(table.slice(number * 3, 3), file)
            else:
                file.write_bytes((folder / ("b.parquet" if place == "queries" else "c.parquet")).read_bytes())
    return str(folder)


def nano_set(folder: Path) -> str:
    (folder / "plain").mkdir()
    return str(write_nano_set(folder / "set", [load_task(beir(folder / "plain"))]))


WRITERS = [
    *(beir, spreadsheet, comma_separated, tab_separated, tab_separated_without_header, packed, array_of_objects),
    *(three_parquet_files, trec, shards, nano_set),
]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return load_task(beir(tmp_path_factory.mktemp("beir")))


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_every_format_gives_the_same_task(write: Write, expected: Task, tmp_path: Path) -> None:
    task = load_task(write(tmp_path))
    if write is trec:  # its texts are words apart by blanks, so the line separator of d10 is gone
        assert task.corpus.ids == expected.corpus.ids and task.queries.texts == expected.queries.texts
        assert task.corpus.titles == expected.corpus.titles
        assert task.qrels.grades.tolist() == expected.qrels.grades.tolist()
    else:
        assert task.corpus.texts == expected.corpus.texts
        assert task.content_hash == expected.content_hash


def test_rows_titles_and_grades(expected: Task) -> None:
    assert expected.corpus.ids == ("é", "d2", "d10", "d1"), "descending by bytes"
    assert expected.corpus.texts[1] == "尼罗河 非洲最长的河流。"
    assert expected.queries.ids == ("q1", "q2", "q0"), "the order of the source"
    assert expected.qrels.rows.tolist() == [1, 2, 3, 3]
    assert expected.qrels.grades.tolist() == [2, 1, 0, 3]
    assert expected.info.split == "test" and expected.name.endswith("/test")


def test_a_split_is_a_task(tmp_path: Path) -> None:
    task = load_task(f"{beir(tmp_path)}::dev")
    assert task.queries.ids == ("q1",) and task.info.task == "dev"


def test_a_missing_score_is_one(tmp_path: Path) -> None:
    tab_separated(tmp_path)
    lines = [f"{q}\t{d}" for q, d, _ in QRELS]
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\n" + "\n".join(lines))
    assert load_task(tmp_path).qrels.grades.tolist() == [1, 1, 1, 1]


def test_candidates_of_both_forms(tmp_path: Path) -> None:
    tab_separated(tmp_path)
    (tmp_path / "candidates.tsv").write_text("qid\tpid\nq2\td1\nq1\td10\nq2\td10\nq1\td2\nq0\té\n")
    lists = load_task(tmp_path).candidates["candidates"]
    assert [lists.rows_of(q).tolist() for q in range(3)] == [[2, 1], [3, 2], [0]]
    (tmp_path / "candidates.tsv").unlink()
    rows = [{"query-id": "q2", "corpus-ids": ["d1", "d10"]}, {"query-id": "q1", "corpus-ids": ["d10", "d2"]}]
    rows += [{"query-id": "q0", "corpus-ids": ["é"]}]
    (tmp_path / "candidates.jsonl").write_bytes(json_lines(rows))
    again = load_task(tmp_path).candidates["candidates"]
    assert again.rows.tolist() == lists.rows.tolist() and again.offsets.tolist() == lists.offsets.tolist()
    assert load_task(tmp_path, candidates=[]).candidates == {}


def test_task_json_tells_what_the_tables_do_not(tmp_path: Path) -> None:
    tab_separated(tmp_path)
    facts = {"name": "rivers", "languages": ["eng", "cmn"], "licence": "MIT", "ignore_identical_ids": True}
    (tmp_path / "task.json").write_text(json.dumps(facts))
    info = load_task(tmp_path).info
    assert (info.name, info.language, info.languages) == ("local/rivers", "multilingual", ("en", "zh"))
    assert info.licence == "MIT" and info.ignore_identical_ids


def test_whole_number_ids_and_late_titles(tmp_path: Path) -> None:
    lines = [{"_id": 1, "text": "a"}, {"_id": 20, "text": "b", "title": "B"}, {"_id": 3, "text": None}]
    (tmp_path / "corpus.jsonl").write_bytes(json_lines(lines))
    (tmp_path / "queries.jsonl").write_bytes(json_lines([{"_id": 7, "text": "2020-01-01"}]))
    (tmp_path / "qrels.jsonl").write_bytes(json_lines([{"query-id": 7, "corpus-id": 20, "score": 1.0}]))
    task = load_task(tmp_path)
    assert task.corpus.ids == ("3", "20", "1") and task.corpus.texts == ("", "B b", "a")
    assert task.queries.texts == ("2020-01-01",), "a text that looks like a date stays one"


def test_judgements_with_lists(tmp_path: Path) -> None:
    tab_separated(tmp_path)
    (tmp_path / "qrels.tsv").unlink()
    pq.write_table(pa.table({"query-id": ["q1", "q0"], "corpus-id": [["d2", "d1"], ["é"]]}), tmp_path / "qrels.parquet")
    assert load_task(tmp_path).qrels.counts.tolist() == [2, 1]


def test_trec_judges_beyond_the_corpus(tmp_path: Path) -> None:
    folder = trec(tmp_path)
    with (tmp_path / "qrels.txt").open("a") as stream:
        stream.write("q1 0 elsewhere 1\n")
    with pytest.warns(DataWarning, match="elsewhere"):
        qrels = load_task(folder).qrels
    assert qrels.rows_of(0).tolist() == [-1, 1] and qrels.positives.tolist() == [2, 1, 1]


def test_the_hint_names_the_three_files_that_are_at_fault(tmp_path: Path) -> None:
    for name in ("c.jsonl", "q.jsonl", "r.tsv"):
        (tmp_path / name).touch()
    given = ",".join(str(tmp_path / name) for name in ("c.jsonl", "q.jsonl", "r.tsv"))
    with pytest.raises(DataError) as error:
        load_task(given)
    assert f"steelyard show {given}" in (error.value.hint or "")
