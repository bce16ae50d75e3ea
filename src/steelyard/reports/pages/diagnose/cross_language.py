"""How languages affect a ranking: documents in another language, and those that the dense model does not declare."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from steelyard import stats
from steelyard.errors import UsageError
from steelyard.models.model_cards import Card, card, cards
from steelyard.reports.pages.diagnose.evidence import Bools, Evidence
from steelyard.reports.pages.diagnose.failure_classes import Ranking
from steelyard.reports.pages.measure.diagnosis_values import Relation, UndeclaredLanguages
from steelyard.reports.pages.measure.page_inputs import SAFEGUARD_DEPTH, Kind
from steelyard.reports.pages.measure.profile_scores import Measured, by_kind
from steelyard.reports.pages.measure.significance import randomisation, welch
from steelyard.reports.pages.thresholds import FEW, FEWEST, FOUND
from steelyard.spec import parse
from steelyard.stats.corrections import holm
from steelyard.text.language_id.detect import UNDECIDED
from steelyard.text.languages import canonical
from steelyard.types import Float64, Int64


def relations(evidence: Evidence, rankings: Sequence[Ranking]) -> tuple[tuple[Relation, ...], Mapping[Kind, float]]:
    """Return both relations if the task has them, and p-values of their difference by profile."""
    reading = evidence.reading
    query_languages = np.array(reading.query_languages)[reading.pair_queries]
    sought = np.array(reading.document_languages)[reading.pair_rows]
    known = (query_languages != UNDECIDED) & (sought != UNDECIDED)
    same, cross = known & (query_languages == sought), known & (query_languages != sought)
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


def card_of(config: str) -> Card | None:
    """Return the card of a dense profile: of a model's name, or of stored lists that are named after a model.

    >>> card_of("dense:use-multilingual-v3").dimension, card_of("bge_m3").model, card_of("my lists")
    (512, 'BAAI/bge-m3', None)
    """
    try:
        known = card(parse(config).id)
    except UsageError:  # the name of lists, not of a model
        known = None
    if known is not None:
        return known
    wanted = _letters(config)
    dense = [one for one in cards().values() if one.family == "dense"]
    named = [one for one in dense if _letters(one.model.rpartition("/")[2]) == wanted]
    return named[0] if len(named) == 1 else None


def _letters(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())


def undeclared(evidence: Evidence, measured: Sequence[Measured]) -> tuple[UndeclaredLanguages | None, Bools]:
    """Return the languages that the dense model does not declare, and the queries that are affected.

    A query is affected if its own language is not declared, or those of all its relevant documents are not.
    """
    none: Bools = np.zeros(len(evidence.task.queries), dtype=bool)
    dense = by_kind(measured).get("dense")
    known = card_of(dense.profile.config) if dense else None
    if known is None or not known.languages:
        return None, none
    declared = {canonical(code) for code in known.languages}

    def missing(code: str) -> bool:
        return code != UNDECIDED and code not in declared and "*" not in declared

    counts: Counter[str] = Counter()
    affected = none.copy()
    for query, rows in enumerate(evidence.positives):
        language = evidence.reading.query_languages[query]
        sought = {evidence.reading.document_languages[row] for row in rows}
        odd = ({language} if missing(language) else set()) | (sought if sought and all(map(missing, sought)) else set())
        affected[query] = bool(odd)
        counts.update(odd)
    if not affected.any():
        return None, none
    others = ~affected
    means = {one.kind: float(one.ndcg[others].mean()) for one in measured} if others.any() else {}
    languages = {code: counts[code] for code in sorted(counts, key=lambda code: (-counts[code], code))}
    return UndeclaredLanguages(known.model, languages, int(affected.sum()), means), affected
