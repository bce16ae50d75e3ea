"""What the verbs share: output, progress, parsers, tables."""
