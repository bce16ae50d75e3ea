"""The texts of a clustering task that are sampled: exactly those of mteb."""

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
"""The label of a text without a label at some level."""


@dataclass(frozen=True, eq=False)
class Level:
    """One level of labels: which texts are clustered by it, and their labels as numbers."""

    rows: Int64
    codes: Int64
    missing: npt.NDArray[np.bool_]
    """Texts without a label that are clustered, too."""

    @property
    def unlabelled(self) -> int:
        """Return the number of texts without a label."""
        return int(self.missing.sum())

    def labelled(self) -> Level:
        """Return the level without these texts."""
        labelled = ~self.missing
        return Level(self.rows[labelled], self.codes[labelled], self.missing[labelled])


def sampled(problem: Problem, bootstrap: Bootstrap) -> Problem:
    """Return the part of a problem that is encoded, in the order in which it was sampled."""
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
    """Return for each level of so many texts the places sampled in each round, with replacement."""
    texts = len(_stratified(problem, bootstrap.stratified))
    generator = Random(SEED)
    if (size := _size(bootstrap, texts)) is not None:
        generator.sample(range(texts), k=size)  # the rounds continue the random numbers of the sample of texts
    return [
        [np.array(generator.choices(range(size), k=bootstrap.size)) for _ in range(bootstrap.rounds)] for size in sizes
    ]


def levels_of(problem: Problem) -> list[Level]:
    """Return the levels from the widest. As in mteb, a text without a label is left out if labels are numbers, and in
    a class of its own if labels are words.
    """
    levels = []
    for depth in range(problem.depth):
        labels: list[Label] = [own[depth] if len(own) > depth else MISSING for own in problem.labels]
        missing = np.array([len(own) <= depth for own in problem.labels])
        words = any(isinstance(label, str) for label in labels)
        rows = np.arange(len(labels)) if words else np.flatnonzero(np.array(labels) != MISSING)
        codes = label_codes([labels[row] for row in rows.tolist()])[0]
        levels.append(Level(rows, codes, missing[rows]))
    return levels


def _stratified(problem: Problem, size: int | None) -> Int64:
    """Return so many rows, stratified by the first-level label; all rows if there are not more."""
    if size is None or size >= len(problem):
        return np.arange(len(problem))
    labels = [str(own[0]) if own else "" for own in problem.labels]
    codes = label_codes(labels)[0]
    generator = np.random.default_rng(SEED)
    counts = np.bincount(codes)
    skipped = apportioned(counts, len(codes) - size, generator)
    taken = apportioned(counts - skipped, size, generator)
    by_label = np.split(np.argsort(codes, kind="stable"), np.cumsum(counts)[:-1])
    picked = []
    for rows, skip, take in zip(by_label, skipped.tolist(), taken.tolist(), strict=True):
        picked.append(rows[generator.permutation(len(rows))][skip : skip + take])
    generator.permutation(int(skipped.sum()))  # mteb shuffles the rest first, which consumes random numbers
    return np.asarray(generator.permutation(np.concatenate(picked)), dtype=np.int64)


def apportioned(counts: Int64, seats: int, generator: np.random.Generator) -> Int64:
    """Distribute seats by size with the largest-remainder method; equal remainders are drawn at random.

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
