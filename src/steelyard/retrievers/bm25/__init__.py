"""BM25: analysis, postings, search."""
