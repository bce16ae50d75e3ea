"""Datasets from model and data hubs, and local copies of them."""
