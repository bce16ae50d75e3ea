"""Text analysis for lexical retrieval: normalise, cut into tokens, stem, tell the language. All vectorised.

`analyser.choose` picks the analyser of a task; `Analyser.tokens` applies it. Strings are touched once for each
distinct token; everything that happens to each occurrence happens in arrays.
"""
