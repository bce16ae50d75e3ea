"""What a plain reader reads from an input: Python's own `json`, `csv` and `split`, and nothing of Steelyard.

An oracle returns the content of an input as plain values, or None where it has no opinion: input that is not of its
form, or that Steelyard may read in several ways. What Steelyard accepts without an error must be the same content, so
that a row that is dropped, doubled, truncated or moved is found, which a reader that only survives does not show.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fault_readers import CORPUS, QRELS, QUERIES, put

from steelyard.datasets import load_any, load_task
from steelyard.datasets.formats.trec.qrels_runs import read_qrels, read_run
from steelyard.errors import SteelyardError
from steelyard.types import Task
from steelyard.types.samples import LabelTask, PairTask

OUTSIDE = "outside"
Content = Any
"""Plain values that can be compared."""


class NoOpinion(Exception):
    """The input is not of a form that the oracle reads in one way."""


REFUSALS = (
    NoOpinion,
    LookupError,
    TypeError,
    ValueError,
    OverflowError,
    RecursionError,
    OSError,
    csv.Error,
    pa.ArrowException,
)
"""How a plain reader ends that does not accept an input."""


@dataclass(frozen=True)
class Oracle:
    """Two readings of an input by the same name as its reader: by Steelyard, and by a plain reader."""

    name: str
    read: Callable[[Path, bytes], Content]
    expected: Callable[[bytes], Content]

    def readings(self, folder: Path, data: bytes) -> tuple[Content, Content] | None:
        """Return the content that Steelyard reads, and the expected one; None if one of both refuses the input."""
        try:
            expected = self.expected(data)
        except REFUSALS:
            return None
        try:
            return self.read(folder, data), expected
        except SteelyardError:
            return None


def records(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the objects of JSON Lines; several may be in a line."""
    text = data.decode("utf-8-sig")
    decoder, place = json.JSONDecoder(object_pairs_hook=_object), 0
    while place < len(text):
        if text[place] in " \t\r\n":
            place += 1
            continue
        record, place = decoder.raw_decode(text, place)
        if not isinstance(record, dict):
            raise NoOpinion
        yield record


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise NoOpinion  # which of two values counts is not defined
    return dict(pairs)


def text_of(record: dict[str, Any], name: str) -> str:
    """Return a value that is a text or missing."""
    value = record.get(name)
    if value is not None and not isinstance(value, str):
        raise NoOpinion
    return value or ""


def id_of(record: dict[str, Any], name: str) -> str:
    """Return an id: a text or a whole number."""
    value = record.get(name)
    if type(value) not in (str, int) or value == "":
        raise NoOpinion
    return str(value)


def only(record: dict[str, Any], *names: str) -> None:
    """Other names may be other spellings of the same columns."""
    if not record.keys() <= {*names}:
        raise NoOpinion


def documents_of(rows: Sequence[dict[str, Any]]) -> Content:
    """Return title and text by id."""
    for row in rows:
        only(row, "_id", "id", "title", "text")
    if len({name for row in rows for name in row} & {"_id", "id"}) != 1:
        raise NoOpinion
    found = [(id_of(row, "_id" if "_id" in row else "id"), text_of(row, "title"), text_of(row, "text")) for row in rows]
    return sorted(found)


def corpus(task: Task) -> Content:
    """Return title and text of the documents, by id."""
    titles = task.corpus.titles or ("",) * len(task.corpus)
    return sorted(zip(task.corpus.ids, titles, task.corpus.bodies, strict=True))


def queries(task: Task) -> Content:
    """Return the texts of the judged queries."""
    return sorted(zip(task.queries.ids, task.queries.texts, strict=True))


def judgements(task: Task) -> Content:
    """Return query, document and grade; of documents outside the corpus there is no name."""
    names = (*task.corpus.ids, OUTSIDE)  # row -1 is the last
    return sorted(
        (query, names[row], grade)
        for number, query in enumerate(task.queries.ids)
        for row, grade in zip(task.qrels.rows_of(number).tolist(), task.qrels.grades_of(number).tolist(), strict=True)
    )


def in_folder(file: str, part: Callable[[Task], Content]) -> Callable[[Path, bytes], Content]:
    """Return a reading of one part of a task folder in which one file is the input."""
    files = {"corpus.jsonl": CORPUS, "queries.jsonl": QUERIES, "qrels.tsv": QRELS}
    table = file.partition(".")[0]

    def read(folder: Path, data: bytes) -> Content:
        others = {name: content for name, content in files.items() if name.partition(".")[0] != table}
        return part(load_task(put(folder / file, {**others, file: data})))

    return read


def expected_documents(data: bytes) -> Content:
    return documents_of(list(records(data)))


def expected_array(data: bytes) -> Content:
    """An array of objects, or JSON Lines."""
    if not data.decode("utf-8-sig").lstrip().startswith("["):
        return expected_documents(data)
    rows = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_object)
    if not all(isinstance(row, dict) for row in rows):
        raise NoOpinion
    return documents_of(rows)


