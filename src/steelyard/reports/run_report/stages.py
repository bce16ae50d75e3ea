"""The stages of pipelines and fusions: their score, their gain and their recall ceiling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from steelyard.results import MAIN_METRIC, Result


@dataclass(frozen=True)
class Stage:
    """A stage with means over some tasks."""

    name: str
    value: float
    gain: float | None = None
    """The difference from the input with the best mean; None for a model that searches the corpus."""
    ceiling: float | None = None
    """The recall of its input."""


def stages_of(cells: Sequence[Result]) -> list[Stage]:
    """Return the stages of one model, in order.

    >>> notes = [{"model": "bm25", "ndcg_at_10": 0.5},
    ...          {"model": "bm25 > rerank:X", "ndcg_at_10": 0.75, "over": "bm25", "recall_ceiling": 0.9}]
    >>> for stage in stages_of([Result("T/a", "bm25 > rerank:X", {}, "1", notes={"stages": notes})]):
    ...     print(stage)
    Stage(name='bm25', value=0.5, gain=None, ceiling=None)
    Stage(name='> rerank:X', value=0.75, gain=0.25, ceiling=0.9)
    """
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for cell in cells:
        for stage in cell.notes["stages"]:
            by_name.setdefault(stage["model"], []).append(stage)
    values = {name: fmean(stage[MAIN_METRIC] for stage in stages) for name, stages in by_name.items()}

    def gain(name: str) -> float | None:
        # The best input of each task could not be chosen beforehand.
        best = max((values[over] for stage in by_name[name] if (over := stage.get("over")) in values), default=None)
        return None if best is None else values[name] - best

    return [
        Stage(_label(name), values[name], gain(name), _mean(stage.get("recall_ceiling") for stage in stages))
        for name, stages in by_name.items()
    ]


def _label(name: str) -> str:
    """Return the last stage of a pipeline, as the earlier ones are above it; a fusion is returned whole."""
    _, arrow, last = name.rpartition(" > ")
    return f"> {last}" if arrow and not name.endswith("]") and "]" not in last else name


def _mean(values: Any) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
