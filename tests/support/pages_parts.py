"""Small tasks with lists whose figures can be worked out by hand, for the tests of the pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.reports.pages import Profile
from steelyard.reports.pages.measure.page_inputs import Kind
from steelyard.types import Corpus, Qrels, Queries, Ragged, Run, Task, TaskInfo


def ranked_task(
    ranks: Mapping[Kind, Sequence[int]], *, documents: int = 60, name: str = "NanoToy/ranks", **info: Any
) -> tuple[Task, list[Profile]]:
    """A task with one positive for each query, which a profile puts at the rank given; 0: not in its list."""
    count = len(next(iter(ranks.values())))
    corpus = Corpus.of([f"d{i:03}" for i in range(documents)], [f"document number {i}" for i in range(documents)])
    queries = Queries(tuple(f"q{i:03}" for i in range(count)), tuple(f"what is query {i}?" for i in range(count)))
    qrels = Qrels.of(np.arange(count), np.zeros(count), np.ones(count), queries=count)
    task = Task(TaskInfo(name, language="en", languages=("en",), **info), corpus, queries, qrels)
    return task, [Profile(kind, f"{kind}-lists", run_with(places, documents)) for kind, places in ranks.items()]


def run_with(places: Sequence[int], documents: int) -> Run:
    """Lists of all documents but one, with row 0 at the place given."""
    rows = []
    for place in places:
        others = list(range(1, documents))
        if place:
            others.insert(place - 1, 0)
        rows.append(others[: documents - 1])
    depth = documents - 1
    return Run(np.array(rows, dtype=np.int32), np.tile(-np.arange(depth, dtype=np.float32), (len(places), 1)))


def as_lists(run: Run) -> Ragged:
    real = run.rows >= 0
    return Ragged(np.concatenate(([0], np.cumsum(real.sum(axis=1)))).astype(np.int64), run.rows[real])
