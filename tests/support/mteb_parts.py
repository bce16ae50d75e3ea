"""Small tasks of all types, and a model that looks its vectors up: what both mteb and we can be asked about."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from steelyard.encoders.backends.function import from_function
from steelyard.retrievers.dense import DenseRetriever
from steelyard.types import Corpus, Float32, Qrels, Queries, Ragged, Task, TaskInfo
from steelyard.types.samples import AnyTask, Bootstrap, ClusterTask, LabelTask, PairTask, Problem, SummaryTask

DIMENSION = 24
TOPICS = 6


def vectors_of(texts: Sequence[str]) -> Float32:
    """A vector that depends on the text alone: near its topic's, which is the number after the first word."""
    found = []
    for text in texts:
        noise = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(DIMENSION)
        words = text.split()
        topic = int(words[1]) if len(words) > 1 and words[1].isdigit() else 0
        found.append(np.random.default_rng(topic).standard_normal(DIMENSION) + 1.3 * noise)
    return np.array(found, dtype=np.float32)


def lookup(similarity: str = "cosine") -> DenseRetriever:
    """A dense model of ours whose vectors cost nothing."""
    return DenseRetriever("dense:lookup", from_function(vectors_of, "lookup", similarity=similarity))


def texts(kind: str, count: int) -> list[str]:
    return [f"{kind} {number % TOPICS} number {number}" for number in range(count)]


def retrieval(documents: int = 300, queries: int = 40, name: str = "retrieval", **facts: object) -> Task:
    """Graded judgements, equal documents, one judged document outside the corpus."""
    draw = np.random.default_rng(1)
    bodies = texts("document", documents - 2)
    bodies += bodies[:2]
    ids = [f"d{number}" for number in range(documents)]
    corpus = Corpus.of(ids, bodies, [("title" if number % 3 == 0 else "") for number in range(documents)])
    asked = Queries(tuple(f"q{n}" for n in range(queries)), tuple(texts("query", queries)))
    query = np.repeat(np.arange(queries), 8)
    document = np.concatenate([draw.choice(documents, 8, replace=False) for _ in range(queries)])
    document[3] = -1
    lists = np.concatenate([draw.choice(documents, 30, replace=False) for _ in range(queries)]).astype(np.int32)
    return Task(
        TaskInfo(f"Small/{name}", language="en", languages=("en",), **facts),  # type: ignore[arg-type]
        corpus,
        asked,
        Qrels.of(query, document, draw.integers(0, 4, len(query)), queries=queries),
        {"lists": Ragged(np.arange(0, len(lists) + 1, 30), lists)},
    )


def reranking() -> Task:
    return retrieval(name="reranking", type="reranking", main_metric="map_at_1000")


def sts() -> PairTask:
    first, second = texts("left", 90), texts("right", 90)
    second[40:60] = texts("right", 20)[::-1]
    gold = np.random.default_rng(2).integers(0, 11, 90) / 2 + np.arange(90) % 3
    return PairTask(TaskInfo("Small/sts", type="sts", language="zh"), tuple(first), tuple(second), gold)


def pairs() -> PairTask:
    draw = np.random.default_rng(3)
    first = texts("left", 120)
    second = [f"right {int(topic)} number {n}" for n, topic in enumerate(draw.integers(0, TOPICS, 120))]
    gold = np.array([a.split()[1] == b.split()[1] for a, b in zip(first, second, strict=True)], dtype=float)
    gold[:20] = 1 - gold[:20]
    info = TaskInfo("Small/pairs", type="pair_classification", split="validation")
    return PairTask(info, tuple(first), tuple(second), gold)


def labels(classes: int = TOPICS) -> LabelTask:
    train, test = texts("train", 240), texts("test", 120)

    def label(text: str) -> int:
        return int(text.split()[1]) % classes

    info = TaskInfo(f"Small/labels{classes}", type="classification")
    train_labels, test_labels = tuple(map(label, train)), tuple(map(label, test))
    return LabelTask(info, tuple(train), train_labels, tuple(test), test_labels, samples_per_label=5, experiments=4)


def clusters() -> ClusterTask:
    problems = []
    for number in range(3):
        some = tuple(f"point {n % TOPICS} of {number} {n}" for n in range(80))
        problems.append(Problem(some, tuple((n % TOPICS,) for n in range(80))))
    return ClusterTask(TaskInfo("Small/clusters", type="clustering"), tuple(problems))


