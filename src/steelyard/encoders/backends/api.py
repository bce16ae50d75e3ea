"""Embedding services: `dense:api/NAME?url=https://host/v1`.

OpenAI, and the services with the same interface: TEI, vLLM, Ollama, Infinity, llama.cpp. `shape=tei` uses the `/embed`
of TEI and `shape=pooling` the `/pooling` of vLLM.
docs/services.md has the options.
"""

from __future__ import annotations

import base64
import binascii
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.config import Settings
from steelyard.encoders.backends.api_texts import ApiTexts, SendsTexts, estimated_tokens, read_traffic, shown
from steelyard.encoders.cache.vector_store import fingerprint
from steelyard.encoders.compute_options import NOT_FOR
from steelyard.encoders.streaming import collect_vectors
from steelyard.errors import ModelError, UsageError
from steelyard.files import read_cached, write_cached
from steelyard.http.endpoint import Endpoint
from steelyard.http.request_batches import BatchSize, Span, in_batches
from steelyard.http.service import Refused, Service
from steelyard.http.traffic import Traffic
from steelyard.options import Options
from steelyard.types import Float32, Int64, Role
from steelyard.types.protocols import ModelSettings, Tick, no_tick
from steelyard.vectors.similarity import SIMILARITIES

OPENAI = "https://api.openai.com/v1"
PATHS = {"openai": "embeddings", "tei": "embed", "pooling": "pooling"}
"""The path of requests by the kind of service."""
PROBE = "steelyard"
OWN_OPTIONS = ("url", "key_env", "key_header", "dimensions", "encoding", "shape", "similarity_fn_name", "allow_http")
FORM = "check that the address is that of an embeddings service with OpenAI's interface"


