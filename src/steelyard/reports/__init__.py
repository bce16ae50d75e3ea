"""HTML reports and pages that open from disk, without downloads."""

from __future__ import annotations

from steelyard.reports.run_report.report import write_report

__all__ = ["write_report"]
