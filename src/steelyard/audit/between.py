"""Evaluation sets against each other: which share queries or documents, as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.audit.evaluation_side import PARTS, EvaluationSide, collect
from steelyard.audit.kept_apart import LEAST
from steelyard.audit.lexical.containment import long_enough
from steelyard.audit.lexical.near_duplicates import NearIndex
from steelyard.audit.lexical.normal_form import Bools, batches, tokenise
from steelyard.audit.lexical.shingles import Windows
from steelyard.types import Float64, Int64
from steelyard.types.samples import AnyTask

SIDES = {"queries": ("queries", "first", "second", "texts"), "documents": ("positives", "documents")}
"""What the two matrices compare: queries or samples, and documents."""
DUPLICATE = 0.9
SHARED = 0.1
KINDS = {
    "duplicate tasks": "at least 90% of the queries of both are in the other",
    "shared queries": "at least 10% of the queries of one are in the other",
    "shared corpora": "at least 10% of the documents of one are in the other",
}


@dataclass(frozen=True, eq=False)
class BetweenAudit:
    """Shares of each task's texts that are in each other task: `matrices["queries"][row][column]` of the row's."""

    tasks: tuple[str, ...]
    counts: dict[str, Int64]
    """How many texts of each task are compared, by side; texts of a few words are left out."""
    exact: dict[str, Float64]
    near: dict[str, Float64]
    """The share of texts with an equal, or a near-duplicate or equal, text in the other task."""

    def overlaps(self) -> list[dict[str, Any]]:
        """Return the pairs of tasks that overlap, with the kind of overlap."""
        rows = []
        for row in range(len(self.tasks)):
            for column in range(row + 1, len(self.tasks)):
                shares = {side: (self.near[side][row, column], self.near[side][column, row]) for side in SIDES}
                kinds = []
                if min(shares["queries"]) >= DUPLICATE:
                    kinds.append("duplicate tasks")
                elif max(shares["queries"]) >= SHARED:
                    kinds.append("shared queries")
                if max(shares["documents"]) >= SHARED:
                    kinds.append("shared corpora")
                if kinds:
                    pair = {"first": self.tasks[row], "second": self.tasks[column], "kinds": kinds}
                    sides = {side: [float(share) for share in both] for side, both in shares.items()}
                    rows.append(pair | sides)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return the matrices as JSON-ready values."""
        return {
            "tasks": list(self.tasks),
            "counts": {side: counts.tolist() for side, counts in self.counts.items()},
            "exact": {side: matrix.tolist() for side, matrix in self.exact.items()},
            "near": {side: matrix.tolist() for side, matrix in self.near.items()},
            "overlaps": self.overlaps(),
        }


def between(tasks: Sequence[AnyTask], *, jaccard: float = 0.7) -> BetweenAudit:
    """Compare evaluation sets with each other."""
    side = collect(tasks, tuple(PARTS))
    names = tuple(task.name for task in tasks)
    counts, exact, near = {}, {}, {}
    neighbours = _neighbours(side, jaccard)
    enough = _long_enough(side)
    for name, parts in SIDES.items():
        has = np.zeros((len(names), len(side.texts)), dtype=np.bool_)
        for part in side.parts:
            if part.name in parts:
                has[names.index(part.task), part.texts] = True
        has &= enough
        also_near = has.copy()
        for row in range(len(names)):
            also_near[row, neighbours[has[row, neighbours[:, 1]], 0]] = True
        counts[name] = has.sum(axis=1)
        exact[name], near[name] = _shares(has, has), _shares(has, also_near)
    return BetweenAudit(names, counts, exact, near)


def _shares(has: Bools, covered: Bools) -> Float64:
    """Return the share of each task's texts that each task covers."""
    shared = has.astype(np.float32) @ covered.astype(np.float32).T
    return np.asarray(shared / np.maximum(has.sum(axis=1), 1)[:, None], dtype=np.float64)


def _neighbours(side: EvaluationSide, jaccard: float) -> Int64:
    """Return all pairs of different texts that are near-duplicates, in both directions, as two columns."""
    index = NearIndex(side, jaccard)
    pairs = [np.zeros((0, 2), dtype=np.int64)]
    for part in batches(side.texts):
        hits = index.search(Windows(tokenise(side.texts[part])))
        columns = np.column_stack((hits.rows + part.start, hits.texts))
        pairs.append(columns[columns[:, 0] != columns[:, 1]])
    return np.concatenate(pairs)


def _long_enough(side: EvaluationSide) -> Bools:
    parts = [np.zeros(0, dtype=np.bool_)]
    parts += [long_enough(Windows(tokens), LEAST) for tokens in side.token_batches()]
    return np.concatenate(parts)