def read_vectors(answer: Any, texts: Sequence[str], dimension: int | None, where: str) -> Float32:
    """Return one finite vector for each text, all of one length: `dimension`, if that is known.

    Items are sorted by their `index`; without indices they are in order. A vector is a list of numbers, or base64 of
    little-endian 32-bit floats.

    >>> answer = {"data": [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": "AACAPwAAAAA="}]}
    >>> read_vectors(answer, ["a", "b"], 2, "here").tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    items = answer.get("data") if isinstance(answer, dict) else None
    if isinstance(answer, list) and all(isinstance(vector, list) for vector in answer):  # TEI
        items = [{"embedding": vector} for vector in answer]
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ModelError.invalid(
            f"the answer of {where}", expected="an object with a list 'data'", found=_kind(answer), hint=FORM
        )
    if len(items) != len(texts):
        raise ModelError.invalid(
            f"the number of vectors of {where} for the texts from {shown(texts[0])} on",
            expected=str(len(texts)),
            found=len(items),
            hint=FORM,
        )
    vectors: list[Float32 | None] = [None] * len(texts)
    for row, item in zip(_rows(items, where), items, strict=True):
        vectors[row] = _vector(item.get("embedding", item.get("data")), texts[row], dimension, where)
    return np.stack([vector for vector in vectors if vector is not None])


def _rows(items: Sequence[dict[str, Any]], where: str) -> list[int]:
    """Return the row of each item."""
    indices = [item.get("index") for item in items]
    if all(index is None for index in indices):
        return list(range(len(items)))
    rows = [index for index in indices if isinstance(index, int)]
    if sorted(rows) != list(range(len(items))):
        raise ModelError.invalid(
            f"the indices in the answer of {where}",
            expected=f"0 to {len(items) - 1}, each once",
            found=f"{len(rows)} integers",
            hint=FORM,
        )
    return rows


def _vector(value: Any, text: str, dimension: int | None, where: str) -> Float32:
    try:
        if isinstance(value, str):
            vector = np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
        else:
            vector = np.asarray(value, dtype=np.float64)
    except (binascii.Error, ValueError, TypeError, OverflowError):  # their messages would quote the answer
        raise _not_a_vector(value, text, where) from None
    if vector.ndim != 1 or not len(vector):
        raise _not_a_vector(value, text, where)
    if dimension is not None and len(vector) != dimension:
        raise ModelError.invalid(
            f"the dimension of the vector of {where} for the text {shown(text)}",
            expected=str(dimension),
            found=len(vector),
            hint="if the model of that name has changed, add a revision of your own: api/NAME@REVISION",
        )
    with np.errstate(over="ignore"):
        floats = vector.astype(np.float32)
    if not np.isfinite(floats).all():
        raise ModelError.invalid(
            f"the vector of {where} for the text {shown(text)}",
            expected="finite",
            found="NaN or infinity",
            hint="check that text",
        )
    return floats


def _not_a_vector(value: Any, text: str, where: str) -> ModelError:
    what = f"the answer of {where} for the text {shown(text)}"
    return ModelError.invalid(what, expected="a vector", found=_kind(value), hint=FORM)


def _kind(value: Any) -> str:
    """Describe a value without quoting it: an answer may contain anything, even a key."""
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return {type(None): "null", str: "text", dict: "an object"}.get(type(value), "something else")


class ApiEncoder(SendsTexts):
    """A model of an embeddings service.

    Vectors are yielded batch by batch as they arrive (`encode_parts`), so that nothing is lost when a run is
    interrupted. `account` returns what it has cost.
    """

    def __init__(
        self,
        model: str,
        service: Service,
        texts: ApiTexts,
        *,
        dimensions: int | None = None,
        revision: str | None = None,
        encoding: str = "base64",
        shape: str = "openai",
        similarity: str = "cosine",
    ) -> None:
        self.name = f"api/{model}"
        self.model = model
        self.revision = revision
        self.similarity = similarity
        self._service = service
        self._texts = texts
        self._dimensions = dimensions
        self._encoding = encoding
        self._shape = shape
        self._batch = BatchSize(service.traffic.batch_size)
        self._truncated = 0
        self._models: set[str] = set()
        self._lock = threading.Lock()

    @cached_property
    def settings(self) -> ModelSettings:
        """Everything that could change a vector; without the key and the traffic settings."""
        return {
            "encoder": self.name,
            "url": self._service.endpoint.url,
            "revision": self.revision,
            "dimensions": self._dimensions,
            "dtype": "float32",
            **({} if self._shape == "openai" else {"shape": self._shape}),
            **self._texts.settings,
            "symmetric": self._texts.symmetric,
        }

    @cached_property
    def dimension(self) -> int:
        """Length of a vector, found by encoding one short text once, and cached."""
        if self._dimensions is not None:
            return self._dimensions
        path = self._service.endpoint.settings.home / "services" / f"{fingerprint(self.settings)}.json"
        known = read_cached(path).get("dimension")
        if isinstance(known, int) and known > 0:
            return int(known)
        with closing(self._service):
            answer = self._ask([PROBE], "query", threading.Event())
        if isinstance(answer, Refused):
            raise self._refusal([PROBE], answer)
        dimension = int(read_vectors(answer, [PROBE], None, self._where).shape[1])
        write_cached(path, {"encoder": self.name, "dimension": dimension})
        return dimension

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Float32:
        """Return the vectors of the service in the order of the texts."""
        return collect_vectors(self, texts, role, self.dimension, tick)

    def encode_parts(self, texts: Sequence[str], role: Role) -> Generator[tuple[Int64, Float32], None, None]:
        """Yield rows and vectors as they arrive."""
        dimension = self.dimension
        prepared = [self._texts.prepared(text, role) for text in texts]
        sent = [text for text, _ in prepared]

        def send(span: Span, stop: threading.Event) -> Float32 | Refused:
            inputs = [sent[row] for row in span]
            answer = self._ask(inputs, role, stop)
            if isinstance(answer, Refused):
                return answer
            with self._lock:
                self._truncated += sum(prepared[row][1] for row in span)
            return read_vectors(answer, inputs, dimension, self._where)

        def too_large(span: Span, refused: Refused) -> ModelError:
            return self._refusal([sent[row] for row in span], refused)

        with closing(in_batches(self._service, [range(len(sent))], send, too_large, self._batch)) as parts:
            for span, vectors in parts:
                yield np.asarray(span, dtype=np.int64), vectors

    def account(self) -> ModelSettings:
        """Return what was used since the last call: requests, tokens, cost, truncated texts."""
        notes = self._service.usage.take()
        with self._lock:
            truncated, self._truncated = self._truncated, 0
            models, self._models = sorted(self._models), set()
        if notes and self._texts.limited:
            notes["texts_cut"] = truncated
        if models:
            notes["model_reported"] = models[0] if len(models) == 1 else models
        return notes

    @property
    def _where(self) -> str:
        return f"{self._service.endpoint.host} ({self.name})"

    def _ask(self, inputs: Sequence[str], role: Role, stop: threading.Event) -> Any | Refused:
        tokens = sum(map(estimated_tokens, inputs))
        body = self._body(inputs)
        answer = self._service.post(PATHS[self._shape], {**body, **self._texts.fields.get(role, {})}, tokens, stop)
        if isinstance(answer, dict) and isinstance(answer.get("model"), str):
            with self._lock:
                self._models.add(self._service.endpoint.secrets.excerpt(answer["model"], 200))
        return answer

    def _body(self, inputs: Sequence[str]) -> dict[str, Any]:
        if self._shape == "tei":
            return {"inputs": list(inputs), "normalize": False, "truncate": True}
        encoding = self._encoding if self._shape == "openai" else "float"
        body: dict[str, Any] = {"model": self.model, "input": list(inputs), "encoding_format": encoding}
        return body if self._dimensions is None else {**body, "dimensions": self._dimensions}

    def _refusal(self, inputs: Sequence[str], refused: Refused) -> ModelError:
        return ModelError(
            f"{self._where} answered {refused.status} to the text {shown(inputs[0])}: {refused.message}",
            hint="truncate long texts with max_chars= or max_tokens=; some services need encoding=float",
        )


def from_options(
    model: str, revision: str | None, options: Mapping[str, str], settings: Settings | None = None
) -> ApiEncoder:
    """Return the encoder of `api/MODEL@REVISION?OPTIONS`. A revision is a label of the user: services have none."""
    parsed = Options(f"api/{model}", options, (*OWN_OPTIONS, *ApiTexts.names(), *Traffic.names()), NOT_FOR["service"])
    if not model:
        raise UsageError("a service needs the name of a model", hint="write dense:api/text-embedding-3-small")
    url, header = parsed.text("url") or OPENAI, parsed.text("key_header") or "Authorization"
    allow_http = parsed.flag("allow_http", False)
    endpoint = Endpoint.of(url, parsed.text("key_env"), header, settings, allow_http=allow_http)
    encoder = ApiEncoder(
        model,
        Service(endpoint, read_traffic(parsed)),
        ApiTexts.of(parsed),
        dimensions=parsed.whole("dimensions", None),
        revision=revision,
        encoding=parsed.choice("encoding", ("base64", "float")),
        shape=parsed.choice("shape", tuple(PATHS)),
        similarity=parsed.choice("similarity_fn_name", SIMILARITIES),
    )
    _ = encoder.dimension  # now, so that an unavailable service fails this model only
    return encoder
