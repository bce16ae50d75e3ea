"""Task and group pages: values from data and runs, findings from values, sentences from findings, then files.

    inputs  ->  values    ->  findings  ->  sentences    ->  pages    ->  Markdown, HTML, JSON
    (runs)      (measure)     (tests)       (templates)      (blocks)

Every sentence on a page is made from a finding, and every finding from a value that passed a threshold of
`thresholds.py`. Text from a dataset card or the catalogue is quoted and marked.
"""

from __future__ import annotations

from steelyard.reports.pages.measure.measure_pages import measure_group, measure_task
from steelyard.reports.pages.measure.page_inputs import Audit, Profile, stored_profiles
from steelyard.reports.pages.measure.page_values import PAGE_SCHEMA, GroupValues, TaskValues
from steelyard.reports.pages.render.writing import FORMATS, write_pages

__all__ = [
    "FORMATS",
    "PAGE_SCHEMA",
    "Audit",
    "GroupValues",
    "Profile",
    "TaskValues",
    "measure_group",
    "measure_task",
    "stored_profiles",
    "write_pages",
]
