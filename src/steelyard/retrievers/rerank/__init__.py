"""Rerank candidate lists with cross-encoders and services."""
