"""Every level against brute force on planted edits: nothing above a threshold is missed, nothing below is reported."""

from __future__ import annotations

import numpy as np
import pytest
from audit_parts import brute_jaccard, edited, made_texts, shingles, side_of
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.audit.lexical.matcher import CONTAINED, EXACT, NEAR_DUPLICATE, Matcher, Thresholds
from steelyard.errors import UsageError


def pairs_of(matcher: Matcher, texts: list[str], *levels: int) -> dict[tuple[int, int], float]:
    hits = matcher.match(texts)
    return {
        (row, text): score
        for level in levels
        for row, text, score in zip(
            hits[level].rows.tolist(), hits[level].texts.tolist(), hits[level].scores.tolist(), strict=True
        )
    }


@pytest.mark.parametrize("characters", [False, True], ids=["words", "characters"])
@pytest.mark.parametrize("threshold", [0.5, 0.7, 0.9])
def test_near_duplicates_are_those_of_brute_force(threshold: float, characters: bool) -> None:
    rng = np.random.default_rng(3)
    evaluation = made_texts(rng, 40, characters=characters)
    training = [edited(rng, text, share) for text in evaluation for share in (0.0, 0.02, 0.05, 0.1, 0.2)]
    training += made_texts(rng, 60, characters=characters)
    matcher = Matcher(side_of(evaluation), Thresholds(jaccard=threshold))
    expected = brute_jaccard(training, evaluation, threshold)
    found = pairs_of(matcher, training, EXACT, NEAR_DUPLICATE)
    assert set(found) == set(expected)
    assert 50 < len(expected) < 180  # edits on both sides of the threshold
    for pair, score in expected.items():
        assert found[pair] == pytest.approx(score)


@settings(max_examples=40)
@given(
    st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=14), min_size=2, max_size=8),
    st.sampled_from([0.3, 0.6, 1.0]),
)
def test_near_duplicates_of_repetitive_texts_are_those_of_brute_force(rows: list[list[int]], threshold: float) -> None:
    texts = [" ".join("abcdef"[word] for word in row) for row in rows]
    half = len(texts) // 2
    evaluation = list(dict.fromkeys(texts[:half]))
    matcher = Matcher(side_of(evaluation), Thresholds(jaccard=threshold))
    found = set(pairs_of(matcher, texts[half:], EXACT, NEAR_DUPLICATE))
    expected = set(brute_jaccard(texts[half:], evaluation, threshold, least=3))
    equal = {
        (row, text) for row, one in enumerate(texts[half:]) for text, other in enumerate(evaluation) if one == other
    }
    assert found == expected | equal


def test_containment_is_the_share_of_ngrams_in_one_text() -> None:
    rng = np.random.default_rng(5)
    evaluation = made_texts(rng, 20)
    long = made_texts(rng, 20)
    training = [f"{before} {text.rpartition(' ')[0]} {before}" for before, text in zip(long, evaluation, strict=True)]
    found = pairs_of(Matcher(side_of(evaluation)), training, CONTAINED)
    for row, (one, other) in enumerate(zip(training, evaluation, strict=True)):
        ours, theirs = shingles(one, 13), shingles(other, 13)
        assert found[row, row] == pytest.approx(len(ours & theirs) / len(theirs))
    assert set(found) == {(row, row) for row in range(20)}


def test_a_short_query_is_contained_only_as_a_whole() -> None:
    query = "which of the two rivers is the longer one"
    matcher = Matcher(side_of([query]))
    rows = [f"Question: {query}? Answer: the Nile.", "which of the two rivers is longer", query]
    assert pairs_of(matcher, rows, CONTAINED) == {(0, 0): 1.0}
    assert pairs_of(matcher, rows, EXACT) == {(2, 0): 1.0}


def test_a_threshold_of_zero_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        Thresholds(jaccard=0)
