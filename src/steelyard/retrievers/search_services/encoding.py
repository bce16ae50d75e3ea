"""Vectors for services that search vectors: made by one of our encoders, each text encoded once."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from steelyard.config import Settings
from steelyard.encoders import load_encoder
from steelyard.encoders.cache.cached_encoder import encode_once, open_store
from steelyard.errors import UsageError
from steelyard.spec import parse
from steelyard.types import Corpus, Float32, Queries
from steelyard.types.protocols import Encoder, ModelSettings, Tick, no_tick
from steelyard.vectors.similarity import similarity
from steelyard.vectors.topk import normalised

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ServiceVectors:
    """Encodes documents and queries; vectors have length 1 if the encoder compares by cosine."""

    encoder: Encoder
    run_settings: Settings

    @classmethod
    def of(cls, model: str, settings: Settings) -> ServiceVectors:
        """Load the encoder of `dense:MODEL`, with options and revision."""
        spec = parse(f"dense:{model.removeprefix('dense:')}")
        encoder = load_encoder(spec.id, spec.revision, spec.options, settings)
        if similarity(encoder.similarity, str(spec)).is_distance:
            raise UsageError(
                f"the similarity of {spec} must be cosine or dot, got {encoder.similarity}",
                hint=f"set similarity_fn_name=cosine or dot if the model allows it, or evaluate {spec} itself",
                option="similarity_fn_name",
                expected="cosine or dot",
                found=encoder.similarity,
            )
        return cls(encoder, settings)

    @property
    def settings(self) -> ModelSettings:
        """Return everything that could change a vector or how vectors are compared."""
        return {**self.encoder.settings, "similarity": self.encoder.similarity, "dimension": self.encoder.dimension}

    @property
    def cosine(self) -> bool:
        """Return whether vectors are compared by cosine; otherwise by inner product."""
        return self.encoder.similarity == "cosine"

    def documents(self, corpus: Corpus, tick: Tick = no_tick) -> tuple[Float32, ModelSettings]:
        """Return one row per document, and how the vectors were obtained."""
        vectors, tally = encode_once(
            self.encoder, corpus.texts, "document", store=open_store(self.encoder, self.run_settings), tick=tick
        )
        return self._scaled(vectors), tally.notes

    def queries(self, queries: Queries) -> tuple[Float32, ModelSettings]:
        """Return one row per query, and how the vectors were obtained."""
        vectors, tally = encode_once(
            self.encoder, queries.texts, "query", store=open_store(self.encoder, self.run_settings)
        )
        return self._scaled(vectors), tally.notes

    def comparable(self, vectors: Float32) -> Mask:
        """Return which vectors can be compared: by cosine, services refuse a zero vector or return NaN."""
        return np.asarray(vectors.any(axis=1) | (not self.cosine))

    def _scaled(self, vectors: Float32) -> Float32:
        return normalised(vectors) if self.cosine else vectors


def content_name(corpus: Corpus, settings: ModelSettings) -> str:
    """Return sixteen hex digits that identify documents and settings, to name a stored corpus.

    >>> a, b = Corpus.of(["1"], ["x"]), Corpus.of(["1"], ["y"])
    >>> content_name(a, {}) == content_name(a, {}), content_name(a, {}) == content_name(b, {})
    (True, False)
    """
    digest = hashlib.blake2b(digest_size=8)
    digest.update(json.dumps(settings, sort_keys=True, allow_nan=False).encode())
    for part in (*corpus.ids, *corpus.texts):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()
