"""Which texts of a clustering task are looked at: mteb's draws, number by number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import numpy.typing as npt

from steelyard.tasks.confusion import label_codes
from steelyard.tasks.fitting import SEED
from steelyard.types import Int64
from steelyard.types.samples import Bootstrap, Label, Problem

MISSING = -1
"""What stands for a label that a text has not at some level."""


@dataclass(frozen=True, eq=False)
class Level:
    """One level of labels: which texts are clustered by it, and their labels as numbers."""

    rows: Int64
    codes: Int64
    missing: npt.NDArray[np.bool_]
    """Texts without a label of their own that are clustered all the same."""

    @property
    def unlabelled(self) -> int:
        """How many of the texts stand for a class that is none."""
        return int(self.missing.sum())

    def labelled(self) -> Level:
        """The level without them."""
        kept = ~self.missing
        return Level(self.rows[kept], self.codes[kept], self.missing[kept])


def sampled(problem: Problem, bootstrap: Bootstrap) -> Problem:
    """The part of a problem that is encoded, in the order in which it was drawn."""
    rows = _stratified(problem, bootstrap.stratified)
    if (size := _size(bootstrap, len(rows))) is not None:
        rows = rows[Random(SEED).sample(range(len(rows)), k=size)]
    places = rows.tolist()
    return Problem(tuple(problem.texts[row] for row in places), tuple(problem.labels[row] for row in places))


def _size(bootstrap: Bootstrap, texts: int) -> int | None:
    share = bootstrap.documents
    if share is None:
        return None
    return min(texts, int(share * texts) if isinstance(share, float) else share)


def rounds_of(problem: Problem, bootstrap: Bootstrap, sizes: Sequence[int]) -> list[list[Int64]]:
    """For each level, of so many texts: the places drawn in each round, some of them more than once."""
    texts = len(_stratified(problem, bootstrap.stratified))
    generator = Random(SEED)
    if (size := _size(bootstrap, texts)) is not None:
        generator.sample(range(texts), k=size)  # the rounds read on where the sample of texts ended
    return [
        [np.array(generator.choices(range(size), k=bootstrap.size)) for _ in range(bootstrap.rounds)] for size in sizes
    ]


def levels_of(problem: Problem) -> list[Level]:
    """The levels from the widest; as in mteb a text without a label is left out where labels are numbers, and one of
    a class of its own where they are words.
    """
    levels = []
    for depth in range(problem.depth):
        labels: list[Label] = [own[depth] if len(own) > depth else MISSING for own in problem.labels]
        missing = np.array([len(own) <= depth for own in problem.labels])
        words = any(isinstance(label, str) for label in labels)
        kept = np.arange(len(labels)) if words else np.flatnonzero(np.array(labels) != MISSING)
        codes = label_codes([labels[row] for row in kept.tolist()])[0]
        levels.append(Level(kept, codes, missing[kept]))
    return levels


def _stratified(problem: Problem, size: int | None) -> Int64:
    """So many rows, each first-level label keeping its share; all where there are no more."""
    if size is None or size >= len(problem):
        return np.arange(len(problem))
    labels = [str(own[0]) if own else "" for own in problem.labels]
    codes = label_codes(labels)[0]
    generator = np.random.default_rng(SEED)
    counts = np.bincount(codes)
    before = apportioned(counts, len(codes) - size, generator)
    taken = apportioned(counts - before, size, generator)
    by_label = np.split(np.argsort(codes, kind="stable"), np.cumsum(counts)[:-1])
    picked = []
    for rows, skip, take in zip(by_label, before.tolist(), taken.tolist(), strict=True):
        picked.append(rows[generator.permutation(len(rows))][skip : skip + take])
    generator.permutation(int(before.sum()))  # the rest is shuffled first, and takes its numbers
    return np.asarray(generator.permutation(np.concatenate(picked)), dtype=np.int64)


def apportioned(counts: Int64, seats: int, generator: np.random.Generator) -> Int64:
    """Seats by size: whole shares first, what is left by the greatest remainders, lots among equal ones.

    >>> apportioned(np.array([50, 30, 20]), 11, np.random.default_rng(0)).tolist()
    [6, 3, 2]
    """
    exact = seats * counts / counts.sum()
    seated = np.floor(exact)
    left = int(seats - seated.sum())
    remainders = exact - seated
    for remainder in np.unique(remainders)[::-1]:
        if left <= 0:
            break
        equal = np.flatnonzero(remainders == remainder)
        chosen = generator.choice(equal, size=min(len(equal), left), replace=False)
        seated[chosen] += 1
        left -= len(chosen)
    return np.asarray(seated, dtype=np.int64)
