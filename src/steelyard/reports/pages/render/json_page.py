"""Write and read a page as JSON: every value, every finding with its sentence, and the thresholds.

The values of an earlier build are read, so that unchanged tasks are not measured again.
"""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from steelyard import __version__
from steelyard.reports.pages import thresholds
from steelyard.reports.pages.measure.page_values import PAGE_SCHEMA, GroupValues, TaskValues
from steelyard.reports.pages.render.blocks import Page

JSON_NAMES = {"language_profile": "tongues", "tied": "rivals"}
"""Fields that have another name in the JSON files, whose names do not change."""
PYTHON_NAMES = {json_name: name for name, json_name in JSON_NAMES.items()}
HIDDEN = ".figures"
"""The folder in that of a group with the JSON files that were not requested."""


def limits() -> dict[str, float]:
    """Return every threshold by name.

    >>> limits()["SIGNIFICANT"]
    0.05
    """
    return {name: value for name, value in vars(thresholds).items() if name.isupper()}


def json_page(page: Page, values: TaskValues | GroupValues) -> str:
    """Return the text of the JSON file: strict JSON, the same bytes for the same values."""
    return json.dumps(page_value(page, values), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def page_value(page: Page, values: TaskValues | GroupValues) -> dict[str, Any]:
    """Return the content of the JSON file. A group lists its tasks by name; their values are in their own files."""
    value: dict[str, Any] = dataclasses.asdict(values, dict_factory=_renamed)
    kind = "task"
    if isinstance(values, GroupValues):
        kind = "group"
        value["tasks"] = [task.name for task in values.tasks]
        value |= {"queries": values.queries, "documents": values.documents, "positives": values.positives}
    return {
        "schema_version": PAGE_SCHEMA,
        "steelyard": __version__,
        "kind": kind,
        "title": page.title,
        "figures": value,
        "findings": [
            {"section": heading, "kind": one.kind, "figures": one.values, "sentence": one.sentence}
            for heading, one in page.findings
        ],
        "thresholds": limits(),
    }


def _renamed(fields: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {JSON_NAMES.get(name, name): value for name, value in fields}


def json_file(home: Path, slug: str) -> Path:
    """Return the JSON file of a page: the hidden one, which is newer, or the visible one."""
    hidden = home / HIDDEN / f"{slug}.json"
    return hidden if hidden.is_file() else home / f"{slug}.json"


def read_page(path: Path, kind: str) -> dict[str, Any] | None:
    """Return the object of a JSON page of that kind; None if there is none, or one of another schema."""
    value = read_any(path)
    return value if (value.get("schema_version"), value.get("kind")) == (PAGE_SCHEMA, kind) else None


def read_any(path: Path) -> dict[str, Any]:
    """Return the object of a JSON page of any kind and schema; empty if there is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def read_values(path: Path) -> TaskValues | None:
    """Return the values of a task's JSON page; None if they cannot be read."""
    value = read_page(path, "task")
    if value is None:
        return None
    try:
        values: TaskValues = values_of(TaskValues, value["figures"])
        return values
    except (KeyError, TypeError, AttributeError, ValueError):  # the file was edited
        return None


def values_of(kind: Any, value: Any) -> Any:
    """Return a value of that type from its JSON form.

    >>> from steelyard.reports.pages.measure.part_values import Histogram, Spread
    >>> spread = Spread(1.5, 1, 1.5, 2, Histogram((1, 2, 4), (1, 1)))
    >>> values_of(Spread, json.loads(json.dumps(dataclasses.asdict(spread)))) == spread
    True
    """
    if value is None:
        return None
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(one for one in get_args(kind) if one is not type(None))
    if get_origin(kind) is tuple:
        return tuple(values_of(get_args(kind)[0], one) for one in value)
    if get_origin(kind) is Mapping:
        return {name: values_of(get_args(kind)[1], one) for name, one in value.items()}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = _hints(kind)
        named = {PYTHON_NAMES.get(name, name): one for name, one in value.items()}
        return kind(**{name: values_of(hints[name], one) for name, one in named.items()})
    return value


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
