"""Relevant documents in the language of their query against those in another language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from steelyard import stats
from steelyard.reports.pages.diagnose.evidence import Bools, Evidence
from steelyard.reports.pages.diagnose.failure_classes import Ranking
from steelyard.reports.pages.measure.diagnosis_values import Relation
from steelyard.reports.pages.measure.page_inputs import SAFEGUARD_DEPTH, Kind
from steelyard.reports.pages.measure.significance import randomisation, welch
from steelyard.reports.pages.thresholds import FEW, FEWEST, FOUND
from steelyard.stats.corrections import holm
from steelyard.text.language_id.detect import UNDECIDED
from steelyard.types import Float64, Int64


def relations(evidence: Evidence, rankings: Sequence[Ranking]) -> tuple[tuple[Relation, ...], Mapping[Kind, float]]:
    """Return both relations if the task has them, and p-values of their difference by profile."""
    reading = evidence.reading
    asked = np.array(reading.query_languages)[reading.pair_queries]
    sought = np.array(reading.document_languages)[reading.pair_rows]
    known = (asked != UNDECIDED) & (sought != UNDECIDED)
    same, cross = known & (asked == sought), known & (asked != sought)
    sizes = [len(np.unique(reading.pair_queries[mask])) for mask in (same, cross)]
    if min(sizes) < FEW:
        return (), {}
    # Queries in languages that a model does not declare are left out of its shares.
    usable = {ranking.kind: ranking.judged[reading.pair_queries] for ranking in rankings}
    chosen = [one for one in rankings if all((usable[one.kind] & mask).any() for mask in (same, cross))]
    ranks = {ranking.kind: pair_ranks(evidence, ranking) for ranking in chosen}
    parts = tuple(_relation(evidence, label, mask, ranks, usable) for label, mask in (("same", same), ("cross", cross)))
    raw: dict[Kind, float] = {}
    if min(sizes) >= FEWEST:
        for kind, best in ranks.items():
            one, other = (_shares(evidence, mask & usable[kind], best, FOUND) for mask in (same, cross))
            p = _test(one, other)
            raw |= {} if p is None else {kind: p}
    return parts, dict(zip(raw, holm(list(raw.values())).tolist(), strict=True))


def pair_ranks(evidence: Evidence, ranking: Ranking) -> Int64:
    """Return the rank of the relevant document of every pair in the list of its query; 0 if it is not there."""
    run = ranking.measured.profile.run.rows
    ranks = np.zeros(len(evidence.reading.pair_rows), dtype=np.int64)
    for query, listed in enumerate(run.tolist()):
        place = {row: rank for rank, row in enumerate(listed, 1) if row >= 0}
        first, last = np.searchsorted(evidence.reading.pair_queries, [query, query + 1])
        for pair in range(first, last):
            ranks[pair] = place.get(int(evidence.reading.pair_rows[pair]), 0)
    return ranks


def _relation(
    evidence: Evidence, label: str, mask: Bools, ranks: Mapping[Kind, Int64], usable: Mapping[Kind, Bools]
) -> Relation:
    shares = {kind: _shares(evidence, mask & usable[kind], best, FOUND) for kind, best in ranks.items()}
    known = {kind: values[~np.isnan(values)] for kind, values in shares.items()}
    deep = {kind: _shares(evidence, mask & usable[kind], best, SAFEGUARD_DEPTH) for kind, best in ranks.items()}
    return Relation(
        label,
        int(mask.sum()),
        len(np.unique(evidence.reading.pair_queries[mask])),
        {kind: float(values.mean()) for kind, values in known.items()},
        {kind: stats.mean_interval(values) for kind, values in known.items()},
        {kind: float(np.nanmean(values)) for kind, values in deep.items()},
    )


def _shares(evidence: Evidence, mask: Bools, ranks: Int64, depth: int) -> Float64:
    """Return the share of every query's chosen relevant documents in the top of its list; NaN without any."""
    queries = evidence.reading.pair_queries
    count = len(evidence.task.queries)
    total = np.bincount(queries[mask], minlength=count).astype(float)
    hits = np.bincount(queries[mask & (ranks > 0) & (ranks <= depth)], minlength=count)
    return np.where(total > 0, hits / np.maximum(total, 1), np.nan)


def _test(same: Float64, cross: Float64) -> float | None:
    """Return the p-value: paired where queries have both relations, else of two samples."""
    both = ~np.isnan(same) & ~np.isnan(cross)
    if both.sum() >= FEWEST:
        return randomisation([(same - cross)[both]])[0]
    return welch(same[~np.isnan(same)], cross[~np.isnan(cross)])
