"""Measure what a page reports."""
