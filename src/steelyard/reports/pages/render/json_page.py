"""A page as JSON: every figure, every finding with the sentence it became, and the thresholds that it passed."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from steelyard import __version__
from steelyard.reports.pages import thresholds
from steelyard.reports.pages.measure.page_values import PAGE_SCHEMA, GroupFigures, TaskFigures
from steelyard.reports.pages.render.blocks import Page


def limits() -> dict[str, float]:
    """Every threshold by name.

    >>> limits()["SIGNIFICANT"]
    0.05
    """
    return {name: value for name, value in vars(thresholds).items() if name.isupper()}


def json_page(page: Page, figures: TaskFigures | GroupFigures) -> str:
    """The text of the JSON file: strict JSON, the same bytes for the same figures."""
    return json.dumps(page_value(page, figures), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def page_value(page: Page, figures: TaskFigures | GroupFigures) -> dict[str, Any]:
    """The same as a value. A group's tasks are named; their figures are in their own files."""
    value: dict[str, Any] = dataclasses.asdict(figures)
    kind = "task"
    if isinstance(figures, GroupFigures):
        kind = "group"
        value["tasks"] = [task.name for task in figures.tasks]
        value |= {"queries": figures.queries, "documents": figures.documents, "positives": figures.positives}
    return {
        "schema_version": PAGE_SCHEMA,
        "steelyard": __version__,
        "kind": kind,
        "title": page.title,
        "figures": value,
        "findings": [
            {"section": heading, "kind": one.kind, "figures": one.figures, "sentence": one.sentence}
            for heading, one in page.findings
        ],
        "thresholds": limits(),
    }
