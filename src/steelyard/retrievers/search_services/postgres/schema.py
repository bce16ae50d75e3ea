"""A corpus in PostgreSQL: a schema of its own, written in one transaction, so that it is whole or not there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.errors import MissingPart, UsageError
from steelyard.types import Corpus
from steelyard.types.protocols import Tick

CONFIGURATIONS: Mapping[str, str] = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian",
    "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch",
    "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""Text search configurations that the server brings, by language; others get `simple`."""

UNCUT = frozenset({"ja", "km", "lo", "my", "th", "zh"})
"""Languages written without spaces, which the server's parser takes whole clauses of for words."""

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?")
ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


@dataclass(frozen=True)
class Table:
    """What the table of documents has beside row and id."""

    schema: str
    config: str | None = None
    """The text search configuration, for words."""
    dimension: int | None = None
    """The length of vectors, for vectors."""
    operators: str = "vector_cosine_ops"
    hnsw: tuple[int, int] | None = None
    """`m` and `ef_construction` of the graph; None: every vector is looked at."""


def ensure(connection: Any, table: Table, corpus: Corpus, matrix: Any, sound: Any, tick: Tick) -> int:
    """Make sure that the schema holds the corpus; returns how many documents had to be stored for that.

    A lock keeps two processes from doing it twice; the second one finds it done. After an error or an interruption
    the connection is of no further use: closing it undoes the transaction, also in the middle of a COPY.
    """
    connection.run("BEGIN")
    connection.run("SELECT pg_advisory_xact_lock(hashtext(:name))", name=table.schema)
    missing = not exists(connection, table.schema)
    if missing:
        _create(connection, table, corpus, matrix, sound, tick)
    else:
        tick(len(corpus))
    connection.run("COMMIT")
    return len(corpus) if missing else 0


def exists(connection: Any, schema: str) -> bool:
    """Whether there is such a schema."""
    return bool(connection.run("SELECT 1 FROM pg_namespace WHERE nspname = :name", name=schema))


def drop(connection: Any, schema: str) -> None:
    """Remove the schema and all that is in it."""
    connection.run(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


def size(connection: Any, schema: str) -> int:
    """Bytes of the documents, their words or vectors, and the indices over them."""
    return int(connection.run(f"SELECT pg_total_relation_size('{schema}.documents')")[0][0])


def check_config(connection: Any, config: str) -> None:
    """A UsageError unless the server has that text search configuration."""
    names = [name for (name,) in connection.run("SELECT cfgname FROM pg_ts_config ORDER BY cfgname")]
    if not NAME.fullmatch(config) or config.rpartition(".")[2] not in names:
        raise UsageError(f"the server has no text search configuration {config!r}", hint=f"it has {', '.join(names)}")


def check_vectors(connection: Any) -> str:
    """The version of pgvector; made available in the database if it only lies on the disk."""
    if not connection.run("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"):
        raise MissingPart(
            "the PostgreSQL server has no pgvector",
            hint="install it beside the server (Debian and its kin: postgresql-NN-pgvector)",
        )
    connection.run("CREATE EXTENSION IF NOT EXISTS vector")
    return str(connection.run("SELECT extversion FROM pg_extension WHERE extname = 'vector'")[0][0])


def _create(connection: Any, table: Table, corpus: Corpus, matrix: Any, sound: Any, tick: Tick) -> None:
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
    lines = _texts(corpus, tick) if table.config is not None else _vectors(corpus, matrix, sound)
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
        yield f"{row}\t{_storable(id_)}\t{_storable(text)}\n".encode()
        tick(1)


def _vectors(corpus: Corpus, matrix: Any, sound: Any) -> Iterator[bytes]:
    for row, id_ in enumerate(corpus.ids):
        vector = as_text(matrix[row]) if sound[row] else "\\N"
        yield f"{row}\t{_storable(id_)}\t{vector}\n".encode()


def _storable(text: str) -> str:
    r"""The text as COPY reads it.

    >>> _storable("a\tb\\")
    'a\\tb\\\\'
    """
    return held(text).translate(ESCAPES)


def held(text: str) -> str:
    r"""The text as PostgreSQL can hold it: NUL and half of a surrogate pair become question marks.

    >>> held("a\0b\ud800")
    'a?b?'
    """
    return text.replace("\0", "?").encode("utf-8", "replace").decode()


def as_text(vector: Any) -> str:
    """A vector as pgvector reads it: every float32 comes back as it was.

    >>> as_text(__import__("numpy").array([0.5, -1], dtype="float32"))
    '[0.5,-1.0]'
    """
    return f"[{','.join(map(repr, vector.tolist()))}]"
