"""Formats of retrieval datasets: Nano-sets, BEIR, TREC, folders, click logs, packages."""
