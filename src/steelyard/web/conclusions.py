"""What tests over queries conclude about a board: who cannot be distinguished from the best, and ranges of ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from steelyard.errors import DataError
from steelyard.results import Results
from steelyard.web.board import Place

MOST_RANKED = 50
"""With more models than this, the page computes ranges of ranks from the scores of tasks."""


def conclusions(results: Results, tasks: Sequence[str], models: Mapping[str, int]) -> dict[str, Any]:
    """Return the fields `tied`, `leaders` and `places` of a board; models are numbered by their places in it."""
    if len(models) < 2:
        return {}
    leaders = results.overall_leaders()
    return {
        "tied": _known(leaders.best, models) if leaders else (),
        "leaders": [_known(best.best, models) if (best := results.leaders(task)) else [] for task in tasks],
        "places": _places(results, models),
    }


def _known(names: Sequence[str], models: Mapping[str, int]) -> list[int]:
    return [models[name] for name in names if name in models]


def _places(results: Results, models: Mapping[str, int]) -> list[Place]:
    """Return ranges of ranks and tie groups from the scores of queries; nothing where a model lacks a task."""
    if len(models) > MOST_RANKED or any(len(results.query_columns(task)) < len(models) for task in results.labels):
        return []  # a task without scores of queries, or whose score is not their mean
    with suppress(DataError):  # tasks with other queries, or with one
        return [Place(models[one.model], round(one.low), round(one.high), one.group) for one in results.ranking()]
    return []
