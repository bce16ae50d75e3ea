"""`postgres:ADDRESS`: full-text search, with `dense=MODEL` nearest vectors of pgvector, or your own SQL.

Our corpus is stored in a schema `steelyard_...` named by a hash of its content. `sql=FILE` queries existing tables in
a read-only transaction: the statement uses `:query`, `:k` and, with `dense`, `:vector`, and returns id and score.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from steelyard.config import Settings
from steelyard.encoders.compute_options import NOT_FOR
from steelyard.errors import ModelError, SteelyardError, UsageError
from steelyard.files import with_home
from steelyard.http.secrets import Secrets
from steelyard.options import Options
from steelyard.retrievers.model_names import result_name
from steelyard.retrievers.search_services.encoding import ServiceVectors, content_name
from steelyard.retrievers.search_services.postgres import schema
from steelyard.retrievers.search_services.postgres.connection import Address, Pool, hang_up
from steelyard.retrievers.search_services.postgres.sql import Plan
from steelyard.retrievers.search_services.request_options import RequestOptions, require
from steelyard.retrievers.search_services.responses import Hits, by_id, query_all, to_run, with_retries
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Queries, Run, TaskInfo
from steelyard.types.protocols import ModelSettings, Tick, no_tick

OPTIONS = (
    *("dense", "sql", "config", "operator", "rank", "normalization", "search", "m", "ef_construction", "ef_search"),
    *("keep", "revision", *RequestOptions.NAMES),
)


@dataclass(frozen=True, eq=False)
class PostgresIndex:
    """A schema of ours, or a statement over existing tables."""

    retriever: PostgresRetriever
    plan: Plan
    corpus: Corpus
    schema: str
    size_bytes: int
    notes: dict[str, Any] = field(default_factory=dict)

    def search(self, queries: Queries, top_k: int) -> Run:
        """Return the best `top_k` of each query; then remove the schema, unless it is kept."""
        retriever = self.retriever
        values = self._values(queries)
        statement, settings = self.plan.statement(self.schema), self.plan.session(top_k)
        pool: Pool[Session] = Pool(lambda: Session(retriever.address, statement, settings))

        def query_one(query: int) -> Hits:
            value = values(query)
            if value is None:
                return Hits(())
            with pool.connection() as session:
                lines, seconds = session.run({**value, "k": top_k})
            return self._hits(lines, seconds)

        try:
            answers = query_all(len(queries), with_retries(query_one, retriever.requests.retries), retriever.requests)
            run, notes = to_run(answers, queries, top_k, retriever.requests)
        finally:
            pool.close()
        self.notes.update(notes)
        if not retriever.keep and self.plan.sql is None:
            retriever.drop(self.schema)
        return run

    def _values(self, queries: Queries) -> Callable[[int], dict[str, Any] | None]:
        """Return the parameters of the statement for a query; None for a zero vector."""
        vectors = self.retriever.vectors
        names = self.plan.places
        if vectors is None:
            return lambda query: {name: schema.storable(queries.texts[query]) for name in names & {"query"}}
        matrix, self.notes["query_vectors"] = vectors.queries(queries)
        comparable = vectors.comparable(matrix)

        def value(query: int) -> dict[str, Any] | None:
            if not comparable[query]:
                return None
            both = {"query": schema.storable(queries.texts[query]), "vector": schema.as_text(matrix[query])}
            return {name: value for name, value in both.items() if name in names}

        return value

    def _hits(self, lines: list[list[Any]], seconds: float) -> Hits:
        if self.plan.sql is None:
            return Hits([row for row, _ in lines], [score for _, score in lines], (), seconds)
        if lines and len(lines[0]) not in (1, 2):
            raise ModelError.invalid(
                "the result of the SQL", expected="the id and an optional score", found=f"{len(lines[0])} columns"
            )
        scores = [float(line[1]) for line in lines] if lines and len(lines[0]) == 2 else None
        return by_id([line[0] for line in lines], scores, self.corpus.row_of, seconds=seconds)


class Session:
    """A read-only connection with a prepared statement."""

    def __init__(self, address: Address, statement: str, settings: list[str]) -> None:
        self._address = address
        self._connection = address.connect()
        try:
            with address.translated():
                for setting in ("SET default_transaction_read_only = on", *settings):
                    self._connection.run(setting)
                self._prepared = self._connection.prepare(statement)
        except SteelyardError:
            self.close()
            raise

    def run(self, values: dict[str, Any]) -> tuple[list[list[Any]], float]:
        """Return the lines of the result, and the seconds they took."""
        with self._address.translated():
            start = time.perf_counter()
            lines = self._prepared.run(**values)
            return lines, time.perf_counter() - start

    def close(self) -> None:
        """Close the connection."""
        hang_up(self._connection)


@dataclass(frozen=True, eq=False)
class PostgresRetriever:
    """A server and a plan; with `vectors`, nearest neighbours instead of words."""

    name: str
    address: Address
    plan: Plan
    requests: RequestOptions = field(default_factory=RequestOptions)
    vectors: ServiceVectors | None = None
    keep: bool = True
    """Whether our schema stays on the server for the next run."""
    revision: str | None = None
    """Distinguishes states of existing tables."""

    @property
    def settings(self) -> ModelSettings:
        """Return the plan, the encoder and, for existing tables, the address and revision."""
        location = {"address": self.address.text, "revision": self.revision} if self.plan.sql else {}
        encoder = dict(self.vectors.settings) if self.vectors else None
        return {"family": "postgres", **self.plan.settings, "encoder": encoder, **self.requests.settings, **location}

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> PostgresIndex:
        """Store the corpus if it is not stored yet."""
        connection = self.address.connect()
        try:
            with self.address.translated():
                version = str(connection.run("SHOW server_version")[0][0])
                notes: dict[str, Any] = {"server": f"PostgreSQL {version}"}
                if self.plan.sql is not None:
                    tick(len(corpus))
                    return PostgresIndex(self, self.plan, corpus, "", 0, notes)
                return self._own(connection, corpus, info, tick, notes)
        finally:
            hang_up(connection)

    def drop(self, name: str) -> None:
        """Remove a schema of ours."""
        connection = self.address.connect()
        try:
            with self.address.translated():
                schema.drop(connection, name)
        finally:
            hang_up(connection)

    def _own(self, connection: Any, corpus: Corpus, info: TaskInfo, tick: Tick, notes: dict[str, Any]) -> PostgresIndex:
        plan, matrix, comparable = self.plan, None, None
        if self.vectors is None:
            plan = replace(plan, config=plan.config or schema.CONFIGURATIONS.get(info.language, "simple"))
            schema.check_config(connection, plan.config or "simple")
            notes["config"] = plan.config
            if info.language in schema.UNSEGMENTED:
                notes["words"] = f"PostgreSQL does not segment {info.language} into words: only whole clauses match"
            dimension = None
        else:
            notes["pgvector"] = schema.check_vectors(connection)
            dimension = self.vectors.encoder.dimension
        stored = {**plan.stored, "encoder": dict(self.vectors.settings) if self.vectors else None}
        name = f"steelyard_{content_name(corpus, stored)}"
        if self.vectors is not None and not schema.exists(connection, name):
            matrix, notes["document_vectors"] = self.vectors.documents(corpus)
            comparable = self.vectors.comparable(matrix)
            if not comparable.all():
                notes["documents_without_direction"] = int((~comparable).sum())
        table = schema.Table(
            name,
            config=plan.config if self.vectors is None else None,
            dimension=dimension,
            operators=plan.operators,
            hnsw=(plan.m, plan.ef_construction) if plan.search == "hnsw" else None,
        )
        notes.update(schema=name, documents_stored=schema.ensure(connection, table, corpus, matrix, comparable, tick))
        return PostgresIndex(self, plan, corpus, name, schema.size(connection, name), notes)


def from_spec(spec: ModelSpec, settings: Settings) -> PostgresRetriever:
    """Return the retriever of `postgres:ADDRESS?OPTIONS`."""
    options = Options("postgres", spec.options, OPTIONS, NOT_FOR["search service"])
    require("pg8000.native", "pg8000")
    model, sql = options.text("dense"), options.text("sql")
    vectors = ServiceVectors.of(model, settings) if model else None
    if sql is not None and not with_home(sql).is_file():
        raise UsageError(f"the SQL file does not exist: {sql}", hint="write one SELECT into it", option="sql", path=sql)
    plan = Plan(
        vectors=vectors is not None,
        cosine=vectors is None or vectors.cosine,
        sql=with_home(sql).read_text(encoding="utf-8") if sql else None,
        config=options.text("config"),
        operator=options.choice("operator", ("or", "and", "websearch")),
        rank=options.choice("rank", ("ts_rank", "ts_rank_cd")),
        normalization=options.whole("normalization", 0, minimum=0, maximum=63),
        search=options.choice("search", ("exact", "hnsw")),
        m=options.whole("m", 16, minimum=2, maximum=100),
        ef_construction=options.whole("ef_construction", 64, minimum=4, maximum=1000),
        ef_search=options.whole("ef_search", 0, minimum=0, maximum=1000) or None,
    )
    requests = RequestOptions.of(options)
    retriever = PostgresRetriever(
        name=result_name(spec),
        address=Address(spec.id, Secrets(settings), requests.timeout),
        plan=plan,
        requests=requests,
        vectors=vectors,
        keep=options.flag("keep", True),
        revision=options.text("revision"),
    )
    plan.check()
    return retriever
