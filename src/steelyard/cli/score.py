"""`steelyard score QRELS RUN`: trec_eval's job, in trec_eval's words and columns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.errors import DataError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

    from steelyard.cli.output import Output
    from steelyard.metrics import Metric
    from steelyard.types import Float64, Qrels, Run

CUTOFFS = "5,10,15,20,30,100,200,500,1000"
COUNTS = ("num_ret", "num_rel", "num_rel_ret")
"""Sums over queries, not means."""
OFFICIAL = ("runid", "num_q", *COUNTS, "map", "Rprec", "recip_rank", "P", "recall", "ndcg_cut")
SETS = {"official": OFFICIAL, "all_trec": (*OFFICIAL, "ndcg", "map_cut", "success")}
"""trec_eval's names for many measures at once; what is computed here of each."""
ELSEWHERE = ("bpref", "gm_map", "gm_bpref", "iprec_at_recall", "11pt_avg", "infAP", "ndcg_rel", "Rndcg", "Rprec_mult")
"""Measures of trec_eval that are not computed here."""
WITHOUT_CUTOFF = {name: f"{name}.{CUTOFFS}" for name in ("P", "recall", "ndcg_cut", "map_cut")} | {
    "success": "success.1,5,10"
}
"""What trec_eval takes these names for when no cut-off is given."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the verb; the letters are trec_eval's, so -q is not --quiet here."""
    options = parser.add_argument_group("options of trec_eval", conflict_handler="resolve")
    parser.add_argument("qrels", type=Path, metavar="QRELS", help="judgements: query 0 document grade (.gz, .zst too)")
    parser.add_argument("run", type=Path, metavar="RUN", help="a run: query Q0 document rank score tag")
    options.add_argument("-q", "--per-query", action="store_true", help="print the values of every query too")
    options.add_argument(
        "-c", "--complete", action="store_true", help="average over all judged queries, not only found"
    )
    options.add_argument(
        "-m",
        "--measure",
        action="append",
        default=[],
        help="such as ndcg_cut.10, P.5,10, nDCG@10, map, all_trec; repeatable",
    )
    options.add_argument("-l", "--level", type=int, default=1, help="the lowest grade that is relevant (default: 1)")
    options.add_argument("-M", "--max-documents", type=int, metavar="N", help="read only the best N of every list")


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Score the run and print it: three columns (measure, query or `all`, value), or JSON."""
    from steelyard.datasets import trec_files

    measures = expand(arguments.measure or OFFICIAL)
    qrels_lines, run_lines = trec_files.read_qrels(arguments.qrels), trec_files.read_run(arguments.run)
    queries, lists, qrels = trec_files.join(qrels_lines, run_lines, all_judged=arguments.complete)
    if not queries:
        raise DataError(
            f"no query of {arguments.run} stands in {arguments.qrels}",
            hint=f"the run has {run_lines.queries[0]!r}, the judgements have {qrels_lines.queries[0]!r}: same ids?",
        )
    if arguments.max_documents is not None:
        if arguments.max_documents < 1:
            raise UsageError(f"-M {arguments.max_documents}", hint="give at least 1")
        lists = lists.cut(arguments.max_documents)
    found = evaluate(lists, qrels, measures, arguments.level)
    retrieved = set(run_lines.queries) if arguments.per_query else set()
    shown = [number for number, query in enumerate(queries) if query in retrieved]
    report = Report(run_lines.tag, queries, measures, found)
    if output.json:
        output.data(report.as_data(shown))
    else:
        output.line("\n".join([*report.lines_by_query(shown), *report.lines()]))
    return 0


def expand(names: Iterable[str]) -> list[str | Metric]:
    """Measures as trec_eval reads them: counts and the run's name stay text, everything else becomes a metric.

    >>> [str(measure) for measure in expand(["num_ret", "P.5,10", "nDCG@10", "success"])]
    ['num_ret', 'precision_at_5', 'precision_at_10', 'ndcg_at_10', 'hit_rate_at_1', 'hit_rate_at_5', 'hit_rate_at_10']
    """
    from steelyard.metrics import parse_many

    found: dict[str | Metric, None] = {}
    for name in names:
        if name in SETS:
            found.update(dict.fromkeys(expand(SETS[name])))
        elif name.partition(".")[0] in ELSEWHERE:
            raise UsageError(f"{name} of trec_eval is not computed here", hint="steelyard list metrics names what is")
        elif name in ("runid", "num_q", *COUNTS):
            found[name] = None
        else:
            found.update(dict.fromkeys(parse_many(WITHOUT_CUTOFF.get(name, name))))
    return list(found)


@dataclass(frozen=True)
class Report:
    """The figures of a run, ready to print."""

    tag: str
    queries: Sequence[str]
    measures: Sequence[str | Metric]
    values: Mapping[str | Metric, Float64]
    """By measure: one value for each query."""

    def whole(self, measure: str | Metric) -> str | int | float:
        """The figure of all queries together: the sum of a count, the mean of a metric."""
        if measure == "runid":
            return self.tag
        if measure == "num_q":
            return len(self.queries)
        total = self.values[measure].cumsum()[-1]  # summed one by one as trec_eval does: a fourth decimal can tell
        return int(total) if isinstance(measure, str) else float(total / len(self.queries))

    def lines(self) -> list[str]:
        """The lines of `all`."""
        return [_line(_title(measure), "all", self.whole(measure)) for measure in self.measures]

    def lines_by_query(self, shown: Iterable[int]) -> list[str]:
        """The lines of single queries; the run's name and the number of queries have none."""
        return [
            _line(_title(measure), self.queries[number], _plain(measure, values[number]))
            for number in shown
            for measure, values in self.values.items()
        ]

    def as_data(self, shown: Sequence[int]) -> dict[str, object]:
        """JSON-ready: every measure under trec_eval's name, the 95 % intervals of means, the queries asked for."""
        from steelyard.stats import intervals

        ranges = intervals({_title(m): values for m, values in self.values.items() if not isinstance(m, str)})
        data: dict[str, object] = {
            "measures": {_title(measure): self.whole(measure) for measure in self.measures},
            "intervals": {name: [interval.low, interval.high] for name, interval in ranges.items()},
        }
        if shown:
            data["per_query"] = {
                self.queries[number]: {_title(m): _plain(m, values[number]) for m, values in self.values.items()}
                for number in shown
            }
        return data


