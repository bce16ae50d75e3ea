"""Turn clicks into grades: clicks on a document of a query are added up and compared with thresholds.

A click is a weak and biased judgement: people click what comes first. Three options correct for that. A document must
have been shown often enough (`min_impressions`) to be judged. The signal may be the number of clicks or their share of
the impressions (`signal`). And clicks at lower positions may count more (`positions=ips`): if position `k` is looked at
with probability `k ** -eta`, a click there counts `k ** eta` times, at most `clip` (inverse propensity).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import numpy as np

from steelyard.errors import UsageError
from steelyard.options import Options
from steelyard.types import Float64, Int32, Int64

Signal = Literal["clicks", "ctr"]
Positions = Literal["ignore", "ips"]
USUAL: Mapping[Signal, float] = {"clicks": 1.0, "ctr": 0.1}
"""The default threshold of grade 1."""
OPTIONS = ("signal", "at", "min_impressions", "positions", "eta", "clip", "since", "until")


@dataclass(frozen=True)
class Grading:
    """How clicks become grades.

    >>> Grading(signal="ctr", at=(0.1, 0.5)).grades(np.array([0.05, 0.1, 0.6])).tolist()
    [0, 1, 2]
    """

    signal: Signal = "clicks"
    at: tuple[float, ...] = (1.0,)
    """Ascending: a document that reaches the first has grade 1, the second grade 2 ..."""
    min_impressions: int = 1
    positions: Positions = "ignore"
    eta: float = 1.0
    clip: float = 10.0
    since: str | None = None
    until: str | None = None

    def grades(self, values: Float64) -> Int32:
        """Return the grade of each value: how many thresholds it reaches."""
        # A share such as 3/30 must reach 0.1 despite rounding.
        return np.searchsorted(np.array(self.at), values * (1 + 1e-12), side="right").astype(np.int32)

    def weights(self, positions: Float64) -> Float64:
        """Return how much a click at each position (from 1) counts.

        >>> Grading(positions="ips", clip=4.0).weights(np.array([1.0, 3.0, 9.0])).tolist()
        [1.0, 3.0, 4.0]
        """
        if self.positions == "ignore":
            return np.ones(len(positions))
        return np.minimum(positions**self.eta, self.clip)

    def __str__(self) -> str:
        """Return the grading in words, for cards and manifests.

        >>> print(Grading(positions="ips"))
        clicks (a click at position k counts k^1, at most 10): grade 1 from 1; shown at least 1 times
        """
        what = "clicks" if self.signal == "clicks" else "clicks by impressions"
        bias = f" (a click at position k counts k^{self.eta:g}, at most {self.clip:g})" * (self.positions == "ips")
        steps = ", ".join(f"grade {grade} from {least:g}" for grade, least in enumerate(self.at, 1))
        window = "".join(f"; {word} {day}" for word, day in (("since", self.since), ("until", self.until)) if day)
        return f"{what}{bias}: {steps}; shown at least {self.min_impressions} times{window}"


def grading_of(reference: str, raw_options: Mapping[str, str]) -> Grading:
    """Return the grading of the options of a reference; an invalid option is a UsageError."""
    options = Options(reference, raw_options, OPTIONS)
    signal: Signal = "ctr" if options.choice("signal", get_args(Signal)) == "ctr" else "clicks"
    positions: Positions = "ips" if options.choice("positions", get_args(Positions)) == "ips" else "ignore"
    return Grading(
        signal,
        _thresholds(reference, options.text("at"), USUAL[signal]),
        options.whole("min_impressions", 1),
        positions,
        options.number("eta", 1.0),
        options.number("clip", 10.0),
        options.text("since"),
        options.text("until"),
    )


def _thresholds(reference: str, text: str | None, usual: float) -> tuple[float, ...]:
    if text is None:
        return (usual,)
    try:
        steps = tuple(float(part) for part in text.split(","))
    except ValueError:
        steps = ()
    if not steps or steps[0] <= 0 or any(low >= high for low, high in pairwise(steps)):
        raise UsageError.invalid(
            f"the option at of {reference}",
            expected="ascending numbers above 0",
            found=text,
            option="at",
            hint="write at=0.1, or at=0.05,0.2 for two grades",
        )
    return steps


@dataclass(frozen=True, eq=False)
class Events:
    """Rows of a log, as columns of one length."""

    query: Int64
    document: Int64
    clicks: Float64
    impressions: Float64
    position: Float64 | None = None
    session: Int64 | None = None


@dataclass(frozen=True, eq=False)
class Pairs:
    """Impressions and clicks of each document of each query, ordered by query, then document."""

    query: Int64
    document: Int64
    impressions: Float64
    clicks: Float64
    """Weighted by position with `positions=ips`."""


def tally(events: Events, grading: Grading) -> Pairs:
    """Add up the rows. A session counts once for a document of a query if the rows are single events.

    >>> seen = Events(np.array([0, 0, 0]), np.array([7, 7, 8]), np.array([1.0, 0.0, 0.0]), np.ones(3))
    >>> pairs = tally(seen, Grading())
    >>> pairs.document.tolist(), pairs.impressions.tolist(), pairs.clicks.tolist()
    ([7, 8], [2.0, 1.0], [1.0, 0.0])
    """
    if events.session is not None:
        events = _once_a_session(events)
    width = int(events.document.max(initial=0)) + 1
    keys, place = np.unique(events.query * width + events.document, return_inverse=True)
    weighted = events.clicks if events.position is None else events.clicks * grading.weights(events.position)
    return Pairs(
        keys // width,
        keys % width,
        np.asarray(np.bincount(place, events.impressions, len(keys)), dtype=np.float64),
        np.asarray(np.bincount(place, weighted, len(keys)), dtype=np.float64),
    )


def _once_a_session(events: Events) -> Events:
    """Keep one row per session, document and query: a clicked one if there is one, at the highest position."""
    assert events.session is not None
    above = np.zeros(len(events.query)) if events.position is None else events.position
    order = np.lexsort((above, -events.clicks, events.session, events.document, events.query))
    columns = [column[order] for column in (events.query, events.document, events.session)]
    first = np.ones(len(order), dtype=bool)
    first[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    chosen = order[first]
    return Events(
        events.query[chosen],
        events.document[chosen],
        events.clicks[chosen],
        events.impressions[chosen],
        None if events.position is None else events.position[chosen],
        events.session[chosen],
    )


def values_of(pairs: Pairs, grading: Grading) -> Float64:
    """Return the value of each pair that is compared with the thresholds."""
    return pairs.clicks if grading.signal == "clicks" else pairs.clicks / pairs.impressions
