"""`opensearch:ADDRESS` and `elasticsearch:ADDRESS`: BM25 or nearest vectors on a server, over our corpus or its own.

Without `index` the corpus is stored under a name with a hash of its content and found again by the next run. Storing
is safe to repeat: documents are named by their row, so an interrupted or doubled load ends in the same index.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from steelyard.config import Settings
from steelyard.errors import UsageError
from steelyard.http.secrets import Secrets, authorization
from steelyard.retrievers.model_names import result_name
from steelyard.retrievers.search_services.client import Client, Refusal
from steelyard.retrievers.search_services.encoding import Vectors, content_name
from steelyard.retrievers.search_services.json_path import Path
from steelyard.retrievers.search_services.opensearch.bulk import load
from steelyard.retrievers.search_services.opensearch.requests import (
    DEEPEST,
    Dialect,
    analyzer_for,
    definition,
    text_query,
)
from steelyard.retrievers.search_services.request_options import Manners, Options, refuse_at
from steelyard.retrievers.search_services.responses import Hits, ask_all, by_id, to_run
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Queries, Run, TaskInfo
from steelyard.types.protocols import ModelSettings, Tick, no_tick

VERSION = 1
"""Of the definition of our indices: raised when it changes, so that old ones are not taken for new."""
LOCAL = "http://localhost:9200"


@dataclass(frozen=True)
class Plan:
    """What is searched, and how; everything here could change a figure."""

    dialect: Dialect
    index: str | None = None
    """An index that is there already; None: ours."""
    id_field: str | None = None
    fields: tuple[str, ...] = ("text",)
    vector_field: str = "vector"
    analyzer: str | None = None
    """None: by the language of the task."""
    k1: float = 1.2
    b: float = 0.75
    m: int = 16
    ef_construction: int = 100
    candidates: int = 100

    @property
    def stored(self) -> dict[str, Any]:
        """What an index of ours is made by."""
        text = {"analyzer": self.analyzer, "k1": self.k1, "b": self.b}
        return {"version": VERSION, **text, "m": self.m, "ef_construction": self.ef_construction}

    @property
    def settings(self) -> dict[str, Any]:
        """Ready for the key of a result."""
        theirs = {"index": self.index, "id_field": self.id_field, "fields": list(self.fields)}
        what = {**theirs, "vector_field": self.vector_field} if self.index else self.stored
        return {"family": self.dialect.name, **what, "num_candidates": self.candidates}


@dataclass(frozen=True, eq=False)
class OpenSearchIndex:
    """An index on the server, ready to be asked."""

    retriever: OpenSearchRetriever
    corpus: Corpus
    index: str
    size_bytes: int
    notes: dict[str, Any] = field(default_factory=dict)

    def search(self, queries: Queries, top_k: int) -> Run:
        """The best `top_k` of each query, 10,000 at most; then the index goes, if it was not to be kept."""
        retriever, k = self.retriever, min(top_k, DEEPEST)
        bodies = retriever.bodies(queries, k, self.notes)
        ids_at, scores_at = Path.parse(retriever.id_path), Path.parse("hits.hits[*]._score")
        source: Any = [retriever.plan.id_field] if retriever.plan.id_field else False
        client, target = retriever.client(), f"/{quote(self.index)}/_search"

        def ask(query: int) -> Hits:
            body = bodies[query]
            if body is None:
                return Hits(())
            answer = client.send("POST", target, {**body, "size": k, "_source": source, "track_total_hits": False})
            ids, scores = ids_at.find(answer.value), scores_at.find(answer.value)
            if retriever.plan.index is None:
                return Hits([int(row) for row in ids], scores, (), answer.seconds, answer.retries)
            return by_id(ids, scores, self.corpus.row_of, seconds=answer.seconds, retries=answer.retries)

        try:
            run, notes = to_run(ask_all(len(queries), ask, retriever.manners), queries, top_k, retriever.manners)
            if not retriever.keep:
                client.ask("DELETE", f"/{quote(self.index)}")
        finally:
            client.close()
        self.notes.update(notes)
        return run


@dataclass(frozen=True, eq=False)
class OpenSearchRetriever:
    """A server and a plan; with `vectors`, nearest neighbours in place of BM25."""

    name: str
    address: str
    plan: Plan
    manners: Manners = field(default_factory=Manners)
    vectors: Vectors | None = None
    auth_env: str | None = None
    keep: bool = True
    """Whether our index stays on the server for the next run."""
    revision: str | None = None
    """Tells states of an index that is not ours apart."""
    secrets: Secrets = field(default_factory=Secrets)

    @property
    def settings(self) -> ModelSettings:
        """The plan, the encoder and the revision; an index that is not ours is told apart by its address, too."""
        encoder = dict(self.vectors.settings) if self.vectors else None
        there = {"address": self.address, "revision": self.revision} if self.plan.index else {}
        return {**self.plan.settings, "encoder": encoder, **self.manners.settings, **there}

    @property
    def id_path(self) -> str:
        """Where in an answer the documents are named."""
        return f"hits.hits[*]._source.{self.plan.id_field}" if self.plan.id_field else "hits.hits[*]._id"

    def client(self) -> Client:
        """A new client of the server."""
        headers = {"Authorization": authorization(self.auth_env, self.secrets)} if self.auth_env else {}
        timeout, retries = self.manners.timeout, self.manners.retries
        address = self.secrets.fill(self.address)
        return Client(address, headers=headers, timeout=timeout, retries=retries, secrets=self.secrets)

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> OpenSearchIndex:
        """Store the corpus unless it is there, or look at the index that was named."""
        client = self.client()
        try:
            version = self._version(client)
            if self.plan.index is not None:
                count = self._count(client, self.plan.index)
                tick(len(corpus))
                notes = {"server": version, "index": self.plan.index, "documents_in_index": count}
                return OpenSearchIndex(self, corpus, self.plan.index, _bytes(client, self.plan.index), notes)
            return self._own(client, corpus, info, tick, version)
        finally:
            client.close()

    def bodies(self, queries: Queries, k: int, notes: dict[str, Any]) -> list[dict[str, Any] | None]:
        """What to ask for each query; None for one whose vector has no direction, which no document is near to."""
        if self.vectors is None:
            return [text_query(self.plan.fields, text) for text in queries.texts]
        vectors, notes["query_vectors"] = self.vectors.queries(queries)
        plan = self.plan
        return [
            plan.dialect.vector_query(plan.vector_field, vector, k, plan.candidates) if sound else None
            for vector, sound in zip(vectors, self.vectors.sound(vectors), strict=True)
        ]

    def _own(self, client: Client, corpus: Corpus, info: TaskInfo, tick: Tick, version: str) -> OpenSearchIndex:
        plan = replace(self.plan, analyzer=self.plan.analyzer or analyzer_for(info.language))
        encoder = dict(self.vectors.settings) if self.vectors else None
        name = f"steelyard-{content_name(corpus, {**plan.stored, 'encoder': encoder})}"
        mapping = None
        if self.vectors is not None:
            size, cosine = self.vectors.encoder.dimension, self.vectors.cosine
            mapping = plan.dialect.vector_field(size, cosine, plan.m, plan.ef_construction)
        body = definition(plan.analyzer or "standard", plan.k1, plan.b, mapping, plan.dialect)
        loaded = load(client, name, body, corpus, self.vectors, tick)
        notes = {"server": version, "index": name, "analyzer": plan.analyzer, **loaded}
        return OpenSearchIndex(self, corpus, name, _bytes(client, name), notes)

    def _version(self, client: Client) -> str:
        """The server's name and version; a server of the other kind speaks another dialect of vectors."""
        try:
            version = (client.ask("GET", "/").value or {}).get("version", {})
        except Refusal as refusal:
            if refusal.status != 403:
                raise
            return f"{self.plan.dialect.name}, which does not show its version to us"
        found = "opensearch" if version.get("distribution") == "opensearch" else "elasticsearch"
        if found != self.plan.dialect.name:
            raise UsageError(
                f"the server at {self.address} is {found}, not {self.plan.dialect.name}",
                hint=f"write {found}:{self.address}",
            )
        return f"{found} {version.get('number', 'of unknown version')}"

    def _count(self, client: Client, index: str) -> int:
        try:
            return int(client.ask("GET", f"/{quote(index)}/_count").value["count"])
        except Refusal as refusal:
            if refusal.status != 404:
                raise
            raise UsageError(
                f"the server at {self.address} has no index {index!r}", hint="leave index= out to store the corpus"
            ) from refusal