def expected_queries(data: bytes) -> Content:
    rows = list(records(data))
    for row in rows:
        only(row, "_id", "text")
    return sorted((id_of(row, "_id"), text_of(row, "text")) for row in rows if id_of(row, "_id") in ("q0", "q1"))


def judged(rows: Sequence[tuple[str, str, object]]) -> Content:
    """Return judgements; the same one twice counts once."""
    content = set()
    for query, document, grade in rows:
        number = float(grade)  # type: ignore[arg-type]
        if number != int(number) or not query or not document:
            raise NoOpinion
        content.add((query, document if document in ("d0", "d1", "d2") else OUTSIDE, int(number)))
    outside = [(query, document) for query, document, _ in rows if document not in ("d0", "d1", "d2")]
    if len(set(outside)) != len({(query, OUTSIDE, grade) for query, document, grade in content if document == OUTSIDE}):
        raise NoOpinion  # several documents without a name
    return sorted(content)


def expected_tsv_judgements(data: bytes) -> Content:
    lines = data.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    rows = [line.split("\t") for line in lines if line]
    if "\r" in "".join(lines) or not rows:
        raise NoOpinion
    if rows[0] == ["query-id", "corpus-id", "score"]:
        return judged([(query, document, grade) for query, document, grade in rows[1:]])
    if all(len(row) == 4 for row in rows) and not {"query-id", "corpus-id", "score"} & {*rows[0]}:
        return judged([(row[0], row[2], row[3]) for row in rows])
    raise NoOpinion


def expected_json_judgements(data: bytes) -> Content:
    rows = list(records(data))
    for row in rows:
        only(row, "query-id", "corpus-id", "score")
        if type(row.get("score", 1)) not in (int, float) or ("score" in row) != ("score" in rows[0]):
            raise NoOpinion
    return judged([(id_of(row, "query-id"), id_of(row, "corpus-id"), row.get("score", 1)) for row in rows])


def expected_csv(data: bytes) -> Content:
    text = data.decode("utf-8-sig")
    header = text.split("\n", 1)[0].rstrip("\r")
    if header != "id,title,text" or '"' in header:
        raise NoOpinion
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row][1:]
    if any(len(row) != 3 for row in rows) or not all(row[0] for row in rows):
        raise NoOpinion
    return sorted((row[0], row[1], row[2]) for row in rows)


def expected_parquet(data: bytes) -> Content:
    table = pq.read_table(io.BytesIO(data))
    if {*table.column_names} != {"_id", "text"} or {str(kind) for kind in table.schema.types} != {"string"}:
        raise NoOpinion
    return documents_of(table.to_pylist())


def expected_lines(data: bytes, columns: int) -> Iterator[list[str]]:
    """Yield the columns of lines that are divided by blanks, as trec_eval reads them, without comments."""
    for line in data.decode("utf-8-sig").split("\n"):
        fields = re.split(r"[ \t\r\v\f]+", line.strip(" \t\r\v\f"))
        if fields == [""] or line.startswith("#"):
            continue
        if len(fields) != columns:
            raise NoOpinion
        yield fields


def expected_qrels(data: bytes) -> Content:
    return sorted((query, document, int(grade)) for query, _, document, grade in expected_lines(data, 4))


def read_qrels_lines(folder: Path, data: bytes) -> Content:
    lines = read_qrels(put(folder, {"qrels": data}) / "qrels")
    return sorted(
        (lines.queries[query], lines.documents[document], grade)
        for query, document, grade in zip(
            lines.query.tolist(), lines.document.tolist(), lines.grades.tolist(), strict=True
        )
    )


def expected_run(data: bytes) -> Content:
    return sorted((query, document, float(score)) for query, _, document, _, score, _ in expected_lines(data, 6))


def read_run_lines(folder: Path, data: bytes) -> Content:
    lines = read_run(put(folder, {"run": data}) / "run")
    return sorted(
        (lines.queries[query], lines.documents[document], score)
        for query, document, score in zip(
            lines.query.tolist(), lines.document.tolist(), lines.scores.tolist(), strict=True
        )
    )


def pairs(folder: Path, data: bytes, name: str = "x.jsonl") -> Content:
    task = load_any(f"sts:{put(folder, {name: data}) / name}")
    assert isinstance(task, PairTask)
    return list(zip(task.first, task.second, task.gold.tolist(), strict=True))


def expected_pairs(data: bytes) -> Content:
    rows = list(records(data))
    for row in rows:
        only(row, "sentence1", "sentence2", "score")
        if type(row.get("score")) not in (int, float):
            raise NoOpinion
    return [(text_of(row, "sentence1"), text_of(row, "sentence2"), float(row["score"])) for row in rows]


def expected_labels(data: bytes) -> Content:
    rows = list(records(data))
    for row in rows:
        only(row, "text", "label", "split")
        if type(row.get("label")) is not int or row.get("split") not in ("train", "test"):
            raise NoOpinion
    if len({row["split"] for row in rows}) == 1:
        raise NoOpinion  # one split is divided by a seed
    return [
        [(text_of(row, "text"), row["label"]) for row in rows if row["split"] == split] for split in ("train", "test")
    ]


