"""Search services as retrievers: any HTTP service by a template, OpenSearch, Elasticsearch, Qdrant, PostgreSQL.

Each service either indexes the corpus itself, under a name that holds a hash of the content, or is searched as it
stands. Answers become a `Run` in `answers.py`; what asking cost, and what was odd about the answers, is in the notes.
"""
