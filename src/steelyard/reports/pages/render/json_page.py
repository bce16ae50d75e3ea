"""A page as JSON: every value, every finding with its sentence, and the thresholds."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import Any

from steelyard import __version__
from steelyard.reports.pages import thresholds
from steelyard.reports.pages.measure.page_values import PAGE_SCHEMA, GroupValues, TaskValues
from steelyard.reports.pages.render.blocks import Page

JSON_NAMES = {"language_profile": "tongues", "tied": "rivals"}
"""Fields that have another name in the JSON files, whose names do not change."""


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