def labels(folder: Path, data: bytes) -> Content:
    task = load_any(f"classification:{put(folder, {'x.jsonl': data}) / 'x.jsonl'}")
    assert isinstance(task, LabelTask)
    return [
        list(zip(task.train_texts, task.train_labels, strict=True)),
        list(zip(task.texts, task.labels, strict=True)),
    ]


def candidate_lists(task: Task) -> Content:
    """Return the lists of the judged queries that are not empty, in order."""
    (lists,) = task.candidates.values()
    named = {
        query: [task.corpus.ids[row] for row in lists.rows_of(number)] for number, query in enumerate(task.queries.ids)
    }
    return {query: ids for query, ids in named.items() if ids}


def expected_lists(data: bytes) -> Content:
    lists: dict[str, list[str]] = {}
    for row in records(data):
        only(row, "query-id", "corpus-ids")
        query, ids = id_of(row, "query-id"), row.get("corpus-ids")
        if query in lists or not isinstance(ids, list) or not {*ids} <= {"d0", "d1", "d2"}:
            raise NoOpinion
        lists[query] = list(dict.fromkeys(ids))
    return {query: ids for query, ids in lists.items() if ids}


def expected_ranking(data: bytes) -> Content:
    """By score as a 32-bit float, then by id, both descending; a document that is repeated counts once."""
    lists: dict[str, list[tuple[float, str]]] = {}
    for query, document, score in expected_run(data):
        lists.setdefault(query, []).append((float(np.float32(score)), document))
    return {
        query: [*dict.fromkeys(document for _, document in sorted(ranked, reverse=True))]
        for query, ranked in lists.items()
    }


def expected_csv_pairs(data: bytes) -> Content:
    text = data.decode("utf-8-sig")
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    if rows[0] != ["sentence1", "sentence2", "score"] or any(len(row) != 3 for row in rows):
        raise NoOpinion
    return [(first, second, float(score)) for first, second, score in rows[1:]]


def csv_pairs(folder: Path, data: bytes) -> Content:
    return pairs(folder, data, "x.csv")


def questions(name: str) -> Callable[[Path, bytes], Content]:
    """Return a reading of questions with their contexts, as texts and grades."""

    def read(folder: Path, data: bytes) -> Content:
        task = load_task(put(folder, {name: data}) / name)
        return {
            (task.queries.texts[number], task.corpus.bodies[row], int(grade))
            for number in range(len(task.queries))
            for row, grade in zip(task.qrels.rows_of(number), task.qrels.grades_of(number), strict=True)
        }

    return read


def expected_questions(data: bytes) -> Content:
    text = data.decode("utf-8-sig")
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    if rows[0] != ["question", "context", "grade"] or any(len(row) != 3 for row in rows):
        raise NoOpinion
    grades: dict[tuple[str, str], set[int]] = {}
    for question, context, grade in rows[1:]:
        if question != question.strip() or context != context.strip():
            raise NoOpinion
        grades.setdefault((question, context), set()).add(int(grade or 1))
    if any(len(several) > 1 for several in grades.values()):
        raise NoOpinion
    return {(*pair, *grade) for pair, grade in grades.items()}


def expected_squad(data: bytes) -> Content:
    content = set()
    for article in json.loads(data, object_pairs_hook=_object)["data"]:
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                texts = (question["question"], paragraph["context"])
                if not all(isinstance(text, str) and text == text.strip() for text in texts):
                    raise NoOpinion
                if type(impossible := question.get("is_impossible", False)) is not bool:
                    raise NoOpinion
                if not impossible:
                    content.add((*texts, 1))
    return content


ORACLES = [
    Oracle("jsonl", in_folder("corpus.jsonl", corpus), expected_documents),
    Oracle("json_array", in_folder("corpus.json", corpus), expected_array),
    Oracle("csv", in_folder("corpus.csv", corpus), expected_csv),
    Oracle("parquet", in_folder("corpus.parquet", corpus), expected_parquet),
    Oracle("jsonl_queries", in_folder("queries.jsonl", queries), expected_queries),
    Oracle("tsv_qrels", in_folder("qrels.tsv", judgements), expected_tsv_judgements),
    Oracle("jsonl_qrels", in_folder("qrels.jsonl", judgements), expected_json_judgements),
    Oracle("score_qrels", read_qrels_lines, expected_qrels),
    Oracle("score_run", read_run_lines, expected_run),
    Oracle("sts", pairs, expected_pairs),
    Oracle("classification", labels, expected_labels),
    Oracle("sts_csv", csv_pairs, expected_csv_pairs),
    Oracle("jsonl_lists", in_folder("candidates.jsonl", candidate_lists), expected_lists),
    Oracle("trec_run", in_folder("candidates.run", candidate_lists), expected_ranking),
    Oracle("pairs_csv", questions("faq.csv"), expected_questions),
    Oracle("squad_json", questions("squad.json"), expected_squad),
]
