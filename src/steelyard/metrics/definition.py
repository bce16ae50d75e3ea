"""What a metric is made of, and the metrics there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steelyard.registry import Registry

if TYPE_CHECKING:
    from steelyard.metrics.ranking import Ranking
    from steelyard.types import Float64

Compute = Callable[["Ranking", Any], "Float64"]
"""A ranking and a cut-off (a rank, or a share for metrics cut at shares; None: the whole list) give one value for
each query."""


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
    shares: tuple[float, ...] = ()
    """Of a metric that is cut at shares (of recall, of R) and not at ranks: those that its bare name stands for."""
    given: Callable[[str], Compute] | None = None
    """Of a metric that takes numbers (`set_F.0.5`, `G.1=3,2=9`): from the numbers, as text, to how it is computed."""
    whole: Callable[[Ranking, Any], float | None] | None = None
    """Of a metric that is a figure of all queries together and not the mean of theirs: that figure."""
    bounds: tuple[float, float] = (0.0, 1.0)
    """The least and the most that a value can be, which no interval of a mean leaves; infinite where there is none."""

    @property
    def example(self) -> str:
        """How people write it: `nDCG@10`."""
        cutoff = (self.shares[1] if self.shares else 10) if self.takes_cutoff else None
        return self.display if cutoff is None else f"{self.display}@{cutoff}"


_PLACES = {
    "measures": ("ndcg", "ndcg_exp", "map", "mrr", "recall", "precision", "hit_rate", "r_precision", "judged"),
    "pooled": ("pooled_recall",),
    "preferences": ("bpref", "infap"),
    "geometric": ("gm_map", "gm_bpref"),
    "recall_points": ("iprec", "11pt_avg"),
    "sets": ("rprec_mult", "relative_p", "set_f", "set_map", "utility"),
    "graded": ("ndcg_rel", "rndcg", "g", "bing"),
    "stopping": ("rbp", "err"),
}
"""The metrics by the module that has them."""

METRICS: Registry[Definition] = Registry(
    "metric",
    "steelyard.metrics",
    {
        name: f"steelyard.metrics.{module}:{name.upper().replace('11PT', 'ELEVEN_POINT')}"
        for module, names in _PLACES.items()
        for name in names
    },
)
"""Every metric by canonical name; iterate for the names, `get` for a `Definition`."""
