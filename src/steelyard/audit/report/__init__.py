"""The HTML report of an audit."""

from steelyard.audit.report.page import write_report

__all__ = ["write_report"]
