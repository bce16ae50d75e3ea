"""Made texts with planted edits, and brute force to compare with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from steelyard.audit.evaluation_side import EvaluationSide, collect
from steelyard.types import TaskInfo
from steelyard.types.samples import LabelTask

WORDS = [f"w{number}x" for number in range(400)]
CHARACTERS = [chr(0x4E00 + number) for number in range(400)]


def made_texts(rng: np.random.Generator, count: int, *, characters: bool = False, length: int = 60) -> list[str]:
    """Return texts of random words, or of random Chinese characters."""
    units = CHARACTERS if characters else WORDS
    drawn = rng.integers(0, len(units), (count, length))
    return [("" if characters else " ").join(units[unit] for unit in row) for row in drawn.tolist()]


def edited(rng: np.random.Generator, text: str, share: float) -> str:
    """Return the text with a share of its words or characters replaced."""
    spaced = " " in text
    units = text.split() if spaced else list(text)
    for place in np.flatnonzero(rng.random(len(units)) < share).tolist():
        units[place] = "edited" if spaced else "改"
    return (" " if spaced else "").join(units)


def shingles(text: str, length: int) -> set[tuple[str, ...]]:
    """Return the distinct shingles of a text."""
    units = text.split() if " " in text or text.isascii() else list(text)
    return {tuple(units[start : start + length]) for start in range(len(units) - length + 1)}


def brute_jaccard(
    training: Sequence[str], evaluation: Sequence[str], threshold: float, *, least: int = 1
) -> dict[tuple[int, int], float]:
    """Return the similarity of every pair of at least the threshold."""
    length = 3 if evaluation[0].isascii() else 5
    ours, theirs = [shingles(text, length) for text in training], [shingles(text, length) for text in evaluation]
    pairs = {}
    for row, one in enumerate(ours):
        for text, other in enumerate(theirs):
            score = len(one & other) / len(one | other) if one | other else 0.0
            if len(other) >= least and score >= threshold - 1e-9:
                pairs[row, text] = score
    return pairs


def side_of(texts: Sequence[str]) -> EvaluationSide:
    """Return the evaluation side of texts to classify; they must have different normal forms."""
    side = collect([label_task(texts)])
    assert len(side.texts) == len(texts)
    return side


def label_task(texts: Sequence[str], name: str = "Made/texts") -> LabelTask:
    """Return a task whose test texts are the given ones."""
    labels = tuple("ab"[row % 2] for row in range(len(texts)))
    return LabelTask(TaskInfo(name, type="classification"), ("one text", "two texts"), ("a", "b"), tuple(texts), labels)
