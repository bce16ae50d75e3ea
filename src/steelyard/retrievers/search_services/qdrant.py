"""`qdrant:ADDRESS?dense=MODEL`: nearest vectors in Qdrant, in our corpus or in an existing collection.

The address is that of a server, `memory` for the client's local mode, or a folder for local mode on disk. Local mode
is exact; a server searches a graph unless `exact=yes`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from steelyard.config import Settings
from steelyard.encoders.compute_options import NOT_FOR
from steelyard.errors import MissingPart, ModelError, UsageError
from steelyard.files import with_home
from steelyard.http.endpoint import check_online
from steelyard.http.retry import is_temporary
from steelyard.http.secrets import Secrets, check_transport
from steelyard.options import Options
from steelyard.retrievers.model_names import result_name
from steelyard.retrievers.search_services.encoding import ServiceVectors, content_name
from steelyard.retrievers.search_services.request_options import RequestOptions, require
from steelyard.retrievers.search_services.responses import Hits, by_id, query_all, to_run, with_retries
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Float32, Queries, Run, TaskInfo
from steelyard.types.protocols import ModelSettings, Tick, no_tick

VERSION = 1
LOCAL = "http://localhost:6333"
PORTION = 512
OPTIONS = (
    *("dense", "collection", "id_field", "vector", "exact", "m", "ef_construct", "ef"),
    *("auth_env", "keep", "revision", "allow_http", *RequestOptions.NAMES),
)


@dataclass(frozen=True)
class Plan:
    """What is searched, and how; everything here could change a score."""

    collection: str | None = None
    """An existing collection; None: ours."""
    id_field: str | None = None
    """The field of a point's payload with the document's id; None: the point's own id."""
    vector: str | None = None
    """The name of the vector, if points have several."""
    exact: bool = False
    m: int = 16
    ef_construct: int = 100
    ef: int | None = None

    @property
    def stored(self) -> dict[str, Any]:
        """Return what defines a collection of ours."""
        return {"version": VERSION, "m": self.m, "ef_construct": self.ef_construct}

    @property
    def settings(self) -> dict[str, Any]:
        """Return the settings for the key of a result."""
        existing = {"collection": self.collection, "id_field": self.id_field, "vector": self.vector}
        return {
            "family": "qdrant",
            **(existing if self.collection else self.stored),
            "exact": self.exact,
            "ef": self.ef,
        }


@dataclass(frozen=True, eq=False)
class QdrantIndex:
    """A collection, ready to be searched."""

    retriever: QdrantRetriever
    corpus: Corpus
    collection: str
    size_bytes: int
    notes: dict[str, Any] = field(default_factory=dict)

    def search(self, queries: Queries, top_k: int) -> Run:
        """Return the nearest `top_k` of each query; then remove the collection, unless it is kept."""
        retriever, plan = self.retriever, self.retriever.plan
        vectors, self.notes["query_vectors"] = retriever.vectors.queries(queries)
        comparable = retriever.vectors.comparable(vectors)
        extra = retriever.search_extra()
        payload: Any = [plan.id_field] if plan.id_field else False

        def query_one(query: int) -> Hits:
            if not comparable[query]:
                return Hits(())
            with retriever.translated():
                start = time.perf_counter()
                points = client.query_points(
                    self.collection, query=vectors[query].tolist(), limit=top_k, with_payload=payload, **extra
                ).points
                seconds = time.perf_counter() - start
            scores = [point.score for point in points]
            if plan.collection is None:
                return Hits([point.id for point in points], scores, (), seconds)
            ids = [(point.payload or {}).get(plan.id_field) if plan.id_field else point.id for point in points]
            return by_id(ids, scores, self.corpus.row_of, seconds=seconds)

        with retriever.opened() as client:
            answers = query_all(len(queries), with_retries(query_one, retriever.requests.retries), retriever.requests)
            run, notes = to_run(answers, queries, top_k, retriever.requests)
            if not retriever.keep:
                with retriever.translated():
                    client.delete_collection(self.collection)
        self.notes.update(notes)
        return run


