"""The SELECT statement of each query to PostgreSQL."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from steelyard.errors import UsageError

VERSION = 1
PLACE = re.compile(r"(?<![:\w]):(query|k|vector)\b")
DEFAULT_EF, LARGEST_EF = 100, 1000

# Any of the words: the words of the text as the server normalises them, quoted for a tsquery, joined by "or".
ANY_WORD = r"""(SELECT string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery
    FROM unnest(to_tsvector('{config}', CAST(:query AS text))))"""
ALL_WORDS = "plainto_tsquery('{config}', CAST(:query AS text))"
WEB = "websearch_to_tsquery('{config}', CAST(:query AS text))"
QUERIES = {"or": ANY_WORD, "and": ALL_WORDS, "websearch": WEB}

WORDS = """
WITH wanted AS MATERIALIZED (SELECT {query} AS words)
SELECT d.row, {rank}(d.words, wanted.words, {normalization}) AS score
FROM {schema}.documents d, wanted
WHERE d.words @@ wanted.words
ORDER BY score DESC, d.row
LIMIT CAST(:k AS integer)
"""

# The graph is used only if rows are sorted by distance alone; then the server breaks ties at the end of a list.
VECTORS = """
SELECT row, {score} AS score
FROM {schema}.documents
WHERE vector IS NOT NULL
ORDER BY vector {distance} CAST(:vector AS vector){ties}
LIMIT CAST(:k AS integer)
"""


@dataclass(frozen=True)
class Plan:
    """What is searched, and how; everything here could change a score."""

    vectors: bool = False
    cosine: bool = True
    sql: str | None = None
    config: str | None = None
    """The text search configuration; None: by the language of the task."""
    operator: str = "or"
    """Documents with any of the query's words, with all of them, or as `websearch_to_tsquery` reads it."""
    rank: str = "ts_rank"
    normalization: int = 0
    search: str = "exact"
    m: int = 16
    ef_construction: int = 64
    ef_search: int | None = None
    """Width of the search in the graph; None: the length of the list, at least 100 and at most 1,000."""

    def check(self) -> None:
        """Raise a UsageError for options without effect, and for SQL that cannot work."""
        if self.search == "hnsw" and not self.vectors:
            raise UsageError("search=hnsw must be used with vectors", hint="add dense=MODEL", option="search")
        if self.sql is None:
            return
        if "query" not in self.places and "vector" not in self.places:
            raise UsageError("the SQL must contain :query or :vector", hint="add :query", option="sql")
        if "k" not in self.places:
            raise UsageError("the SQL must contain :k", hint="end it with LIMIT :k", option="sql")
        if ("vector" in self.places) != self.vectors:
            raise UsageError(
                "the SQL must contain :vector exactly if dense=MODEL is set", hint="use both", option="sql"
            )

    @property
    def places(self) -> frozenset[str]:
        """Return the names of the parameters."""
        if self.sql is not None:
            return frozenset(PLACE.findall(self.sql))
        return frozenset({"vector", "k"} if self.vectors else {"query", "k"})

    @property
    def operators(self) -> str:
        """Return the operator class of the graph."""
        return "vector_cosine_ops" if self.cosine else "vector_ip_ops"

    @property
    def stored(self) -> dict[str, Any]:
        """Return what defines a schema of ours."""
        if not self.vectors:
            return {"version": VERSION, "config": self.config}
        graph = {"m": self.m, "ef_construction": self.ef_construction} if self.search == "hnsw" else None
        return {"version": VERSION, "graph": graph}

    @property
    def settings(self) -> dict[str, Any]:
        """Return the settings for the key of a result."""
        if self.sql is not None:
            return {"sql": self.sql}
        if self.vectors:
            return {**self.stored, "search": self.search, "ef_search": self.ef_search}
        return {
            **self.stored,
            "operator": self.operator,
            "rank": self.rank,
            "normalization": self.normalization,
        }

    def statement(self, schema: str) -> str:
        """Return the SELECT with the parameters `:query` or `:vector` and `:k`."""
        if self.sql is not None:
            return self.sql.strip().rstrip(";")
        if self.vectors:
            distance = "<=>" if self.cosine else "<#>"
            nearness = f"(vector {distance} CAST(:vector AS vector))"
            score = f"1 - {nearness}" if self.cosine else f"-{nearness}"
            return VECTORS.format(
                schema=schema, score=score, distance=distance, ties="" if self.search == "hnsw" else ", row"
            )
        query = QUERIES[self.operator].replace("{config}", self.config or "simple")
        return WORDS.format(query=query, rank=self.rank, normalization=self.normalization, schema=schema)

    def session(self, k: int) -> list[str]:
        """Return the statements that prepare a session for lists of `k`."""
        if not self.vectors or self.search != "hnsw" or self.sql is not None:
            return []
        wide = self.ef_search or min(max(k, DEFAULT_EF), LARGEST_EF)
        # For a small table the server would prefer a full scan to the requested graph.
        return [f"SET hnsw.ef_search = {wide}", "SET enable_seqscan = off"]
