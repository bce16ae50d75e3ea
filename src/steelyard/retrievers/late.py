"""Late interaction: one vector for each token, exact MaxSim over all documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from steelyard.config import Settings
from steelyard.encoders.cache.blob_store import BlobStore
from steelyard.encoders.cache.cached_ragged import RaggedEncoder, encode_ragged, open_blob_store
from steelyard.encoders.load import load_multi_vector_encoder
from steelyard.errors import UsageError
from steelyard.options import Options
from steelyard.retrievers.model_names import result_name
from steelyard.retrievers.model_variants import without_variant
from steelyard.retrievers.ragged_index import RaggedIndex, RaggedRetriever
from steelyard.spec import ModelSpec
from steelyard.types import Corpus, Queries, Role, TaskInfo
from steelyard.types.protocols import ModelSettings, Tick, no_tick
from steelyard.vectors.mapped import MAPPED
from steelyard.vectors.maxsim import MaxSim, TokenVectors, pool_tokens

BLOCK_DOCUMENTS = 4096
"""Documents of a large corpus that are encoded, or read from the store, at a time."""
BYTES_PER_CHARACTER = 128
"""An estimate of the token vectors of a text: a token of four characters has 128 dimensions of four bytes."""


@dataclass(frozen=True, eq=False)
class LateRetriever(RaggedRetriever[TokenVectors]):
    """A multi-vector encoder and exact MaxSim. `pool_factor` 2 keeps half of a document's vectors."""

    encodings: ClassVar[type[TokenVectors]] = TokenVectors
    name: str
    encoder: RaggedEncoder[TokenVectors]
    pool_factor: float = 1.0
    store: BlobStore | None = None
    variant_of: str | None = None
    """The name of the model without pooling, if this one pools."""
    memory: tuple[Path, int] | None = None
    """A folder for corpora whose token vectors take more than so many bytes; None: they are always in memory."""

    @property
    def settings(self) -> ModelSettings:
        """Return the encoder's settings, how texts are compared, and how documents are pooled."""
        return {
            **self.encoder.settings,
            "similarity": self.encoder.similarity,
            "pool_factor": self.pool_factor,
        }

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> RaggedIndex[TokenVectors]:
        """Encode the documents and pool their tokens; `tick` counts documents. One without tokens is never returned."""
        tokens, notes = self._documents(corpus, tick)
        documents, count = MaxSim(tokens), max(1, len(corpus))
        return RaggedIndex(
            documents.size_bytes,
            lambda queries: self._encoded(queries, "query"),
            partial(documents.search, similarity=self.encoder.similarity),
            {
                "documents": notes,
                "variant_of": self.variant_of,
                "dimension": tokens.dimension,
                "vectors_per_document": len(tokens.matrix) / count,
                "bytes_per_document": tokens.matrix.nbytes / count,
            },
        )

    def _documents(self, corpus: Corpus, tick: Tick) -> tuple[TokenVectors, dict[str, Any]]:
        """Return the pooled token vectors of a corpus; of a large one block by block, in a mapped file."""
        blocks = range(0, len(corpus), BLOCK_DOCUMENTS)
        if (
            self.memory is None
            or len(blocks) < 2
            or sum(map(len, corpus.texts)) * BYTES_PER_CHARACTER <= self.memory[1]
        ):
            whole, notes = self._encoded(corpus, "document", tick)
            return pool_tokens(whole, self.pool_factor), notes
        notes = {}

        def encoded() -> Iterator[TokenVectors]:
            for start in blocks:
                block = slice(start, start + BLOCK_DOCUMENTS)
                part, counts = self._encoded(Queries(corpus.ids[block], corpus.texts[block]), "document", tick)
                for name, count in counts.items():
                    notes[name] = notes[name] + count if name in notes else count
                yield pool_tokens(part, self.pool_factor)

        return TokenVectors.in_file(encoded(), self.memory[0]), notes

    def _encoded(
        self, texts: Corpus | Queries, role: Role, tick: Tick = no_tick
    ) -> tuple[TokenVectors, dict[str, Any]]:
        tokens, tally = encode_ragged(
            TokenVectors, self.encoder, texts.ids, texts.texts, role, store=self.store, tick=tick
        )
        return tokens, {**tally.notes, "tokens": len(tokens.matrix)}


def from_spec(spec: ModelSpec, settings: Settings) -> LateRetriever:
    """Return the retriever of `late:ID@REVISION?OPTIONS`; options other than `pool_factor` are the encoder's."""
    if not spec.id:
        raise UsageError("the family late must name a model", hint="for example late:lightonai/GTE-ModernColBERT-v1")
    options = dict(spec.options)
    pooling = {"pool_factor": options.pop("pool_factor")} if "pool_factor" in options else {}
    factor = Options(f"late:{spec.id}", pooling, ("pool_factor",)).number("pool_factor", 1.0, minimum=1)
    encoder = load_multi_vector_encoder(spec.id, spec.revision, options, settings)
    return LateRetriever(
        result_name(spec),
        encoder,
        factor,
        open_blob_store(encoder, settings),
        result_name(unchanged) if (unchanged := without_variant(spec)) else None,
        (settings.home / MAPPED, settings.memory_bytes),
    )
