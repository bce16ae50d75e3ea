"""TREC collections, topics, qrels and runs."""
