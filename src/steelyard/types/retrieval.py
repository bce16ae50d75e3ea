"""The values that are passed between the stages of retrieval; no input or output here.

Inside Steelyard a document is a row number. Rows are in *descending byte order of the document ids*. So the tie rule of
trec_eval (score descending, then id descending) is "the lower row first", and the order of documents in the source,
which often reveals the relevant ones, never reaches a model.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from steelyard.errors import DataError, DataWarning, ModelError
from steelyard.types import hashing as content_hash
from steelyard.types.task_info import TaskInfo

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float32 = npt.NDArray[np.float32]
Float64 = npt.NDArray[np.float64]

Role = Literal["query", "document", "text"]
"""The role of a text for an encoder; vectors of queries and documents are separate. `text` is neither: one of a pair,
or a text to classify or cluster."""


def join_title(title: str, body: str) -> str:
    """Return the text of a document with a title: title, one space, body (mteb's rule).

    >>> join_title("Nile", "A river."), join_title("", " A river. ")
    ('Nile A river.', 'A river.')
    """
    return f"{title} {body}".strip() if title else body.strip()


@dataclass(frozen=True, eq=False)
class Corpus:
    """Documents, in descending byte order of their ids; build one with `Corpus.of`.

    >>> corpus = Corpus.of(["a", "b"], ["first", "second"], titles=["One", ""])
    >>> corpus.ids, corpus.texts
    (('b', 'a'), ('second', 'One first'))
    """

    ids: tuple[str, ...]
    bodies: tuple[str, ...]
    titles: tuple[str, ...] | None = None

    @classmethod
    def of(cls, ids: Sequence[str], bodies: Sequence[str], titles: Sequence[str] | None = None) -> Corpus:
        """Return documents, given in any order, in row order. Ids must be unique, which validation checks."""
        counts = {"ids": len(ids), "texts": len(bodies), **({} if titles is None else {"titles": len(titles)})}
        if len(set(counts.values())) > 1:
            shown = ", ".join(f"{count} {noun}" for noun, count in counts.items())
            raise DataError.invalid("the columns of documents", expected="of the same length", found=shown)
        # Python compares strings by code point, which is the byte order of their UTF-8 form.
        order = sorted(range(len(ids)), key=ids.__getitem__, reverse=True)
        has_title = titles is not None and any(titles)
        return cls(
            tuple(map(ids.__getitem__, order)),
            tuple(map(bodies.__getitem__, order)),
            tuple(titles[i] or "" for i in order) if has_title and titles is not None else None,
        )

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts that models read: the bodies, with titles if there are any (`join_title`)."""
        if self.titles is None:
            return self.bodies
        return tuple(map(join_title, self.titles, self.bodies))

    @cached_property
    def row_of(self) -> dict[str, int]:
        """Row number by id."""
        return {id_: row for row, id_ in enumerate(self.ids)}

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Corpus({len(self):,} documents)"


@dataclass(frozen=True, eq=False)
class Queries:
    """Queries in the order of their source."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]

    @cached_property
    def row_of(self) -> dict[str, int]:
        """Row number by id."""
        return {id_: row for row, id_ in enumerate(self.ids)}

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Queries({len(self):,})"


@dataclass(frozen=True, eq=False)
class Ragged:
    """A list of rows for each query, stored end to end: query `q` owns `rows[offsets[q]:offsets[q+1]]`."""

    offsets: Int64
    rows: Int32

    @property
    def counts(self) -> Int64:
        """The number of rows of each query."""
        return np.diff(self.offsets)

    def rows_of(self, query: int) -> Int32:
        """Return the rows of one query."""
        return self.rows[self.offsets[query] : self.offsets[query + 1]]

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True, eq=False)
class Guarded(Ragged):
    """Candidate lists with a record of safeguards: positives that no model retrieved and that were added at the end."""

    guarded: Int64
    """The queries whose last candidate is a safeguard, ascending."""


@dataclass(frozen=True, eq=False)
class Qrels(Ragged):
    """Judgements: a grade for each judged pair of query and document.

    A row of -1 is a judged document that is not in the corpus: it cannot be retrieved, but counts as relevant, as in
    trec_eval. Within a query rows ascend. Grades are whole numbers; relevant means at least 1.

    >>> qrels = Qrels.of([0, 0, 1], [2, 1, 0], [1, 3, 0], queries=2)
    >>> qrels.rows_of(0).tolist(), qrels.grades_of(0).tolist(), qrels.positives.tolist()
    ([1, 2], [3, 1], [2, 0])
    """

    grades: Int32

    @classmethod
    def of(
        cls, query_rows: npt.ArrayLike, document_rows: npt.ArrayLike, grades: npt.ArrayLike, *, queries: int
    ) -> Qrels:
        """Return judgements from three columns of equal length, in any order; a pair is judged once.

        >>> Qrels.of([0, 0], [2, 1], [1, 0.5], queries=1)
        Traceback (most recent call last):
        steelyard.errors.DataError: a grade must be a whole number, got 0.5 (scale the grades)
        """
        q = np.asarray(query_rows, dtype=np.int64)
        d = np.asarray(document_rows, dtype=np.int32)
        g = _whole(np.asarray(grades))
        if not q.shape == d.shape == g.shape or q.ndim != 1:
            sizes = f"{q.size} queries, {d.size} documents and {g.size} grades"
            raise DataError.invalid("the columns of judgements", expected="of the same length", found=sizes)
        if q.size and not 0 <= q.min() <= q.max() < queries:
            odd = q.min() if q.min() < 0 else q.max()
            raise DataError.invalid("a query row", expected=f"from 0 to {queries - 1}", found=int(odd))
        order = np.lexsort((d, q))
        q, d = q[order], d[order]
        twice = np.flatnonzero((q[1:] == q[:-1]) & (d[1:] == d[:-1]) & (d[1:] >= 0))
        if len(twice):
            pair = f"query row {q[twice[0]]} and document row {d[twice[0]]}"
            raise DataError(f"a pair must be judged once, got {pair} twice", hint="keep one judgement")
        offsets = np.zeros(queries + 1, dtype=np.int64)
        np.cumsum(np.bincount(q, minlength=queries), out=offsets[1:])
        return cls(offsets, d, g[order])

    def grades_of(self, query: int) -> Int32:
        """Return the grades of one query, in the order of `rows_of(query)`."""
        return self.grades[self.offsets[query] : self.offsets[query + 1]]

    @cached_property
    def positives(self) -> Int64:
        """The number of relevant documents of each query, including those outside the corpus."""
        hits = np.concatenate(([0], np.cumsum(self.grades > 0)))
        return np.asarray(hits[self.offsets[1:]] - hits[self.offsets[:-1]], dtype=np.int64)

    def __repr__(self) -> str:
        return f"Qrels({len(self):,} queries, {len(self.rows):,} judgements, {int(self.positives.sum()):,} positive)"


def _whole(grades: npt.NDArray[Any]) -> Int32:
    """Return grades as whole numbers; a fraction is an error, since rounding would change scores."""
    with np.errstate(invalid="ignore"):  # NaN and infinity are errors below
        whole = grades.astype(np.int32)
    if grades.dtype != np.int32 and (odd := grades[whole != grades]).size:
        raise DataError.invalid("a grade", expected="a whole number", found=odd[0].item(), hint="scale the grades")
    return whole


@dataclass(frozen=True, eq=False)
class Task:
    """One retrieval task: documents, queries, judgements and candidate lists, ready for the engine."""

    info: TaskInfo
    corpus: Corpus
    queries: Queries
    qrels: Qrels
    candidates: Mapping[str, Ragged] = field(default_factory=dict)
    """Ranked candidate rows by config name (`bm25`, `reranking_hybrid` ...)."""

    @classmethod
    def of(
        cls,
        name: str,
        corpus: Mapping[str, str | Mapping[str, str]],
        queries: Mapping[str, str],
        qrels: Mapping[str, Mapping[str, int] | Collection[str]],
        *,
        missing_judgements: Literal["count", "ignore", "error"] = "count",
        **facts: Any,
    ) -> Task:
        """Return a task from dictionaries, as in BEIR (grades by id) and sentence-transformers (sets of ids).

        A document is a text, or a dictionary with `text` and optionally `title`. Queries without judgements are left
        out, as in files. `facts` are those of `TaskInfo`: language, category ... `missing_judgements`, of documents
        outside the corpus, count as relevant documents that are not retrieved, with a DataWarning; or are ignored, or
        a DataError.

        >>> Task.of("Mine/places", {"d1": "A river.", "d2": {"title": "Alps", "text": "Mountains."}},
        ...         {"q1": "longest river", "q2": "never judged"}, {"q1": {"d1": 2, "d2": 0}}, language="en")
        Task('Mine/places': 1 queries x 2 documents, 1 positives, en)
        """
        texts = [{"text": document} if isinstance(document, str) else document for document in corpus.values()]
        titles = [text.get("title") or "" for text in texts]
        documents = Corpus.of(list(corpus), [text.get("text") or "" for text in texts], titles)
        for query in qrels:
            if query not in queries:
                raise DataError(f"the judged query {query!r} does not exist", where=name, found=query, hint="add it")
        missing = [(q, d) for q, grades in qrels.items() for d in grades if d not in documents.row_of]
        if missing:
            _report_missing(name, missing, missing_judgements)
        if missing_judgements == "ignore":
            qrels = {q: _without(grades, documents.row_of) for q, grades in qrels.items()}
        row_of = {query: row for row, query in enumerate(query for query in queries if qrels.get(query))}
        judged: list[tuple[int, int, int]] = []
        for query, grades in qrels.items():
            for document in grades:
                grade = grades[document] if isinstance(grades, Mapping) else 1
                judged.append((row_of[query], documents.row_of.get(document, -1), grade))
        judged_queries = Queries(tuple(row_of), tuple(queries[query] for query in row_of))
        columns = zip(*judged, strict=True) if judged else ((), (), ())
        return cls(
            TaskInfo(name, **facts), documents, judged_queries, Qrels.of(*map(list, columns), queries=len(row_of))
        )

    @property
    def name(self) -> str:
        """`Group/task`."""
        return self.info.name

    @cached_property
    def content_hash(self) -> str:
        """A hash of ids, texts, judgements and candidates, independent of the source."""
        return content_hash.of_task(self)

    def __repr__(self) -> str:
        return (
            f"Task({self.name!r}: {len(self.queries):,} queries x {len(self.corpus):,} documents, "
            f"{int(self.qrels.positives.sum()):,} positives, {self.info.language})"
        )

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the size of the task, and its first queries with a relevant document."""
        from steelyard.types.notebook import task_html

        return task_html(self)


def _report_missing(name: str, missing: Sequence[tuple[str, str]], choice: str) -> None:
    """Warn about judgements of documents that do not exist, or raise a DataError."""
    query, document = missing[0]
    message = f"the document {document!r}, judged for {query!r}, does not exist"
    if choice == "error":
        raise DataError(message, where=name, found=document, hint="add it to the corpus")
    done = "ignored" if choice == "ignore" else "counted as not retrieved, as in trec_eval"
    warnings.warn(f"{name}: {message} ({len(missing):,} such judgements: {done})", DataWarning, stacklevel=3)


def _without(
    grades: Mapping[str, int] | Collection[str], known: Collection[str]
) -> Mapping[str, int] | Collection[str]:
    if isinstance(grades, Mapping):
        return {document: grade for document, grade in grades.items() if document in known}
    return [document for document in grades if document in known]


@dataclass(frozen=True, eq=False)
class Run:
    """Ranked documents for each query: two arrays of shape (queries, depth).

    Best first: score descending (compared as float32), then row ascending. A list that is shorter than the depth
    ends in rows of -1 with a score of -inf.
    """

    rows: Int32
    scores: npt.NDArray[np.floating[Any]]

    @classmethod
    def of(cls, rows: npt.ArrayLike, scores: npt.ArrayLike) -> Run:
        """Return a run from lists in any order; rows of -1 are padding.

        >>> Run.of([[2, 0, 1]], [[0.5, 0.9, 0.5]]).rows.tolist()
        [[0, 1, 2]]
        """
        try:
            array, s = np.asarray(rows), np.asarray(scores)
        except ValueError:
            raise ModelError("the lists of a run must have the same length", hint="pad them with rows of -1") from None
        if array.ndim != 2 or array.shape != s.shape:
            shapes = f"{array.shape} and {s.shape}"
            raise ModelError.invalid("rows and scores", expected="of the same shape (queries, depth)", found=shapes)
        r = array.astype(np.int32, copy=False)
        if array.dtype != np.int32 and (odd := array[r != array]).size:
            raise ModelError.invalid("a document row", expected="a whole number", found=odd[0].item())
        s = np.where(r < 0, -np.inf, s)
        s = s.astype(np.float32) if s.dtype != np.float64 else s
        order = np.lexsort((np.where(r < 0, np.iinfo(np.int32).max, r), -s.astype(np.float32)), axis=1)
        return cls(np.take_along_axis(r, order, axis=1), np.take_along_axis(s, order, axis=1))

    @property
    def depth(self) -> int:
        """The length of the lists, with padding."""
        return int(self.rows.shape[1])

    @property
    def lengths(self) -> Int64:
        """The number of documents of each query, without padding."""
        return np.asarray((self.rows >= 0).sum(axis=1), dtype=np.int64)

    def top(self, depth: int) -> Run:
        """Return the first `depth` documents of every list."""
        return self if depth >= self.depth else Run(self.rows[:, :depth], self.scores[:, :depth])

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the first documents of the first queries, by row and score."""
        from steelyard.types.notebook import run_html

        return run_html(self)

    def __repr__(self) -> str:
        return f"Run({len(self):,} queries, depth {self.depth:,}, {int(self.lengths.sum()):,} documents)"


@dataclass(frozen=True, eq=False)
class Scores:
    """The values of metrics: one for each query and metric, and metrics that only exist for the whole task."""

    per_query: Mapping[str, Float64]
    """By canonical name (`ndcg_at_10`): one value for each query of the task, in query order."""
    whole: Mapping[str, float | None] = field(default_factory=dict)
    """Metrics that are not means over queries: `pooled_recall_at_100`, `nauc_...`. None where undefined."""

    @cached_property
    def means(self) -> dict[str, float]:
        """The mean over queries of every per-query metric."""
        return {name: float(values.mean()) if len(values) else 0.0 for name, values in self.per_query.items()}

    def __getitem__(self, name: str) -> float | None:
        return self.means[name] if name in self.per_query else self.whole[name]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value:.4f}" for name, value in list(self.means.items())[:4])
        return f"Scores({shown}{', ...' if len(self.means) > 4 else ''})"


@dataclass(frozen=True)
class Interval:
    """A confidence interval."""

    low: float
    high: float
    level: float = 0.95
