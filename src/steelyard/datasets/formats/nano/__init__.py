"""Nano-set folders: read and write."""
