"""Arithmetic on vectors: exact search, normalising."""
