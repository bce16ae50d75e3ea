"""Search services as retrievers: any HTTP service by a template, OpenSearch, Elasticsearch, Qdrant, PostgreSQL.

A service either stores the corpus itself, under a name that contains a hash of the content, or is searched as it is.
`responses` turns answers into a `Run`; latencies and unexpected answers are in the notes.
"""
