"""The tasks of parity/mteb/tasks, with the vectors of their texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.types import Corpus, Float32, Qrels, Queries, Ragged, Task, TaskInfo
from steelyard.types.samples import Bootstrap, ClusterTask, LabelTask, PairTask, Problem, SampleTask

FOLDER = Path(__file__).parents[1] / "parity" / "mteb" / "tasks"
VERSIONS = {"mteb-1.14": "1.14.15", "mteb-2.26": "2.26.24"}


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def expected(profile: str) -> dict[str, Any]:
    return dict(json.loads((FOLDER / f"expected_{VERSIONS[profile]}.json").read_text(encoding="utf-8")))


ROW_OF = {line["text"]: row for row, line in enumerate(rows("texts"))}
VECTORS: Float32 = np.load(FOLDER / "embeddings_minilm.npy").astype(np.float32)


def vectors_of(texts: Sequence[str]) -> Float32:
    return VECTORS[[ROW_OF[text.strip()] for text in texts]]


def pairs(name: str, type: str, gold: str) -> PairTask:
    found = rows(name)
    first, second = (tuple(line[side] for line in found) for side in ("sentence1", "sentence2"))
    return PairTask(TaskInfo(f"Fixture/{name}", type=type), first, second, np.array([float(x[gold]) for x in found]))


def labels(name: str) -> LabelTask:
    train, test = rows(f"{name}_train"), rows(f"{name}_test")
    columns = (tuple(line[part] for line in side) for side in (train, test) for part in ("text", "label"))
    return LabelTask(TaskInfo(f"Fixture/{name}", type="classification"), *columns)


def _levels(label: Any) -> tuple[Any, ...]:
    return tuple(label) if isinstance(label, list) else (label,)


def clusters(name: str, bootstrap: Bootstrap | None = None) -> ClusterTask:
    found = rows(name)
    if bootstrap is None:
        problems = tuple(Problem(tuple(x["sentences"]), tuple(map(_levels, x["labels"]))) for x in found)
    else:
        texts, levels = (x["sentences"] for x in found), (_levels(x["labels"]) for x in found)
        problems = (Problem(tuple(texts), tuple(levels)),)
    return ClusterTask(TaskInfo(f"Fixture/{name}", type="clustering"), problems, bootstrap)


def sample_tasks() -> dict[str, SampleTask]:
    return {
        "FixtureSTS": pairs("sts", "sts", "score"),
        "FixturePairClassification": pairs("pair_classification", "pair_classification", "labels"),
        "FixtureClassification": labels("classification"),
        "FixtureBinaryClassification": labels("binary"),
        "FixtureClusteringLegacy": clusters("clustering_legacy"),
        "FixtureClusteringFast": clusters("clustering_fast", Bootstrap(documents=0.8, size=512)),
        "FixtureClusteringHier": clusters("clustering_hier", Bootstrap(documents=None, size=300, rounds=4)),
    }


def reranking() -> Task:
    """As mteb turns rows into documents: those without positives or negatives go, the others are numbered."""
    kept = [row for row in rows("reranking_v1") if row["positive"] and row["negative"]]
    judged: list[tuple[int, str, str, int]] = []
    for number, row in enumerate(kept):
        for kind, prefix in (("positive", "apositive"), ("negative", "negative")):
            for place, text in enumerate(row[kind]):
                judged.append((number, f"{prefix}_test_query{number}_{place:05d}", text, int(kind == "positive")))
    corpus = Corpus.of([id_ for _, id_, _, _ in judged], [text for _, _, text, _ in judged])
    queries = Queries(tuple(f"test_query{i}" for i in range(len(kept))), tuple(row["query"] for row in kept))
    query, row_of = [query for query, *_ in judged], [corpus.row_of[id_] for _, id_, *_ in judged]
    offsets = np.concatenate(([0], np.cumsum(np.bincount(query))))
    return Task(
        TaskInfo("Fixture/reranking", type="reranking"),
        corpus,
        queries,
        Qrels.of(query, row_of, [grade for *_, grade in judged], queries=len(kept)),
        {"top_ranked": Ragged(offsets, np.array(row_of, dtype=np.int32))},
    )
