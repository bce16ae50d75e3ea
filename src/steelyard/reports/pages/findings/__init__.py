"""Sentences that follow from measured values."""
