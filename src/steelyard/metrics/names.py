"""Names of metrics. A metric is a value: parsed from any spelling of the field, stored under one.

>>> [str(parse(text)) for text in ("nDCG@10", "ndcg_cut.10", "P_5", "hit@1", "recip_rank", "Rprec")]
['ndcg_at_10', 'ndcg_at_10', 'precision_at_5', 'hit_rate_at_1', 'mrr', 'r_precision']
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from steelyard.errors import UnknownName, UsageError
from steelyard.metrics.definition import METRICS, Definition

ALIASES = {
    "ndcg_cut": "ndcg",
    "map_cut": "map",
    "ap": "map",
    "ap_cut": "map",
    "rr": "mrr",
    "recip_rank": "mrr",
    "recip_rank_cut": "mrr",
    "reciprocal_rank": "mrr",
    "r": "recall",
    "set_recall": "recall",
    "p": "precision",
    "prec": "precision",
    "set_p": "precision",
    "success": "hit_rate",
    "hit": "hit_rate",
    "hits": "hit_rate",
    "hitrate": "hit_rate",
    "acc": "hit_rate",
    "accuracy": "hit_rate",
    "rprec": "r_precision",
    "rprecision": "r_precision",
}
"""Other people's names, lower case, beside the canonical ones of `METRICS`."""

CUTOFF = re.compile(r"(?P<name>.+?)(?:@|_at_|\.|_)(?P<cutoffs>[0-9]+(?:,[0-9]+)*)")


@dataclass(frozen=True, order=True)
class Metric:
    """A metric and where the list is cut; no cut-off means the whole list.

    >>> metric = parse("ndcg@10")
    >>> metric, str(metric), metric.display, metric.trec
    (Metric(name='ndcg', cutoff=10), 'ndcg_at_10', 'nDCG@10', 'ndcg_cut_10')
    """

    name: str
    cutoff: int | None = None

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}_at_{self.cutoff}"

    @property
    def definition(self) -> Definition:
        """What the metric means and how it is computed."""
        return METRICS.get(self.name)

    @property
    def display(self) -> str:
        """The spelling of tables and charts: `nDCG@10`."""
        title = self.definition.display
        return title if self.cutoff is None else f"{title}@{self.cutoff}"

    @property
    def trec(self) -> str:
        """The spelling of trec_eval's output: `ndcg_cut_10`, `P_5`, `recip_rank`."""
        whole, cut = self.definition.trec
        return whole if self.cutoff is None else f"{cut}_{self.cutoff}"


def parse(text: str) -> Metric:
    """The one metric that the text names; see `parse_many` for lists of cut-offs.

    >>> parse("map")
    Metric(name='map', cutoff=None)
    """
    metrics = parse_many(text)
    if len(metrics) > 1:
        raise UsageError(f"{text!r} names {len(metrics)} metrics", hint="give one cut-off, such as ndcg_cut_10")
    return metrics[0]


@lru_cache(maxsize=1024)
def parse_many(text: str) -> tuple[Metric, ...]:
    """The metrics that the text names: one, or one for each cut-off of a comma-separated list.

    >>> [str(metric) for metric in parse_many("recall.5,100")]
    ['recall_at_5', 'recall_at_100']
    >>> parse("ndgc@10")
    Traceback (most recent call last):
    steelyard.errors.UnknownName: unknown metric 'ndgc' (did you mean 'ndcg'?)
    """
    stripped = text.strip()
    name = canonical_name(stripped)
    if name is not None:
        return (Metric(name),)
    match = CUTOFF.fullmatch(stripped)
    name = canonical_name(match["name"]) if match else None
    if match is None or name is None:
        raise _unknown(stripped, match)
    cutoffs = [int(number) for number in match["cutoffs"].split(",")]
    if 0 in cutoffs:
        raise UsageError(f"cannot cut a list at 0: {text!r}", hint=f"the first useful one is {match['name']}@1")
    if not METRICS.get(name).takes_cutoff:
        raise UsageError(f"{name} takes no cut-off: {text!r}", hint=f"write {name}")
    return tuple(Metric(name, cutoff) for cutoff in cutoffs)


def canonical_name(name: str) -> str | None:
    """The name in `METRICS` that is meant, or None.

    >>> canonical_name("Hit-Rate"), canonical_name("ndcg_cut"), canonical_name("weight")
    ('hit_rate', 'ndcg', None)
    """
    plain = name.lower().replace("-", "_").replace(" ", "_")
    candidates = (name, plain, ALIASES.get(plain, plain))  # a plug-in may spell its name as it likes
    return next((candidate for candidate in candidates if candidate in METRICS), None)


def _unknown(text: str, match: re.Match[str] | None) -> UnknownName:
    name = match["name"] if match else text
    return UnknownName("metric", name, (*METRICS, *ALIASES), hint="steelyard list metrics names them all")
