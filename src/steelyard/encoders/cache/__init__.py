"""The store of vectors: each text is encoded once."""
