"""Matches that say little: texts of a word or two, boilerplate, and templates. They are counted, but apart.

Precision matters as much as recall: in one public audit 88 of 114 flagged sources were false. A text that is kept
apart is in no rate and changes no verdict; the report lists it with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from steelyard.audit.evaluation_side import EvaluationSide
from steelyard.audit.lexical.containment import long_enough
from steelyard.audit.lexical.matcher import EXACT, NEAR_DUPLICATE, Matcher
from steelyard.audit.lexical.normal_form import Bools, batches, tokenise
from steelyard.audit.lexical.shingles import Length, Windows
from steelyard.audit.match_log import Matches, MatchLog

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


def kept_apart(matcher: Matcher, log: MatchLog, counting: Matches) -> dict[int, str]:
    """Return the reason for every text of the matches that is kept apart. `counting`: those that reach a threshold."""
    side = matcher.side
    matched = np.unique(counting["text"]).tolist()
    reasons: dict[int, str] = {}
    by_level = [np.bincount(counting["text"][counting["level"] == level]) for level in np.unique(counting["level"])]
    rows_of = {text: max(int(counts[text]) for counts in by_level if text < len(counts)) for text in matched}
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
    return reasons | dict.fromkeys(_templates(matcher, best), "template")


def _long_enough(side: EvaluationSide, numbers: list[int]) -> Bools:
    texts = [side.texts[number] for number in numbers]
    parts = [long_enough(Windows(tokenise(texts[part])), LEAST) for part in batches(texts)]
    return np.concatenate([np.zeros(0, dtype=np.bool_), *parts])


def _templates(matcher: Matcher, best: Mapping[int, float]) -> list[int]:
    """Return the texts that have several others of the evaluation side as near as the best training text is."""
    numbers = np.fromiter(best, dtype=np.int64)
    scores = np.array([best[number] for number in numbers.tolist()])
    texts = [matcher.side.texts[number] for number in numbers.tolist()]
    siblings = np.zeros(len(numbers), dtype=np.int64)
    for part in batches(texts):
        hits = matcher.near.search(Windows(tokenise(texts[part])))
        rows = hits.rows + part.start
        as_near = (hits.texts != numbers[rows]) & (hits.scores >= scores[rows] - 1e-6)
        siblings += np.bincount(rows[as_near], minlength=len(numbers))
    return [int(number) for number in numbers[siblings >= SIBLINGS]]
