"""Devices and the workers that compute batches on them."""
