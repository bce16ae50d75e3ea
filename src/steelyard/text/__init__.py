"""Text analysis for lexical retrieval: normalisation, tokens, stemming, language identification. All vectorised.

`analysis.language_policy.choose_policy` chooses the analysers of a task; `Analyser.tokens` applies one. Strings are
processed once for each distinct token, and occurrences in arrays.
"""
