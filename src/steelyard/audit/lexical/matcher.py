"""The lexical levels together: which evaluation texts a batch of training texts repeats, and how closely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.audit.evaluation_side import EvaluationSide
from steelyard.audit.lexical.containment import ContainmentIndex
from steelyard.audit.lexical.lookup import Lookup
from steelyard.audit.lexical.near_duplicates import Hits, NearIndex
from steelyard.audit.lexical.normal_form import tokenise
from steelyard.audit.lexical.shingles import Windows
from steelyard.errors import UsageError

LEVELS = ("exact", "near", "contained", "semantic")
"""From the strictest to the loosest; a match is stored under every level that it reaches."""
EXACT, NEAR_DUPLICATE, CONTAINED, SEMANTIC = range(4)


@dataclass(frozen=True)
class Thresholds:
    """From which score on a match counts; docs/audit.md has the reasons."""

    jaccard: float = 0.7
    containment: float = 0.5
    """The share of an evaluation text's n-grams that one training text has."""

    def __post_init__(self) -> None:
        for name in ("jaccard", "containment"):
            value = getattr(self, name)
            if not 0 < value <= 1:
                raise UsageError(f"{name} must be above 0 and at most 1, got {value}", hint=f"--{name} 0.7")

    def to_dict(self) -> dict[str, Any]:
        """Return the thresholds by name."""
        return {"jaccard": self.jaccard, "containment": self.containment}


class Matcher:
    """Compares batches of texts with the evaluation side. It is only read after it is made: threads may share it."""

    def __init__(self, side: EvaluationSide, thresholds: Thresholds | None = None) -> None:
        self.side = side
        self.thresholds = thresholds or Thresholds()
        audible = np.flatnonzero(side.lengths > 0)
        self._exact = Lookup(side.hashes[audible], audible)
        self.near = NearIndex(side, self.thresholds.jaccard)
        self._contained = ContainmentIndex(side)

    def match(self, texts: Sequence[str]) -> dict[int, Hits]:
        """Return the hits of every level among the texts. An exact match is not listed as a nearer one again.

        Containment hits have any share above 0: those below the threshold are only counted as touched.
        """
        windows = Windows(tokenise(texts))
        places, keys = self._exact.find(windows.whole())
        rows, numbers = self._exact.postings(places, keys)
        exact = Hits(rows, numbers, np.ones(len(rows)))
        near = _without(self.near.search(windows), exact, len(self.side.texts))
        contained = _without(self._contained.search(windows), exact, len(self.side.texts))
        return {EXACT: exact, NEAR_DUPLICATE: near, CONTAINED: contained}

    @property
    def size_bytes(self) -> int:
        """The memory that the indexes take."""
        return self._exact.size_bytes + self.near.size_bytes + self._contained.size_bytes


def _without(hits: Hits, others: Hits, total: int) -> Hits:
    """Return the hits whose text and evaluation text are not among the others."""
    if not len(hits) or not len(others):
        return hits
    keep = ~np.isin(hits.rows * total + hits.texts, others.rows * total + others.texts)
    return replace(hits, rows=hits.rows[keep], texts=hits.texts[keep], scores=hits.scores[keep])
