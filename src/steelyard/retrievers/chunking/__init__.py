"""Passages: documents are divided, passages are searched or scored, and documents are ranked by their passages.

One wrapper for every family: `ChunkedRetriever` for models that search, `PassageScorer` for rerankers.
"""
