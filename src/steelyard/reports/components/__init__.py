"""Markup and charts that all reports share."""
