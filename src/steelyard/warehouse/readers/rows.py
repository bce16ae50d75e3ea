"""The rows that readers return, and the checks that all of them share."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

FIRST_POSITIVE = "first_positive"
"""The name under which the rank of the first relevant document of a query is stored; 0 if none was retrieved."""


ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=str)


class BadFile(Exception):
    """A file cannot be read; the message is the reason that the import lists."""


@dataclass
class Score:
    """One split and subset of one result file."""

    model: str
    revision: str
    task: str
    split: str
    subset: str
    main_score: float | None
    metrics: dict[str, float]
    experiment: str = ""
    languages: list[str] = field(default_factory=list)
    low: float | None = None
    high: float | None = None
    dataset_revision: str | None = None
    version: str | None = None
    seconds: float | None = None
    limit: int | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    queries: dict[str, tuple[Sequence[str], Sequence[float]]] = field(default_factory=dict)
    """Query ids and values by metric, where the file has them; values are a list or an array of Arrow."""


@dataclass
class Model:
    """What a file reports about a model."""

    model: str
    revision: str
    family: str | None = None
    n_parameters: int | None = None
    embed_dim: int | None = None
    max_tokens: int | None = None
    memory_mb: float | None = None
    license: str | None = None
    open_weights: bool | None = None
    release_date: str | None = None
    languages: list[str] = field(default_factory=list)
    training_datasets: list[str] | None = None
    url: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)


def text(value: Any) -> str | None:
    """Return a text or a number as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value)


def number(value: Any) -> float | None:
    """Return a finite number; None for NaN, infinities and anything else.

    >>> number(0.5), number(float("nan")), number("0.5"), number(True)
    (0.5, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        as_float = float(value)
    except OverflowError:
        return None
    return as_float if math.isfinite(as_float) else None


def whole(value: Any) -> int | None:
    """Return a whole number that fits into 64 bits; None for anything else."""
    as_float = number(value)
    return int(as_float) if as_float is not None and abs(as_float) < 2**62 else None


def texts(value: Any) -> list[str]:
    """Return the texts of a list; an empty list for anything else."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def as_json(value: dict[str, Any]) -> str | None:
    """Return fields as JSON, None if there are none."""
    return ENCODER.encode(value) if value else None
