"""The definition of a metric, and the registry of all metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steelyard.errors import UsageError
from steelyard.registry import Registry

if TYPE_CHECKING:
    from steelyard.metrics.ranking import Ranking
    from steelyard.types import Float64

Compute = Callable[["Ranking", Any], "Float64"]
"""Computes one value for each query from a ranking and a cutoff: a rank, or a fraction for metrics with fractional
cutoffs; None is the whole list."""


@dataclass(frozen=True)
class Definition:
    """A metric: its names, its meaning and its computation.

    A plug-in package provides one of these in the entry-point group `steelyard.metrics`.
    """

    display: str
    """The spelling in tables: `nDCG`."""
    description: str
    """One line for users."""
    formula: str
    """In plain text; `rel_i` is the grade at rank i, `R` the number of relevant documents."""
    compute: Compute
    trec: tuple[str, str]
    """trec_eval's names: for the whole list, and before `_k` for a cutoff."""
    takes_cutoff: bool = True
    shares: tuple[float, ...] = ()
    """For a metric with fractional cutoffs (of recall, of R): the cutoffs that its bare name means."""
    with_parameters: Callable[[str], Compute] | None = None
    """For a metric with parameters (`set_F.0.5`, `G.1=3,2=9`): makes the computation from their text."""
    whole: Callable[[Ranking, Any], float | None] | None = None
    """For a metric of all queries together, not a mean over queries: computes its value."""
    bounds: tuple[float, float] = (0.0, 1.0)
    """The smallest and the largest possible value, which limit confidence intervals; infinite if there is none."""
    source: str = ""
    """For a function that the user passed: a hash of it, which is part of the key of results."""

    @property
    def example(self) -> str:
        """Return the usual spelling: `nDCG@10`."""
        cutoff = (self.shares[1] if self.shares else 10) if self.takes_cutoff else None
        return self.display if cutoff is None else f"{self.display}@{cutoff}"


_MODULES = {
    "measures": (
        "ndcg",
        "ndcg_exp",
        "map",
        "mrr",
        "recall",
        "precision",
        "hit_rate",
        "r_precision",
        "judged",
        "pooled_recall",
        "bpref",
        "infap",
    ),
    "geometric": ("gm_map", "gm_bpref"),
    "recall_points": ("iprec", "11pt_avg"),
    "sets": ("rprec_mult", "relative_p", "set_f", "set_map", "utility"),
    "graded": ("ndcg_rel", "rndcg", "g", "bing"),
    "stopping": ("rbp", "err"),
}
"""Metrics by the module that defines them."""

METRICS: Registry[Definition] = Registry(
    "metric",
    "steelyard.metrics",
    {
        name: f"steelyard.metrics.{module}:{name.upper().replace('11PT', 'ELEVEN_POINT')}"
        for module, names in _MODULES.items()
        for name in names
    },
)
"""Every metric by canonical name; iterate for the names, `get` for a `Definition`."""


def read_numbers(text: str, *, count: int | None, metric: str, example: str) -> tuple[float, ...]:
    """Return the comma-separated numbers in the parameters of a metric; `count` is how many are required.

    >>> read_numbers("1,-1,0,.5", count=4, metric="utility", example="utility.1,-1,0,0")
    (1.0, -1.0, 0.0, 0.5)
    """
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise _invalid(metric, "numbers with commas", text, example) from error
    if count is not None and len(numbers) != count:
        raise _invalid(metric, "one number" if count == 1 else f"{count} numbers", text, example)
    return numbers


def read_gains(text: str, *, metric: str) -> dict[int, float]:
    """Return gains by grade from the parameters of a metric.

    >>> read_gains("1=3.5,2=9", metric="G")
    {1: 3.5, 2: 9.0}
    """
    try:
        pairs = [part.split("=") for part in text.split(",")]
        gains = {int(grade): float(gain) for grade, gain in pairs}
    except ValueError as error:
        raise _invalid(metric, "grade=gain with commas", text, f"{metric}.1=3,2=9") from error
    if len(gains) < len(pairs) or min(gains) < 0:
        raise _invalid(metric, "distinct grades of at least 0", text, f"{metric}.1=3,2=9")
    return gains


def _invalid(metric: str, expected: str, text: str, example: str) -> UsageError:
    return UsageError.invalid(
        f"the parameters of {metric}", expected=expected, found=text, hint=f"for example {example}", option=metric
    )
