"""What the numbers of a page are compared with: pytrec_eval, scipy and plain Python, from ids, texts and lists."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import pytrec_eval
from scipy.stats import bootstrap, permutation_test

from steelyard.types import Run, Task

Lists = list[list[str]]

RESAMPLES = 2_000
"""As many as the pages use."""
SEEDS = 8


def noisy_lists(task: Task, seed: int, chance: Callable[[int, int], float]) -> Lists:
    """Random lists of all documents that rank a relevant document near the top with a chance(query, row)."""
    draw = random.Random(seed)
    lists = []
    for query in range(len(task.queries)):
        order = list(range(len(task.corpus)))
        draw.shuffle(order)
        for row in task.qrels.rows_of(query).tolist():
            if row >= 0 and draw.random() < chance(query, row):
                order.remove(row)
                order.insert(draw.randrange(12), row)
        lists.append([task.corpus.ids[row] for row in order])
    return lists


def qrels_of(task: Task) -> dict[str, dict[str, int]]:
    """The judgements by id; a document outside the corpus has the id `absent`."""
    return {
        task.queries.ids[q]: {
            task.corpus.ids[row] if row >= 0 else "absent": int(grade)
            for row, grade in zip(task.qrels.rows_of(q).tolist(), task.qrels.grades_of(q).tolist(), strict=True)
        }
        for q in range(len(task.queries))
    }


def evaluate(task: Task, lists: Lists, metric: str = "ndcg_cut_10") -> np.ndarray:
    """The value of every query, by pytrec_eval."""
    run = {
        task.queries.ids[q]: {document: float(len(ids) - n) for n, document in enumerate(ids)}
        for q, ids in enumerate(lists)
    }
    scores = pytrec_eval.RelevanceEvaluator(qrels_of(task), {metric}).evaluate(run)
    return np.array([scores.get(id_, {}).get(metric, 0.0) for id_ in task.queries.ids])


def as_run(task: Task, lists: Lists) -> Run:
    """The lists as a run; shorter lists end with -1."""
    width = max(map(len, lists))
    rows = [[*(task.corpus.row_of[id_] for id_ in ids), *[-1] * (width - len(ids))] for ids in lists]
    return Run(np.array(rows, dtype=np.int32), np.tile(-np.arange(width, dtype=np.float32), (len(rows), 1)))


def as_lists(task: Task, run: Run) -> Lists:
    """The ids of a run."""
    return [[task.corpus.ids[row] for row in rows if row >= 0] for rows in run.rows.tolist()]


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction, from its definition: no p-value is smaller than one that was rejected before it."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, highest = [0.0] * len(p_values), 0.0
    for step, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - step) * p_values[place]))
        adjusted[place] = highest
    return adjusted


def randomised(differences: np.ndarray) -> tuple[float, float]:
    """The range of the p-value of scipy's test with random signs: exact for few values, else with Monte Carlo error."""
    draws, ours = 9_999, 10_000
    test = permutation_test(
        (differences,), _mean, permutation_type="samples", n_resamples=draws, vectorized=True, rng=7
    )
    p = float(test.pvalue)
    if 2 ** len(differences) <= draws:
        return p, p
    error = 4 * np.sqrt(p * (1 - p) * (1 / draws + 1 / ours)) + 2 / draws
    return max(p - error, 0.0), min(p + error, 1.0)


def assert_randomised(shown: Sequence[float], differences: Sequence[np.ndarray]) -> None:
    """The p-values are those of scipy's test with random signs and Holm's correction, within Monte Carlo error."""
    # Holm's correction never decreases when a p-value increases.
    ranges = [randomised(one) for one in differences]
    lows, highs = (holm([one[end] for one in ranges]) for end in (0, 1))
    for p, low, high in zip(shown, lows, highs, strict=True):
        assert low - 1e-12 <= p <= high + 1e-12


def _mean(values: np.ndarray, axis: int = -1) -> np.ndarray:
    return values.mean(axis=axis)


def assert_bootstrapped(interval: dict[str, float], values: np.ndarray) -> None:
    """Ends and width of the interval are those of scipy's BCa bootstrap, within five standard errors of resampling.

    A width at another level than 95 % would not be: at 90 % it is 16 % smaller, and the standard error is about 2 %.
    """
    found = []
    for seed in range(SEEDS):
        one = bootstrap((values,), np.mean, n_resamples=RESAMPLES, method="BCa", vectorized=True, rng=seed)
        low, high = one.confidence_interval
        found.append((low, high, high - low))
    shown = (interval["low"], interval["high"], interval["high"] - interval["low"])
    centre, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1)
    assert interval["level"] == 0.95
    assert (np.abs(shown - centre) <= 5 * error + 1e-9).all(), (shown, centre, error)


_THAI = re.compile("[เ-ไ]?[ก-ฮ][ะ-ฺๅ็-๎]*(?:[ก-ฮ][ิุ]?์)*")
"""A consonant with the vowels and marks that are written around it, and with silent consonants after it."""


@cache
def words(text: str) -> int:
    """The number of runs of letters, marks and digits; each Han or kana character and each Thai cluster is one."""
    count, before = 0, ""
    for character in _THAI.sub("一", unicodedata.normalize("NFKC", text)):
        kind = unicodedata.category(character)[0] if unicodedata.category(character)[0] in "LMN" else ""
        if kind and unicodedata.name(character, "").startswith(("CJK UNIFIED", "HIRAGANA", "KATAKANA")):
            kind = "alone"
        count += kind == "alone" or (bool(kind) and before in ("", "alone"))
        before = kind
    return count


def similarity(one: str, other: str) -> float:
    """The Jaccard index of the five-character pieces of two texts."""
    first, second = _pieces(one), _pieces(other)
    return len(first & second) / len(first | second)


def only_longer(one: str, other: str) -> bool:
    """Whether the shorter text is a part of the longer one, its last word perhaps cut, but for 1 word in 50 inside."""
    signs = str.maketrans("", "", ".,;:!?\"'()。，、；：！？…")
    sides = [_tokens(text.casefold().translate(signs)) for text in (one, other)]
    short, long = sorted(sides, key=len)
    if not short:
        return False
    for start in range(len(long)):
        for width in range(len(short), len(short) + len(short) // 50 + 1):
            part = long[start : start + width]
            rest = iter(part[1:-1])
            ends = len(part) == width and part[0] == short[0] and part[-1].startswith(short[-1])
            if ends and all(word in rest for word in short[1:-1]):
                return True
    return len(short) == 1 and any(word.startswith(short[0]) for word in long)


def _tokens(text: str) -> list[str]:
    """Words between white space, with each Han, kana and Thai character and each run of signs apart."""
    spaced, before = "", ""
    for character in text:
        alone = _alone(character)
        kind = "alone" if alone else "word" if character.isalnum() or character == "_" else "sign"
        spaced += f" {character}" if kind != before or alone else character
        before = kind
    return spaced.split()


def _alone(character: str) -> bool:
    return unicodedata.name(character, "").startswith(("CJK UNIFIED", "HIRAGANA", "KATAKANA", "THAI"))


@cache
def _pieces(text: str) -> set[str]:
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return {folded[at : at + 5] for at in range(max(len(folded) - 4, 1))}
