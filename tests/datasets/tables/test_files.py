"""Files as they lie about: packed under plain names, with long lines, old line ends, two of a kind."""

from __future__ import annotations

import bz2
import gzip
import json
import os
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from steelyard import evaluate
from steelyard.build.source.streams import stream_documents
from steelyard.datasets import DataWarning, check, load_task
from steelyard.datasets.formats.trec.qrels_runs import read_qrels
from steelyard.datasets.problems import Problem
from steelyard.errors import DataError
from steelyard.types import Task

CORPUS = b'{"_id": "a", "text": "one"}\n{"_id": "b", "text": "two"}\n'
QUERIES = b"id\ttext\n1\tfirst?\n2\tsecond?\n"
QRELS = b"query-id\tcorpus-id\tscore\n1\ta\t1\n2\tb\t2\n"


def folder(path: Path, corpus: str = "corpus.jsonl", qrels: str = "qrels.tsv", **files: bytes) -> Path:
    """A small task of which some files are written otherwise."""
    (path / corpus).write_bytes(files.get("documents", CORPUS))
    (path / "queries.tsv").write_bytes(files.get("queries", QUERIES))
    (path / qrels).write_bytes(files.get("judgements", QRELS))
    return path


def texts(task: Task) -> dict[str, str]:
    return dict(zip(task.corpus.ids, task.corpus.texts, strict=True))


def problems(path: Path) -> list[Problem]:
    (checked,) = check(path)
    return checked.report.problems


def zstd(data: bytes) -> bytes:
    packed: bytes = pa.Codec("zstd").compress(data, asbytes=True)
    return packed


@pytest.mark.parametrize("pack", [gzip.compress, zstd, bz2.compress], ids=["gzip", "zstd", "bz2"])
@pytest.mark.parametrize("names", [("corpus.JSONL.GZ", "qrels.tsv"), ("corpus.jsonl", "qrels.txt")], ids=str)
def test_the_first_bytes_tell_how_a_file_is_packed(pack: object, names: tuple[str, str], tmp_path: Path) -> None:
    assert callable(pack)
    trec = b"1 0 a 1\n2 0 b 2\n" if names[1].endswith("txt") else QRELS
    path = folder(tmp_path, *names, documents=pack(CORPUS), queries=pack(QUERIES), judgements=pack(trec))
    assert texts(load_task(path)) == {"b": "two", "a": "one"}
    assert problems(path) == []


def test_a_name_may_say_packed_where_the_file_is_not(tmp_path: Path) -> None:
    """As after a download by a browser, which unpacks and keeps the name."""
    assert len(load_task(folder(tmp_path, "corpus.jsonl.gz", "qrels.tsv.zst")).corpus) == 2


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_a_row_may_be_longer_than_a_block(suffix: str, tmp_path: Path) -> None:
    long = "word " * 500_000
    rows = f"id,text\na,{long}\nb,two\n".replace(",", "," if suffix == "csv" else "\t")
    task = load_task(folder(tmp_path, f"corpus.{suffix}", documents=rows.encode()))
    assert len(texts(task)["a"]) == len(long)


def test_rows_of_another_width_are_counted_and_told_once_where_rows_are_long(tmp_path: Path) -> None:
    rows = "id\ttext\na\tone\ttoo many\nb\t" + "word " * 500_000 + "\nc\tone\tand\tmore\n"
    (problem,) = problems(folder(tmp_path, "corpus.tsv", documents=rows.encode()))
    assert problem.rows == (1, 3) and problem.kind == "row" and "2" in problem.found and "3" in problem.found
    assert "tabs" in problem.advice


def test_lines_may_end_in_a_carriage_return_alone(tmp_path: Path) -> None:
    task = load_task(folder(tmp_path, "corpus.csv", documents=b"id,text\ra,one\rb,two\r"))
    assert texts(task) == {"b": "two", "a": "one"}
    batches = list(stream_documents(tmp_path / "corpus.csv", "corpus.csv"))
    assert [batch["id"].to_pylist() for batch in batches] == [["a", "b"]]
    (tmp_path / "clicks.csv").write_bytes(b"query,doc_id,text,clicked\rfirst?,a,one,1\rfirst?,b,two,0\r")
    assert load_task(tmp_path / "clicks.csv").qrels.grades.tolist() == [0, 1]


