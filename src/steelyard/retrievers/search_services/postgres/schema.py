"""A corpus in PostgreSQL: one schema, written in one transaction, so that it is complete or absent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.errors import MissingPart, UnknownName
from steelyard.types import Corpus
from steelyard.types.protocols import Tick

CONFIGURATIONS: Mapping[str, str] = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian",
    "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch",
    "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""The built-in text search configurations by language; other languages get `simple`."""

UNSEGMENTED = frozenset({"ja", "km", "lo", "my", "th", "zh"})
"""Languages without spaces between words: the server treats whole clauses as words."""

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?")
ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


@dataclass(frozen=True)
class Table:
    """The columns of the table of documents besides row and id."""

    schema: str
    config: str | None = None
    """The text search configuration, for full-text search."""
    dimension: int | None = None
    """The length of vectors, for vector search."""
    operators: str = "vector_cosine_ops"
    hnsw: tuple[int, int] | None = None
    """`m` and `ef_construction` of the graph; None: exact search."""


def ensure(connection: Any, table: Table, corpus: Corpus, matrix: Any, comparable: Any, tick: Tick) -> int:
    """Make sure that the schema contains the corpus; return how many documents were stored.

    A lock keeps two processes from storing it twice. After an error or an interruption, closing the connection undoes
    the transaction, also in the middle of a COPY.
    """
    connection.run("BEGIN")
    connection.run("SELECT pg_advisory_xact_lock(hashtext(:name))", name=table.schema)
    missing = not exists(connection, table.schema)
    if missing:
        _create(connection, table, corpus, matrix, comparable, tick)
    else:
        tick(len(corpus))
    connection.run("COMMIT")
    return len(corpus) if missing else 0


def exists(connection: Any, schema: str) -> bool:
    """Return whether the schema exists."""
    return bool(connection.run("SELECT 1 FROM pg_namespace WHERE nspname = :name", name=schema))


def drop(connection: Any, schema: str) -> None:
    """Remove the schema and everything in it."""
    connection.run(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


def size(connection: Any, schema: str) -> int:
    """Return the bytes of the documents, their words or vectors, and the indices."""
    return int(connection.run(f"SELECT pg_total_relation_size('{schema}.documents')")[0][0])


def check_config(connection: Any, config: str) -> None:
    """Raise a UsageError unless the server has that text search configuration."""
    names = [name for (name,) in connection.run("SELECT cfgname FROM pg_ts_config ORDER BY cfgname")]
    if not NAME.fullmatch(config) or config.rpartition(".")[2] not in names:
        raise UnknownName(
            "text search configuration of the server",
            config,
            names,
            hint=f"choose one of {', '.join(names)}",
            option="config",
        )


def check_vectors(connection: Any) -> str:
    """Return the version of pgvector, after creating the extension in the database if necessary."""
    if not connection.run("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"):
        raise MissingPart(
            "the extension pgvector is not installed on the PostgreSQL server",
            hint="install it there (on Debian and Ubuntu: apt install postgresql-NN-pgvector)",
        )
    connection.run("CREATE EXTENSION IF NOT EXISTS vector")
    return str(connection.run("SELECT extversion FROM pg_extension WHERE extname = 'vector'")[0][0])


def _create(connection: Any, table: Table, corpus: Corpus, matrix: Any, comparable: Any, tick: Tick) -> None:
    documents = f"{table.schema}.documents"
    columns = ["row integer PRIMARY KEY", "id text NOT NULL"]
    if table.config is not None:
        columns.append("body text NOT NULL")
        columns.append(f"words tsvector GENERATED ALWAYS AS (to_tsvector('{table.config}', body)) STORED")
    else:
        columns.append(f"vector vector({table.dimension})")
    connection.run(f"CREATE SCHEMA {table.schema}")
    connection.run(f"CREATE TABLE {documents} ({', '.join(columns)})")
    column = "body" if table.config is not None else "vector"
    lines = _texts(corpus, tick) if table.config is not None else _vectors(corpus, matrix, comparable)
    connection.run(f"COPY {documents} (row, id, {column}) FROM STDIN", stream=lines)
    if table.config is not None:
        connection.run(f"CREATE INDEX ON {documents} USING gin (words)")
    elif table.hnsw is not None:
        m, ef_construction = table.hnsw
        graph = f"(vector {table.operators}) WITH (m = {m}, ef_construction = {ef_construction})"
        connection.run(f"CREATE INDEX ON {documents} USING hnsw {graph}")
    connection.run(f"ANALYZE {documents}")


def _texts(corpus: Corpus, tick: Tick) -> Iterator[bytes]:
    for row, (id_, text) in enumerate(zip(corpus.ids, corpus.texts, strict=True)):
        yield f"{row}\t{_escaped(id_)}\t{_escaped(text)}\n".encode()
        tick(1)


def _vectors(corpus: Corpus, matrix: Any, comparable: Any) -> Iterator[bytes]:
    for row, id_ in enumerate(corpus.ids):
        vector = as_text(matrix[row]) if comparable[row] else "\\N"
        yield f"{row}\t{_escaped(id_)}\t{vector}\n".encode()


def _escaped(text: str) -> str:
    r"""Return the text as COPY reads it.

    >>> _escaped("a\tb\\")
    'a\\tb\\\\'
    """
    return storable(text).translate(ESCAPES)


def storable(text: str) -> str:
    r"""Return the text as PostgreSQL can store it: NUL and unpaired surrogates become question marks.

    >>> storable("a\0b\ud800")
    'a?b?'
    """
    return text.replace("\0", "?").encode("utf-8", "replace").decode()


def as_text(vector: Any) -> str:
    """Return a vector as pgvector reads it, without loss.

    >>> as_text(__import__("numpy").array([0.5, -1], dtype="float32"))
    '[0.5,-1.0]'
    """
    return f"[{','.join(map(repr, vector.tolist()))}]"
