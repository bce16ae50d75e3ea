"""What a task looks like in numbers, with a few examples: the profile that `steelyard show` prints."""

from __future__ import annotations

from typing import Any

import numpy as np

from steelyard.datasets.sample_profiles import sample_profile, spread, text_facts
from steelyard.types import Ragged, Task
from steelyard.types.samples import AnyTask

EXAMPLES = 3
DEPTH = 100


def profile(task: AnyTask) -> dict[str, Any]:
    """Counts, lengths in characters, judgements, candidate lists and examples, JSON-ready.

    Of a task without documents: scores or labels instead (`sample_profile`).

    >>> from steelyard.types import Corpus, Qrels, Queries, TaskInfo
    >>> corpus = Corpus.of(["a", "b"], ["one", "three"])
    >>> task = Task(TaskInfo("x/y"), corpus, Queries(("q",), ("1?",)), Qrels.of([0], [1], [1], queries=1))
    >>> profile(task)["documents"]
    {'count': 2, 'distinct': 2, 'empty': 0, 'chars': {'mean': 4.0, 'median': 4.0, 'min': 3, 'max': 5}}
    """
    if not isinstance(task, Task):
        return sample_profile(task)
    positives = task.qrels.positives
    grades, counts = np.unique(task.qrels.grades, return_counts=True)
    return {
        "documents": text_facts(task.corpus.texts),
        "queries": text_facts(task.queries.texts),
        "judgements": {
            "count": len(task.qrels.rows),
            "positive": int(positives.sum()),
            "outside_corpus": int((task.qrels.rows < 0).sum()),
            "grades": {str(grade): int(count) for grade, count in zip(grades, counts, strict=True)},
        },
        "positives_per_query": spread(positives) | {"multi_positive_queries": int((positives > 1).sum())},
        "candidates": {name: _candidates(task, lists) for name, lists in sorted(task.candidates.items())},
        "content_hash": task.content_hash,
        "examples": _examples(task),
    }


def _candidates(task: Task, lists: Ragged) -> dict[str, Any]:
    """Lengths of the lists, and the share of all positives among the first `DEPTH` of each."""
    counts = lists.counts
    owner = np.repeat(np.arange(len(lists)), counts)
    early = np.arange(len(lists.rows)) - np.repeat(lists.offsets[:-1], counts) < DEPTH
    shown = owner[early] * len(task.corpus) + lists.rows[early]
    judged = np.repeat(np.arange(len(task.qrels)), task.qrels.counts) * len(task.corpus) + task.qrels.rows
    wanted = judged[(task.qrels.grades > 0) & (task.qrels.rows >= 0)]
    total = int(task.qrels.positives.sum())
    return {
        "length": spread(counts),
        f"pooled_recall_at_{DEPTH}": round(float(np.isin(wanted, shown).sum()) / total, 4) if total else None,
    }


def _examples(task: Task) -> list[dict[str, Any]]:
    """The first queries that have a positive, each with its best one."""
    shown: list[dict[str, Any]] = []
    for query in np.flatnonzero(task.qrels.positives > 0):
        rows, grades = task.qrels.rows_of(int(query)), task.qrels.grades_of(int(query))
        inside = np.flatnonzero((rows >= 0) & (grades > 0))
        if not len(inside):
            continue
        best = inside[int(np.argmax(grades[inside]))]
        row = int(rows[best])
        shown.append(
            {
                "query_id": task.queries.ids[int(query)],
                "query": task.queries.texts[int(query)],
                "document_id": task.corpus.ids[row],
                "document": task.corpus.texts[row],
                "grade": int(grades[best]),
            }
        )
        if len(shown) == EXAMPLES:
            break
    return shown
