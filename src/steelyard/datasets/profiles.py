"""Profiles of tasks: counts, lengths and a few examples, which `steelyard show` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from steelyard.types import Ragged, Task
from steelyard.types.samples import AnyTask, ClusterTask, Label, LabelTask, Levels, PairTask, SampleTask, SummaryTask

EXAMPLES = 3
DEPTH = 100


def profile(task: AnyTask) -> dict[str, Any]:
    """Return counts, lengths in characters, judgements, candidate lists and examples, JSON-ready.

    A task without documents has scores or labels instead (`sample_profile`).

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
    """Return lengths of the lists, and the share of all positives among the first `DEPTH` of each."""
    counts = lists.counts
    owner = np.repeat(np.arange(len(lists)), counts)
    early = np.arange(len(lists.rows)) - np.repeat(lists.offsets[:-1], counts) < DEPTH
    shown = owner[early] * len(task.corpus) + lists.rows[early]
    judged = np.repeat(np.arange(len(task.qrels)), task.qrels.counts) * len(task.corpus) + task.qrels.rows
    positive = judged[(task.qrels.grades > 0) & (task.qrels.rows >= 0)]
    total = int(task.qrels.positives.sum())
    return {
        "length": spread(counts),
        f"pooled_recall_at_{DEPTH}": round(float(np.isin(positive, shown).sum()) / total, 4) if total else None,
    }


def _examples(task: Task) -> list[dict[str, Any]]:
    """Return the first queries that have a positive, each with its best one."""
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


EXAMPLES = 3
SHOWN = 30
"""Labels with separate counts; rarer ones are counted together."""
VALUES = 12
"""Distinct scores with separate counts; more are put into bins."""


def sample_profile(task: SampleTask) -> dict[str, Any]:
    """Return counts, lengths in characters, scores or labels, and examples, JSON-ready.

    >>> from steelyard.types import TaskInfo
    >>> task = PairTask(TaskInfo("x/y", type="sts"), ("one", "two"), ("uno", "dos"), np.array([5.0, 4.5]))
    >>> sample_profile(task)["scores"]
    {'mean': 4.75, 'median': 4.75, 'min': 4.5, 'max': 5.0, 'counts': {'4.5': 1, '5': 1}}
    """
    if isinstance(task, PairTask):
        facts = _pairs(task)
    elif isinstance(task, LabelTask):
        facts = _labelled(task)
    elif isinstance(task, SummaryTask):
        facts = _summaries(task)
    else:
        facts = _clusters(task)
    return {**facts, "content_hash": task.content_hash}


def text_facts(texts: Sequence[str]) -> dict[str, Any]:
    """Return the number of texts, distinct and empty ones, and their lengths."""
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    empty = sum(not text.strip() for text in texts)
    return {"count": len(texts), "distinct": len(set(texts)), "empty": empty, "chars": spread(lengths)}


def spread(values: Any) -> dict[str, Any]:
    """Return mean, median and range of integers."""
    return {
        "mean": round(float(values.mean()), 2),
        "median": float(np.median(values)),
        "min": int(values.min()),
        "max": int(values.max()),
    }


def _pairs(task: PairTask) -> dict[str, Any]:
    gold = task.gold
    values, counts = np.unique(gold, return_counts=True)
    if len(values) <= VALUES:
        named = {f"{value:g}": int(count) for value, count in zip(values, counts, strict=True)}
    else:
        counts, edges = np.histogram(gold, bins=VALUES - 2)
        bins = zip(edges[:-1], edges[1:], counts, strict=True)
        named = {f"{low:.3g} to {high:.3g}": int(count) for low, high, count in bins}
    return {
        "pairs": len(task),
        "distinct_pairs": len(set(zip(task.first, task.second, strict=True))),
        "first": text_facts(task.first),
        "second": text_facts(task.second),
        "scores": {
            "mean": round(float(gold.mean()), 4),
            "median": float(np.median(gold)),
            "min": float(gold.min()),
            "max": float(gold.max()),
            "counts": named,
        },
        "examples": [
            {"first": first, "second": second, "score": float(score)}
            for first, second, score in zip(task.first, task.second, gold[:EXAMPLES], strict=False)
        ],
    }


def _labelled(task: LabelTask) -> dict[str, Any]:
    seen = set(task.train_texts)
    return {
        "texts": text_facts(task.texts),
        "train": text_facts(task.train_texts),
        "seen_in_training": sum(text in seen for text in task.texts),
        "labels": _counts(task.labels),
        "train_labels": _counts(task.train_labels),
        "samples_per_label": task.samples_per_label,
        "experiments": task.experiments,
        "examples": [
            {"text": text, "label": label}
            for text, label in zip(task.texts[:EXAMPLES], task.labels[:EXAMPLES], strict=True)
        ],
    }


def _summaries(task: SummaryTask) -> dict[str, Any]:
    human, machine = (list(chain.from_iterable(side)) for side in (task.human, task.machine))
    return {
        "summarised": len(task),
        "human": text_facts(human),
        "machine": text_facts(machine),
        "machine_per_text": spread(np.array([len(summaries) for summaries in task.machine])),
        "examples": [
            {"human": people[0], "machine": made[0], "score": scores[0]}
            for people, made, scores in zip(task.human, task.machine, task.gold[:EXAMPLES], strict=False)
        ],
    }


def _clusters(task: ClusterTask) -> dict[str, Any]:
    texts = list(chain.from_iterable(problem.texts for problem in task.problems))
    levels = list(chain.from_iterable(problem.labels for problem in task.problems))
    depth = max(problem.depth for problem in task.problems)
    deep = [[labels[level] for labels in levels if len(labels) > level] for level in range(depth)]
    return {
        "problems": len(task.problems),
        "texts": text_facts(texts),
        "texts_per_problem": spread(np.array([len(problem) for problem in task.problems])),
        "labels": _counts(deep[0]),
        "levels": [{"labelled": len(labels), "labels": len(set(labels))} for labels in deep],
        "bootstrap": None if task.bootstrap is None else vars(task.bootstrap),
        "examples": [
            {"text": text, "label": " > ".join(map(str, labels))}
            for text, labels in zip(texts[:EXAMPLES], levels[:EXAMPLES], strict=True)
        ],
    }


def _counts(labels: Iterable[Label | Levels]) -> dict[str, Any]:
    counted = Counter(labels).most_common()
    shown = {str(label): count for label, count in counted[:SHOWN]}
    rest = sum(count for _, count in counted[SHOWN:])
    return {"distinct": len(counted), "counts": shown, **({"others": rest} if rest else {})}
