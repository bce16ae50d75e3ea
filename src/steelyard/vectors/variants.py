"""Variants of a dense model: fewer dimensions, fewer bytes, a second look at the best; all from one float matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steelyard.errors import UnknownName, UsageError
from steelyard.types import Float32, Run
from steelyard.vectors.quantise import Binary, BinaryTo100, Codes, Half, Int8, RawInt8, Whole
from steelyard.vectors.topk import normalised, search
from steelyard.vectors.truncate import truncated

PRECISIONS: dict[str, type[Codes]] = {
    "float32": Whole,
    "float16": Half,
    "int8": Int8,
    "binary": Binary,
    "int8@hakari": RawInt8,
    "binary@hakari": BinaryTo100,
}
"""How vectors may be stored, by name."""

OPTIONS = ("truncate_dim", "precision", "rescore", "rescore_k")
"""What a model's name may say of its variant."""

OVERSAMPLE, DEPTH = 4, 100
PRESETS = {"hakari": 1}
"""Oversampling by name: HAKARI-Bench looks again at the 100 best, and at no more."""


@dataclass(frozen=True)
class Variant:
    """How vectors are shortened, stored and searched; without arguments, as the encoder gives them.

    With `rescore`, the `rescore * rescore_k` best by the codes are scored again by the float vectors, and lists hold
    those and no more.

    >>> Variant.of({"truncate_dim": "256", "precision": "int8", "rescore": "4"})
    Variant(truncate_dim=256, precision='int8', rescore=4, rescore_k=100)
    """

    truncate_dim: int | None = None
    precision: str = "float32"
    rescore: int | None = None
    rescore_k: int = DEPTH

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            known = ", ".join(PRECISIONS)
            raise UnknownName("precision", self.precision, PRECISIONS, hint=f"known: {known}")
        for name in ("truncate_dim", "rescore", "rescore_k"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name} is {value}", hint="give a whole number from 1 up")
        if self.rescore is not None and self.precision == "float32":
            raise UsageError(
                "rescoring float32 by float32 changes nothing", hint="give a precision, such as int8 or binary"
            )

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Variant:
        """The variant that the options of a model's name describe; other options are passed over."""
        rescore = options.get("rescore")
        return cls(
            truncate_dim=_whole(options, "truncate_dim"),
            precision=options.get("precision", cls.precision),
            rescore=PRESETS[rescore] if rescore in PRESETS else _whole(options, "rescore"),
            rescore_k=_whole(options, "rescore_k") or DEPTH,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """Everything here that could change a figure."""
        settings: dict[str, Any] = {"precision": self.precision}
        if self.truncate_dim is not None:
            settings["truncate_dim"] = self.truncate_dim
        if self.rescore is not None:
            settings |= {"rescore": self.rescore, "rescore_k": self.rescore_k}
        return settings

    def check(self, dimension: int, model: str) -> None:
        """A UsageError if the model's vectors are shorter than what is to be kept of them."""
        if self.truncate_dim is not None and self.truncate_dim > dimension:
            raise UsageError(
                f"{model} has {dimension} dimensions and can't be cut to {self.truncate_dim}",
                hint=f"give a truncate_dim of at most {dimension}",
            )

    def build(self, vectors: Float32) -> VariantIndex:
        """Make float vectors (normalised, where cosine is meant) searchable in this way."""
        kept = vectors if self.truncate_dim is None else truncated(vectors, self.truncate_dim)
        if self.precision.endswith("@hakari"):
            kept = normalised(kept)
        codes = PRECISIONS[self.precision].of(kept)
        return VariantIndex(self, codes, kept if self.rescore is not None else None)


WHOLE = Variant()
"""The vectors as the encoder gives them."""


@dataclass(frozen=True, eq=False)
class VariantIndex:
    """The vectors of a corpus in one variant."""

    variant: Variant
    codes: Codes
    floats: Float32 | None = field(default=None)
    """What the best are rescored by."""

    @property
    def size_bytes(self) -> int:
        """The codes, and the float vectors where they are needed."""
        return self.codes.nbytes + (0 if self.floats is None else self.floats.nbytes)

    @property
    def notes(self) -> dict[str, Any]:
        """Bytes for each document: of what is searched, and of what is kept for rescoring."""
        documents = max(1, len(self.codes))
        notes: dict[str, Any] = {"bytes_per_document": self.codes.nbytes / documents}
        if self.floats is not None:
            notes["rescore_bytes_per_document"] = self.floats.nbytes / documents
        if isinstance(self.codes, Int8):
            notes["clipped"] = self.codes.clipped
        return notes

    def search(self, queries: Float32, k: int) -> Run:
        """The best `k` documents of each query, ties by row; a shorter list is the beginning of a longer one."""
        if self.variant.truncate_dim is not None:
            queries = truncated(queries, self.variant.truncate_dim)
        if self.variant.precision.endswith("@hakari"):
            queries = normalised(queries)
        depth = k if self.codes.limit is None else min(k, self.codes.limit)
        if self.floats is None or self.variant.rescore is None:
            return search(self.codes.asked(queries), self.codes, depth)
        first = search(self.codes.asked(queries), self.codes, self.variant.rescore * self.variant.rescore_k)
        return rescored(first, queries, self.floats).cut(depth)


def rescored(run: Run, queries: Float32, documents: Float32) -> Run:
    """The same documents, ranked by the inner products of their float vectors with the queries.

    >>> run = Run.of([[0, 1]], [[3, 2]])
    >>> rescored(run, np.array([[0, 1]], dtype=np.float32), np.eye(2, dtype=np.float32)).rows.tolist()
    [[1, 0]]
    """
    scores = np.empty(run.rows.shape, dtype=np.float32)
    room = np.empty((run.depth, documents.shape[1]), dtype=np.float32)
    for query, rows, line in zip(queries, run.rows, scores, strict=True):
        np.take(documents, rows, axis=0, out=room, mode="clip")
        # Sums row by row in one order, unlike a matrix product: equal documents score alike.
        np.einsum("ij,j->i", room, query, out=line)
    return Run.of(run.rows, scores)


def _whole(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name)
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        also = f", or {', '.join(PRESETS)}" if name == "rescore" else ""
        raise UsageError(f"{name} is {text!r}", hint=f"give a whole number from 1 up{also}") from None