def _bytes(client: Client, index: str) -> int:
    """What the index takes on the server's disk; 0 where we may search, but not ask that."""
    try:
        stats = client.ask("GET", f"/{quote(index)}/_stats/store").value
    except Refusal as refusal:
        if refusal.status != 403:
            raise
        return 0
    return int(stats["_all"]["primaries"]["store"]["size_in_bytes"])


def from_spec(spec: ModelSpec, settings: Settings) -> OpenSearchRetriever:
    """The retriever of `opensearch:ADDRESS?OPTIONS` or `elasticsearch:ADDRESS?OPTIONS`."""
    options = Options(spec.family, spec.options)
    index, model = options.text("index"), options.text("dense")
    plan = Plan(
        dialect=Dialect(spec.family),
        index=index,
        id_field=options.text("id_field"),
        fields=tuple((options.text("fields") or "text").split(",")),
        vector_field=options.text("vector_field") or "vector",
        analyzer=options.text("analyzer"),
        k1=options.number("k1", 1.2, low=0, high=1000),
        b=options.number("b", 0.75, low=0, high=1),
        m=options.whole("m", 16, low=2, high=512),
        ef_construction=options.whole("ef_construction", 100),
        candidates=options.whole("num_candidates", 100, high=DEEPEST),
    )
    retriever = OpenSearchRetriever(
        name=result_name(spec),
        address=(spec.id or LOCAL).rstrip("/"),
        plan=plan,
        manners=Manners.of(options),
        vectors=Vectors.of(model, settings) if model else None,
        auth_env=options.text("auth_env"),
        secrets=Secrets(settings),
        keep=options.flag("keep", True) or index is not None,
        revision=options.text("revision"),
    )
    options.finish()
    refuse_at(spec, "credentials go into a variable: auth_env=NAME, which holds user:password")
    if index is None and (plan.id_field or plan.fields != ("text",) or plan.vector_field != "vector"):
        raise UsageError(
            f"id_field, fields and vector_field are for an index that {spec.family} has already", hint="add index=NAME"
        )
    retriever.client().close()  # a bad address or a variable that is not set is told before any task is read
    return retriever
