"""`opensearch:ADDRESS` and `elasticsearch:ADDRESS`: BM25 or nearest vectors on a server, in our corpus or its own.

Without `index`, the corpus is stored under a name with a hash of its content and reused by the next run. Storing is
safe to repeat: documents are named by their row, so an interrupted or doubled load gives the same index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from steelyard.config import Settings
from steelyard.encoders.compute_options import NOT_FOR
from steelyard.errors import UsageError
from steelyard.http.secrets import Secrets
from steelyard.options import Options
from steelyard.retrievers.model_names import result_name
from steelyard.retrievers.search_services.client import Refusal, SearchClient
from steelyard.retrievers.search_services.encoding import ServiceVectors, content_name
from steelyard.retrievers.search_services.json_path import JsonPath
from steelyard.retrievers.search_services.opensearch.bulk import store_corpus
from steelyard.retrievers.search_services.request_options import RequestOptions
from steelyard.retrievers.search_services.responses import Hits, by_id, query_all, to_run
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Float32, Queries, Run, TaskInfo
from steelyard.types.protocols import ModelSettings, Tick, no_tick

VERSION = 1
"""Of the definition of our indices; raised when it changes, so that old ones are not reused."""
LOCAL = "http://localhost:9200"
OPTIONS = (
    *("index", "dense", "id_field", "fields", "vector_field", "analyzer", "k1", "b", "m", "ef_construction"),
    *("num_candidates", "auth_env", "keep", "revision", "allow_http", *RequestOptions.NAMES),
)


@dataclass(frozen=True)
class Plan:
    """What is searched, and how; everything here could change a score."""

    dialect: Dialect
    index: str | None = None
    """An existing index; None: ours."""
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
        """Return what defines an index of ours."""
        text = {"analyzer": self.analyzer, "k1": self.k1, "b": self.b}
        return {"version": VERSION, **text, "m": self.m, "ef_construction": self.ef_construction}

    @property
    def settings(self) -> dict[str, Any]:
        """Return the settings for the key of a result."""
        existing = {"index": self.index, "id_field": self.id_field, "fields": list(self.fields)}
        what = {**existing, "vector_field": self.vector_field} if self.index else self.stored
        return {"family": self.dialect.name, **what, "num_candidates": self.candidates}


@dataclass(frozen=True, eq=False)
class OpenSearchIndex:
    """An index on the server, ready to be searched."""

    retriever: OpenSearchRetriever
    corpus: Corpus
    index: str
    size_bytes: int
    notes: dict[str, Any] = field(default_factory=dict)

    def search(self, queries: Queries, top_k: int) -> Run:
        """Return the best `top_k` of each query, at most 10,000; then remove the index, unless it is kept."""
        retriever, k = self.retriever, min(top_k, MAX_DEPTH)
        bodies = retriever.bodies(queries, k, self.notes)
        ids_at, scores_at = JsonPath.parse(retriever.id_path), JsonPath.parse("hits.hits[*]._score")
        source: Any = [retriever.plan.id_field] if retriever.plan.id_field else False
        client, target = retriever.client(), f"/{quote(self.index)}/_search"

        def query_one(query: int) -> Hits:
            body = bodies[query]
            if body is None:
                return Hits(())
            answer = client.send_json("POST", target, {**body, "size": k, "_source": source, "track_total_hits": False})
            ids, scores = ids_at.find(answer.value), scores_at.find(answer.value)
            if retriever.plan.index is None:
                return Hits([int(row) for row in ids], scores, (), answer.seconds, answer.retries)
            return by_id(ids, scores, self.corpus.row_of, seconds=answer.seconds, retries=answer.retries)

        try:
            answers = query_all(len(queries), query_one, retriever.requests)
            run, notes = to_run(answers, queries, top_k, retriever.requests)
            if not retriever.keep:
                client.request("DELETE", f"/{quote(self.index)}")
        finally:
            client.close()
        self.notes.update(notes)
        return run


@dataclass(frozen=True, eq=False)
class OpenSearchRetriever:
    """A server and a plan; with `vectors`, nearest neighbours instead of BM25."""

    name: str
    address: str
    plan: Plan
    requests: RequestOptions = field(default_factory=RequestOptions)
    vectors: ServiceVectors | None = None
    auth_env: str | None = None
    keep: bool = True
    """Whether our index stays on the server for the next run."""
    revision: str | None = None
    """Distinguishes states of an existing index."""
    secrets: Secrets = field(default_factory=Secrets)
    allow_http: bool = False

    @property
    def settings(self) -> ModelSettings:
        """Return the plan, the encoder and, for an existing index, its address and revision."""
        encoder = dict(self.vectors.settings) if self.vectors else None
        location = {"address": self.address, "revision": self.revision} if self.plan.index else {}
        return {**self.plan.settings, "encoder": encoder, **self.requests.settings, **location}

    @property
    def id_path(self) -> str:
        """Return the path to the document ids in an answer."""
        return f"hits.hits[*]._source.{self.plan.id_field}" if self.plan.id_field else "hits.hits[*]._id"

    def client(self) -> SearchClient:
        """Return a new client of the server."""
        return SearchClient(
            self.secrets.fill(self.address),
            headers={"Authorization": self.secrets.authorization(self.auth_env)} if self.auth_env else {},
            timeout=self.requests.timeout,
            retries=self.requests.retries,
            secrets=self.secrets,
            credentials=self.auth_env is not None,
            allow_http=self.allow_http,
        )

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> OpenSearchIndex:
        """Store the corpus if it is not stored yet, or check the existing index."""
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
        """Return the request for each query; None for a query with a zero vector, which is near to no document."""
        if self.vectors is None:
            return [text_query(self.plan.fields, text) for text in queries.texts]
        vectors, notes["query_vectors"] = self.vectors.queries(queries)
        plan = self.plan
        return [
            plan.dialect.vector_query(plan.vector_field, vector, k, plan.candidates) if comparable else None
            for vector, comparable in zip(vectors, self.vectors.comparable(vectors), strict=True)
        ]

    def _own(self, client: SearchClient, corpus: Corpus, info: TaskInfo, tick: Tick, version: str) -> OpenSearchIndex:
        plan = replace(self.plan, analyzer=self.plan.analyzer or analyzer_for(info.language))
        encoder = dict(self.vectors.settings) if self.vectors else None
        name = f"steelyard-{content_name(corpus, {**plan.stored, 'encoder': encoder})}"
        mapping = None
        if self.vectors is not None:
            size, cosine = self.vectors.encoder.dimension, self.vectors.cosine
            mapping = plan.dialect.vector_field(size, cosine, plan.m, plan.ef_construction)
        body = definition(plan.analyzer or "standard", plan.k1, plan.b, mapping, plan.dialect)
        stored = store_corpus(client, name, body, corpus, self.vectors, tick)
        notes = {"server": version, "index": name, "analyzer": plan.analyzer, **stored}
        return OpenSearchIndex(self, corpus, name, _bytes(client, name), notes)

    def _version(self, client: SearchClient) -> str:
        """Return the server's name and version; the other kind of server has another syntax for vectors."""
        try:
            version = (client.request("GET", "/").value or {}).get("version", {})
        except Refusal as refusal:
            if refusal.status != 403:
                raise
            return f"{self.plan.dialect.name}, version not accessible"
        product = "opensearch" if version.get("distribution") == "opensearch" else "elasticsearch"
        if product != self.plan.dialect.name:
            raise UsageError(
                f"the server at {self.address} must be {self.plan.dialect.name}, got {product}",
                hint=f"write {product}:{self.address}",
                expected=self.plan.dialect.name,
                found=product,
            )
        return f"{product} {version.get('number', 'of unknown version')}"

    def _count(self, client: SearchClient, index: str) -> int:
        try:
            return int(client.request("GET", f"/{quote(index)}/_count").value["count"])
        except Refusal as refusal:
            if refusal.status != 404:
                raise
            raise UsageError(
                f"the index {index!r} does not exist on the server at {self.address}",
                hint="remove index= to store the corpus",
                option="index",
                found=index,
            ) from refusal


