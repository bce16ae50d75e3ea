"""JSON pages back to figures, so that what has not changed is not measured again."""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from steelyard.reports.pages.measure.page_values import PAGE_SCHEMA, TaskFigures

ASIDE = ".figures"
"""The folder among the pages of a group that keeps their JSON form where nobody asked for it."""


def json_file(home: Path, slug: str) -> Path:
    """The JSON form of a page: what was set aside, which is newer where it is there, or the page itself."""
    aside = home / ASIDE / f"{slug}.json"
    return aside if aside.is_file() else home / f"{slug}.json"


def read_page(path: Path, kind: str) -> dict[str, Any] | None:
    """The object of a JSON page of that kind; None where none stands there, or one of another schema."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(value, dict) or (value.get("schema_version"), value.get("kind")) != (PAGE_SCHEMA, kind):
        return None
    return value


def read_figures(path: Path) -> TaskFigures | None:
    """The figures of a task's JSON page, equal to those it was written from; None where they cannot be had."""
    value = read_page(path, "task")
    if value is None:
        return None
    try:
        figures: TaskFigures = figures_of(TaskFigures, value["figures"])
        return figures
    except (KeyError, TypeError, AttributeError):  # somebody edited it
        return None


def figures_of(kind: Any, value: Any) -> Any:
    """A value of that type from what JSON made of it.

    >>> from steelyard.reports.pages.measure.values import Histogram, Spread
    >>> spread = Spread(1.5, 1, 1.5, 2, Histogram((1, 2, 4), (1, 1)))
    >>> figures_of(Spread, json.loads(json.dumps(dataclasses.asdict(spread)))) == spread
    True
    """
    if value is None:
        return None
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(one for one in get_args(kind) if one is not type(None))
    if get_origin(kind) is tuple:
        return tuple(figures_of(get_args(kind)[0], one) for one in value)
    if get_origin(kind) is Mapping:
        return {name: figures_of(get_args(kind)[1], one) for name, one in value.items()}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = _hints(kind)
        return kind(**{name: figures_of(hints[name], one) for name, one in value.items()})
    return value


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
