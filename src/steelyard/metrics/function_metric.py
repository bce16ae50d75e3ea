"""A metric that is a Python function: of the grades of a ranked list, and of all grades of the query."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable

import numpy as np

from steelyard.errors import SteelyardError, UsageError
from steelyard.metrics.definition import METRICS, Definition
from steelyard.metrics.names import Metric
from steelyard.metrics.ranking import Ranking
from steelyard.types import Float64

MetricFunction = Callable[[list[int], list[int]], float]
"""Takes the grades of the retrieved documents, best first (0 without a judgement), and all grades of the query; returns
one number."""


def metric_of(function: MetricFunction) -> Metric:
    """Return a function as a metric under its own name; another function of the name of a metric is an error.

    >>> def first_is_relevant(grades, judged):
    ...     return float(grades[:1] == [1])
    >>> str(metric_of(first_is_relevant))
    'first_is_relevant'
    """
    name = str(getattr(function, "__name__", type(function).__name__))
    if not name.isidentifier():
        raise UsageError.invalid(
            "the name of a metric function", expected="a name", found=name, hint="define it with def", option="metrics"
        )
    known = METRICS.get(name) if name in METRICS else None
    if known is not None and not known.source:
        raise UsageError.invalid(
            "the name of a metric function",
            expected="a name that is not that of a metric",
            found=name,
            hint="rename the function",
            option="metrics",
        )
    description = (inspect.getdoc(function) or "a function").partition("\n")[0]
    definition = Definition(
        display=name,
        description=description,
        formula=description,
        compute=lambda ranking, cutoff: _values(function, name, ranking),
        trec=(name, name),
        takes_cutoff=False,
        bounds=(-np.inf, np.inf),
        source=_source(function),
    )
    METRICS.add(name, definition)
    return Metric(name)


def _values(function: MetricFunction, name: str, ranking: Ranking) -> Float64:
    run, qrels = ranking.run, ranking.qrels
    values = np.empty(len(run), dtype=np.float64)
    for query, rows in enumerate(run.rows.tolist()):
        grades = dict(zip(qrels.rows_of(query).tolist(), qrels.grades_of(query).tolist(), strict=True))
        listed = [grades.get(row, 0) for row in rows if row >= 0]
        value = function(listed, list(grades.values()))
        if not isinstance(value, int | float | np.number):
            raise SteelyardError(
                f"the metric {name} must return a number for each query, got {type(value).__name__}",
                expected="a number",
                found=type(value).__name__,
                hint="return a float",
            )
        values[query] = value
    return values


def _source(function: MetricFunction) -> str:
    """Return a hash of the function: of its source, or of its code where there is no source."""
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        text = repr(function) if code is None else f"{code.co_code.hex()}{code.co_consts!r}{code.co_names!r}"
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
