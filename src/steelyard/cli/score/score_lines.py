"""The values of `steelyard score`: per query, over all queries, and as trec_eval's lines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from steelyard.cli.score.measure_names import Measure
    from steelyard.metrics import Metric, Ranking
    from steelyard.types import Float64

Value = str | int | float | None


@dataclass(frozen=True, eq=False)
class Report:
    """A scored run. `measures` are in the order of the output, `queries` in the order of their ids."""

    tag: str
    queries: Sequence[str]
    measures: Sequence[Measure]
    ranking: Ranking
    in_run: npt.NDArray[np.bool_]
    """Whether the run has the query; the others (trec_eval's -c) count as 0 for every measure."""

    @cached_property
    def values(self) -> dict[Measure, Float64]:
        """The value of each query, for measures that have one."""
        from steelyard.metrics.scoring import compute

        values: dict[Measure, Float64] = {}
        for measure in self.measures:
            if measure.kind == "count":
                values[measure] = self._counts(measure.title)
            elif measure.kind == "metric" and measure.metric and measure.metric.definition.whole is None:
                values[measure] = compute(measure.metric, self.ranking) * self.in_run
        return values

    def _counts(self, name: str) -> Float64:
        ranking = self.ranking
        if name == "num_ret":
            return ranking.lengths.astype(float)
        if name == "num_rel":
            return ranking.positives.astype(float)
        return ranking.total(ranking.relevant if name == "num_rel_ret" else ranking.nonrelevant, None, None)

    def whole(self, measure: Measure) -> Value:
        """Return the value over all queries: the sum of a count, the mean of a metric or its own aggregate."""
        if measure.kind == "name":
            return self.tag
        if measure.kind == "queries":
            return len(self.queries)
        if measure.metric is not None and measure not in self.values:
            return self._of_all(measure, measure.metric)
        total = self.values[measure].cumsum()[-1]  # summed one by one like trec_eval: the fourth decimal can differ
        return int(total) if measure.kind == "count" else float(total / len(self.queries))

    def _of_all(self, measure: Measure, metric: Metric) -> float | None:
        """Return a value that exists for all queries together only; None if it is undefined."""
        from steelyard.metrics.scoring import abstention, compute, order_by_double

        if metric.definition.whole is not None:
            return metric.definition.whole(self.ranking, metric.cutoff)
        values = {str(metric): compute(metric, self.ranking)}
        return abstention(order_by_double(self.ranking.run), [metric], values, "steelyard")[measure.title]

    @cached_property
    def by_query(self) -> dict[Measure, list[Value]]:
        """The values of every query, for measures that have them."""
        columns: dict[Measure, list[Value]] = {}
        for measure in self.measures:
            if measure.kind == "grades":
                columns[measure] = list(self._grades(measure.length))
            elif measure in self.values:
                values = self.values[measure]
                columns[measure] = (values.astype(int) if measure.kind == "count" else values).tolist()
        return columns

    def _grades(self, length: int) -> list[str]:
        """Return a character per document: its grade, `-` outside the pool, `.` not judged, `>` above 9."""
        signs = [["-"] * min(count, length) for count in self.ranking.lengths.tolist()]
        hits = self.ranking.hits.where(self.ranking.hits.rank < length)
        for query, rank, grade in zip(hits.query.tolist(), hits.rank.tolist(), hits.grade.tolist(), strict=True):
            signs[query][rank] = "." if grade < 0 else ">" if grade > 9 else str(grade)
        return list(map("".join, signs))

    def lines(self) -> list[str]:
        """Return the lines of all queries together; strings of grades have none."""
        return [_line(m, "all", self.whole(m)) for m in self.measures if m.kind != "grades"]

    def lines_by_query(self) -> list[str]:
        """Return the lines of the queries that are in the run."""
        return [
            _line(measure, self.queries[number], column[number])
            for number in self.in_run.nonzero()[0].tolist()
            for measure, column in self.by_query.items()
        ]

    def as_data(self, *, summary: bool, per_query: bool) -> dict[str, object]:
        """Return the values by trec_eval's name, the 95 % intervals of means, and the values of queries, for JSON."""
        from steelyard.stats import intervals

        data: dict[str, object] = {}
        if summary:
            data["measures"] = {m.title: self.whole(m) for m in self.measures if m.kind != "grades"}
            means = {m: m.metric for m in self.values if m.metric and m.metric.has_interval}
            computed = intervals(
                {m.title: self.values[m] for m in means}, bounds={m.title: metric.bounds for m, metric in means.items()}
            )
            data["intervals"] = {name: [interval.low, interval.high] for name, interval in computed.items()}
        if per_query:
            data["per_query"] = {
                self.queries[number]: {measure.title: column[number] for measure, column in self.by_query.items()}
                for number in self.in_run.nonzero()[0].tolist()
            }
        return data


def _line(measure: Measure, query: str, value: Value) -> str:
    shown = value
    if value is None:
        shown = "nan"
    elif isinstance(value, float):
        shown = f"{value:6.4f}"
    elif measure.kind == "grades":
        shown = f"'{value}'"
    return f"{measure.title:<22}\t{query}\t{shown}"
