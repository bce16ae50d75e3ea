"""Questions with contexts in one file, documents with questions in two, SQuAD, and columns of other names."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from steelyard import load_task
from steelyard.cli import main
from steelyard.datasets import check, load_any
from steelyard.errors import DataError, UnknownName
from steelyard.types import Task

ROWS = [
    ("How do I reset my password?", "Open settings, then choose Reset."),
    ("Where is the office?", "The office is in Lisbon."),
    ("How do I reset my password?", "Ask the help desk."),
    ("Which city has the office?", "The office is in Lisbon. "),
]


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".arrow":
        table = pa.Table.from_pylist(rows)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table)
    else:
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def judged(task: Task) -> dict[str, dict[str, int]]:
    """The texts of the judged documents, by the text of the query."""
    return {
        text: {
            task.corpus.texts[row]: int(grade)
            for row, grade in zip(task.qrels.rows_of(query), task.qrels.grades_of(query), strict=True)
        }
        for query, text in enumerate(task.queries.texts)
    }


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".arrow"])
@pytest.mark.parametrize(
    "names", [("question", "context"), ("query", "positive"), ("anchor", "positive"), ("Question", "answer")]
)
def test_pairs_are_a_task(tmp_path, suffix, names):
    path = write(tmp_path / f"faq{suffix}", [dict(zip(names, row, strict=True)) for row in ROWS])
    task = load_task(path)
    assert task.name == "local/faq"
    assert judged(task) == {
        "How do I reset my password?": {"Open settings, then choose Reset.": 1, "Ask the help desk.": 1},
        "Where is the office?": {"The office is in Lisbon.": 1},
        "Which city has the office?": {"The office is in Lisbon.": 1},
    }
    (checked,) = check(path)
    assert [problem.kind for problem in checked.report.problems] == ["pairs"]


def test_the_order_of_rows_does_not_change_documents(tmp_path):
    named = [dict(zip(("question", "context"), row, strict=True)) for row in ROWS]
    first, second = load_task(write(tmp_path / "a.csv", named)), load_task(write(tmp_path / "b.csv", named[::-1]))
    assert first.corpus.ids == second.corpus.ids
    assert first.corpus.texts == second.corpus.texts


def test_negatives_are_documents_of_grade_0(tmp_path):
    rows: list[dict[str, object]] = [
        {"query": "river", "positive": "The Nile.", "negative": "The Alps."},
        {"query": "mountain", "positive": "The Alps.", "negative": "The Nile."},
        {"query": "river", "positive": "The Alps.", "negative": "Bread."},
    ]
    task = load_task(write(tmp_path / "triplets.csv", rows))
    assert task.info.type == "retrieval"
    assert judged(task) == {
        "river": {"The Nile.": 1, "The Alps.": 1, "Bread.": 0},
        "mountain": {"The Alps.": 1, "The Nile.": 0},
    }
    (checked,) = check(tmp_path / "triplets.csv")
    (problem,) = [problem for problem in checked.report.problems if problem.kind == "negative-is-positive"]
    assert problem.rows == (3,)


def test_lists_of_texts_and_numbered_negatives(tmp_path):
    rows: list[dict[str, object]] = [
        {"query": "river", "pos": ["The Nile.", "The Rhine."]},
        {"query": "bread", "pos": ["Rye."]},
    ]
    assert judged(load_task(write(tmp_path / "lists.jsonl", rows)))["river"] == {"The Nile.": 1, "The Rhine.": 1}
    rows = [{"anchor": "river", "positive": "The Nile.", "negative_1": "The Alps.", "negative_2": "Rye."}]
    assert judged(load_task(write(tmp_path / "mined.jsonl", rows)))["river"] == {
        "The Nile.": 1,
        "The Alps.": 0,
        "Rye.": 0,
    }


def test_lists_of_positives_and_negatives_stay_a_reranking_task(tmp_path):
    rows: list[dict[str, object]] = [{"query": "river", "positive": ["The Nile."], "negative": ["Rye."]}] * 2
    assert load_any(write(tmp_path / "rows.jsonl", rows)).info.type == "reranking"


def test_a_row_without_a_context_is_an_error(tmp_path):
    path = write(tmp_path / "faq.csv", [{"question": "a?", "context": ""}, {"question": "b?", "context": "b"}])
    with pytest.raises(DataError) as raised:
        load_task(path)
    assert (raised.value.field, raised.value.row) == ("missing-text", 1)
    with pytest.warns(UserWarning):
        assert len(load_task(path, validate="report").queries) == 1


def test_ids_of_contexts(tmp_path):
    rows: list[dict[str, object]] = [
        {"question_id": "x1", "question": "a?", "context": "A", "context_id": "c1", "title": "One"},
        {"question_id": "x2", "question": "b?", "context": "B", "context_id": "c2", "title": ""},
    ]
    task = load_task(write(tmp_path / "faq.csv", rows))
    assert task.corpus.ids == ("c2", "c1")
    assert task.corpus.texts == ("B", "One A")
    assert task.queries.ids == ("x1", "x2")
    rows[1]["context_id"] = "c1"
    with pytest.raises(DataError) as raised:
        load_task(write(tmp_path / "faq.csv", rows))
    assert raised.value.field == "duplicate-id"


@pytest.mark.parametrize(
    "paragraphs",
    [
        3,
        [4],
        [{"context": "x", "qas": 5}],
        [{"context": 6, "qas": [{"question": "a"}]}],
        [{"context": "x", "qas": ["q"]}],
    ],
)
def test_a_wrong_article_of_squad_is_named(tmp_path, paragraphs):
    good = {"paragraphs": [{"context": "The Nile", "qas": [{"question": "Which river?"}]}]}
    (tmp_path / "squad.json").write_text(json.dumps({"data": [good, {"paragraphs": paragraphs}]}), encoding="utf-8")
    with pytest.raises(DataError) as error:
        load_task(str(tmp_path / "squad.json"))
    assert (error.value.row, error.value.field) == (2, "row")


def test_half_of_a_surrogate_pair_in_squad_is_an_error(tmp_path):
    questions = [{"question": "Which river?"}]
    articles = [{"paragraphs": [{"context": text, "qas": questions}]} for text in ("The Nile", "The Rhine \ud83d")]
    (tmp_path / "squad.json").write_text(json.dumps({"data": articles}), encoding="utf-8")
    with pytest.raises(DataError) as error:
        load_task(str(tmp_path / "squad.json"))
    assert (error.value.row, error.value.field) == (2, "encoding")


def test_squad(tmp_path):
    asked = [{"id": "1", "question": "How long?"}, {"id": "2", "question": "Why?", "is_impossible": True}]
    articles = [
        {"title": "Nile", "paragraphs": [{"context": "It is long.", "qas": asked}]},
        {"title": "Alps", "paragraphs": [{"context": "They are high.", "qas": [{"id": "3", "question": "How high?"}]}]},
    ]
    path = tmp_path / "dev-v2.0.json"
    path.write_text(json.dumps({"version": "v2.0", "data": articles}), encoding="utf-8")
    task = load_task(path)
    assert task.queries.ids == ("1", "3")
    assert judged(task) == {"How long?": {"Nile It is long.": 1}, "How high?": {"Alps They are high.": 1}}
    (checked,) = check(path)
    assert [problem.kind for problem in checked.report.problems] == ["pairs", "pairs"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write(tmp_path / "corpus.csv", [{"chunk_uuid": key, "chunk_words": f"text {key}"} for key in "abc"])
    write(tmp_path / "questions.csv", [{"question": "one?", "doc_id": "a"}, {"question": "two?", "doc_id": "b;c"}])
    return tmp_path


MAPPED = "corpus.csv?id=chunk_uuid&text=chunk_words"


def test_documents_and_questions_that_name_them(files):
    task = load_task(f"{files}/{MAPPED},{files}/questions.csv")
    assert judged(task) == {"one?": {"text a": 1}, "two?": {"text b": 1, "text c": 1}}
    paths = [files / "corpus.csv", files / "questions.csv"]
    assert judged(load_task(paths, columns={"corpus": {"id": "chunk_uuid", "text": "chunk_words"}})) == judged(task)
    write(files / "corpus.csv", [{"id": key, "text": f"text {key}"} for key in "abc"])
    assert judged(load_task(files)) == judged(task)


def test_a_question_about_an_unknown_document_is_an_error(files):
    write(files / "questions.csv", [{"question": "one?", "doc_id": "a"}, {"question": "two?", "doc_id": "z"}])
    with pytest.raises(DataError) as raised:
        load_task(f"{files}/{MAPPED},{files}/questions.csv")
    assert (raised.value.field, raised.value.row) == ("unknown-document", 2)


def test_an_unknown_header_is_an_error_that_shows_the_mapping(files, capsys):
    write(files / "queries.csv", [{"id": "q", "text": "one?"}])
    write(files / "qrels.csv", [{"query-id": "q", "corpus-id": "a", "score": 1}])
    three = f"{files}/corpus.csv,{files}/queries.csv,{files}/qrels.csv"
    with pytest.raises(DataError) as raised:
        load_task(three)
    assert raised.value.field == "columns"
    assert "?id=chunk_uuid&text=chunk_words" in str(raised.value.hint)
    assert main(["run", "bm25", "-t", three, "-o", str(files / "r"), "--no-report", "-q"]) == 2
    assert (
        main(["run", "bm25", "-t", three.replace("corpus.csv", MAPPED), "-o", str(files / "r"), "--no-report", "-q"])
        == 0
    )
    capsys.readouterr()


def test_wrong_mappings(files):
    with pytest.raises(UnknownName) as raised:
        load_task(f"{files}/corpus.csv?key=chunk_uuid,{files}/questions.csv")
    assert raised.value.option == "columns"
    with pytest.raises(DataError) as absent:
        load_task(f"{files}/corpus.csv?id=nosuch&text=chunk_words,{files}/questions.csv")
    assert absent.value.field == "columns"


def test_a_mapped_pair_in_one_file(tmp_path):
    path = write(
        tmp_path / "faq.csv",
        [{"q": "a?", "text": "noise", "passage words": "A"}, {"q": "b?", "text": "noise", "passage words": "B"}],
    )
    task = load_task(f"{path}?question=q&context=passage%20words")
    assert judged(task) == {"a?": {"A": 1}, "b?": {"B": 1}}
    assert judged(load_task(path, columns={"question": "q", "positive": "passage words"})) == judged(task)