@pytest.mark.parametrize("array", [False, True], ids=["lines", "array"])
def test_half_a_surrogate_pair_is_told_and_read_as_a_replacement(array: bool, tmp_path: Path) -> None:
    rows = ['{"_id": "a", "text": "cut \\ud83d"}', '{"_id": "b", "text": "whole \\ud83d\\ude00"}']
    written = f"[{','.join(rows)}]" if array else "\n".join(rows)
    path = folder(tmp_path, documents=written.encode())
    (problem,) = problems(path)
    assert (problem.kind, problem.rows) == ("encoding", (1,)) and "surrogate" in problem.found
    with pytest.warns(DataWarning):
        task = load_task(path, validate="report")
    assert texts(task) == {"b": "whole \U0001f600", "a": "cut \ufffd"}


def test_a_file_that_is_no_json_at_all_is_one_fault_not_one_a_line(tmp_path: Path) -> None:
    found = problems(folder(tmp_path, documents=b"id,text\n" + b"a,one\n" * 999))
    assert [problem.kind for problem in found] == ["row", "columns"] and len(found[0].rows) == 1000
    found = problems(folder(tmp_path, documents=b'"a"\n' * 999))
    assert [problem.kind for problem in found] == ["row", "columns"] and len(found[0].rows) == 999


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("qrels.tsv", b"1\ta\t1.0\n2\tb\t2.0\n"),  # fractions that are whole, without a header
        ("qrels.tsv", b"1 0 a 1\n2 0 b 2\n"),  # TREC's columns under the name of a table
        ("qrels.tsv.gz", gzip.compress(b"1\t0\ta\t1\n2\t0\tb\t2\n", mtime=0)),
        ("qrels.txt", b"\xef\xbb\xbf1 0 a 1\r\n2 0 b 2\r\n"),  # a mark in front
    ],
)
def test_judgements_as_tools_write_them(name: str, written: bytes, tmp_path: Path) -> None:
    task = load_task(folder(tmp_path, qrels=name, judgements=written))
    assert task.qrels.grades.tolist() == [1, 2] and task.queries.ids == ("1", "2")


