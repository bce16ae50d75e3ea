"""Questions with the texts that answer them: the tables that people have before they have judgements.

    faq.csv                      question, context; query, positive[, negative]; anchor, positive
    corpus.csv,questions.csv     documents, and questions that name their document by its id
    squad.json                   paragraphs with their questions, as in SQuAD

Rows with the same question are one query with several relevant documents; rows with the same context are one document.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from steelyard.datasets.assemble import Tables, assemble
from steelyard.datasets.formats.sidecar import SIDECAR, read_json_object, task_info
from steelyard.datasets.formats.task_files import TaskFiles, TaskLocation
from steelyard.datasets.problems import Report
from steelyard.datasets.tables.columns import DOCUMENT_ID, DOCUMENTS, JUDGEMENTS, QUERIES, QUERY_ID, Field, Role
from steelyard.datasets.tables.files import format_of, plain_name, read_bytes, translated
from steelyard.datasets.tables.jsonlines import HALF_FOUND, HALF_REMEDY, without_halves
from steelyard.datasets.tables.tabular import Named, Table, read_table
from steelyard.types import Task, TaskInfo

STRING = pa.large_string()
GRADE = Field("grade", "grade", ("grade", "relevance", "rel", "judgement", "judgment"), required=False)
NEGATIVES = 32
"""Columns negative_1, negative_2 ... that are read."""
PAIRS = Role(
    "questions with contexts",
    (
        Field("question", "text", ("question", "query", "anchor", "user_input"), fallback=("prompt", "input")),
        Field(
            "context",
            "texts",
            ("context", "positive", "pos", "positives", "contexts", "reference_contexts", "passage"),
            fallback=("document", "chunk", "text", "content", "answer"),
        ),
        Field("negative", "texts", ("negative", "neg", "negatives", "hard_negative", "hard_negatives"), required=False),
        *(Field(f"negative_{n}", "texts", (f"negative_{n}",), required=False) for n in range(1, NEGATIVES + 1)),
        Field("id", "id", ("_id", "id", "question_id", *QUERY_ID), required=False),
        Field("document", "id", ("context_id", *DOCUMENT_ID), required=False),
        Field("title", "text", ("title", "headline"), required=False),
        GRADE,
    ),
)
"""A question and a text that answers it in each row; lists of texts are several."""
QUESTIONS = Role(
    "questions",
    (
        Field("id", "id", ("_id", "id", "question_id", *QUERY_ID), required=False),
        Field("text", "text", ("question", "query", "text", "prompt", "anchor")),
        Field(
            "document",
            "ids",
            (
                *DOCUMENT_ID,
                *("corpus-ids", "corpus_ids", "doc_ids", "document_ids", "relevant_docs", "context_id", "chunk_id"),
                *("file", "filename", "file_name", "file name", "path", "document", "doc", "source"),
            ),
        ),
        Field("grade", "grade", JUDGEMENTS.field("grade").aliases, required=False),
    ),
)
"""A question and the id of the document that answers it in each row."""


@dataclass(frozen=True)
class QuestionLocation(TaskLocation):
    """A task of one file of pairs, or of documents and questions that name them; `listed` is what the user wrote."""

    listed: str = ""
    tables: Mapping[str, Named] = field(default_factory=dict)
    """Tables in memory by the name of their file."""

    @property
    def reference(self) -> str:
        """Return what names the task on the command line."""
        return self.listed

    def read(self, report: Report, candidates: Iterable[str] | None = None) -> Task | None:
        """Read every row; every problem goes into the report."""
        files = self.files

        def read(names: Sequence[str], role: Role) -> Table | None:
            return read_table([self._named(name) for name in names], files.role(role, names), report)

        if files.corpus == files.queries:
            squad = self._squad(report) if len(files.queries) == 1 else None
            rows = read_table([(files.queries[0], squad)], PAIRS, report) if squad else read(files.queries, PAIRS)
            return None if rows is None else assemble(pairs_tables(rows, self.info, report), report)
        corpus, rows = read(files.corpus, DOCUMENTS), read(files.queries, QUESTIONS)
        if corpus is None or rows is None:
            return None
        queries, qrels = question_tables(rows, _Ids(corpus["id"].to_pylist()), report)
        return assemble(Tables(self.info, corpus, queries, qrels), report)

    def _named(self, name: str) -> Named:
        return self.tables.get(name) or (name, self.folder / name)

    def _squad(self, report: Report) -> pa.Table | None:
        """Return the rows of a file in the form of SQuAD; None if it has another."""
        name = self.files.queries[0]
        path = self._named(name)[1]
        if format_of(name) != "json" or not isinstance(path, Path):
            return None
        content = b""
        with translated(report, name):
            content = read_bytes(path)
        return squad_rows(content, name, report)


def pairs_file(
    paths: Sequence[Path], listed: str, columns: Mapping[str, str], name: str = "", split: str = ""
) -> QuestionLocation:
    """Return the task of a file of questions with contexts, or of one in shards; `name` is that of the task."""
    folder = paths[0].absolute().parent
    names = tuple(path.absolute().relative_to(folder).as_posix() for path in paths)
    own = name or plain_name(names[0]).rsplit(".", 1)[0]
    info = task_info({"split": split}, name=f"local/{own}", source=listed)
    return QuestionLocation(folder, "", TaskFiles(names, names, names, columns={names[0]: columns}), info, listed)


def corpus_and_questions(
    corpus: Sequence[Path],
    questions: Sequence[Path],
    listed: str,
    columns: Mapping[str, Mapping[str, str]] | None = None,
    folder: Path | None = None,
) -> QuestionLocation:
    """Return the task of files of documents and files of questions that name them."""
    home = (folder or corpus[0].parent).absolute()
    first, second = (tuple(str(path.absolute()) for path in paths) for paths in (corpus, questions))
    facts = read_json_object(home / SIDECAR)
    info = task_info(facts, name=f"local/{facts.get('name') or home.name}", source=listed)
    return QuestionLocation(home, "", TaskFiles(first, second, second, columns=columns or {}), info, listed)


class _Ids:
    """Documents by id."""

    def __init__(self, ids: Sequence[str]) -> None:
        self.ids = set(ids)

    def find(self, id: str) -> str | None:
        """Return the id if a document has it."""
        return id if id in self.ids else None

    def hint(self, id: str) -> str:
        """Return nothing: a similar id would be misleading."""
        return ""


def question_tables(table: Table, known: Any, report: Report) -> tuple[Table, Table]:
    """Return each question once, and a judgement for each document that it names.

    Without ids, rows with the same text are one question. Several documents are a list, or separated by `;`.
    """
    texts, named = table["text"].to_pylist(), table["document"].to_pylist()
    ids = table["id"].to_pylist() if "id" in table else None
    grades = table["grade"].to_pylist() if "grade" in table else None
    first: dict[str, int] = {}
    number = {text: f"q{place}" for place, text in enumerate(dict.fromkeys(texts), 1)}
    pairs: list[tuple[str, str, float | None]] = []
    lost: dict[str, list[int]] = defaultdict(list)
    for row, text in enumerate(texts):
        query = ids[row] if ids else number[text]
        first.setdefault(query, row)
        for document in _documents(named[row], known):
            match = known.find(document)
            if match is None:
                lost[document].append(row)
            else:
                pairs.append((query, match, grades[row] if grades else None))
    for document, bad in lost.items():
        message = f"{document!r} is not among the documents{known.hint(document)}"
        table.add_problem(report, "unknown-document", message, bad)
    rows = np.array(list(first.values()), dtype=np.int64)
    queries = {"id": pa.array(list(first), STRING), "text": pa.array([texts[row] for row in rows], STRING)}
    judged: dict[str, Any] = {
        "query": pa.array([query for query, _, _ in pairs], STRING),
        "document": pa.array([document for _, document, _ in pairs], STRING),
    }
    if grades:
        judged["grade"] = pa.array([grade for _, _, grade in pairs], pa.float64())
    return Table(QUERIES, queries, table.names, (0,), rows), Table(JUDGEMENTS, judged, table.names, (0,))


def _documents(named: str | Sequence[str] | None, known: Any) -> list[str]:
    if isinstance(named, str):
        named = [named] if known.find(named) else named.split(";")
    return [part for name in named or () if (part := name.strip())]


def pairs_tables(table: Table, info: TaskInfo, report: Report) -> Tables:
    """Return documents, questions and judgements of rows of a question with its contexts and negatives.

    A document is a distinct text (with its title); its id is a hash of that, so that it does not depend on the order
    of rows, unless the table has ids. A negative is a document of grade 0.
    """
    pairs = _Pairs(table)
    for row in range(len(table)):
        pairs.add(row)
    return pairs.tables(info, report)


class _Pairs:
    """Collects the rows of a table of pairs."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.questions = [text.strip() for text in table["question"].to_pylist()]
        self.columns = {
            name: table[name].to_pylist() for name in ("context", "id", "document", "title", "grade") if name in table
        }
        self.negatives = [table[name].to_pylist() for name in table.columns if name.startswith("negative")]
        self.documents: dict[tuple[str, str], str] = {}
        self.owner: dict[str, int] = {}
        """The first row of each document id."""
        self.first: dict[str, int] = {}
        """The first row of each question."""
        self.judged: dict[tuple[str, str], tuple[float | None, int]] = {}
        self.contexts = self.again = 0
        self.problems: dict[str, list[int]] = defaultdict(list)

    def add(self, row: int) -> None:
        """Add the question of a row, its contexts and its negatives."""
        question, contexts = self.questions[row], _texts(self.columns["context"][row])
        if not question or not contexts:
            self.problems["missing-text"].append(row)
            return
        self.again += question in self.first
        self.first.setdefault(question, row)
        grade = self.columns["grade"][row] if "grade" in self.columns else None
        for context in contexts:
            self.contexts += 1
            self._judge(question, self._document(context, row, own=len(contexts) == 1), grade, row)
        for column in self.negatives:
            for negative in _texts(column[row]):
                self._judge(question, self._document(negative, row, own=False), 0.0, row)

    def _document(self, text: str, row: int, *, own: bool) -> str:
        """Return the id of a text; title and id of the row belong to its only context."""
        title = (self.columns["title"][row] or "").strip() if own and "title" in self.columns else ""
        key = (title, text)
        if key not in self.documents:
            own_id = self.columns["document"][row] if own and "document" in self.columns else ""
            id = own_id or hashlib.blake2b("\0".join(key).encode("utf-8", "replace"), digest_size=8).hexdigest()
            if id in self.owner:
                self.problems["duplicate-id"].append(row)
            self.owner.setdefault(id, row)
            self.documents[key] = id
        return self.documents[key]

    def _judge(self, question: str, document: str, grade: float | None, row: int) -> None:
        pair, relevant = (question, document), grade is None or grade > 0
        earlier = self.judged.get(pair)
        if earlier is not None and (earlier[0] is None or earlier[0] > 0) != relevant:
            self.problems["negative-is-positive"].append(row)
        if earlier is None or (relevant and earlier[0] == 0.0):
            self.judged[pair] = (grade, row)

    def tables(self, info: TaskInfo, report: Report) -> Tables:
        """Return the tables, and report what was merged or ignored."""
        table = self.table
        self._report(report)
        names = self._question_ids(report)
        rows = np.array(list(self.first.values()), dtype=np.int64)
        queries = {"id": pa.array(list(names.values()), STRING), "text": pa.array(list(self.first), STRING)}
        corpus = {
            "id": pa.array(list(self.documents.values()), STRING),
            "title": pa.array([title for title, _ in self.documents], STRING),
            "text": pa.array([text for _, text in self.documents], STRING),
        }
        judged = {
            "query": pa.array([names[question] for question, _ in self.judged], STRING),
            "document": pa.array([document for _, document in self.judged], STRING),
            "grade": pa.array([1.0 if grade is None else grade for grade, _ in self.judged.values()], pa.float64()),
        }
        own = (table.names[:1], (0,))
        sources = np.array([row for _, row in self.judged.values()], dtype=np.int64)
        return Tables(
            info,
            Table(DOCUMENTS, corpus, *own),
            Table(QUERIES, queries, *own, rows),
            Table(JUDGEMENTS, judged, *own, sources),
        )

    def _question_ids(self, report: Report) -> dict[str, str]:
        """Return the id of every question: its own, unless questions share one."""
        numbered = {question: f"q{place}" for place, question in enumerate(self.first, 1)}
        if "id" not in self.columns:
            return numbered
        own = {question: self.columns["id"][row] for question, row in self.first.items()}
        if len(set(own.values())) == len(own):
            return own
        self.table.add_problem(report, "aside", "the ids are not those of questions: they are numbered instead", ())
        return numbered

    def _report(self, report: Report) -> None:
        table = self.table
        messages = {
            "missing-text": "a row must have a question and a context",
            "duplicate-id": "two texts have the same document id",
            "negative-is-positive": "a negative is also a context of the same question",
        }
        for kind, rows in self.problems.items():
            table.add_problem(report, kind, messages[kind], rows)
        merged = f", {self.again:,} of them with the question of an earlier row" if self.again else ""
        message = (
            f"{len(table):,} rows{merged}: {len(self.first):,} questions and {len(self.documents):,} documents"
            f" from {self.contexts:,} contexts{' and their negatives' if self.negatives else ''}"
        )
        table.add_problem(report, "pairs", message, ())


