"""Vectors for services that search them: an encoder of ours, each text encoded once."""

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

Sound = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Vectors:
    """Makes the vectors of documents and queries; of length 1 where the encoder compares by cosine."""

    encoder: Encoder
    run_settings: Settings

    @classmethod
    def of(cls, model: str, settings: Settings) -> Vectors:
        """The encoder of `dense:MODEL`, options and revision included."""
        spec = parse(f"dense:{model.removeprefix('dense:')}")
        encoder = load_encoder(spec.id, spec.revision, spec.options, settings)
        if similarity(encoder.similarity, str(spec)).is_distance:
            raise UsageError(
                f"{spec} compares by {encoder.similarity} distance, for which no index is made here",
                hint=f"similarity_fn_name=cosine or dot, if the model allows it; or run {spec} itself",
            )
        return cls(encoder, settings)

    @property
    def settings(self) -> ModelSettings:
        """Everything that could change a vector or how vectors are compared."""
        return {**self.encoder.settings, "similarity": self.encoder.similarity, "dimension": self.encoder.dimension}

    @property
    def cosine(self) -> bool:
        """Whether vectors are compared by cosine; else by inner product."""
        return self.encoder.similarity == "cosine"

    def documents(self, corpus: Corpus, tick: Tick = no_tick) -> tuple[Float32, ModelSettings]:
        """One row a document, and how the vectors were obtained."""
        vectors, tally = encode_once(
            self.encoder, corpus.texts, "document", store=open_store(self.encoder, self.run_settings), tick=tick
        )
        return self._scaled(vectors), tally.notes

    def queries(self, queries: Queries) -> tuple[Float32, ModelSettings]:
        """One row a query, and how the vectors were obtained."""
        vectors, tally = encode_once(
            self.encoder, queries.texts, "query", store=open_store(self.encoder, self.run_settings)
        )
        return self._scaled(vectors), tally.notes

    def sound(self, vectors: Float32) -> Sound:
        """Which vectors can be compared: services refuse one without a direction, or answer NaN, by cosine."""
        return np.asarray(vectors.any(axis=1) | (not self.cosine))

    def _scaled(self, vectors: Float32) -> Float32:
        return normalised(vectors) if self.cosine else vectors


def content_name(corpus: Corpus, settings: ModelSettings) -> str:
    """Sixteen hex digits that are the same for the same documents under the same settings: the name to find them by.

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
