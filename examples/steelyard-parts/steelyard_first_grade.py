"""A metric: the grade of the first document of each list, as a share of the highest grade."""

from __future__ import annotations

from steelyard.metrics import Definition, Ranking
from steelyard.types import Float64

HIGHEST = 3


def first_grade(ranking: Ranking, cutoff: int | None) -> Float64:
    """Return one value for each query; a query without results has 0."""
    return ranking.grades(cutoff=1)[:, 0] / HIGHEST


FIRST_GRADE = Definition(
    display="first grade",
    description="how good the first document is",
    formula="rel_1 / 3",
    compute=first_grade,
    trec=("first_grade", "first_grade"),
    takes_cutoff=False,
)