def _bytes(client: SearchClient, index: str) -> int:
    """Return the size of the index on the server's disk; 0 without permission to read it."""
    try:
        stats = client.request("GET", f"/{quote(index)}/_stats/store").value
    except Refusal as refusal:
        if refusal.status != 403:
            raise
        return 0
    return int(stats["_all"]["primaries"]["store"]["size_in_bytes"])


def from_spec(spec: ModelSpec, settings: Settings) -> OpenSearchRetriever:
    """Return the retriever of `opensearch:ADDRESS?OPTIONS` or `elasticsearch:ADDRESS?OPTIONS`."""
    options = Options(spec.family, spec.options, OPTIONS, NOT_FOR["search service"])
    index, model = options.text("index"), options.text("dense")
    plan = Plan(
        dialect=Dialect(spec.family),
        index=index,
        id_field=options.text("id_field"),
        fields=tuple((options.text("fields") or "text").split(",")),
        vector_field=options.text("vector_field") or "vector",
        analyzer=options.text("analyzer"),
        k1=options.number("k1", 1.2, minimum=0, maximum=1000),
        b=options.number("b", 0.75, minimum=0, maximum=1),
        m=options.whole("m", 16, minimum=2, maximum=512),
        ef_construction=options.whole("ef_construction", 100),
        candidates=options.whole("num_candidates", 100, maximum=MAX_DEPTH),
    )
    retriever = OpenSearchRetriever(
        name=result_name(spec),
        address=(spec.id or LOCAL).rstrip("/"),
        plan=plan,
        requests=RequestOptions.of(options),
        vectors=ServiceVectors.of(model, settings) if model else None,
        auth_env=options.text("auth_env"),
        secrets=Secrets(settings),
        keep=options.flag("keep", True) or index is not None,
        revision=options.text("revision"),
        allow_http=options.flag("allow_http", False),
    )
    if index is None and (plan.id_field or plan.fields != ("text",) or plan.vector_field != "vector"):
        raise UsageError(
            "id_field, fields and vector_field must be used with an existing index",
            hint="add index=NAME",
            option="index",
        )
    retriever.client().close()  # a bad address or a variable that is not set fails before any task is read
    return retriever


