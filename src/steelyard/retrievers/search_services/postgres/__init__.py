"""PostgreSQL as a search service."""
