"""The names of columns, in order of preference.

A file is a table with a role: documents, queries, judgements, candidate lists. Each role has fields; each field has
the names that published data uses for it. Case is ignored.

If a table has two columns for one field, the order of the names decides, and the other is reported. Grades
determine the scores: if two columns of grades differ, the intended one is unknown, and nothing is loaded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import quote

import numpy as np
import pyarrow.compute as pc

from steelyard.datasets.problems import Report
from steelyard.datasets.tables.convert import as_grades, as_texts
from steelyard.errors import UnknownName

FieldKind = Literal["id", "text", "grade", "ids", "count", "time", "texts", "numbers", "labels"]
"""The last three, of tasks without a corpus, may be one value per row or a list of values."""


@dataclass(frozen=True)
class Field:
    """One column of a role: what it holds and its possible names."""

    name: str
    kind: FieldKind
    aliases: tuple[str, ...]
    required: bool = True
    fallback: tuple[str, ...] = ()
    """More names, which count only if the table has none of the `aliases`."""

    def __str__(self) -> str:
        """Return the name for an error, with the first few names of its column."""
        return f"{self.name}: {' | '.join(self.aliases[:5])}"


@dataclass(frozen=True)
class Role:
    """The function of a table in a task."""

    name: str
    fields: tuple[Field, ...]
    positions: tuple[tuple[str, ...], ...] = ()
    """The columns of a file without a header, one entry for each supported width."""

    def match(self, columns: Iterable[str], numbers: Collection[str] = ()) -> dict[str, str]:
        """Return which column holds which field; missing fields are omitted. `numbers` are columns of numbers.

        >>> DOCUMENTS.match(["docid", "Title", "contents", "url"])
        {'id': 'docid', 'title': 'Title', 'text': 'contents'}
        """
        return {field: candidates[0] for field, candidates in self.candidates(columns, numbers).items()}

    def candidates(self, columns: Iterable[str], numbers: Collection[str] = ()) -> dict[str, list[str]]:
        """Return every column that could hold a field, the preferred one first.

        A column of numbers is not a text, so other columns are preferred for texts.

        >>> JUDGEMENTS.candidates(["qid", "docid", "relevance", "score"])["grade"]
        ['score', 'relevance']
        >>> DOCUMENTS.candidates(["id", "text", "contents"], numbers=["id", "text"])
        {'id': ['id'], 'text': ['contents']}
        """
        by_name = {column.strip().lower(): column for column in reversed(list(columns))}
        columns_of = {}
        for field in self.fields:
            if not by_name.keys().isdisjoint(field.aliases):
                named = [by_name[alias] for alias in dict.fromkeys(field.aliases) if alias in by_name]
            else:
                named = [by_name[alias] for alias in field.fallback if alias in by_name][:1]
            if named:
                worded = [column for column in named if column not in numbers]
                columns_of[field.name] = worded or named if field.kind in ("text", "texts") else named
        return columns_of

    def mapped(self, columns: Mapping[str, str]) -> Role:
        """Return the role with these names of columns, by field or by one of its names; others are matched as usual.

        >>> DOCUMENTS.mapped({"id": "chunk_uuid", "contents": "Words"}).match(["chunk_uuid", "words", "title", "text"])
        {'id': 'chunk_uuid', 'title': 'title', 'text': 'words'}
        """
        if not columns:
            return self
        chosen: dict[str, str] = {}
        for name, column in columns.items():
            field = next((f for f in self.fields if f.name == name or name.lower() in f.aliases + f.fallback), None)
            if field is None:
                known = [field.name for field in self.fields]
                hint = f"the columns of {self.name} are {', '.join(known)}"
                raise UnknownName(f"column of {self.name}", name, known, hint=hint, option="columns")
            chosen[field.name] = column.strip().lower()
        taken = set(chosen.values())
        fields = (
            replace(field, aliases=(chosen[field.name],), fallback=(), required=True)
            if field.name in chosen
            else replace(field, aliases=_without(field.aliases, taken), fallback=_without(field.fallback, taken))
            for field in self.fields
        )
        return Role(self.name, tuple(fields))

    def mapping_hint(self, name: str, columns: Iterable[str]) -> str:
        """Return how to name the columns of a file in which some were not recognised.

        >>> DOCUMENTS.mapping_hint("corpus.csv", ["chunk_uuid", "chunk_words"])
        "name the columns: 'corpus.csv?id=chunk_uuid&text=chunk_words'"
        """
        listed = list(dict.fromkeys(column.strip() for column in columns))
        matched = self.match(listed)
        unused = iter([column for column in listed if column not in matched.values()])
        shown = (quote(column, safe="", errors="replace") for column in unused)
        pairs = [f"{field.name}={next(shown, 'COLUMN')}" for field in self.missing(matched)]
        return f"name the columns: '{name}?{'&'.join(pairs)}'"

    def missing(self, fields: Iterable[str]) -> list[Field]:
        """Return the required fields that are not among these."""
        present = set(fields)
        return [field for field in self.fields if field.required and field.name not in present]

    def field(self, name: str) -> Field:
        """Return the field of that name."""
        return next(field for field in self.fields if field.name == name)


def _without(names: tuple[str, ...], taken: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in taken)


def numbers_in(record: Mapping[str, Any]) -> list[str]:
    """Return the names of a record whose values are numbers.

    >>> numbers_in({"id": 7, "text": "seven"})
    ['id']
    """
    return [name for name, value in record.items() if isinstance(value, int | float)]


QUERY_ID = ("query-id", "query_id", "qid", "queryid", "query id", "topic", "topic_id")
DOCUMENT_ID = (
    *("corpus-id", "corpus_id", "pid", "docid", "doc_id", "doc-id", "docno"),
    *("document_id", "document-id", "passage_id", "did"),
)
TEXT = ("text", "contents", "content", "body", "passage", "document", "segment")

DOCUMENTS = Role(
    "documents",
    (
        Field("id", "id", ("_id", "id", *DOCUMENT_ID)),
        Field("title", "text", ("title", "headline"), required=False),
        Field("text", "text", TEXT),
    ),
    positions=(("id", "text"), ("id", "title", "text")),
)
QUERIES = Role(
    "queries",
    (
        Field("id", "id", ("_id", "id", *QUERY_ID)),
        Field("text", "text", ("text", "query", "question", *TEXT[1:], "title")),
    ),
    positions=(("id", "text"),),
)
JUDGEMENTS = Role(
    "judgements",
    (
        Field("query", "id", QUERY_ID),
        Field("document", "id", DOCUMENT_ID),
        Field("grade", "grade", ("score", "relevance", "label", "rel", "grade", "judgement", "judgment"), False),
    ),
    # Two columns could be anything; a numeric grade shows that the first row is not a header.
    positions=(("query", "document", "grade"), ("query", "", "document", "grade")),
)
CANDIDATES = Role(
    "candidates",
    (
        Field("query", "id", QUERY_ID),
        Field("documents", "ids", ("corpus-ids", "corpus_ids", "candidates", "docids", "doc_ids", *DOCUMENT_ID)),
        # Only in TREC runs: other tables are in the order of their rows, even if they have scores.
        Field("score", "grade", (), required=False),
    ),
)
CLICKS = Role(
    "clicks",
    (
        Field("query_id", "id", QUERY_ID, required=False),
        Field(
            "query",
            "text",
            ("query", "query_text", "search_query", "search_term", "keyword", "keywords", "q", "question"),
        ),
        Field(
            "document",
            "id",
            # Not a plain `id`: in a log it numbers the events.
            (*DOCUMENT_ID, "url", "item_id", "product_id", "asin", "sku", "article_id", "result_id", "clicked_id"),
            required=False,
        ),
        Field("title", "text", ("title", "document_title", "doc_title", "product_title", "headline"), required=False),
        Field("text", "text", ("document_text", "doc_text", *TEXT, "snippet", "description"), required=False),
        Field(
            "clicks", "count", ("clicks", "clicked", "click", "is_click", "is_clicked", "click_count"), required=False
        ),
        Field("impressions", "count", ("impressions", "impression_count", "views", "shown"), required=False),
        Field("position", "count", ("position", "rank", "pos", "click_position"), required=False),
        Field("time", "time", ("timestamp", "time", "ts", "datetime", "date", "event_time"), required=False),
        Field("session", "id", ("session_id", "session", "sid", "user_id", "visitor_id"), required=False),
    ),
)


REMEDY = "remove one of the two, or rename it"


def report_ambiguous_columns(held: Mapping[str, Mapping[str, Any]], role: Role, name: str, report: Report) -> None:
    """Report columns that are not read because another one is, unless they hold the same or nothing.

    `held` has the columns that could be a field, by field and by name, the one that is read first.
    """
    for field, columns in held.items():
        (read, first), *others = columns.items()
        for other, second in others:
            if role.field(field).kind == "grade":
                _compare_grades((read, first), (other, second), name, report)
            elif not _nothing_more(first, second):
                report.add("aside", name, aside(field, read, other), remedy=REMEDY)


def aside(field: str, read: str, other: str) -> str:
    """Return the message for a column that is not read.

    >>> aside("text", "text", "contents")
    "two columns could be the text: 'text' is read, 'contents' is not"
    """
    return f"two columns could be the {field}: {read!r} is read, {other!r} is not"


def _compare_grades(read: tuple[str, Any], other: tuple[str, Any], name: str, report: Report) -> None:
    first, second = (None if column is None else as_grades(column, _silent) for _, column in (read, other))
    if first is None or second is None:
        return  # not grades: the reader of the first column reports it
    same = pc.or_(pc.is_null(second), pc.fill_null(pc.equal(first, second), False))
    differing = np.flatnonzero(~np.asarray(same))
    if len(differing):
        one, two = (_shown(grades[int(differing[0])].as_py()) for grades in (first, second))
        message = f"two columns of grades differ: {read[0]!r} has {one}, {other[0]!r} has {two}"
        report.add("two-grades", name, message, differing + 1)


def _shown(grade: float | None) -> str:
    return "none" if grade is None else f"{grade:g}"


def _nothing_more(first: Any, second: Any) -> bool:
    """Return whether the second column is empty, or equal to the first."""
    if second is None or first is None:
        return False
    one, two = (as_texts(column, _silent) for column in (first, second))
    if one is None or two is None:
        return bool(first.equals(second))
    return bool(pc.all(pc.equal(two, "")).as_py() or one.equals(two))


def _silent(kind: str, found: str, rows: Iterable[int]) -> None:
    pass
