"""Languages of a task that its dense model does not declare, by the card of the model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from steelyard.errors import UsageError
from steelyard.models.model_cards import Card, card, cards
from steelyard.reports.pages.diagnose.evidence import Bools, Evidence
from steelyard.reports.pages.measure.diagnosis_values import UndeclaredLanguages
from steelyard.reports.pages.measure.profile_scores import Measured, by_kind
from steelyard.spec import parse
from steelyard.text.language_id.detect import UNDECIDED
from steelyard.text.languages import canonical


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
        asked = evidence.reading.query_languages[query]
        sought = {evidence.reading.document_languages[row] for row in rows}
        odd = ({asked} if missing(asked) else set()) | (sought if sought and all(map(missing, sought)) else set())
        affected[query] = bool(odd)
        counts.update(odd)
    if not affected.any():
        return None, none
    others = ~affected
    means = {one.kind: float(one.ndcg[others].mean()) for one in measured} if others.any() else {}
    languages = {code: counts[code] for code in sorted(counts, key=lambda code: (-counts[code], code))}
    return UndeclaredLanguages(known.model, languages, int(affected.sum()), means), affected
