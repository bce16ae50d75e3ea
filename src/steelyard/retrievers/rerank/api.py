"""Reranking services: `rerank:api/NAME?shape=jina`, or cohere, voyage, tei; vLLM and Infinity speak Jina's.

Each query and its documents go to the service together; one request holds documents of one query only.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.config import Settings
from steelyard.encoders.backends.api_texts import Reading, shown
from steelyard.errors import ModelError, UsageError
from steelyard.http import Options, Refused, Service, Traffic, in_batches
from steelyard.http.batches import BatchSize, Span
from steelyard.http.endpoint import Endpoint
from steelyard.http.tokens import estimated_tokens
from steelyard.retrievers.model_names import result_name
from steelyard.spec import ModelSpec
from steelyard.types import Float32, Int64
from steelyard.types.protocols import ModelSettings, Tick, no_tick

PATH = "rerank"
BATCH_SIZE = 100
OWN_OPTIONS = (
    *("url", "shape", "key_env", "key_header"),
    *("query_prompt", "document_prompt", "max_chars", "max_tokens", "body", "listwise"),
)

Body = dict[str, Any]


@dataclass(frozen=True)
class Shape:
    """How a kind of service is asked, and where it lives if there is only one."""

    url: str | None
    body: Callable[[str, str, list[str]], Body]
    """From model, query and documents."""


def _cohere(model: str, query: str, documents: list[str]) -> Body:
    return {"model": model, "query": query, "documents": documents, "top_n": len(documents)}


def _jina(model: str, query: str, documents: list[str]) -> Body:
    """Jina sends every document back unless told not to."""
    return {**_cohere(model, query, documents), "return_documents": False}


def _voyage(model: str, query: str, documents: list[str]) -> Body:
    return {"model": model, "query": query, "documents": documents, "top_k": len(documents)}


def _tei(model: str, query: str, documents: list[str]) -> Body:
    """TEI serves one model. Behind a sigmoid the best documents would all round to 1 and tie: raw scores."""
    return {"query": query, "texts": documents, "raw_scores": True, "truncate": True}


SHAPES = {
    "jina": Shape("https://api.jina.ai/v1", _jina),
    "cohere": Shape("https://api.cohere.com/v2", _cohere),
    "voyage": Shape("https://api.voyageai.com/v1", _voyage),
    "tei": Shape(None, _tei),
}


class ApiReranker:
    """A model behind a reranking service; `account` says what it has cost."""

    def __init__(
        self,
        model: str,
        service: Service,
        shape: str,
        reading: Reading,
        *,
        revision: str | None = None,
        name: str = "",
        listwise: bool = False,
    ) -> None:
        self.name = name or f"rerank:api/{model}"
        self.model = model
        self.shape = shape
        self.revision = revision
        self._service = service
        self._reading = reading
        self.listwise = listwise
        """Whether a score depends on what is scored with it: then the size of a request changes figures."""
        self._batch = BatchSize(service.traffic.batch_size)
        self._cut = 0
        self._lock = threading.Lock()

    @cached_property
    def settings(self) -> ModelSettings:
        """Everything that could change a score; the key and how the service is used are not among it."""
        return {
            "reranker": f"api/{self.model}",
            "url": self._service.endpoint.url,
            "revision": self.revision,
            "shape": self.shape,
            **self._reading.settings,
            **({"listwise": True, "batch_size": self._service.traffic.batch_size} if self.listwise else {}),
        }

    def rerank(self, queries: Sequence[str], documents: Sequence[Sequence[str]], tick: Tick = no_tick) -> list[Float32]:
        """The scores of each query's documents, in their order. `tick` counts documents."""
        scores = [np.empty(len(texts), dtype=np.float32) for texts in documents]
        with closing(self.rerank_parts(queries, documents)) as parts:
            for query, places, part in parts:
                scores[query][places] = part
                tick(len(places))
        return scores

    def rerank_parts(
        self, queries: Sequence[str], documents: Sequence[Sequence[str]]
    ) -> Generator[tuple[int, Int64, Float32], None, None]:
        """The scores as they arrive: which query, which of its documents, and theirs.

        A text that is among a query's documents more than once is scored once.
        """
        if len(queries) != len(documents):
            raise UsageError(f"{len(queries)} queries but {len(documents)} lists of documents", hint="one for each")
        pairs: list[tuple[int, str, list[int]]] = []
        spans = []
        for query, texts in enumerate(documents):
            places: dict[str, list[int]] = {}
            for place, text in enumerate(texts):
                places.setdefault(text, []).append(place)
            spans.append(range(len(pairs), len(pairs) + len(places)))
            pairs.extend((query, text, at) for text, at in places.items())

        def send(span: Span, stop: threading.Event) -> Float32 | Refused:
            return self._score(queries[pairs[span[0]][0]], [pairs[pair][1] for pair in span], stop)

        def too_large(span: Span, refused: Refused) -> ModelError:
            query, text, _ = pairs[span[0]]
            return ModelError(
                f"{self._where} answered {refused.status} to the query {shown(queries[query])} "
                f"with the document {shown(text)}: {refused.message}",
                hint="a text that is too long can be cut: max_chars=, max_tokens=",
            )

        with closing(in_batches(self._service, spans, send, too_large, self._batch)) as parts:
            for span, scores in parts:
                at = [pairs[pair][2] for pair in span]
                places_of_part = np.array([place for group in at for place in group], dtype=np.int64)
                yield pairs[span[0]][0], places_of_part, np.repeat(scores, [len(group) for group in at])

    def account(self) -> ModelSettings:
        """What was asked of the service since the last call: requests, tokens, searches, cost, documents cut."""
        notes = self._service.usage.take()
        with self._lock:
            cut, self._cut = self._cut, 0
        if notes and self._reading.limited:
            notes["texts_cut"] = cut
        return notes

    @property
    def _where(self) -> str:
        return f"{self._service.endpoint.host} (api/{self.model})"

    def _score(self, query: str, texts: Sequence[str], stop: threading.Event) -> Float32 | Refused:
        question, question_cut = self._reading.prepared(query, "query")
        prepared = [self._reading.prepared(text, "document") for text in texts]
        sent = [text for text, _ in prepared]
        body = {**SHAPES[self.shape].body(self.model, question, sent), **self._reading.fields.get("document", {})}
        tokens = sum(map(estimated_tokens, sent)) + len(sent) * estimated_tokens(question)
        answer = self._service.post(path_at(self._service.endpoint.url), body, tokens, stop)
        if isinstance(answer, Refused):
            return answer
        with self._lock:
            self._cut += question_cut + sum(cut for _, cut in prepared)
        return read_scores(answer, query, texts, self._where)


