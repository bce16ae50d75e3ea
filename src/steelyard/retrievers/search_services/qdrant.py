"""`qdrant:ADDRESS?dense=MODEL`: nearest vectors in Qdrant, over our corpus or a collection that is there.

The address is that of a server, `memory` for the client's local mode, or a folder for local mode on disk. Local mode
is exact; a server searches a graph unless `exact=yes`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path as File
from typing import Any
from urllib.parse import urlsplit

from steelyard.config import Settings
from steelyard.errors import MissingPart, ModelError, UsageError
from steelyard.http.endpoint import is_loopback
from steelyard.http.retry import may_heal
from steelyard.http.secrets import Secrets
from steelyard.retrievers.model_names import result_name
from steelyard.retrievers.search_services.encoding import Vectors, content_name
from steelyard.retrievers.search_services.optional import need
from steelyard.retrievers.search_services.request_options import Manners, Options, refuse_at
from steelyard.retrievers.search_services.responses import Hits, ask_all, by_id, patient, to_run
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Float32, Queries, Run, TaskInfo
from steelyard.types.protocols import ModelSettings, Tick, no_tick

VERSION = 1
LOCAL = "http://localhost:6333"
PORTION = 512


@dataclass(frozen=True)
class Plan:
    """What is searched, and how; everything here could change a figure."""

    collection: str | None = None
    """A collection that is there already; None: ours."""
    id_field: str | None = None
    """Where a point's payload has the document's id; None: the point's own id."""
    vector: str | None = None
    """The name of the vector, where points have several."""
    exact: bool = False
    m: int = 16
    ef_construct: int = 100
    ef: int | None = None

    @property
    def stored(self) -> dict[str, Any]:
        """What a collection of ours is made by."""
        return {"version": VERSION, "m": self.m, "ef_construct": self.ef_construct}

    @property
    def settings(self) -> dict[str, Any]:
        """Ready for the key of a result."""
        theirs = {"collection": self.collection, "id_field": self.id_field, "vector": self.vector}
        return {"family": "qdrant", **(theirs if self.collection else self.stored), "exact": self.exact, "ef": self.ef}


