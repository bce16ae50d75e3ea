"""Tasks of the mteb package."""
