"""Candidate subsets: BM25, dense and hybrid lists with safeguards."""
