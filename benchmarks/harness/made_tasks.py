"""Tasks with vectors given, of the sizes that such tasks have: the input of rows 2 and 12."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

TOPICS = 15
WORDS = ("the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "while", "rivers", "run", "to", "seas")


def texts(kind: str, count: int) -> list[str]:
    return [f"{kind} {n % TOPICS} {' '.join(WORDS[(n + i) % len(WORDS)] for i in range(24))} {n}" for n in range(count)]


def vectors_for(some: Sequence[str], dimension: int) -> dict[str, np.ndarray]:
    """Return random vectors that lie around the topic of their text."""
    draw = np.random.default_rng(0)
    centres = draw.standard_normal((TOPICS, dimension)).astype(np.float32)
    noise = draw.standard_normal((len(some), dimension)).astype(np.float32)
    topic = np.array([int(text.split()[1]) for text in some])
    return dict(zip(some, centres[topic] + 2 * noise, strict=True))


def retrieval(documents: int, queries: int, candidates: int = 0, highest: int = 2) -> Any:
    """Return a task with five judged documents for each query, graded from 1 to `highest`."""
    from steelyard.types import Corpus, Qrels, Queries, Ragged, Task, TaskInfo

    draw = np.random.default_rng(1)
    corpus = Corpus.of([f"d{n:07}" for n in range(documents)], texts("document", documents))
    asked = Queries(tuple(f"q{n:05}" for n in range(queries)), tuple(texts("query", queries)))
    judged = np.concatenate([draw.choice(documents, 5, replace=False) for _ in range(queries)])
    info = TaskInfo("Made/retrieval", language="en")
    lists = {}
    if candidates:
        info = replace(info, name="Made/reranking", type="reranking", main_metric="map_at_1000")
        others = [draw.choice(documents, candidates - 5, replace=False) for _ in range(queries)]
        rows = [np.unique(np.append(judged[5 * q : 5 * q + 5], others[q])) for q in range(queries)]
        offsets = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
        lists["top_ranked"] = Ragged(offsets, np.concatenate(rows).astype(np.int32))
    grades = draw.integers(1, highest + 1, len(judged))
    return Task(info, corpus, asked, Qrels.of(np.repeat(np.arange(queries), 5), judged, grades, queries=queries), lists)


def task_of(kind: str, divisor: int = 1) -> Any:
    """Return a task of a type, smaller by a divisor."""
    from steelyard.types import TaskInfo
    from steelyard.types.samples import Bootstrap, ClusterTask, LabelTask, PairTask, Problem

    if kind in ("retrieval", "reranking"):
        return retrieval(10_000 // divisor, 200 // divisor, 100 // divisor if kind == "reranking" else 0)
    draw = np.random.default_rng(2)
    pairs = 5_000 // divisor
    first, second = tuple(texts("left", pairs)), tuple(texts("right", pairs))
    if kind == "sts":
        return PairTask(TaskInfo("Made/sts", type="sts"), first, second, draw.integers(0, 11, pairs) / 2)
    if kind == "pair_classification":
        gold = draw.integers(0, 2, pairs).astype(float)
        return PairTask(TaskInfo("Made/pairs", type="pair_classification"), first, second, gold)
    if kind == "classification":
        train, test = tuple(texts("train", 6_000 // divisor)), tuple(texts("test", 4_000 // divisor))
        labels = [tuple(int(text.split()[1]) for text in some) for some in (train, test)]
        info = TaskInfo("Made/classification", type="classification")
        return LabelTask(info, train, labels[0], test, labels[1], samples_per_label=32 // min(divisor, 4))
    info = TaskInfo("Made/clustering", type="clustering")
    points = texts("point", 4_000 // divisor)
    if kind == "clustering":
        parts = [points[start::4] for start in range(4)]
        return ClusterTask(info, tuple(Problem(tuple(p), tuple((int(t.split()[1]),) for t in p)) for p in parts))
    whole = Problem(tuple(points), tuple((int(text.split()[1]),) for text in points))
    return ClusterTask(
        replace(info, name="Made/sampled"), (whole,), Bootstrap(documents=2048 // divisor, size=2048 // divisor)
    )


def table_of(task: Any) -> dict[str, np.ndarray]:
    """Return the vectors of all texts; a query's lies among those of its documents."""
    from steelyard.tasks import texts_of
    from steelyard.types import Task
    from steelyard.types.samples import ClusterTask, LabelTask

    if isinstance(task, LabelTask):
        return vectors_for([*task.train_texts, *task.texts], 256)
    if isinstance(task, ClusterTask):
        return vectors_for([text for problem in task.problems for text in problem.texts], 256)
    if not isinstance(task, Task):
        return vectors_for(texts_of(task), 384)
    vectors = vectors_for([*task.corpus.texts, *task.queries.texts], 384)
    for number, query in enumerate(task.queries.texts):
        near = [vectors[task.corpus.texts[row]] for row in task.qrels.rows_of(number)]
        vectors[query] = np.mean(near, axis=0) + 0.3 * vectors[query]
    return vectors


class Lookup:
    """Vectors by text: the model of both sides."""

    def __init__(self, vectors: dict[str, np.ndarray]) -> None:
        self.vectors = vectors

    def __call__(self, some: Sequence[str]) -> np.ndarray:
        return np.stack([self.vectors[text] for text in some])
