"""Reranking services: `rerank:api/NAME?shape=jina`, or cohere, voyage, tei; vLLM and Infinity use the shape of Jina.

One request contains one query and some of its documents.
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
from steelyard.encoders.backends.api_texts import ApiTexts, SendsTexts, estimated_tokens, read_traffic, shown
from steelyard.encoders.compute_options import NOT_FOR
from steelyard.encoders.instructions import OPTIONS as INSTRUCTION_OPTIONS
from steelyard.errors import ModelError, UsageError
from steelyard.http.endpoint import Endpoint
from steelyard.http.request_batches import BatchSize, Span, in_batches
from steelyard.http.service import Refused, Service
from steelyard.http.traffic import Traffic
from steelyard.options import Options
from steelyard.retrievers.model_names import result_name
from steelyard.spec import ModelSpec
from steelyard.types import Float32, Int64
from steelyard.types.protocols import ModelSettings, Tick, no_tick

PATH = "rerank"
BATCH_SIZE = 100
OWN_OPTIONS = (
    *("url", "shape", "key_env", "key_header", "allow_http"),
    *("query_prompt", "document_prompt", "max_chars", "max_tokens", "body", "listwise", *INSTRUCTION_OPTIONS),
)

Body = dict[str, Any]


@dataclass(frozen=True)
class Shape:
    """The request of a kind of service, and its address if there is only one."""

    url: str | None
    body: Callable[[str, str, list[str]], Body]
    """Make a request from model, query and documents."""


def _cohere(model: str, query: str, documents: list[str]) -> Body:
    return {"model": model, "query": query, "documents": documents, "top_n": len(documents)}


def _jina(model: str, query: str, documents: list[str]) -> Body:
    """Make a request for Jina, which returns every document by default."""
    return {**_cohere(model, query, documents), "return_documents": False}


def _voyage(model: str, query: str, documents: list[str]) -> Body:
    return {"model": model, "query": query, "documents": documents, "top_k": len(documents)}


def _tei(model: str, query: str, documents: list[str]) -> Body:
    """Make a request for TEI, which serves one model. Raw scores, because after a sigmoid the best ones round to 1."""
    return {"query": query, "texts": documents, "raw_scores": True, "truncate": True}


SHAPES = {
    "jina": Shape("https://api.jina.ai/v1", _jina),
    "cohere": Shape("https://api.cohere.com/v2", _cohere),
    "voyage": Shape("https://api.voyageai.com/v1", _voyage),
    "tei": Shape(None, _tei),
}


class ApiReranker(SendsTexts):
    """A model of a reranking service; `account` returns its usage and cost."""

    def __init__(
        self,
        model: str,
        service: Service,
        shape: str,
        texts: ApiTexts,
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
        self._texts = texts
        self.listwise = listwise
        """Whether a score depends on the other documents of a request: then the batch size changes scores."""
        self._batch = BatchSize(service.traffic.batch_size)
        self._truncated = 0
        self._lock = threading.Lock()

    @cached_property
    def settings(self) -> ModelSettings:
        """Return everything that could change a score; the key and the traffic are not included."""
        return {
            "reranker": f"api/{self.model}",
            "url": self._service.endpoint.url,
            "revision": self.revision,
            "shape": self.shape,
            **self._texts.settings,
            **({"listwise": True, "batch_size": self._service.traffic.batch_size} if self.listwise else {}),
        }

    def rerank(self, queries: Sequence[str], documents: Sequence[Sequence[str]], tick: Tick = no_tick) -> list[Float32]:
        """Return the scores of each query's documents, in their order. `tick` counts documents."""
        scores = [np.empty(len(texts), dtype=np.float32) for texts in documents]
        with closing(self.rerank_parts(queries, documents)) as parts:
            for query, places, part in parts:
                scores[query][places] = part
                tick(len(places))
        return scores

    def rerank_parts(
        self, queries: Sequence[str], documents: Sequence[Sequence[str]]
    ) -> Generator[tuple[int, Int64, Float32], None, None]:
        """Yield scores as they arrive: which query, which of its documents, and their scores.

        A text that is among a query's documents more than once is scored once.
        """
        if len(queries) != len(documents):
            raise UsageError.invalid(
                "the number of document lists", expected=f"{len(queries)}, one for each query", found=len(documents)
            )
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
                f"{self._where} returned {refused.status} to the query {shown(queries[query])} "
                f"with the document {shown(text)}: {refused.message}",
                hint="truncate long texts: max_chars=N or max_tokens=N",
            )

        with closing(in_batches(self._service, spans, send, too_large, self._batch)) as parts:
            for span, scores in parts:
                at = [pairs[pair][2] for pair in span]
                places_of_part = np.array([place for group in at for place in group], dtype=np.int64)
                yield pairs[span[0]][0], places_of_part, np.repeat(scores, [len(group) for group in at])

    def account(self) -> ModelSettings:
        """Return the usage since the last call: requests, tokens, searches, cost, truncated texts."""
        notes = self._service.usage.take()
        with self._lock:
            truncated, self._truncated = self._truncated, 0
        if notes and self._texts.limited:
            notes["texts_cut"] = truncated
        return notes

    @property
    def _where(self) -> str:
        return f"{self._service.endpoint.host} (api/{self.model})"

    def _score(self, query: str, texts: Sequence[str], stop: threading.Event) -> Float32 | Refused:
        question, question_truncated = self._texts.prepared(query, "query")
        prepared = [self._texts.prepared(text, "document") for text in texts]
        sent = [text for text, _ in prepared]
        body = {**SHAPES[self.shape].body(self.model, question, sent), **self._texts.fields.get("document", {})}
        tokens = sum(map(estimated_tokens, sent)) + len(sent) * estimated_tokens(question)
        answer = self._service.post(path_at(self._service.endpoint.url), body, tokens, stop)
        if isinstance(answer, Refused):
            return answer
        with self._lock:
            self._truncated += question_truncated + sum(truncated for _, truncated in prepared)
        return read_scores(answer, query, texts, self._where)