def test_a_mark_in_front_of_trec_judgements_is_no_part_of_the_first_id(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_bytes(b"\xef\xbb\xbf1 0 a 1\n")
    assert read_qrels(tmp_path / "qrels").queries == ("1",)


def test_a_grade_that_is_a_word_is_shown_as_it_is_written(tmp_path: Path) -> None:
    (problem,) = problems(folder(tmp_path, qrels="qrels.csv", judgements=b"qid,pid,label\n1,a,yes\n2,b,2\n"))
    assert problem.rows == (1,) and "'yes'" in problem.found


def test_lists_of_one_length_are_lists(tmp_path: Path) -> None:
    lists = pa.array([["b", "a"], ["a", "b"]], pa.list_(pa.string(), 2))
    pq.write_table(pa.table({"query-id": ["1", "2"], "corpus-ids": lists}), tmp_path / "candidates.parquet")
    task = load_task(folder(tmp_path))
    ids = [task.corpus.ids[row] for row in task.candidates["candidates"].rows]
    assert ids == ["b", "a", "a", "b"]


def test_splits_in_the_names_of_files(tmp_path: Path) -> None:
    """As MS MARCO has them: no file is left aside, and each split has its own queries."""
    (tmp_path / "collection.tsv").write_bytes(b"7\tseven\n8\teight\n")
    for number, split in enumerate(("dev", "train")):
        (tmp_path / f"queries.{split}.tsv").write_text(f"{number}\tof {split}\n")
        (tmp_path / f"qrels.{split}.tsv").write_text(f"{number}\t0\t{number + 7}\t1\n")
    (tmp_path / "queries.eval.tsv").write_text("5\tnobody judged it\n")
    found = {checked.info.name.split("/")[-1]: checked for checked in check(tmp_path)}
    assert list(found) == ["dev", "train"]
    assert all({p.kind for p in checked.report.problems} == {"no-header"} for checked in found.values())
    assert load_task(f"{tmp_path}::train").queries.texts == ("of train",)


def test_of_two_files_for_one_thing_the_other_is_told(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (path / "corpus.csv").write_bytes(b"id,text\na,1\nb,2\n")
    (path / "topics.tsv").write_bytes(QUERIES)
    (corpus, topics) = problems(path)
    assert (corpus.kind, corpus.file) == ("aside", "corpus.jsonl") and "corpus.csv" in corpus.found
    assert (topics.kind, topics.file) == ("aside", "topics.tsv") and "queries.tsv" in topics.found
    assert texts(load_task(path)) == {"b": "2", "a": "1"}


def nano_set(path: Path, tables: dict[str, str]) -> Path:
    """A Nano-set that has these tables of the tasks, which are letters."""
    content = {
        "corpus": {"_id": ["a", "b"], "text": ["one", "two"]},
        "queries": {"_id": ["1"], "text": ["first?"]},
        "qrels": {"query-id": ["1"], "corpus-id": ["a"]},
    }
    for table, tasks in tables.items():
        (path / table).mkdir()
        for task in tasks:
            pq.write_table(pa.table(content[table]), path / table / f"{task}.parquet")
    return path


def test_a_task_that_lacks_a_table_is_told(tmp_path: Path) -> None:
    path = nano_set(tmp_path, {"corpus": "xyv", "queries": "xywv", "qrels": "xyw"})
    found = {checked.reference.split("::")[1]: checked for checked in check(path)}
    assert [task for task, checked in found.items() if checked.good] == ["x", "y"]
    missing = {task: [(p.kind, p.file) for p in found[task].report.problems] for task in "wv"}
    assert missing == {"w": [("missing-table", "corpus/w.parquet")], "v": [("missing-table", "qrels/v.parquet")]}
    with pytest.raises(DataError, match=r"'w'.*corpus/w\.parquet"):
        load_task(f"{path}::w")


def test_a_task_that_lacks_a_table_is_not_passed_over(tmp_path: Path) -> None:
    path = nano_set(tmp_path, {"corpus": "xyv", "queries": "xywv", "qrels": "xyw"})
    results = evaluate("bm25", str(path), results=None)
    assert [result.done for result in results] == [True, True, False, False]
    assert "qrels/v.parquet" in str(results.failures[-1].error)


def test_one_corpus_for_several_splits_lacks_nothing(tmp_path: Path) -> None:
    path = nano_set(tmp_path, {"corpus": "c", "queries": "q", "qrels": "xy"})
    assert [checked.good for checked in check(path)] == [True, True]


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ('{"category": "poetry"}', "category"),
        ('{"language": 5}', "language"),
        ('{"languages": {"zh": 1}}', "languages"),
        ('{"ignore_identical_ids": "no"}', "ignore_identical_ids"),
        ('{"reference": {"ndcg_at_10": "0.5"}}', "reference"),
    ],
)
def test_invalid_facts_of_task_json_are_errors(content: str, field: str, tmp_path: Path) -> None:
    path = folder(tmp_path)
    (path / "task.json").write_text(content)
    with pytest.raises(DataError) as caught:
        load_task(path)
    assert caught.value.field == field and "task.json" in (caught.value.hint or "")


