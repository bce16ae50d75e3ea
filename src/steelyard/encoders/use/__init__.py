"""The default encoder: Universal Sentence Encoder multilingual v3 in NumPy."""