@dataclass(frozen=True, eq=False)
class QdrantRetriever:
    """A server or a local store, a plan and an encoder."""

    name: str
    address: str
    plan: Plan
    vectors: ServiceVectors
    requests: RequestOptions = field(default_factory=RequestOptions)
    auth_env: str | None = None
    keep: bool = True
    """Whether our collection stays for the next run."""
    revision: str | None = None
    """Distinguishes states of an existing collection."""
    secrets: Secrets = field(default_factory=Secrets)
    allow_http: bool = False

    @property
    def settings(self) -> ModelSettings:
        """Return the plan, the encoder and, for an existing collection, its address and revision."""
        location = {"address": self.address, "revision": self.revision} if self.plan.collection else {}
        return {**self.plan.settings, "encoder": dict(self.vectors.settings), **self.requests.settings, **location}

    @property
    def local(self) -> bool:
        """Return whether the client itself searches, without a server."""
        return "://" not in self.secrets.fill(self.address)

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> QdrantIndex:
        """Store the corpus if it is not stored yet, or check the existing collection."""
        with self.opened() as client:
            if self.plan.collection is not None:
                return self._existing(client, self.plan.collection, corpus, tick)
            encoder = dict(self.vectors.settings)
            name = f"steelyard-{content_name(corpus, {**self.plan.stored, 'encoder': encoder})}"
            notes: dict[str, Any] = {"collection": name, "documents_stored": 0}
            with self.translated():
                stored = client.collection_exists(name) and client.count(name, exact=True).count == len(corpus)
            if stored:
                tick(len(corpus))
            else:
                matrix, notes["document_vectors"] = self.vectors.documents(corpus, tick)
                with self.translated():
                    self._store(client, name, corpus, matrix)
                notes["documents_stored"] = len(corpus)
            return QdrantIndex(self, corpus, name, 4 * self.vectors.encoder.dimension * len(corpus), notes)

    def search_extra(self) -> dict[str, Any]:
        """Return the arguments of a search besides the vector."""
        extra: dict[str, Any] = {"using": self.plan.vector} if self.plan.vector else {}
        if self.local:  # local mode is exact, and warns about search parameters
            return extra
        models = require("qdrant_client.models", "qdrant-client")
        parameters = models.SearchParams(exact=self.plan.exact, hnsw_ef=self.plan.ef)
        return {**extra, "search_params": parameters, "timeout": max(1, round(self.requests.timeout))}

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Open a client for a block; a collection in memory lives as long as the retriever."""
        if self.address == "memory":
            yield self._memory
            return
        client = self._client()
        try:
            yield client
        finally:
            client.close()

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Translate errors of the client into ours, without secrets."""
        errors = require("qdrant_client.http.exceptions", "qdrant-client")
        try:
            yield
        except errors.ResponseHandlingException as error:
            raise MissingPart(
                f"qdrant at {self.address} does not answer: {self.secrets.excerpt(str(error))}",
                hint="check that the service is running at that address",
            ) from error
        except errors.UnexpectedResponse as error:
            message = f"qdrant at {self.address} refused: {self.secrets.excerpt(str(error))}"
            if is_temporary(error.status_code or 0):
                raise MissingPart(message, hint="try again later with a smaller concurrency=N") from error
            raise ModelError(message, hint="look into the log of the server") from error
        except (errors.ApiException, ValueError, RuntimeError) as error:
            message = f"qdrant at {self.address} refused: {self.secrets.excerpt(str(error))}"
            raise ModelError(message, hint="look into the log of the server") from error

    @cached_property
    def _memory(self) -> Any:
        return require("qdrant_client", "qdrant-client").QdrantClient(location=":memory:")

    def _client(self) -> Any:
        qdrant = require("qdrant_client", "qdrant-client")
        address = self.secrets.fill(self.address)
        if self.local:
            with self.translated():  # the folder may be locked by another process
                return qdrant.QdrantClient(path=str(with_home(address)))
        parts = urlsplit(address)
        check_online(parts.hostname or "", f"qdrant at {self.address}", self.secrets.settings)
        if self.auth_env:
            check_transport(parts.scheme, parts.hostname or "", allow_http=self.allow_http)
        key = self.secrets.header(self.auth_env) if self.auth_env else None
        return qdrant.QdrantClient(
            url=address, api_key=key, timeout=max(1, round(self.requests.timeout)), check_compatibility=False
        )

    def _existing(self, client: Any, name: str, corpus: Corpus, tick: Tick) -> QdrantIndex:
        with self.translated():
            count = client.count(name, exact=True).count if client.collection_exists(name) else None
        if count is None:
            raise UsageError(
                f"the collection {name!r} does not exist in qdrant at {self.address}",
                hint="remove collection= to store the corpus",
                option="collection",
                found=name,
            )
        tick(len(corpus))
        notes = {"collection": name, "documents_in_collection": count}
        return QdrantIndex(self, corpus, name, 4 * self.vectors.encoder.dimension * count, notes)

    def _store(self, client: Any, name: str, corpus: Corpus, matrix: Float32) -> None:
        """Store points by row, so that storing again after an interruption gives the same collection."""
        models = require("qdrant_client.models", "qdrant-client")
        distance = models.Distance.COSINE if self.vectors.cosine else models.Distance.DOT
        if not client.collection_exists(name):
            client.create_collection(
                name,
                vectors_config=models.VectorParams(size=matrix.shape[1], distance=distance),
                hnsw_config=models.HnswConfigDiff(m=self.plan.m, ef_construct=self.plan.ef_construct),
            )
        for start in range(0, len(corpus), PORTION):
            rows = list(range(start, min(start + PORTION, len(corpus))))
            payloads = [{"id": corpus.ids[row]} for row in rows]
            client.upsert(name, models.Batch(ids=rows, vectors=matrix[rows].tolist(), payloads=payloads), wait=True)


def from_spec(spec: ModelSpec, settings: Settings) -> QdrantRetriever:
    """Return the retriever of `qdrant:ADDRESS?dense=MODEL&OPTIONS`."""
    options = Options("qdrant", spec.options, OPTIONS, NOT_FOR["search service"])
    require("qdrant_client", "qdrant-client")
    address = (spec.id or LOCAL).rstrip("/")
    collection, ef = options.text("collection"), options.whole("ef", 0, minimum=0)
    plan = Plan(
        collection=collection,
        id_field=options.text("id_field"),
        vector=options.text("vector"),
        exact=options.flag("exact", False),
        m=options.whole("m", 16, minimum=2, maximum=512),
        ef_construct=options.whole("ef_construct", 100, minimum=4),
        ef=ef or None,
    )
    retriever = QdrantRetriever(
        name=result_name(spec),
        address=address,
        plan=plan,
        vectors=ServiceVectors.of(options.text("dense") or "use-multilingual-v3", settings),
        requests=RequestOptions.of(options, concurrency=4 if "://" in address else 1),
        auth_env=options.text("auth_env"),
        secrets=Secrets(settings),
        keep=options.flag("keep", True) or collection is not None,
        revision=options.text("revision"),
        allow_http=options.flag("allow_http", False),
    )
    if collection is None and (plan.id_field or plan.vector):
        raise UsageError(
            "id_field and vector must be used with an existing collection",
            hint="add collection=NAME",
            option="collection",
        )
    return retriever