def sampled_clusters(levels: int = 1, stratified: int | None = None) -> ClusterTask:
    some = tuple(texts("point", 400))
    names = tuple((f"topic {n % 3}", f"part {n % TOPICS}")[:levels] for n in range(400))
    how = Bootstrap(documents=150 if stratified else 0.5, stratified=stratified, size=200, rounds=3)
    info = TaskInfo(f"Small/sampled{levels}{stratified or ''}", type="clustering")
    return ClusterTask(info, (Problem(some, names),), how)


def bitext(name: str = "bitext") -> PairTask:
    """Sentences whose translations are near them or not, and one translation that comes twice."""
    first = [f"left {n % 45} number {n}" for n in range(90)]
    second = [f"right {n % 45} number {n}" for n in range(90)]
    second[7] = second[3]
    return PairTask(TaskInfo(f"Small/{name}", type="bitext_mining"), tuple(first), tuple(second), np.ones(90))


def multilabel() -> LabelTask:
    """One to three labels per text; one training label that no test text has; one text without labels."""
    train, test = texts("train", 150), texts("test", 70)

    def several(text: str) -> tuple[int, ...]:
        topic, number = int(text.split()[1]), int(text.split()[-1])
        return tuple(sorted({topic, (topic + number % 3) % TOPICS}))

    train_labels = [*map(several, train)]
    train_labels[4] = (*train_labels[4], 99)
    test_labels = [*map(several, test)]
    test_labels[5] = ()
    info = TaskInfo("Small/multilabel", type="multilabel_classification")
    return LabelTask(info, tuple(train), tuple(train_labels), tuple(test), tuple(test_labels), 6, 4)


def summaries(with_p_values: bool = False) -> SummaryTask:
    """Some equal summaries, and a text whose scores are all equal."""
    draw = np.random.default_rng(5)
    human = tuple(tuple(texts(f"human{row}", 4 + row % 2)) for row in range(12))
    machine = [tuple(texts(f"machine{row}", 7)) for row in range(12)]
    machine[2] = (*machine[2][:5], machine[2][0], machine[2][0])
    gold = [tuple((draw.integers(1, 16, 7) / 3).tolist()) for _ in range(12)]
    gold[8] = (2.0,) * 7
    info = TaskInfo(f"Small/summaries{' with p' * with_p_values}", type="summarization")
    return SummaryTask(info, human, tuple(machine), tuple(gold), with_p_values)


def instructed() -> Task:
    """Every query twice, with an instruction and with a changed one, which makes some documents irrelevant."""
    task = retrieval(name="instructed", type="instruction_reranking", main_metric="p-MRR")
    ids = tuple(f"q{n // 2}-{'changed' if n % 2 else 'og'}" for n in range(40))
    lists = [list(task.candidates["lists"].rows_of(n - n % 2)) for n in range(40)]
    changed = [lists[n][: n % 3 + 1] if n % 2 and n != 7 else [] for n in range(40)]
    rows = {"top_ranked": lists, "qrel_diff": changed}
    candidates = {
        name: Ragged(
            np.cumsum([0, *map(len, parts)]), np.array([row for part in parts for row in part], dtype=np.int32)
        )
        for name, parts in rows.items()
    }
    return Task(task.info, task.corpus, Queries(ids, task.queries.texts), task.qrels, candidates)


def reworded() -> Task:
    """Every query with four instructions."""
    task = retrieval(name="reworded", type="instruction_retrieval", main_metric="robustness_at_10")
    ids = tuple(f"q{n // 4}_{n % 4}" for n in range(40))
    return Task(task.info, task.corpus, Queries(ids, task.queries.texts), task.qrels)


def all_types() -> list[AnyTask]:
    return [
        *(retrieval(), reranking(), sts(), pairs(), labels(), labels(2), clusters(), sampled_clusters()),
        *(sampled_clusters(2), sampled_clusters(1, 200)),
        *(bitext(), multilabel(), summaries(), summaries(with_p_values=True), instructed(), reworded()),
    ]


def assert_same(ours: Any, other: Any, where: str, tolerance: float) -> None:
    if isinstance(ours, dict):
        assert set(ours) == set(other), where
        for key in ours:
            assert_same(ours[key], other[key], f"{where} {key}", tolerance)
    elif isinstance(ours, list):
        assert len(ours) == len(other), where
        for place, (a, b) in enumerate(zip(ours, other, strict=True)):
            assert_same(a, b, f"{where} {place}", tolerance)
    elif ours is None:
        assert other is None or math.isnan(other), where
    else:
        assert ours == pytest.approx(other, abs=tolerance), where