def test_one_language_may_stand_without_a_list(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (path / "task.json").write_text('{"languages": "zh"}')
    assert load_task(path).info.languages == ("zh",)


@pytest.mark.parametrize(
    ("corpus", "judged", "near"),
    [("007", "7", "007"), ("7", "7.0", "7"), ("Doc7", "doc7", "Doc7"), ("7", " 7", "7"), ("7", "8", None)],
)
def test_an_id_that_was_written_otherwise_is_named(corpus: str, judged: str, near: str | None, tmp_path: Path) -> None:
    documents = f'{{"_id": "{corpus}", "text": "one"}}\n{{"_id": "b", "text": "two"}}\n'
    judgements = QRELS.replace(b"\ta\t", f"\t{judged}\t".encode())
    (problem,) = problems(folder(tmp_path, documents=documents.encode(), judgements=judgements))
    but = f", but {near!r} is" if near else ""
    assert problem.found == f"{judged!r} is not in the corpus{but}" and problem.rows == (1,)


def test_documents_and_queries_in_the_other_order(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (checked,) = check(f"{path}/queries.tsv,{path}/corpus.jsonl,{path}/qrels.tsv")
    assert "order" in checked.report.problems[-1].advice


def test_an_archive_and_a_folder_around_the_folder(tmp_path: Path) -> None:
    inner = tmp_path / "scifact"
    inner.mkdir()
    folder(inner)
    with pytest.raises(DataError):
        load_task(tmp_path)
    (tmp_path / "scifact.zip").write_bytes(b"PK")
    with pytest.raises(DataError):
        load_task(tmp_path / "scifact.zip")


@pytest.mark.parametrize(
    "topics",
    [
        '<topics task="COVID" batch="5">\n<topic number="1">\n<query>first &amp; only</query>\n<question>q</question>\n'
        '</topic>\n<topic number="2"><query>second</query></topic>\n</topics>\n',
        '<?xml version="1.0"?>\n<webtrack2009>\n<topic number="1" type="faceted"><query>first &amp; only</query>\n'
        '<subtopic number="1" type="nav">no</subtopic></topic><topic number="2"><description>second</description>'
        "</topic></webtrack2009>",
        '<topics>\n <topic number="1">\nfirst &amp;\nonly\n</topic>\n<topic number="2">second</topic></topics>',
        "<top>\n<num> Number: 1\n<title> first &amp; only\n</top>\n<top>\n<num> 2\n<desc> Description:\nsecond\n</top>",
    ],
    ids=["covid", "web", "clinical", "classic"],
)
def test_topics_of_old_and_new_tracks(topics: str, tmp_path: Path) -> None:
    path = folder(tmp_path)
    (path / "queries.tsv").unlink()
    (path / "topics.xml").write_text(topics)
    queries = load_task(path).queries
    assert dict(zip(queries.ids, queries.texts, strict=True)) == {"1": "first & only", "2": "second"}


RUN = "1 Q0 a 1 0.5 my run\n2 Q0 a 1 1e-3 my run\n1 Q0 b 2 0.7 my run\n2 Q0 b 9 1e-3 my run\n"


def test_a_run_is_a_table_of_candidates_in_the_order_of_trec_eval(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (path / "candidates.run").write_text(RUN)
    lists = load_task(path).candidates["candidates"]
    ids = load_task(path).corpus.ids
    assert [[ids[row] for row in lists.rows_of(query)] for query in (0, 1)] == [["b", "a"], ["b", "a"]]


def test_faults_of_a_run_are_told_under_its_lines(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (path / "candidates.run").write_text(RUN + "1 Q0 nope 3 0.9 my run\n1 Q0 a 4 0.1 my run\n")
    found = {problem.kind: problem.rows for problem in problems(path)}
    assert found == {"unknown-candidate": (5,), "repeated-candidate": (6,)}
    (checked,) = check(f"{path}/corpus.jsonl,{path}/queries.tsv,{path}/candidates.run")
    assert "TREC run" in checked.report.problems[0].found


def test_a_score_in_a_table_of_candidates_does_not_order_it(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (path / "candidates.jsonl").write_text(
        '{"qid": "1", "pid": "a", "score": 1}\n{"qid": "1", "pid": "b", "score": 2}\n{"qid": "2", "pid": "b"}\n'
    )
    task = load_task(path)
    assert [task.corpus.ids[row] for row in task.candidates["candidates"].rows] == ["a", "b", "b"]


def test_a_title_that_comes_late_under_another_name_is_read(tmp_path: Path) -> None:
    """Later than what is looked at first, and under a name that is not the usual one."""
    many = b"".join(b'{"_id": "d%05d", "text": "a document without a title"}\n' % number for number in range(3000))
    path = folder(tmp_path, documents=CORPUS + many + b'{"_id": "z", "text": "last", "headline": "Named"}\n')
    task = load_task(path)
    assert task.corpus.titles is not None
    assert dict(zip(task.corpus.ids, task.corpus.titles, strict=True))["z"] == "Named"


def test_uuids_of_parquet_are_the_ids_that_people_write(tmp_path: Path) -> None:
    """As DuckDB writes them: sixteen bytes each."""
    one, two = UUID(int=1 << 100), UUID(int=7)
    path = folder(tmp_path, judgements=f"query-id\tcorpus-id\tscore\n1\t{one}\t1\n2\t{two}\t2\n".encode())
    (path / "corpus.jsonl").unlink()
    ids = pa.array([one.bytes, two.bytes], pa.uuid())
    pq.write_table(pa.table({"id": ids, "text": ["one", "two"]}), path / "corpus.parquet")
    assert texts(load_task(path)) == {str(one): "one", str(two): "two"}


def test_a_quoted_table_of_tabs_is_read_under_the_name_of_csv(tmp_path: Path) -> None:
    """What the warning of quotation marks in TSV tells people to do."""
    quoted = b'id\ttext\na\t"say ""one"""\nb\t"two\tthree"\n'
    assert texts(load_task(folder(tmp_path, "corpus.csv", documents=quoted))) == {"a": 'say "one"', "b": "two\tthree"}


def test_two_columns_of_one_name_in_parquet_are_told_and_the_first_is_read(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (path / "corpus.jsonl").unlink()
    columns = [pa.array(["a", "b"]), pa.array(["one", "two"]), pa.array(["no", "no"])]
    pq.write_table(pa.table(columns, names=["_id", "text", "text"]), path / "corpus.parquet")
    assert texts(load_task(path)) == {"b": "two", "a": "one"}
    (problem,) = problems(path)
    assert problem.kind == "aside" and "'text'" in problem.found


def test_an_empty_file_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(b"")
    with pytest.raises(DataError):
        load_task(tmp_path / "log.jsonl")


def test_a_column_of_numbers_is_no_text_in_parquet_either(tmp_path: Path) -> None:
    (tmp_path / "queries.csv").write_text("qid,query\n1,x\n")
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t1\n")
    columns = {"_id": ["a", "b"], "text": [7, 8]}
    pq.write_table(pa.table(columns), tmp_path / "corpus.parquet")
    with pytest.raises(DataError, match=r"corpus\.parquet.*int64"):
        load_task(tmp_path)
    pq.write_table(pa.table({**columns, "contents": ["one", "two"]}), tmp_path / "corpus.parquet")
    assert set(load_task(tmp_path).corpus.bodies) == {"one", "two"}
    (tmp_path / "corpus.parquet").unlink()
    rows = [{"_id": "a", "text": 7, "contents": "one"}, {"_id": "b", "text": 8, "contents": "two"}]
    (tmp_path / "corpus.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert set(load_task(tmp_path).corpus.bodies) == {"one", "two"}


def test_a_second_column_that_says_the_same_or_nothing_is_not_told(tmp_path: Path) -> None:
    (tmp_path / "corpus.csv").write_text("id,text,contents\na,one,one\n")
    (tmp_path / "queries.csv").write_text("id,text,title\n1,x,\n")
    (tmp_path / "qrels.csv").write_text("qid,docid,score,relevance,label\n1,a,1,1.0,\n")
    (checked,) = check(tmp_path)
    assert not checked.report.problems


def test_a_folder_whose_name_is_not_utf8_is_told(tmp_path: Path) -> None:
    place = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    try:
        place.mkdir()
    except OSError:
        pytest.skip("the file system takes no such name")
    folder(place)
    for look in (load_task, check):
        with pytest.raises(DataError, match="UTF-8"):
            look(place)