def read_scores(answer: Any, query: str, documents: Sequence[str], where: str) -> Float32:
    """Return the scores of all documents in their order; an unexpected response raises a ModelError.

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
            f"the response of {where} must contain a list of scores",
            hint=f"set shape= to the kind of service: {', '.join(SHAPES)}",
            option="shape",
        )
    indices = [item.get("index") for item in items]
    numbers = [index for index in indices if isinstance(index, int)]
    if len(numbers) != len(indices) or sorted(numbers) != list(range(len(documents))):
        raise ModelError(
            f"the response of {where} must have one score for each of {len(documents)} documents, numbered by 'index', "
            f"got {len(items)} for the query {shown(query)}",
            expected=f"{len(documents)} scores",
            found=len(items),
        )
    scores = np.empty(len(documents), dtype=np.float32)
    for index, item in zip(numbers, items, strict=True):
        value = item.get("relevance_score", item.get("score"))
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            kind = "NaN or infinity" if isinstance(value, float) else "null" if value is None else type(value).__name__
            raise ModelError(
                f"every score of {where} must be a finite number, got {kind} for the query {shown(query)} "
                f"with the document {shown(documents[index])}",
                expected="a finite number",
                found=kind,
            )
        scores[index] = value
    return scores


def path_at(url: str) -> str:
    """Return the path of requests: `rerank`, or `reranks` for the one service that names it so.

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
    """Return the reranker of `api/MODEL@REVISION?OPTIONS`; the default shape follows from the address, else Jina's."""
    reader = Options(f"api/{model}", options, (*OWN_OPTIONS, *Traffic.names()), NOT_FOR["service"])
    url = reader.text("url")
    if url is None and reader.text("shape") is None:
        raise UsageError(
            f"the address of the service of {model} is missing",
            hint="add url=ADDRESS, or shape=jina, cohere or voyage",
            option="url",
        )
    guess = next((shape for shape, about in SHAPES.items() if url and about.url and _host(about.url) in url), "jina")
    shape = reader.choice("shape", (guess, *(known for known in SHAPES if known != guess)))
    address = url or SHAPES[shape].url
    if address is None:
        raise UsageError(
            f"the address of the service of {model} is missing",
            hint="add it, for example url=http://localhost:8080",
            option="url",
        )
    header = reader.text("key_header") or "Authorization"
    allow_http = reader.flag("allow_http", False)
    endpoint = Endpoint.of(address, reader.text("key_env"), header, settings, allow_http=allow_http)
    traffic = replace(read_traffic(reader), batch_size=reader.whole("batch_size", BATCH_SIZE))
    listwise = reader.choice("listwise", ("false", "true")) == "true"
    service, texts = Service(endpoint, traffic), ApiTexts.of(reader)
    return ApiReranker(model, service, shape, texts, revision=revision, name=name, listwise=listwise)


def from_spec(spec: ModelSpec, settings: Settings | None = None) -> ApiReranker:
    """Return the reranker of `rerank:api/MODEL@REVISION?OPTIONS`."""
    return from_options(spec.id.removeprefix("api/"), spec.revision, spec.options, result_name(spec), settings)


def _host(url: str) -> str:
    return url.split("/")[2]
