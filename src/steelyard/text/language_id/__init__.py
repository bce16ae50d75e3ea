"""Identify the language of a text."""
