"""The lexical levels: exact, near-duplicate and contained texts, on arrays of token hashes."""
