"""The HTML reports of audits."""

from steelyard.audit.report.overlap_page import write_overlap_report
from steelyard.audit.report.page import write_report

__all__ = ["write_overlap_report", "write_report"]
