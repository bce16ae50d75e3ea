"""Tasks without a corpus, and reranking rows: from tables to the values of `steelyard.types.samples`.

`roles` knows the columns, `splits` the files, `pairs`, `labelled`, `clusters` and `rows` make a task of tables each,
`place` finds one's own data, `published` that of the catalogue.
"""