MAX_DEPTH = 10_000
"""The longest list that both return by default (`index.max_result_window`)."""

ANALYZERS: Mapping[str, str] = {
    "ar": "arabic", "bg": "bulgarian", "bn": "bengali", "ca": "catalan", "cs": "czech", "da": "danish",
    "de": "german", "el": "greek", "en": "english", "es": "spanish", "et": "estonian", "eu": "basque",
    "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "gl": "galician", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "ja": "cjk", "ko": "cjk",
    "lt": "lithuanian", "lv": "latvian", "nl": "dutch", "no": "norwegian", "pt": "portuguese", "ro": "romanian",
    "ru": "russian", "sv": "swedish", "th": "thai", "tr": "turkish", "zh": "cjk",
}  # fmt: skip
"""The built-in analysers of both by language; other languages get `standard`."""


def analyzer_for(language: str) -> str:
    """Return the built-in analyser of a language.

    >>> analyzer_for("de"), analyzer_for("zh"), analyzer_for("sw")
    ('german', 'cjk', 'standard')
    """
    return ANALYZERS.get(language, "standard")


@dataclass(frozen=True)
class Dialect:
    """One of the two servers."""

    name: str

    @property
    def opensearch(self) -> bool:
        """Return whether this is OpenSearch; otherwise it is Elasticsearch."""
        return self.name == "opensearch"

    def vector_field(self, dimension: int, cosine: bool, m: int, ef_construction: int) -> dict[str, Any]:
        """Return the mapping of a vector field with an HNSW graph."""
        if self.opensearch:
            space = "cosinesimil" if cosine else "innerproduct"
            parameters = {"m": m, "ef_construction": ef_construction}
            method = {"name": "hnsw", "engine": "lucene", "space_type": space, "parameters": parameters}
            return {"type": "knn_vector", "dimension": dimension, "method": method}
        return {
            "type": "dense_vector",
            "dims": dimension,
            "index": True,
            "similarity": "cosine" if cosine else "max_inner_product",
            "index_options": {"type": "hnsw", "m": m, "ef_construction": ef_construction},
        }

    def vector_query(self, field: str, vector: Float32, k: int, candidates: int) -> dict[str, Any]:
        """Return the query for the nearest `k` among so many candidates."""
        values = vector.tolist()
        if self.opensearch:
            # Lucene's engine visits k candidates, so a wider search is a larger k, of which `size` are returned.
            return {"query": {"knn": {field: {"vector": values, "k": max(k, min(candidates, MAX_DEPTH))}}}}
        wide = max(k, min(candidates, MAX_DEPTH))
        return {"knn": {"field": field, "query_vector": values, "k": k, "num_candidates": wide}}


def text_query(fields: Sequence[str], text: str) -> dict[str, Any]:
    """Return a BM25 query over one field, or over the best of several (`title^2` counts twice)."""
    if len(fields) == 1 and "^" not in fields[0]:
        return {"query": {"match": {fields[0]: {"query": text}}}}
    return {"query": {"multi_match": {"query": text, "fields": list(fields)}}}


def definition(analyzer: str, k1: float, b: float, vectors: Mapping[str, Any] | None, dialect: Dialect) -> Any:
    """Return the definition of an index with one shard, so that term statistics are those of the whole corpus."""
    index: dict[str, Any] = {
        "number_of_shards": 1,
        "number_of_replicas": 0,
        "similarity": {"default": {"type": "BM25", "k1": k1, "b": b}},
    }
    properties: dict[str, Any] = {
        "id": {"type": "keyword", "index": False, "doc_values": False},
        "text": {"type": "text", "analyzer": analyzer},
    }
    if vectors is not None:
        properties["vector"] = dict(vectors)
        if dialect.opensearch:
            index["knn"] = True
    return {"settings": {"index": index}, "mappings": {"dynamic": "strict", "properties": properties}}