def read_scores(answer: Any, query: str, documents: Sequence[str], where: str) -> Float32:
    """The scores of all documents in their order, in whichever shape they came; anything odd is a ModelError.

    >>> read_scores({"results": [{"index": 1, "relevance_score": 0.5}, {"index": 0, "relevance_score": 0.25}]},
    ...             "q", ["a", "b"], "here").tolist()
    [0.25, 0.5]
    >>> read_scores([{"index": 0, "score": -1.5}], "q", ["a"], "here").tolist()
    [-1.5]
    """
    items = answer if isinstance(answer, list) else None
    if isinstance(answer, dict):
        items = answer.get("results", answer.get("data"))
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ModelError(
            f"{where} answered without a list of scores", hint=f"is the shape right? known: {', '.join(SHAPES)}"
        )
    indices = [item.get("index") for item in items]
    numbers = [index for index in indices if isinstance(index, int)]
    if len(numbers) != len(indices) or sorted(numbers) != list(range(len(documents))):
        raise ModelError(
            f"{where} gave {len(items)} scores for {len(documents)} documents of the query {shown(query)}",
            hint="expected one for each, numbered by 'index'",
        )
    scores = np.empty(len(documents), dtype=np.float32)
    for index, item in zip(numbers, items, strict=True):
        value = item.get("relevance_score", item.get("score"))
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            found = "NaN or infinity" if isinstance(value, float) else "null" if value is None else "no number"
            raise ModelError(
                f"{where} gave {found} as the score of the query {shown(query)} "
                f"with the document {shown(documents[index])}",
                hint="every score must be a finite number",
            )
        scores[index] = value
    return scores


def path_at(url: str) -> str:
    """What is asked under an address: `rerank`, but for the one service that calls it `reranks`.

    >>> path_at("http://localhost:8000/v1"), path_at("https://dashscope.aliyuncs.com/compatible-api/v1")
    ('rerank', 'reranks')
    """
    plural = _host(url).split(":")[0].endswith("dashscope.aliyuncs.com") or url.rstrip("/").endswith("/reranks")
    return f"{PATH}s" if plural else PATH


def from_options(
    model: str,
    revision: str | None,
    options: Mapping[str, str],
    name: str = "",
    settings: Settings | None = None,
) -> ApiReranker:
    """The reranker of `api/MODEL@REVISION?OPTIONS`; the shape is guessed from a well-known address, else Jina's."""
    given = Options(f"api/{model}", options, (*OWN_OPTIONS, *Traffic.names()))
    url = given.text("url")
    if url is None and given.text("shape") is None:
        raise UsageError(f"where is the service of {model}?", hint="give url=..., or shape=jina, cohere or voyage")
    guess = next((shape for shape, about in SHAPES.items() if url and about.url and _host(about.url) in url), "jina")
    shape = given.choice("shape", (guess, *(known for known in SHAPES if known != guess)))
    address = url or SHAPES[shape].url
    if address is None:
        raise UsageError(f"where is the service of {model}?", hint="such as url=http://localhost:8080")
    endpoint = Endpoint.of(address, given.text("key_env"), given.text("key_header") or "Authorization", settings)
    traffic = replace(Traffic.of(given), batch_size=given.whole("batch_size", BATCH_SIZE))
    listwise = given.choice("listwise", ("false", "true")) == "true"
    service, reading = Service(endpoint, traffic), Reading.of(given)
    return ApiReranker(model, service, shape, reading, revision=revision, name=name, listwise=listwise)


def from_spec(spec: ModelSpec, settings: Settings) -> ApiReranker:
    """The reranker of `rerank:api/MODEL@REVISION?OPTIONS`."""
    return from_options(spec.id.removeprefix("api/"), spec.revision, spec.options, result_name(spec), settings)


def _host(url: str) -> str:
    return url.split("/")[2]
