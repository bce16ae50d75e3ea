"""Matches that say little: texts of a word or two, boilerplate, and templates. They are counted, but apart.

Precision matters as much as recall: in one public audit 88 of 114 flagged sources were false. A text that is kept
apart is in no rate and changes no verdict; the report lists it with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steelyard.audit.evaluation_side import EvaluationSide
from steelyard.audit.lexical.containment import long_enough
from steelyard.audit.lexical.matcher import EXACT, NEAR_DUPLICATE
from steelyard.audit.lexical.near_duplicates import NearIndex
from steelyard.audit.lexical.normal_form import Bools, tokenise
from steelyard.audit.lexical.shingles import Length, Windows
from steelyard.audit.match_log import MatchLog

REASONS: Mapping[str, str] = {
    "empty": "no letters or digits: nothing to compare",
    "short": "fewer than 4 words (8 characters in scripts without spaces): found by chance",
    "boilerplate": "used by at least 5 items of the evaluation sets, or found in more than 100 training rows",
    "template": "at least 3 other texts of the evaluation sets are as similar to it as the training text is",
}
LEAST = Length(words=4, characters=8)
"""Tokens of a text whose exact match counts."""
MOST_USES = 4
MOST_ROWS = 100
SIBLINGS = 3


def kept_apart(side: EvaluationSide, log: MatchLog, jaccard: float) -> dict[int, str]:
    """Return the reason for every evaluation text that has matches but is kept apart."""
    matched = sorted({text for text, _ in log.totals})
    reasons: dict[int, str] = {}
    rows_of: dict[int, int] = {}
    for (text, _), total in log.totals.items():
        rows_of[text] = max(rows_of.get(text, 0), total)
    enough = dict(zip(matched, _long_enough(side, matched).tolist(), strict=True))
    for text in matched:
        if side.lengths[text] == 0:
            reasons[text] = "empty"
        elif not enough[text]:
            reasons[text] = "short"
        elif side.uses[text] > MOST_USES or rows_of[text] > MOST_ROWS:
            reasons[text] = "boilerplate"
    best = {
        text: log.evidence[text, NEAR_DUPLICATE][0].score
        for text in matched
        if text not in reasons and (text, NEAR_DUPLICATE) in log.evidence and (text, EXACT) not in log.evidence
    }
    return reasons | dict.fromkeys(_templates(side, best, jaccard), "template")


def _long_enough(side: EvaluationSide, texts: list[int]) -> Bools:
    return long_enough(Windows(tokenise([side.texts[text] for text in texts])), LEAST)


def _templates(side: EvaluationSide, best: Mapping[int, float], jaccard: float) -> list[int]:
    """Return the texts that have several others of the evaluation side as near as the best training text is."""
    if not best:
        return []
    texts = np.fromiter(best, dtype=np.int64)
    hits = NearIndex(side, jaccard).search(Windows(tokenise([side.texts[text] for text in texts.tolist()])))
    scores = np.array([best[text] for text in texts.tolist()])
    as_near = (hits.texts != texts[hits.rows]) & (hits.scores >= scores[hits.rows] - 1e-6)
    siblings = np.bincount(hits.rows[as_near], minlength=len(texts))
    return [int(text) for text in texts[siblings >= SIBLINGS]]
