"""The cache of encodings: each text is encoded once."""
