"""The measures of `steelyard score -m`: trec_eval's names, its nicknames for several, and its order of printing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from steelyard.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steelyard.metrics import Metric

OFFICIAL = (
    *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref", "recip_rank"),
    *("iprec_at_recall", "P"),
)
"""What trec_eval prints by default."""
ALL = (
    *(*OFFICIAL, "relstring", "recall", "infAP", "gm_bpref", "Rprec_mult", "utility", "11pt_avg", "binG", "G"),
    *("ndcg", "ndcg_rel", "Rndcg", "ndcg_cut", "map_cut", "relative_P", "success", "set_P", "set_relative_P"),
    *("set_recall", "set_map", "set_F", "num_nonrel_judged_ret"),
)
"""All measures of trec_eval, in the order in which it prints them."""
NICKNAMES = {
    "official": OFFICIAL,
    "all_trec": ALL,
    "set": tuple(name for name in ALL if name in OFFICIAL[:5] or name == "utility" or name.startswith("set_")),
}
COUNTS = ("num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")
"""Sums over queries, not means."""
RANKS = "5,10,15,20,30,100,200,500,1000"
WITHOUT_CUTOFF = {name: f"{name}.{RANKS}" for name in ("P", "recall", "ndcg_cut", "map_cut", "relative_P")} | {
    "success": "success.1,5,10"
}
"""The meaning of these names without a cut-off."""

_UNSUPPORTED = re.compile(r"(?:all_)?prefs(?:_.*)?|qrels_jg|.*_avgjg.*")
"""Measures that read files of preferences or of several judges (trec_eval's -R prefs, qrels_prefs, qrels_jg)."""
_NAUC = re.compile(r"nauc_(?P<metric>.+)_(?:max|std|diff1)")
_RELSTRING = re.compile(r"relstring(?:[._@]([0-9]+))?")
_SHOWN = 10
"""Documents of a relstring by default."""

Kind = Literal["metric", "nauc", "count", "queries", "name", "grades"]


@dataclass(frozen=True)
class Measure:
    """One line of the output."""

    title: str
    kind: Kind
    metric: Metric | None = None
    length: int = 0
    """The number of documents of a string of grades."""

    @property
    def family(self) -> str:
        """trec_eval's name without a cut-off."""
        if self.metric is None or self.kind == "nauc":
            return "relstring" if self.kind == "grades" else self.title
        return self.metric.definition.trec[self.metric.cutoff is not None]

    @property
    def order(self) -> tuple[int, float]:
        """The place in trec_eval's output: by family, then by cut-off; other measures follow in the given order."""
        if self.family not in ALL:
            return len(ALL), 0.0
        return ALL.index(self.family), (self.metric and self.metric.cutoff) or 0.0


def expand(names: Iterable[str]) -> list[Measure]:
    """Return the measures as trec_eval reads and orders them, each once.

    >>> [measure.title for measure in expand(["P.10,5", "num_ret", "nDCG@10", "success", "iprec_at_recall.0.5"])]
    ['num_ret', 'iprec_at_recall_0.50', 'P_5', 'P_10', 'ndcg_cut_10', 'success_1', 'success_5', 'success_10']
    >>> [measure.title for measure in expand(["P.10,5,num_ret map"])]
    ['num_ret', 'map', 'P_5', 'P_10']
    """
    measures: dict[Measure, None] = {}
    for name in names:
        measures.update(dict.fromkeys(_read(name)))
    titles: dict[str, Measure] = {}
    for measure in measures:
        if measure != (before := titles.setdefault(measure.title, measure)):
            raise UsageError(
                f"{before.metric} and {measure.metric} would both be printed as {measure.title}",
                hint="trec_eval prints recall levels with two decimals: request them one at a time",
            )
    return sorted(measures, key=lambda measure: measure.order)


def _read(name: str) -> list[Measure]:
    from steelyard.metrics import parse_many
    from steelyard.metrics.names import several

    if name in NICKNAMES:
        return [measure for single in NICKNAMES[name] for measure in _read(single)]
    if _UNSUPPORTED.fullmatch(name):
        raise UsageError(
            f"{name} of trec_eval is not supported: it needs preferences or several judges",
            hint="run `steelyard list metrics`, or use official, set or all_trec",
        )
    if name in COUNTS:
        return [Measure(name, "count")]
    if name in ("runid", "num_q"):
        return [Measure(name, "name" if name == "runid" else "queries")]
    if match := _RELSTRING.fullmatch(name):
        title = f"relstring_{match[1]}" if match[1] else "relstring"
        return [Measure(title, "grades", length=int(match[1] or _SHOWN))]
    if match := _NAUC.fullmatch(name):
        return [_nauc(name, match["metric"])]
    try:
        return [Measure(metric.trec, "metric", metric) for metric in parse_many(WITHOUT_CUTOFF.get(name, name))]
    except UnknownName:
        if len(names := several(name)) < 2:
            raise
        return [measure for single in names for measure in _read(single)]


def _nauc(name: str, base: str) -> Measure:
    from steelyard.metrics import parse
    from steelyard.metrics.scoring import NAUC_METRICS

    metric = parse(base)
    if metric.name not in NAUC_METRICS or metric.cutoff is None:
        known = ", ".join(NAUC_METRICS)
        raise UsageError.invalid("the metric of nauc", expected=f"one of {known} with a cut-off", found=str(metric))
    return Measure(f"nauc_{metric}_{name.rpartition('_')[2]}", "nauc", metric)
