"""One evaluation set audited by itself: duplicates and judgements that make its scores less trustworthy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.audit.evaluation_side import EvaluationSide, collect
from steelyard.audit.lexical.near_duplicates import NearIndex
from steelyard.audit.lexical.normal_form import UInt64, batches, tokenise
from steelyard.audit.lexical.shingles import Windows
from steelyard.types import Int64, Task
from steelyard.types.samples import AnyTask, LabelTask, PairTask, SummaryTask

EXAMPLES = 20
"""Examples of each finding that are listed."""
MEANINGS = {
    "duplicate_queries": "queries with the same normal form as an earlier query",
    "queries_in_corpus": "queries that are a document of the corpus, word for word",
    "positives_equal_to_query": "positives with the same normal form as their query",
    "duplicate_documents": "documents with the same normal form as an earlier document",
    "false_negatives": "unjudged documents that are near-duplicates of a positive of the same query",
    "duplicate_texts": "texts with the same normal form as an earlier text",
    "texts_in_training_split": "test texts that are also in the training split",
    "pairs_of_equal_texts": "pairs whose two texts have the same normal form",
    "duplicate_pairs": "pairs with the same two texts as an earlier pair",
    "contradictory_labels": "texts with the same normal form as another text with another label",
}
"""What each finding counts."""


@dataclass(frozen=True, eq=False)
class Overlap:
    """One finding: how many items, of how many, and the first ones with their partners."""

    kind: str
    count: int
    total: int
    examples: tuple[dict[str, str], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON-ready values."""
        share = self.count / self.total if self.total else None
        return {
            "kind": self.kind,
            "meaning": MEANINGS[self.kind],
            "count": self.count,
            "total": self.total,
            "rate": share,
            "examples": list(self.examples),
        }


