"""Every kind of fault: found, named with file and row, stopped in strict mode, repaired as promised in report mode."""

from __future__ import annotations

import gzip
import json
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from steelyard.datasets import DataWarning, check, load_task
from steelyard.datasets.problems import KINDS, SAMPLE_KINDS
from steelyard.errors import DataError
from steelyard.types import Task

GOOD: dict[str, bytes] = {
    "corpus.jsonl": b'{"_id": "a", "text": "one"}\n{"_id": "b", "text": "two"}\n{"_id": "c", "text": "three"}\n',
    "queries.jsonl": b'{"_id": "1", "text": "first?"}\n{"_id": "2", "text": "second?"}\n',
    "qrels.tsv": b"query-id\tcorpus-id\tscore\n1\ta\t1\n2\tb\t2\n",
}


def lines(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def qrels(*rows: str) -> bytes:
    return ("query-id\tcorpus-id\tscore\n" + "".join(f"{row}\n" for row in rows)).replace(" ", "\t").encode()


@dataclass
class Fault:
    """Files that differ from the good ones, and the problem that they must give."""

    kind: str
    file: str
    rows: tuple[int, ...]
    about: str
    """What is wrong; quoted values and numbers in it must be part of the problem."""
    files: dict[str, bytes]
    replaces: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        return f"{self.kind}-{self.about[:20].replace(' ', '_')}"


CORPUS, QUERIES, QRELS = "corpus.jsonl", "queries.jsonl", "qrels.tsv"
good_qrels = ("1 a 1", "2 b 2")
FAULTS = [
    Fault("unreadable", CORPUS, (), "empty", {CORPUS: b"\n \n"}),
    Fault("unreadable", "corpus.csv.gz", (), "damaged or cut short", {
        "corpus.csv.gz": gzip.compress(b"id,text\n" + b"".join(b"%d,x%d\n" % (i, i * i) for i in range(999)))[:-90]},
        (CORPUS,)),
    Fault("unreadable", "corpus.parquet", (), "damaged or cut short", {
        "corpus.parquet": b"PAR1 and then nothing"}, (CORPUS,)),
    Fault("aside", CORPUS, (), "not read, corpus.csv is", {"corpus.csv": b"id,text\na,1\nb,2\n"}),
    Fault("unreadable", CORPUS, (), "UTF-16", {CORPUS: '{"_id": "a", "text": "x"}'.encode("utf-16")}),
    Fault("columns", CORPUS, (), "no column for text", {CORPUS: lines({"_id": "a", "txt": "one"})}),
    Fault("columns", QRELS, (), "no column for query", {QRELS: b"question\tanswer\n1\ta\n"}),
    Fault("columns", CORPUS, (2,), "where text was expected", {
        CORPUS: lines({"_id": "a", "text": "x"}, {"_id": "b", "text": 5})}),
    Fault("row", CORPUS, (2,), "not JSON", {CORPUS: b'{"_id": "a", "text": "x"}\n{"_id": "b", \n'}),
    Fault("row", CORPUS, (2,), "where a JSON object was expected", {
        CORPUS: lines({"_id": "a", "text": "x"}, ["b", "y"])}),
    Fault("row", QRELS, (2,), "2 columns, where the first line has 3", {QRELS: qrels("1 a 1", "2 b", "2 a 1")}),
    Fault("row", "docs.csv", (2,), "never closed", {
        "docs.csv": b'id,text\na,x\nb,"y\nc,z\n'}, (CORPUS,)),
    Fault("encoding", CORPUS, (2,), "not UTF-8", {
        CORPUS: b'{"_id": "a", "text": "x"}\n{"_id": "b", "text": "caf\xe9"}\n'}),
    Fault("encoding", "queries.csv", (1,), "not UTF-8", {"queries.csv": b"qid,query\n1,caf\xe9\n2,x\n"}, (QUERIES,)),
    Fault("byte-order-mark", CORPUS, (), "byte order mark", {CORPUS: b"\xef\xbb\xbf" + GOOD[CORPUS]}),
    Fault("byte-order-mark", QRELS, (), "byte order mark", {QRELS: b"\xef\xbb\xbf" + GOOD[QRELS]}),
    Fault("no-header", QRELS, (), "is read as query, document, grade", {QRELS: GOOD[QRELS].split(b"\n", 1)[1]}),
    Fault("aside", "docs.csv", (), "two columns are called 'Text': the first of them is read", {
        "docs.csv": b"id,text,Text \na,1,x\nb,2,y\n"}, (CORPUS,)),
    Fault("aside", "docs.csv", (), "two columns could be the text: 'text' is read, 'contents' is not", {
        "docs.csv": b"id,contents,text\na,1,x\nb,2,y\n"}, (CORPUS,)),
    Fault("aside", CORPUS, (), "two columns could be the id: '_id' is read, 'docid' is not", {
        CORPUS: lines(*({"docid": i, "_id": d, "text": "x"} for i, d in enumerate("abc")))}),
    Fault("two-grades", QRELS, (2,), "two columns of grades that differ: 'score' has 2, 'relevance' has 0", {
        QRELS: b"qid\tpid\trelevance\tscore\n1\ta\t1\t1\n2\tb\t0\t2\n"}),
    Fault("two-grades", "qrels.jsonl", (2,), "'score' has 1, 'label' has 2", {
        "qrels.jsonl": lines({"qid": "1", "pid": "a", "score": 1},
                             {"qid": "2", "pid": "b", "score": 1, "label": 2})}, (QRELS,)),
    Fault("quoted", "docs.tsv", (2,), "a text between quotation marks, with doubled ones inside", {
        "docs.tsv": b'id\ttext\na\t"one" by "two"\nb\t"say ""two"" now"\nc\t"three"\n'}, (CORPUS,)),
    Fault("columns", CORPUS, (1,), "id 1.5 where text was expected", {CORPUS: lines({"_id": 1.5, "text": "x"})}),
    Fault("id-type", CORPUS, (3,), "some ids are numbers", {
        CORPUS: lines({"_id": "a", "text": "x"}, {"_id": "b", "text": "y"}, {"_id": 3, "text": "z"})}),
    Fault("missing-id", CORPUS, (2,), "no id", {
        CORPUS: lines({"_id": "a", "text": "x"}, {"_id": "", "text": "y"}, {"_id": "b", "text": "z"})}),
    Fault("duplicate-id", CORPUS, (3,), "the id 'a' again", {
        CORPUS: lines({"_id": "a", "text": "x"}, {"_id": "b", "text": "y"}, {"_id": "a", "text": "z"})}),
    Fault("empty-document", CORPUS, (2,), "an empty text (id 'b')", {
        CORPUS: lines({"_id": "a", "text": "x"}, {"_id": "b", "text": "\u3000 "}, {"_id": "c", "text": "z"})}),
    Fault("empty-query", QUERIES, (2,), "an empty text (id '2')", {
        QUERIES: lines({"_id": "1", "text": "x"}, {"_id": "2", "text": ""})}),
    Fault("outside-document", QRELS, (3,), "'gone' is not in the corpus", {QRELS: qrels(*good_qrels, "1 gone 1")}),
    Fault("outside-document", "qrels.txt", (2,), "'gone' is not in the corpus", {
        "qrels.txt": b"1 0 a 1\n1 0 gone 1\n2 0 b 1\n"}, (QRELS,)),
    Fault("unknown-query", QRELS, (1,), "'9' is not in the queries", {QRELS: qrels("9 a 1", *good_qrels)}),
    Fault("grade", QRELS, (2,), "'good', which is not a number", {QRELS: qrels("1 a 1", "2 b good")}),
    Fault("grade", QRELS, (2,), "'1_0', which is not a number", {QRELS: qrels("1 a 1", "2 b 1_0")}),
    Fault("grade", QRELS, (1,), "beyond", {QRELS: qrels("1 a 99999999999", "2 b 1")}),
    Fault("missing-grade", QRELS, (3,), "no grade", {QRELS: qrels(*good_qrels, "2 a nan")}),
    Fault("missing-grade", QRELS, (3,), "no grade", {QRELS: qrels(*good_qrels, "2 a ")}),
    Fault("fractional-grade", QRELS, (2,), "the grade 1.5", {QRELS: qrels("1 a 1", "2 b 1.5")}),
    Fault("negative-grade", QRELS, (3,), "the grade -2", {QRELS: qrels(*good_qrels, "1 c -2")}),
    Fault("repeated-judgement", QRELS, (3,), "query '1' with document 'a' again", {QRELS: qrels(*good_qrels, "1 a 1")}),
    Fault("contradiction", QRELS, (3,), "has the grade 0, in row 1 it had 1", {QRELS: qrels(*good_qrels, "1 a 0")}),
    Fault("unjudged-query", QUERIES, (2,), "1 query without", {QRELS: qrels("1 a 1")}),
    Fault("no-positive", QUERIES, (2,), "no relevant document for the query '2'", {QRELS: qrels("1 a 1", "2 b 0")}),
    Fault("nothing-there", QRELS, (), "no judgement of a known query", {QRELS: qrels("9 a 1")}),
    Fault("nothing-there", "qrels.txt", (), "judged relevant is in the corpus", {
        "qrels.txt": b"1 0 gone 1\n1 0 a 0\n2 0 lost 1\n"}, (QRELS,)),
    Fault("unknown-candidate", "candidates.jsonl", (2,), "'gone' is not in the corpus", {
        "candidates.jsonl": lines({"qid": "1", "corpus-ids": ["a"]}, {"qid": "2", "corpus-ids": ["b", "gone"]})}),
    Fault("unknown-candidate-query", "candidates.jsonl", (3,), "'9' is not in the queries", {
        "candidates.jsonl": lines(*({"qid": q, "corpus-ids": ["a"]} for q in "129"))}),
    Fault("repeated-candidate", "candidates.tsv", (3,), "'a' twice for a query", {
        "candidates.tsv": b"qid\tpid\n1\ta\n2\tb\n1\ta\n"}),
    Fault("no-candidates", "candidates.tsv", (), "1 query without a list, such as '2'", {
        "candidates.tsv": b"qid\tpid\n1\ta\n"}),
]  # fmt: skip


def write(folder: Path, files: dict[str, bytes], without: Iterable[str] = ()) -> Path:
    for name, content in (GOOD | files).items():
        if name not in without:
            (folder / name).write_bytes(content)
    return folder


def test_one_fault_does_not_hide_the_others(tmp_path: Path) -> None:
    rows = b'{"_id": "a", "text": "x"}\nnot json\n{"_id": "", "text": "z"}\n{"_id": "b", "text": "y"}\n'
    write(tmp_path, {CORPUS: rows + b'{"_id": "a", "text": "y"}\n', QRELS: qrels("1 a 1", "2 gone 1", "1 b nan")})
    (checked,) = check(tmp_path)
    told = {problem.kind: problem.rows for problem in checked.report.of("error")}
    assert told == {
        "row": (2,),
        "missing-id": (2, 3),
        "duplicate-id": (5,),
        "missing-grade": (3,),
    }
    with pytest.raises(DataError, match="JSON"):
        load_task(tmp_path, validate="report")


def test_a_table_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    twice = lines({"_id": "1", "text": "x"}, {"_id": "2", "text": "y"}, {"_id": "1", "text": "z"})
    write(tmp_path, {CORPUS: lines({"_id": "a", "txt": "one"}), QUERIES: twice})
    (checked,) = check(tmp_path)
    assert [(problem.kind, problem.file) for problem in checked.report.problems] == [
        ("columns", CORPUS),
        ("duplicate-id", QUERIES),
    ]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_each_fault_is_found_where_it_is(fault: Fault, tmp_path: Path) -> None:
    write(tmp_path, fault.files, fault.replaces)
    (checked,) = check(tmp_path)
    values = re.findall(r"'[^']+'|\d[\d.]*", fault.about)
    matching = [p for p in checked.report.problems if p.kind == fault.kind and all(v in p.found for v in values)]
    assert matching, [str(problem) for problem in checked.report.problems]
    assert (matching[0].file, matching[0].rows) == (fault.file, fault.rows)
    assert matching[0].advice

    kind = KINDS[fault.kind]
    assert checked.good == (kind.severity != "error")
    if kind.severity != "error":
        if fault.kind == "outside-document":
            with pytest.warns(DataWarning, match=str(fault.file)):
                assert isinstance(load_task(tmp_path), Task)
        else:
            assert isinstance(load_task(tmp_path), Task)
        return
    with pytest.raises(DataError) as caught:
        load_task(tmp_path)
    assert fault.file in str(caught.value) and caught.value.hint
    if kind.repair is None:
        with pytest.raises(DataError):
            load_task(tmp_path, validate="report")
    else:
        with pytest.warns(DataWarning, match=str(fault.file)):
            load_task(tmp_path, validate="report")


def test_every_kind_of_fault_is_tried() -> None:
    # The checksum of a manifest is tried with Nano-sets, the values of click logs and of samples with these.
    # What else may happen to judgements outside the corpus is in test_validation_missing_judgements.py.
    others = {"checksum", "missing-table", "value", "click-log", "default-split", *SAMPLE_KINDS}
    others |= {"unknown-document", "ignored-judgement"}
    others |= {"pairs", "missing-text", "negative-is-positive"}  # of questions with contexts
    assert {fault.kind for fault in FAULTS} == KINDS.keys() - others


def test_good_data_gives_no_problem(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(load_task(write(tmp_path, {})).queries) == 2
    assert check(tmp_path)[0].report.problems == []


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    files = {
        CORPUS: lines(*({"_id": i, "text": t} for i, t in (("a", "x"), ("a", "y"), ("b", " "), ("c", "z")))),
        QRELS: qrels("1 a 1", "1 a 0", "2 gone 1", "8 b 1", "2 b 1.5", "2 c -1", "1 c nan"),
    }
    (checked,) = check(write(tmp_path, files))
    assert {(p.kind, p.file, p.rows) for p in checked.report.problems} == {
        ("duplicate-id", CORPUS, (2,)),
        ("empty-document", CORPUS, (3,)),
        ("contradiction", QRELS, (2,)),
        ("outside-document", QRELS, (3,)),
        ("unknown-query", QRELS, (4,)),
        ("fractional-grade", QRELS, (5,)),
        ("negative-grade", QRELS, (6,)),
        ("missing-grade", QRELS, (7,)),
        ("no-positive", QUERIES, (1,)),
    }
    with pytest.raises(DataError, match=r"2.*4"):
        load_task(tmp_path)


def test_files_that_fail_apart_are_both_told(tmp_path: Path) -> None:
    (checked,) = check(write(tmp_path, {CORPUS: b"", QRELS: b"a\tb\n"}))
    assert [problem.kind for problem in checked.report.problems] == ["unreadable", "columns"]
    assert checked.task is None


def test_the_repairs_are_what_is_promised(tmp_path: Path) -> None:
    files = {
        CORPUS: lines(*({"_id": i, "text": t} for i, t in (("a", "x"), ("a", "y"), ("b", "z")))),
        QRELS: qrels("1 a 1", "1 a 3", "2 gone 1", "8 b 1", "2 b 1.9", "1 b nan"),
        "candidates.jsonl": lines({"qid": "1", "corpus-ids": ["b", "gone", "a", "b"]}, {"qid": "2", "corpus-ids": []}),
    }
    with pytest.warns(DataWarning):
        task = load_task(write(tmp_path, files), validate="report")
    assert task.corpus.ids == ("b", "a") and task.corpus.texts == ("z", "x"), "the first of two"
    assert task.qrels.rows_of(0).tolist() == [1] and task.qrels.grades_of(0).tolist() == [3], "the last judgement"
    assert task.qrels.rows_of(1).tolist() == [-1, 0] and task.qrels.grades_of(1).tolist() == [1, 1]
    assert task.candidates["candidates"].rows_of(0).tolist() == [0, 1]


def test_rows_are_counted_in_their_own_shard(tmp_path: Path) -> None:
    for config in ("corpus", "queries", "qrels"):
        (tmp_path / config).mkdir()
    for number, ids in enumerate((["a", "b"], ["c", "a"])):
        pq.write_table(pa.table({"_id": ids, "text": ["x", "y"]}), tmp_path / f"corpus/t-0000{number}-of-00002.parquet")
    pq.write_table(pa.table({"_id": ["1"], "text": ["?"]}), tmp_path / "queries/t.parquet")
    pq.write_table(pa.table({"query-id": ["1"], "corpus-id": ["a"]}), tmp_path / "qrels/t.parquet")
    (problem,) = check(tmp_path)[0].report.problems
    assert (problem.file, problem.rows) == ("corpus/t-00001-of-00002.parquet", (2,))


def test_ids_of_a_float_column_are_refused(tmp_path: Path) -> None:
    write(tmp_path, {}, [CORPUS])
    pq.write_table(pa.table({"_id": [1.0, 2.0], "text": ["x", "y"]}), tmp_path / "corpus.parquet")
    with pytest.raises(DataError):
        load_task(tmp_path)


@pytest.mark.parametrize("reference", ["./no-such-folder", "no/../such.csv,queries.csv,qrels.csv", "./nowhere::task"])
def test_a_path_that_is_not_there_says_so(reference: str) -> None:
    with pytest.raises(DataError):
        load_task(reference)


def test_a_folder_without_tasks_says_what_it_found(tmp_path: Path) -> None:
    (tmp_path / "pairs.jsonl").write_text("{}")
    with pytest.raises(DataError, match=r"pairs\.jsonl"):
        load_task(tmp_path)
    with pytest.raises(DataError):
        load_task(tmp_path / "pairs.jsonl")


def test_the_docs_show_every_kind() -> None:
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    for name, kind in KINDS.items():
        assert f"| `{name}` | {kind.severity} | {kind.remedy} | {kind.repair or 'the load stops'} |" in page


def test_a_row_of_another_shape_hides_no_other_fault(tmp_path: Path) -> None:
    """Nor does it move the numbers of the rows behind it."""
    (tmp_path / CORPUS).write_bytes(
        lines({"_id": "a", "text": "x"}, {"_id": "b", "text": ["y"]}, {"_id": "a", "text": "z"})
    )
    (tmp_path / "queries.tsv").write_bytes(b"id\ttext\n1\tone\n2\ttwo\tmore\n3\t\n1\tagain\n")
    (tmp_path / QRELS).write_bytes(qrels("1 a 1", "3 a x", "3 nope 1", "3 a -1"))
    (checked,) = check(tmp_path)
    found = {(problem.kind, problem.file, problem.rows) for problem in checked.report.problems}
    assert found >= {
        ("columns", CORPUS, (2,)),
        ("duplicate-id", CORPUS, (3,)),
        ("row", "queries.tsv", (2,)),
        ("duplicate-id", "queries.tsv", (4,)),
        ("empty-query", "queries.tsv", (3,)),
        ("grade", QRELS, (2,)),
        ("outside-document", QRELS, (3,)),
        ("negative-grade", QRELS, (4,)),
    }
    for validate in ("strict", "report"):
        with pytest.raises(DataError):
            load_task(tmp_path, validate=validate)  # type: ignore[arg-type]


def test_a_file_of_another_shape_has_one_fault(tmp_path: Path) -> None:
    for name, content in {**GOOD, QRELS: b"query-id\tcorpus-id\tscore\n1 a 1\n2 b 1\n"}.items():
        (tmp_path / name).write_bytes(content)
    (checked,) = check(tmp_path)
    assert [(problem.kind, problem.rows) for problem in checked.report.problems] == [("row", (1, 2))]
