"""Queries that failed, by mode, with the document that was ranked first; and examples of the data."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from steelyard.reports.pages.measure.page_inputs import Kind
from steelyard.reports.pages.measure.part_values import Example, FailureExample, FailureMode, Text
from steelyard.reports.pages.measure.profile_scores import Measured, by_kind
from steelyard.reports.pages.thresholds import FOUND
from steelyard.types import Int64, Task

SHOWN = 2
"""Examples of each mode."""
CUT = 240
"""Characters of a text in an example of a failure."""
QUERY_CUT, DOCUMENT_CUT = 500, 1_000
"""Characters of a text in the example data."""
EXAMPLES = 3
SEED = 42
_NEVER = 10**9


def failures(task: Task, measured: Sequence[Measured]) -> tuple[FailureMode, ...]:
    """Return the four modes, if their profiles exist, with the clearest queries first."""
    profiles = by_kind(measured)
    if "bm25" not in profiles or "dense" not in profiles:
        return ()
    ranks = {kind: np.where(one.ranks > 0, one.ranks, _NEVER) for kind, one in profiles.items() if kind != "other"}
    judged = task.qrels.positives > 0
    hit = {kind: (values <= FOUND) & judged for kind, values in ranks.items()}
    bm25, dense = hit["bm25"], hit["dense"]
    modes: list[tuple[str, np.ndarray, Kind, Int64]] = [
        ("bm25_misses_dense_finds", ~bm25 & dense, "bm25", ranks["dense"] - ranks["bm25"]),
        ("dense_misses_bm25_finds", bm25 & ~dense, "dense", ranks["bm25"] - ranks["dense"]),
        ("both_miss", judged & ~bm25 & ~dense, "dense", -np.minimum(ranks["bm25"], ranks["dense"])),
    ]
    if "hybrid" in hit:
        lost = (bm25 | dense) & ~hit["hybrid"]
        best = np.minimum(ranks["bm25"], ranks["dense"])
        modes.append(("hybrid_loses", lost, "hybrid", best - ranks["hybrid"]))
    total = max(int(judged.sum()), 1)
    return tuple(
        FailureMode(
            mode,
            int(mask.sum()),
            float(mask.sum()) / total,
            tuple(failure_example(task, measured, winner, q) for q in _plainest(task, mask & judged, order)),
        )
        for mode, mask, winner, order in modes
    )


def _plainest(task: Task, mask: np.ndarray, order: Int64) -> list[int]:
    """Return the queries with the largest difference of ranks, ties by query id, with a relevant document to show."""
    chosen = sorted(np.flatnonzero(mask).tolist(), key=lambda q: (int(order[q]), task.queries.ids[q]))
    return [q for q in chosen if positive_row(task, q) >= 0][:SHOWN]


def positive_row(task: Task, query: int) -> int:
    """Return the row of the query's best relevant document in the corpus; -1 if there is none."""
    rows, grades = task.qrels.rows_of(query), task.qrels.grades_of(query)
    inside = np.where(rows >= 0, grades, 0)
    return int(rows[inside.argmax()]) if inside.max(initial=0) > 0 else -1


def failure_example(task: Task, measured: Sequence[Measured], winner: Kind, query: int) -> FailureExample:
    """Return a query with its ranks, the document that `winner` ranks first, and a relevant document."""
    run = by_kind(measured)[winner].profile.run
    top = int(run.rows[query, 0]) if run.depth else -1
    finders = [one for one in measured if one.ranks[query]]
    finder = min(finders, key=lambda one: int(one.ranks[query]), default=None)
    # Of several relevant documents, the one with the best rank in any profile.
    positive = int(finder.profile.run.rows[query, finder.ranks[query] - 1]) if finder else positive_row(task, query)
    return FailureExample(
        query_id=task.queries.ids[query],
        query=cut(task.queries.texts[query], CUT),
        ranks={one.kind: int(one.ranks[query]) or None for one in measured if one.kind != "other"},
        winner=winner,
        won_id=task.corpus.ids[top] if top >= 0 else None,
        won=cut(task.corpus.texts[top], CUT) if top >= 0 else None,
        positive_id=task.corpus.ids[positive],
        positive=cut(task.corpus.texts[positive], CUT),
    )


def cut(text: str, most: int) -> Text:
    """Return the text, truncated if it is longer, with its full length.

    >>> cut("one two", 5), cut("one", 5)
    (Text(text='one …', characters=7), Text(text='one', characters=3))
    """
    return Text(text if len(text) <= most else text[: most - 1] + "…", len(text))


def examples(task: Task) -> tuple[Example, ...]:
    """Return a seeded sample of queries with a relevant document in the corpus, in the order of their ids."""
    eligible = [q for q in np.flatnonzero(task.qrels.positives > 0).tolist() if positive_row(task, q) >= 0]
    ordered = sorted(eligible, key=task.queries.ids.__getitem__)
    drawn = random.Random(SEED).sample(ordered, min(EXAMPLES, len(ordered)))
    return tuple(
        Example(
            task.queries.ids[q],
            cut(task.queries.texts[q], QUERY_CUT),
            task.corpus.ids[row := positive_row(task, q)],
            cut(task.corpus.texts[row], DOCUMENT_CUT),
        )
        for q in drawn
    )
