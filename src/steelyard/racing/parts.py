"""Tasks divided into parts: batches of queries with their documents, so that a round encodes only some of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from steelyard.engine.limit import with_documents, with_queries
from steelyard.types import Int64, Task

FEWEST_QUERIES = 5
FEWEST_DOCUMENTS = 1_000
"""Documents that a part has at least, if the corpus has as many: among a few, every model finds everything."""


@dataclass(frozen=True, eq=False)
class Parts:
    """A task and the queries and documents of each of its parts."""

    task: Task
    queries: tuple[Int64, ...]
    documents: tuple[Int64, ...]

    def __len__(self) -> int:
        return len(self.queries)

    def part(self, number: int) -> Task:
        """Return one part as a task of its own."""
        if len(self) == 1:
            return self.task
        info = replace(self.task.info, name=f"{self.task.name}#{number + 1}-of-{len(self)}")
        smaller = with_documents(with_queries(self.task, self.queries[number]), self.documents[number])
        return replace(smaller, info=info)


def divide(task: Task, parts: int, seed: int = 0) -> Parts:
    """Divide a task into at most so many parts of at least 5 queries, drawn by the seed.

    A part has every document that is judged or a candidate for one of its queries, and a share of the others: each
    document is in one part, or in several where parts would have fewer than 1,000.
    """
    count = max(1, min(parts, len(task.queries) // FEWEST_QUERIES))
    generator = np.random.default_rng([seed, 3])
    queries = [np.sort(part) for part in np.array_split(generator.permutation(len(task.queries)), count)]
    order = generator.permutation(len(task.corpus))
    size = max(-(-len(order) // count), min(FEWEST_DOCUMENTS, len(order)))
    documents = []
    for number, own in enumerate(queries):
        start = number * len(order) // count
        share = order[np.arange(start, start + size) % len(order)]
        chosen = np.zeros(len(task.corpus), dtype=bool)
        chosen[share] = True
        for lists in (task.qrels, *task.candidates.values()):
            for query in own.tolist():
                rows = lists.rows_of(query)
                chosen[rows[rows >= 0]] = True
        documents.append(np.flatnonzero(chosen))
    return Parts(task, tuple(queries), tuple(documents))