def _texts(value: str | Sequence[str | None] | None) -> list[str]:
    """Return the texts of a cell, without empty ones."""
    texts = [value] if isinstance(value, str) or value is None else value
    return [text.strip() for text in texts if text and text.strip()]


def squad_rows(content: bytes, name: str, report: Report) -> pa.Table | None:
    """Return a row for each answerable question of a file in the form of SQuAD; None if it has another form."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    articles = value.get("data") if isinstance(value, dict) else None
    if not isinstance(articles, list) or not all(isinstance(a, dict) and "paragraphs" in a for a in articles):
        return None
    rows: list[dict[str, str]] = []
    unanswerable = 0
    wrong: dict[int, str] = {}
    halves: list[int] = []
    for number, article in enumerate(articles, 1):
        for paragraph, question in _squad_questions(article, wrong, number):
            if question.get("is_impossible"):
                unanswerable += 1
                continue
            row = {"question": question.get("question"), "context": paragraph.get("context")}
            row |= {"id": str(question["id"])} if question.get("id") is not None else {}
            row |= {"title": article["title"]} if article.get("title") else {}
            if all(isinstance(text, str) for text in row.values()):
                rows.append(without_halves(row))
                halves += [number] if rows[-1] != row else []
            else:
                wrong.setdefault(number, f"the article must have texts for question, context and title, got {row!r}")
    if wrong:
        report.add("row", name, next(iter(wrong.values())), wrong, remedy="write the file as SQuAD does")
    if halves:
        report.add("encoding", name, HALF_FOUND, sorted(set(halves)), remedy=HALF_REMEDY)
    if unanswerable:
        many = "question is" if unanswerable == 1 else "questions are"
        report.add("pairs", name, f"{unanswerable:,} {many} marked as impossible, and not part of the task")
    return table_of_rows(rows) if rows else None


def _squad_questions(article: Any, wrong: dict[int, str], number: int) -> Iterator[tuple[Any, Any]]:
    """Yield each question of an article with its paragraph; what is not a list of objects goes to `wrong`."""
    pairs = [(article, "paragraphs"), *((paragraph, "qas") for paragraph in _objects(article["paragraphs"]) or ())]
    for value, key in pairs:
        if (objects := _objects(value.get(key, []))) is None:
            wrong.setdefault(number, f"{key} of the article must be a list of objects, got {value[key]!r}")
        elif key == "qas":
            yield from ((value, question) for question in objects)


def _objects(value: Any) -> list[Any] | None:
    """Return a list of objects; None if the value is anything else."""
    return value if isinstance(value, list) and all(isinstance(item, dict) for item in value) else None


def table_of_rows(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows as a table with every column that any of them has.

    >>> table_of_rows([{"a": 1}, {"b": 2}]).to_pydict()
    {'a': [1, None], 'b': [None, 2]}
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: [row.get(name) for row in rows] for name in names})