@dataclass(frozen=True, eq=False)
class WithinAudit:
    """All findings of one task."""

    task: str
    data_hash: str
    overlaps: tuple[Overlap, ...]

    def __getitem__(self, kind: str) -> Overlap:
        return next(overlap for overlap in self.overlaps if overlap.kind == kind)

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as JSON-ready values."""
        return {
            "task": self.task,
            "data_hash": self.data_hash,
            "findings": [overlap.to_dict() for overlap in self.overlaps],
        }


def within(task: AnyTask, *, jaccard: float = 0.7) -> WithinAudit:
    """Audit one set by itself.

    >>> task = Task.of("X/rivers", {"d1": "The Nile.", "d2": "longest river"}, {"q1": "Longest river?"}, {"q1": ["d1"]})
    >>> within(task)["queries_in_corpus"].count
    1
    """
    if isinstance(task, Task):
        overlaps = _retrieval(task, jaccard)
    elif isinstance(task, PairTask):
        overlaps = _pairs(task)
    elif isinstance(task, LabelTask):
        overlaps = _labels(task.texts, task.labels, task.train_texts)
    elif isinstance(task, SummaryTask):
        machine = [(text, row) for row, summaries in enumerate(task.machine) for text in summaries]
        overlaps = _labels([text for text, _ in machine], [row for _, row in machine], ())
    else:
        texts = [text for problem in task.problems for text in problem.texts]
        labels = [levels[0] for problem in task.problems for levels in problem.labels]
        overlaps = _labels(texts, labels, ())
    return WithinAudit(task.name, task.content_hash, tuple(overlaps))


def _retrieval(task: Task, jaccard: float) -> list[Overlap]:
    queries, documents = hashes_of(task.queries.texts), hashes_of(task.corpus.texts)
    in_corpus = [row for row, key in enumerate(queries.tolist()) if key in set(documents.tolist())]
    first_of = {key: row for row, key in reversed(list(enumerate(documents.tolist())))}
    relevant = (task.qrels.grades > 0) & (task.qrels.rows >= 0)
    query_rows = np.repeat(np.arange(len(task.queries)), task.qrels.counts)[relevant]
    document_rows = task.qrels.rows[relevant]
    equal = np.flatnonzero(queries[query_rows] == documents[document_rows])
    positives = [
        {"query": task.queries.ids[query_rows[place]], "document": task.corpus.ids[document_rows[place]]}
        for place in equal[:EXAMPLES].tolist()
    ]
    return [
        _repeated("duplicate_queries", task.queries.ids, queries),
        Overlap(
            "queries_in_corpus",
            len(in_corpus),
            len(queries),
            tuple(
                {"query": task.queries.ids[row], "document": task.corpus.ids[first_of[int(queries[row])]]}
                for row in in_corpus[:EXAMPLES]
            ),
        ),
        Overlap("positives_equal_to_query", len(equal), len(query_rows), tuple(positives)),
        _repeated("duplicate_documents", task.corpus.ids, documents),
        _false_negatives(task, jaccard),
    ]


def _false_negatives(task: Task, jaccard: float) -> Overlap:
    """Return near-duplicates of positives that nobody judged for the same query."""
    side = collect([task], ("positives", "documents"))
    row_of = task.corpus.row_of
    rows_of_text: dict[int, list[int]] = {}
    for part in side.parts:
        for id_, text in zip(part.ids, part.texts.tolist(), strict=True):
            rows_of_text.setdefault(text, []).append(row_of[id_])
    near = _neighbours(side, jaccard, part=0)
    count, total, examples = 0, 0, []
    text_of_row = {row: text for text, rows in rows_of_text.items() for row in rows}
    for query in range(len(task.queries)):
        judged = set(task.qrels.rows_of(query).tolist())
        rows = task.qrels.rows_of(query)[task.qrels.grades_of(query) > 0].tolist()
        total += len(rows)
        for row in (row for row in rows if row >= 0):
            text = text_of_row[row]
            if not side.lengths[text]:  # documents without words are not copies of each other
                continue
            copies = [(other, 1.0) for other in rows_of_text[text]]
            copies += [(other, score) for number, score in near.get(text, ()) for other in rows_of_text[number]]
            for other, score in copies:
                if other not in judged:
                    count += 1
                    ids = {"query": task.queries.ids[query], "positive": task.corpus.ids[row]}
                    examples.append(ids | {"document": task.corpus.ids[other], "jaccard": f"{score:.3f}"})
    return Overlap("false_negatives", count, total, tuple(examples[:EXAMPLES]))


def _neighbours(side: EvaluationSide, jaccard: float, part: int) -> dict[int, list[tuple[int, float]]]:
    """Return for each text of one part the other texts that are near it, with their similarity."""
    index = NearIndex(side, jaccard)
    numbers = np.unique(side.parts[part].texts)
    near: dict[int, list[tuple[int, float]]] = {}
    texts = [side.texts[number] for number in numbers.tolist()]
    for piece in batches(texts):
        chosen = numbers[piece]
        hits = index.search(Windows(tokenise(texts[piece])))
        for row, text, score in zip(hits.rows.tolist(), hits.texts.tolist(), hits.scores.tolist(), strict=True):
            if text != chosen[row]:
                near.setdefault(int(chosen[row]), []).append((text, score))
    return near


def _pairs(task: PairTask) -> list[Overlap]:
    first, second = hashes_of(task.first), hashes_of(task.second)
    ids = [str(row) for row in range(len(task))]
    equal = np.flatnonzero(first == second)
    low, high = np.minimum(first, second), np.maximum(first, second)
    both = np.array([hash(pair) & ((1 << 63) - 1) for pair in zip(low.tolist(), high.tolist(), strict=True)])
    return [
        Overlap("pairs_of_equal_texts", len(equal), len(task), tuple({"pair": ids[row]} for row in equal[:EXAMPLES])),
        _repeated("duplicate_pairs", ids, both.astype(np.uint64)),
    ]


def _labels(texts: Sequence[str], labels: Sequence[Any], train: Sequence[str]) -> list[Overlap]:
    hashes = hashes_of(texts)
    ids = [str(row) for row in range(len(texts))]
    labels_of: dict[int, set[Any]] = {}
    for key, label in zip(hashes.tolist(), labels, strict=True):
        labels_of.setdefault(key, set()).add(label)
    several = [row for row, key in enumerate(hashes.tolist()) if len(labels_of[key]) > 1]
    overlaps = [
        _repeated("duplicate_texts", ids, hashes),
        Overlap(
            "contradictory_labels", len(several), len(ids), tuple({"text": ids[row]} for row in several[:EXAMPLES])
        ),
    ]
    if train:
        places = {key: row for row, key in enumerate(hashes_of(train).tolist())}
        shared = [row for row, key in enumerate(hashes.tolist()) if key in places]
        examples = tuple({"text": ids[row], "training": str(places[int(hashes[row])])} for row in shared[:EXAMPLES])
        overlaps.append(Overlap("texts_in_training_split", len(shared), len(ids), examples))
    return overlaps


def _repeated(kind: str, ids: Sequence[str], hashes: UInt64) -> Overlap:
    first: dict[int, int] = {}
    examples: list[dict[str, str]] = []
    count = 0
    for row, key in enumerate(hashes.tolist()):
        earlier = first.setdefault(key, row)
        if earlier != row:
            count += 1
            if len(examples) < EXAMPLES:
                examples.append({"item": ids[row], "equal_to": ids[earlier]})
    return Overlap(kind, count, len(ids), tuple(examples))


def hashes_of(texts: Sequence[str]) -> UInt64:
    """Return the hash of the normal form of each text; texts without any token get different ones."""
    hashes = [np.zeros(0, dtype=np.uint64)]
    for part in batches(texts):
        tokens = tokenise(texts[part])
        values = Windows(tokens).whole()
        empty: Int64 = np.flatnonzero(tokens.counts == 0)
        values[empty] = (empty + part.start + 1).astype(np.uint64)
        hashes.append(values)
    return np.concatenate(hashes)
