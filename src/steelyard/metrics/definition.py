"""What a metric is made of, and the metrics there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard.registry import Registry

if TYPE_CHECKING:
    from steelyard.metrics.ranking import Ranking
    from steelyard.types import Float64

Compute = Callable[["Ranking", "int | None"], "Float64"]
"""A ranking and a cut-off (None: the whole list) give one value for each query."""


@dataclass(frozen=True)
class Definition:
    """A metric: what it is called, what it means, how it is computed.

    A plug-in package brings one of these under its name in the entry-point group `steelyard.metrics`.
    """

    display: str
    """The spelling of tables: `nDCG`."""
    description: str
    """One line for people."""
    formula: str
    """In plain text; `rel_i` is the grade at rank i, `R` the number of relevant documents."""
    compute: Compute
    trec: tuple[str, str]
    """trec_eval's names: for the whole list, and in front of `_k` for a cut-off."""
    takes_cutoff: bool = True


METRICS: Registry[Definition] = Registry(
    "metric",
    "steelyard.metrics",
    {
        name: f"steelyard.metrics.measures:{name.upper()}"
        for name in ("ndcg", "map", "mrr", "recall", "precision", "hit_rate", "r_precision", "judged")
    },
)
"""Every metric by canonical name; iterate for the names, `get` for a `Definition`."""
