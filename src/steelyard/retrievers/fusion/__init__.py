"""Fuse ranked lists."""
