"""`postgres:ADDRESS`: full text search, or with `dense=MODEL` nearest vectors of pgvector, or SQL of your own.

Our corpus lies in a schema `steelyard_...` named by a hash of its content. `sql=FILE` asks what is there already, in
a transaction that can only read: the query sees `:query`, `:k` and, with `dense`, `:vector`, and gives id and score.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path as File
from typing import Any

from steelyard.config import Settings
from steelyard.errors import ModelError, SteelyardError, UsageError
from steelyard.http.secrets import Secrets
from steelyard.retrievers.model_names import result_name
from steelyard.retrievers.search_services.encoding import Vectors, content_name
from steelyard.retrievers.search_services.optional import need
from steelyard.retrievers.search_services.postgres import schema
from steelyard.retrievers.search_services.postgres.connection import Address, hang_up
from steelyard.retrievers.search_services.postgres.pool import Pool
from steelyard.retrievers.search_services.postgres.sql import Plan
from steelyard.retrievers.search_services.request_options import Manners, Options, refuse_at
from steelyard.retrievers.search_services.responses import Hits, ask_all, by_id, patient, to_run
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Queries, Run, TaskInfo
from steelyard.types.protocols import ModelSettings, Tick, no_tick


@dataclass(frozen=True, eq=False)
class PostgresIndex:
    """A schema of ours, or a query over tables that are there."""

    retriever: PostgresRetriever
    plan: Plan
    corpus: Corpus
    schema: str
    size_bytes: int
    notes: dict[str, Any] = field(default_factory=dict)

    def search(self, queries: Queries, top_k: int) -> Run:
        """The best `top_k` of each query; then the schema goes, if it was not to be kept."""
        retriever = self.retriever
        values = self._values(queries)
        statement, settings = self.plan.statement(self.schema), self.plan.session(top_k)
        pool: Pool[Session] = Pool(lambda: Session(retriever.address, statement, settings))

        def ask(query: int) -> Hits:
            value = values(query)
            if value is None:
                return Hits(())
            with pool.connection() as session:
                found, seconds = session.ask({**value, "k": top_k})
            return self._hits(found, seconds)

        try:
            asked = ask_all(len(queries), patient(ask, retriever.manners.retries), retriever.manners)
            run, notes = to_run(asked, queries, top_k, retriever.manners)
        finally:
            pool.close()
        self.notes.update(notes)
        if not retriever.keep and self.plan.sql is None:
            retriever.drop(self.schema)
        return run

    def _values(self, queries: Queries) -> Callable[[int], dict[str, Any] | None]:
        """What fills the places of the statement for a query; None where its vector has no direction."""
        vectors = self.retriever.vectors
        wanted = self.plan.places
        if vectors is None:
            return lambda query: {name: schema.held(queries.texts[query]) for name in wanted & {"query"}}
        matrix, self.notes["query_vectors"] = vectors.queries(queries)
        usable = vectors.sound(matrix)

        def value(query: int) -> dict[str, Any] | None:
            if not usable[query]:
                return None
            both = {"query": schema.held(queries.texts[query]), "vector": schema.as_text(matrix[query])}
            return {name: held for name, held in both.items() if name in wanted}

        return value

    def _hits(self, found: list[list[Any]], seconds: float) -> Hits:
        if self.plan.sql is None:
            return Hits([row for row, _ in found], [score for _, score in found], (), seconds)
        if found and len(found[0]) not in (1, 2):
            raise ModelError(
                f"the SQL gives {len(found[0])} columns", hint="expected the id, and then the score if any"
            )
        scores = [float(line[1]) for line in found] if found and len(found[0]) == 2 else None
        return by_id([line[0] for line in found], scores, self.corpus.row_of, seconds=seconds)


class Session:
    """A connection that has the statement prepared and can only read."""

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

    def ask(self, values: dict[str, Any]) -> tuple[list[list[Any]], float]:
        """The lines of the answer, and the seconds they took."""
        with self._address.translated():
            start = time.perf_counter()
            found = self._prepared.run(**values)
            return found, time.perf_counter() - start

    def close(self) -> None:
        """Hang up."""
        hang_up(self._connection)


@dataclass(frozen=True, eq=False)
class PostgresRetriever:
    """A server and a plan; with `vectors`, nearest neighbours in place of words."""

    name: str
    address: Address
    plan: Plan
    manners: Manners = field(default_factory=Manners)
    vectors: Vectors | None = None
    keep: bool = True
    """Whether our schema stays on the server for the next run."""
    revision: str | None = None
    """Tells states of tables that are not ours apart."""

    @property
    def settings(self) -> ModelSettings:
        """The plan, the encoder, and of tables that are not ours the address and revision."""
        there = {"address": self.address.text, "revision": self.revision} if self.plan.sql else {}
        encoder = dict(self.vectors.settings) if self.vectors else None
        return {"family": "postgres", **self.plan.settings, "encoder": encoder, **self.manners.settings, **there}

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> PostgresIndex:
        """Store the corpus unless it is there."""
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
        plan, matrix, sound = self.plan, None, None
        if self.vectors is None:
            plan = replace(plan, config=plan.config or schema.CONFIGURATIONS.get(info.language, "simple"))
            schema.check_config(connection, plan.config or "simple")
            notes["config"] = plan.config
            if info.language in schema.UNCUT:
                notes["words"] = f"PostgreSQL does not cut {info.language} into words: only whole clauses match"
            dimension = None
        else:
            notes["pgvector"] = schema.check_vectors(connection)
            dimension = self.vectors.encoder.dimension
        stored = {**plan.stored, "encoder": dict(self.vectors.settings) if self.vectors else None}
        name = f"steelyard_{content_name(corpus, stored)}"
        if self.vectors is not None and not schema.exists(connection, name):
            matrix, notes["document_vectors"] = self.vectors.documents(corpus)
            sound = self.vectors.sound(matrix)
            if not sound.all():
                notes["documents_without_direction"] = int((~sound).sum())
        table = schema.Table(
            name,
            config=plan.config if self.vectors is None else None,
            dimension=dimension,
            operators=plan.operators,
            hnsw=(plan.m, plan.ef_construction) if plan.search == "hnsw" else None,
        )
        notes.update(schema=name, documents_stored=schema.ensure(connection, table, corpus, matrix, sound, tick))
        return PostgresIndex(self, plan, corpus, name, schema.size(connection, name), notes)


def from_spec(spec: ModelSpec, settings: Settings) -> PostgresRetriever:
    """The retriever of `postgres:ADDRESS?OPTIONS`."""
    need("pg8000.native", "pg8000")
    options = Options("postgres", spec.options)
    model, sql = options.text("dense"), options.text("sql")
    vectors = Vectors.of(model, settings) if model else None
    if sql is not None and not File(sql).expanduser().is_file():
        raise UsageError(f"there is no file {sql!r}", hint="sql=FILE names a file with one SELECT")
    plan = Plan(
        vectors=vectors is not None,
        cosine=vectors is None or vectors.cosine,
        sql=File(sql).expanduser().read_text(encoding="utf-8") if sql else None,
        config=options.text("config"),
        operator=options.choice("operator", "or", ("or", "and", "websearch")),
        rank=options.choice("rank", "ts_rank", ("ts_rank", "ts_rank_cd")),
        normalization=options.whole("normalization", 0, low=0, high=63),
        search=options.choice("search", "exact", ("exact", "hnsw")),
        m=options.whole("m", 16, low=2, high=100),
        ef_construction=options.whole("ef_construction", 64, low=4, high=1000),
        ef_search=options.whole("ef_search", 0, low=0, high=1000) or None,
    )
    manners = Manners.of(options)
    retriever = PostgresRetriever(
        name=result_name(spec),
        address=Address(spec.id, Secrets(settings), manners.timeout),
        plan=plan,
        manners=manners,
        vectors=vectors,
        keep=options.flag("keep", True),
        revision=options.text("revision"),
    )
    options.finish()
    refuse_at(spec, "PGUSER and PGPASSWORD say who asks; or keep the address in a variable: postgres:${DATABASE_URL}")
    plan.check()
    return retriever
