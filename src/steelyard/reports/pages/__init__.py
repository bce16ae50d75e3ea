"""Task and group pages: figures from data and runs, findings from figures, sentences from findings, then files.

    inputs  ->  figures  ->  findings  ->  sentences  ->  pages  ->  Markdown, HTML, JSON
    (runs)      (values)     (tested)      (templates)    (blocks)

Nothing on a page was typed by anyone: a sentence stands there because a finding does, and a finding because a figure
passed a threshold of `thresholds.py`. Words that come from a card or a catalogue are marked as theirs.
"""

from __future__ import annotations

from steelyard.reports.pages.measure.group import measure_group
from steelyard.reports.pages.measure.inputs import Audit, Profile, stored_profiles
from steelyard.reports.pages.measure.page_values import PAGE_SCHEMA, GroupValues, TaskValues
from steelyard.reports.pages.measure.task import measure_task
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
