"""Tasks without a corpus, and reranking rows: from tables to the values of `steelyard.types.samples`.

`roles` has the columns, `splits` the files; `pairs`, `labels`, `clusters` and `rows` build a task from tables;
`location` finds your own data, `hubs.published` that of the catalogue.
"""
