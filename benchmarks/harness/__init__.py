"""Measure contestants side by side: fresh processes, interleaved rounds, medians, one result format, one page."""
