"""Runs and judgements as dictionaries of string ids, as pytrec_eval, mteb and BEIR use them.

Inside Steelyard, ids are row numbers (see `steelyard.types`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import numpy as np

from steelyard.errors import DataError
from steelyard.types import Int32, Qrels, Run

RunDict = Mapping[str, Mapping[str, float]]
QrelsDict = Mapping[str, Mapping[str, int]]


def number_documents(*parts: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """Return row numbers for all document ids of the parts: in descending byte order, as in a `Corpus`.

    >>> number_documents({"q1": ["a", "c"]}, {"q1": ["b"]})
    {'c': 0, 'b': 1, 'a': 2}
    """
    ids: set[str] = set()
    for part in parts:
        for documents in part.values():
            ids.update(documents)
    return {id_: row for row, id_ in enumerate(sorted(ids, reverse=True))}


def run_from_dicts(
    run: RunDict, queries: Iterable[str], rows: Mapping[str, int], *, ties: Literal["id", "given"] = "id"
) -> Run:
    """Return the run of these queries, in their order; a query that is not in the dictionary has an empty list.

    Scores stay float64; None and NaN raise a DataError. Every document must have a row. With `ties="given"`, lists are
    in the order of the unrounded scores, and equal scores in the order of the dictionary: not a proper `Run`, but what
    mteb 1.14 read for MRR.

    >>> run_from_dicts({"q": {"a": 0.5, "b": 0.5}}, ["q", "r"], {"b": 0, "a": 1}).rows.tolist()
    [[0, 1], [-1, -1]]
    """
    ids = list(queries)
    lists = [run.get(query, {}) for query in ids]
    depth = max(map(len, lists), default=0)
    matrix = np.full((len(lists), depth), -1, dtype=np.int32)
    scores = np.full((len(lists), depth), -np.inf)
    for number, ranked in enumerate(lists):
        matrix[number, : len(ranked)] = [rows[id_] for id_ in ranked]
        scores[number, : len(ranked)] = list(ranked.values())
        if np.isnan(scores[number]).any():
            document = next(id_ for id_, score in ranked.items() if score is None or score != score)
            raise DataError(
                f"the score of document {document!r} for query {ids[number]!r} must be a number, "
                f"got {ranked[document]}",
                expected="a number",
                found=ranked[document],
            )
    if ties == "id":
        return Run.of(matrix, scores)
    order = np.argsort(-scores, axis=1, kind="stable")
    return Run(np.take_along_axis(matrix, order, axis=1), np.take_along_axis(scores, order, axis=1))


def qrels_from_dicts(qrels: QrelsDict, queries: Iterable[str], rows: Mapping[str, int]) -> Qrels:
    """Return the judgements of these queries, in their order; a document without a row is outside the corpus (-1).

    >>> qrels_from_dicts({"q": {"a": 1, "x": 2}}, ["q"], {"a": 0}).rows.tolist()
    [-1, 0]
    """
    ids = list(queries)
    judged = [qrels.get(query, {}) for query in ids]
    query_rows = np.repeat(np.arange(len(ids)), [len(documents) for documents in judged])
    document_rows = [rows.get(id_, -1) for documents in judged for id_ in documents]
    grades = [grade for documents in judged for grade in documents.values()]
    return Qrels.of(query_rows, document_rows, grades, queries=len(ids))


def own_rows(queries: Iterable[str], rows: Mapping[str, int]) -> Int32:
    """Return for each query the row of the document with the same id, or -1; for the argument `ignore` of `score`.

    >>> own_rows(["a", "q"], {"a": 3}).tolist()
    [3, -1]
    """
    return np.array([rows.get(query, -1) for query in queries], dtype=np.int32)
