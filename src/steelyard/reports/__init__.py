"""Reports for people: pages that open from disk, with nothing to fetch."""

from __future__ import annotations

from steelyard.reports.run_report.report import write_report

__all__ = ["write_report"]
