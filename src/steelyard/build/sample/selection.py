"""What was chosen for a cut so far: its documents, and the judgements on them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from steelyard.build.sample.document_selection import Basket


@dataclass(eq=False)
class Selection:
    """The corpus of the cut, and the judgements of each query (by row of the source) on it (by place)."""

    basket: Basket
    judgements: dict[int, dict[int, int]] = field(default_factory=dict)
    tally: Counter[str] = field(default_factory=Counter)
    settled: set[int] = field(default_factory=set)
    """Places that were decided upon, taken or not."""