def evaluate(lists: Run, qrels: Qrels, measures: Sequence[str | Metric], level: int) -> dict[str | Metric, Float64]:
    """The values of every query by measure. The level says what is relevant; nDCG and judged go by the grades."""
    from steelyard.metrics import Ranking
    from steelyard.metrics.scoring import compute

    graded, binary = Ranking(lists, qrels), Ranking(lists, at_level(qrels, level))
    counts = {
        "num_ret": lists.lengths.astype(float),
        "num_rel": binary.positives.astype(float),
        "num_rel_ret": binary.total(binary.relevant, None, None),
    }
    found: dict[str | Metric, Float64] = {}
    for measure in measures:
        if isinstance(measure, str):
            found |= {measure: counts[measure]} if measure in counts else {}
        else:
            ranking = graded if measure.name in ("ndcg", "judged") else binary
            found[measure] = compute(measure, ranking)
    return found


def at_level(qrels: Qrels, level: int) -> Qrels:
    """The same judgements with grade 1 where the grade reaches the level, else 0."""
    from steelyard.types import Qrels

    return Qrels(qrels.offsets, qrels.rows, (qrels.grades >= level).astype(qrels.grades.dtype))


def _title(measure: str | Metric) -> str:
    return measure if isinstance(measure, str) else measure.trec


def _plain(measure: str | Metric, value: float) -> int | float:
    return int(value) if isinstance(measure, str) else float(value)


def _line(measure: str, query: str, value: str | int | float) -> str:
    return f"{measure:<22}\t{query}\t{f'{value:6.4f}' if isinstance(value, float) else value}"