@dataclass(frozen=True, eq=False)
class QdrantIndex:
    """A collection, ready to be asked."""

    retriever: QdrantRetriever
    corpus: Corpus
    collection: str
    size_bytes: int
    notes: dict[str, Any] = field(default_factory=dict)

    def search(self, queries: Queries, top_k: int) -> Run:
        """The nearest `top_k` of each query; then the collection goes, if it was not to be kept."""
        retriever, plan = self.retriever, self.retriever.plan
        vectors, self.notes["query_vectors"] = retriever.vectors.queries(queries)
        usable = retriever.vectors.sound(vectors)
        extra = retriever.search_extra()
        payload: Any = [plan.id_field] if plan.id_field else False

        def ask(query: int) -> Hits:
            if not usable[query]:
                return Hits(())
            with retriever.translated():
                start = time.perf_counter()
                found = client.query_points(
                    self.collection, query=vectors[query].tolist(), limit=top_k, with_payload=payload, **extra
                ).points
                seconds = time.perf_counter() - start
            scores = [point.score for point in found]
            if plan.collection is None:
                return Hits([point.id for point in found], scores, (), seconds)
            ids = [(point.payload or {}).get(plan.id_field) if plan.id_field else point.id for point in found]
            return by_id(ids, scores, self.corpus.row_of, seconds=seconds)

        with retriever.opened() as client:
            asked = ask_all(len(queries), patient(ask, retriever.manners.retries), retriever.manners)
            run, notes = to_run(asked, queries, top_k, retriever.manners)
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
    vectors: Vectors
    manners: Manners = field(default_factory=Manners)
    auth_env: str | None = None
    keep: bool = True
    revision: str | None = None
    """Tells states of a collection that is not ours apart."""
    secrets: Secrets = field(default_factory=Secrets)

    @property
    def settings(self) -> ModelSettings:
        """The plan, the encoder, and of a collection that is not ours its address and revision."""
        there = {"address": self.address, "revision": self.revision} if self.plan.collection else {}
        return {**self.plan.settings, "encoder": dict(self.vectors.settings), **self.manners.settings, **there}

    @property
    def local(self) -> bool:
        """Whether the client itself searches, without a server."""
        return "://" not in self.secrets.fill(self.address)

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> QdrantIndex:
        """Store the corpus unless it is there, or look at the collection that was named."""
        with self.opened() as client:
            if self.plan.collection is not None:
                return self._theirs(client, self.plan.collection, corpus, tick)
            encoder = dict(self.vectors.settings)
            name = f"steelyard-{content_name(corpus, {**self.plan.stored, 'encoder': encoder})}"
            notes: dict[str, Any] = {"collection": name, "documents_stored": 0}
            with self.translated():
                there = client.collection_exists(name) and client.count(name, exact=True).count == len(corpus)
            if there:
                tick(len(corpus))
            else:
                matrix, notes["document_vectors"] = self.vectors.documents(corpus, tick)
                with self.translated():
                    self._store(client, name, corpus, matrix)
                notes["documents_stored"] = len(corpus)
            return QdrantIndex(self, corpus, name, 4 * self.vectors.encoder.dimension * len(corpus), notes)

    def search_extra(self) -> dict[str, Any]:
        """Arguments of a search beyond the vector."""
        extra: dict[str, Any] = {"using": self.plan.vector} if self.plan.vector else {}
        if self.local:  # searches exactly, and says so if it is told how
            return extra
        models = need("qdrant_client.models", "qdrant-client")
        parameters = models.SearchParams(exact=self.plan.exact, hnsw_ef=self.plan.ef)
        return {**extra, "search_params": parameters, "timeout": max(1, round(self.manners.timeout))}

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """A client for the time of the block; what is in memory outlives it, with the retriever."""
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
        """Errors of the client as ours, without secrets."""
        errors = need("qdrant_client.http.exceptions", "qdrant-client")
        try:
            yield
        except errors.ResponseHandlingException as error:
            message = self.secrets.hide(f"qdrant at {self.address} does not answer: {error}")
            raise MissingPart(message, hint="is the service running at that address?") from error
        except errors.UnexpectedResponse as error:
            said = self.secrets.hide(f"qdrant at {self.address} refused: {_short(error)}")
            if may_heal(error.status_code or 0):
                raise MissingPart(said, hint="try again later, with a smaller concurrency") from error
            raise ModelError(said, hint="the server says why; its log says more") from error
        except (errors.ApiException, ValueError, RuntimeError) as error:
            said = self.secrets.hide(f"qdrant at {self.address} refused: {_short(error)}")
            raise ModelError(said, hint="the server says why; its log says more") from error

    @cached_property
    def _memory(self) -> Any:
        return need("qdrant_client", "qdrant-client").QdrantClient(location=":memory:")

    def _client(self) -> Any:
        qdrant = need("qdrant_client", "qdrant-client")
        address = self.secrets.fill(self.address)
        if self.local:
            with self.translated():  # a folder that another process holds
                return qdrant.QdrantClient(path=str(File(address).expanduser()))
        if self.secrets.settings.offline and not is_loopback(urlsplit(address).hostname or ""):
            raise MissingPart(
                f"qdrant at {self.address} cannot be asked while the network is off limits", hint="leave out --offline"
            )
        key = self.secrets.value(self.auth_env) if self.auth_env else None
        return qdrant.QdrantClient(
            url=address, api_key=key, timeout=max(1, round(self.manners.timeout)), check_compatibility=False
        )

    def _theirs(self, client: Any, name: str, corpus: Corpus, tick: Tick) -> QdrantIndex:
        with self.translated():
            count = client.count(name, exact=True).count if client.collection_exists(name) else None
        if count is None:
            raise UsageError(
                f"qdrant at {self.address} has no collection {name!r}", hint="leave collection= out to store the corpus"
            )
        tick(len(corpus))
        notes = {"collection": name, "documents_in_collection": count}
        return QdrantIndex(self, corpus, name, 4 * self.vectors.encoder.dimension * count, notes)

    def _store(self, client: Any, name: str, corpus: Corpus, matrix: Float32) -> None:
        """Points are named by row, so storing them again, after an interruption, ends in the same collection."""
        models = need("qdrant_client.models", "qdrant-client")
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


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def from_spec(spec: ModelSpec, settings: Settings) -> QdrantRetriever:
    """The retriever of `qdrant:ADDRESS?dense=MODEL&OPTIONS`."""
    need("qdrant_client", "qdrant-client")
    options = Options("qdrant", spec.options)
    address = (spec.id or LOCAL).rstrip("/")
    collection, ef = options.text("collection"), options.whole("ef", 0, low=0)
    plan = Plan(
        collection=collection,
        id_field=options.text("id_field"),
        vector=options.text("vector"),
        exact=options.flag("exact", False),
        m=options.whole("m", 16, low=2, high=512),
        ef_construct=options.whole("ef_construct", 100, low=4),
        ef=ef or None,
    )
    retriever = QdrantRetriever(
        name=result_name(spec),
        address=address,
        plan=plan,
        vectors=Vectors.of(options.text("dense") or "use-multilingual-v3", settings),
        manners=Manners.of(options, concurrency=4 if "://" in address else 1),
        auth_env=options.text("auth_env"),
        secrets=Secrets(settings),
        keep=options.flag("keep", True) or collection is not None,
        revision=options.text("revision"),
    )
    options.finish()
    refuse_at(spec, "a key goes into a variable: auth_env=NAME")
    if collection is None and (plan.id_field or plan.vector):
        raise UsageError("id_field and vector are for a collection that is there", hint="add collection=NAME")
    return retriever
