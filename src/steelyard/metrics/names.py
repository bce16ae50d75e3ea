"""Names of metrics: parsed from any usual spelling, stored in one.

>>> [str(parse(text)) for text in ("nDCG@10", "ndcg_cut.10", "P_5", "hit@1", "recip_rank", "Rprec")]
['ndcg_at_10', 'ndcg_at_10', 'precision_at_5', 'hit_rate_at_1', 'mrr', 'r_precision']
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING

from steelyard.errors import UnknownName, UsageError
from steelyard.metrics.definition import METRICS, Definition
from steelyard.options import MAX_DIGITS

if TYPE_CHECKING:
    from steelyard.metrics.ranking import Ranking
    from steelyard.types import Float64

ALIASES = {
    "ndcg_cut": "ndcg",
    "ndcg_exp_cut": "ndcg_exp",
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
    "iprec_at_recall": "iprec",
    "11_pt_avg": "11pt_avg",
    "r_precision_mult": "rprec_mult",
    "relative_precision": "relative_p",
    "set_relative_p": "relative_p",
    "set_f1": "set_f",
    "f": "set_f",
    "f1": "set_f",
    "inf_ap": "infap",
    "gmap": "gm_map",
    "bin_g": "bing",
    "rank_biased_precision": "rbp",
    "expected_reciprocal_rank": "err",
}
"""Names of other tools in lower case, besides the canonical ones of `METRICS`."""

_NUMBER = r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_PARAMETER = rf"{_NUMBER}(?:={_NUMBER})?"
WITH_NUMBERS = re.compile(rf"(?P<name>.+?)(?:@|_at_|\.|_)(?P<parameters>{_PARAMETER}(?:,{_PARAMETER})*)")

NEARLY = re.compile(r"(?P<name>[A-Za-z_]+)[^A-Za-z0-9]*(?P<cutoff>[0-9]+)[^A-Za-z0-9]*")
SEPARATORS = re.compile(r"\s*[,;]\s*")
"""What separates metrics; blanks do, too, unless they are part of a name."""


@dataclass(frozen=True, order=True)
class Metric:
    """A metric and its cutoff; None means the whole list.

    A cutoff is a rank, or for some metrics a fraction. Other metrics have `parameters`, as they were written.

    >>> metric = parse("ndcg@10")
    >>> metric, str(metric), metric.display, metric.trec
    (Metric(name='ndcg', cutoff=10, parameters=''), 'ndcg_at_10', 'nDCG@10', 'ndcg_cut_10')
    """

    name: str
    cutoff: float | None = None
    parameters: str = ""

    def __str__(self) -> str:
        if self.parameters:
            return f"{self.name}_{self.parameters}"
        return self.name if self.cutoff is None else f"{self.name}_at_{self.cutoff}"

    @property
    def definition(self) -> Definition:
        """Return the meaning and the computation of the metric."""
        return METRICS.get(self.name)

    @property
    def display(self) -> str:
        """Return the spelling in tables and charts: `nDCG@10`."""
        title = self.definition.display
        if self.parameters:
            return f"{title}.{self.parameters}"
        return title if self.cutoff is None else f"{title}@{self.cutoff}"

    @property
    def trec(self) -> str:
        """Return the spelling in trec_eval's output: `ndcg_cut_10`, `P_5`, `recip_rank`."""
        whole, with_cutoff = self.definition.trec
        if self.parameters:
            return f"{whole}_{self.parameters}"
        if self.cutoff is None:
            return whole
        return f"{with_cutoff}_{self.cutoff:3.2f}" if self.definition.shares else f"{with_cutoff}_{self.cutoff}"

    @property
    def has_interval(self) -> bool:
        """Return whether the metric is a mean over queries, not a value of all queries together."""
        return self.definition.whole is None

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the smallest and the largest possible value; custom gains (`G.1=3,2=-9`) have no bounds."""
        return (-inf, inf) if "=" in self.parameters else self.definition.bounds

    def compute(self, ranking: Ranking) -> Float64:
        """Return one value for each query."""
        definition = self.definition
        if self.parameters and definition.with_parameters is not None:
            return definition.with_parameters(self.parameters)(ranking, None)
        return definition.compute(ranking, self.cutoff)


def parse(text: str) -> Metric:
    """Return the one metric that the text names; see `parse_many` for lists.

    >>> parse("map")
    Metric(name='map', cutoff=None, parameters='')
    """
    metrics = parse_many(text)
    if len(metrics) > 1:
        raise UsageError(
            f"{text!r} must name one metric, got {len(metrics)}",
            hint="write one cutoff, such as ndcg_cut_10",
            found=text,
            expected="one metric",
        )
    return metrics[0]


@lru_cache(maxsize=1024)
def parse_many(text: str) -> tuple[Metric, ...]:
    """Return the metrics that the text names: one, one for each cutoff of a list with commas, or several such.

    The bare name of a metric with fractional cutoffs means its default cutoffs.

    >>> [str(metric) for metric in parse_many("recall.5,100")]
    ['recall_at_5', 'recall_at_100']
    >>> [str(metric) for metric in parse_many("nDCG@10, map; P@5,10")]
    ['ndcg_at_10', 'map', 'precision_at_5', 'precision_at_10']
    >>> [metric.trec for metric in parse_many("iprec_at_recall.0,.5")]
    ['iprec_at_recall_0.00', 'iprec_at_recall_0.50']
    >>> parse("ndgc@10")
    Traceback (most recent call last):
    steelyard.errors.UnknownName: unknown metric 'ndgc' (did you mean 'ndcg' or 'rndcg'?)
    """
    stripped = text.strip()
    name = canonical_name(stripped)
    if name is not None:
        return tuple(Metric(name, share) for share in METRICS.get(name).shares) or (Metric(name),)
    match = WITH_NUMBERS.fullmatch(stripped)
    name = canonical_name(match["name"]) if match else None
    if name is None and (names := several(stripped)) not in ([], [stripped]):
        return tuple(dict.fromkeys(metric for one in names for metric in parse_many(one)))
    if match is None or name is None:
        raise _unknown(stripped, match)
    definition, parameters = METRICS.get(name), match["parameters"]
    if definition.with_parameters is not None and ("=" in parameters or not definition.takes_cutoff):
        definition.with_parameters(parameters)  # raises a UsageError for wrong numbers
        return (Metric(name, None, parameters),)
    if not definition.takes_cutoff:
        raise UsageError(f"{name} must be written without a cutoff, got {text!r}", hint=f"write {name}", found=text)
    read = _share if definition.shares else _rank
    return tuple(Metric(name, read(number, match["name"])) for number in parameters.split(","))


def several(text: str) -> list[str]:
    """Return the names in a list of metrics; numbers belong to the name before them, and a name may have two words.

    >>> several("recall@5,100,map ndcg@10"), several("nDCG@10"), several("recall@5, 10"), several("relative P@5; map")
    (['recall@5,100', 'map', 'ndcg@10'], ['nDCG@10'], ['recall@5,10'], ['relative P@5', 'map'])
    """
    names: list[str] = []
    for part in SEPARATORS.split(text):
        match = WITH_NUMBERS.fullmatch(part)
        for word in [part] if canonical_name(match["name"] if match else part) else part.split():
            if names and re.fullmatch(_PARAMETER, word):
                names[-1] += f",{word}"
            else:
                names.append(word)
    return names


def _rank(number: str, name: str) -> int:
    if not number.isdigit() or len(number) > MAX_DIGITS or int(number) == 0:
        raise UsageError.invalid(
            f"the cutoff of {name}", expected="a whole number of at least 1", found=number, hint=f"write {name}@10"
        )
    return int(number)


def _share(number: str, name: str) -> float:
    try:
        share = float(number)
    except ValueError:
        share = -1.0
    if share < 0:
        raise UsageError.invalid(
            f"the cutoff of {name}", expected="a number of at least 0", found=number, hint=f"write {name}.0.5"
        )
    return share


def canonical_name(name: str) -> str | None:
    """Return the name in `METRICS` for a spelling, or None.

    >>> canonical_name("Hit-Rate"), canonical_name("ndcg_cut"), canonical_name("weight")
    ('hit_rate', 'ndcg', None)
    """
    plain = name.lower().replace("-", "_").replace(" ", "_")
    candidates = (name, plain, ALIASES.get(plain, plain))  # the name of a plug-in may have any spelling
    return next((candidate for candidate in candidates if candidate in METRICS), None)


def _unknown(text: str, match: re.Match[str] | None) -> UnknownName:
    near = NEARLY.fullmatch(text)
    if near and canonical_name(near["name"]):
        return UnknownName("metric", text, (), hint=f"write {near['name']}@{near['cutoff']}")
    name = match["name"] if match else text
    return UnknownName("metric", name, (*METRICS, *ALIASES), hint="list all metrics: steelyard list metrics")
