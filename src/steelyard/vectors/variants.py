"""Variants of a dense model: fewer dimensions, fewer bytes, a second look at the best; all from one float matrix."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.errors import UnknownName, UsageError
from steelyard.types import Float32, Run
from steelyard.vectors.exact import ExactIndex
from steelyard.vectors.quantise import (
    BinaryCodes,
    Codes,
    Float16Codes,
    Float32Codes,
    HakariBinaryCodes,
    HakariInt8Codes,
    Int8Codes,
    Int8DistanceCodes,
)
from steelyard.vectors.similarity import similarity
from steelyard.vectors.topk import normalised, search


def truncate(vectors: Float32, dimension: int) -> Float32:
    """The first `dimension` numbers of each vector, stretched to the length that the whole vector had.

    For vectors of length 1 that is to normalise anew. Where lengths mean something (a model compared by `dot`), they
    go on to mean it. A vector that has only zeros there stays zero.

    >>> truncate(np.array([[3, 0, 4], [0, 0, 1]], dtype=np.float32), 2).tolist()
    [[5.0, 0.0], [0.0, 0.0]]
    """
    if dimension >= vectors.shape[1]:
        return vectors
    kept = vectors[:, :dimension].copy()  # a slice of a single row would be the caller's own memory
    whole, rest = (np.sqrt(np.einsum("ij,ij->i", each, each)) for each in (vectors, kept))
    kept *= np.divide(whole, rest, out=np.zeros_like(rest), where=rest > 0)[:, None]
    return kept


PRECISIONS: dict[str, type[Codes]] = {
    "float32": Float32Codes,
    "float16": Float16Codes,
    "int8": Int8Codes,
    "binary": BinaryCodes,
    "int8@hakari": HakariInt8Codes,
    "binary@hakari": HakariBinaryCodes,
}
"""How vectors may be stored, by name."""

BY_DISTANCE: dict[str, type[Codes]] = {"float32": Float32Codes, "float16": Float16Codes, "int8": Int8DistanceCodes}
"""Those that keep what a distance needs. Signs alone, and codes that are compared as they are, know no distances."""

OPTIONS = ("truncate_dim", "precision", "rescore", "rescore_k")
"""What a model's name may say of its variant."""

DEPTH = 100
"""How many documents are wanted, if nobody says."""
AHEAD = 4 * DEPTH
"""Codes are searched at least so deep, since a variant that rescores them is likely to follow."""
PRESETS = {"hakari": 1}
"""Oversampling by name: HAKARI-Bench looks again at the 100 best, and at no more."""


class UnsupportedVariant(UsageError):
    """A variant that the vectors of a model do not have."""


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
            rescore_k=_rescored(options),
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

    def check(self, dimension: int, model: str, compared: str = "dot") -> None:
        """Unfit if the model's vectors are shorter than what is to be kept, or are not compared that way."""
        if similarity(compared).is_distance and self.precision not in BY_DISTANCE:
            raise UnsupportedVariant(
                f"{model} compares by {compared} distance, which {self.precision} codes do not keep",
                hint=f"precision={' or '.join(BY_DISTANCE)}",
            )
        if self.truncate_dim is not None and self.truncate_dim > dimension:
            raise UnsupportedVariant(
                f"{model} has {dimension} dimensions and can't be cut to {self.truncate_dim}",
                hint=f"give a truncate_dim of at most {dimension}",
            )

    def check_without_search(self, model: str) -> None:
        """A UsageError if this variant means nothing where nothing is searched."""
        if self.rescore is None and not self.precision.endswith("@hakari"):
            return
        what = (
            "rescores"
            if self.rescore is not None
            else f"compares {self.precision} codes as one benchmark's search does"
        )
        raise UsageError(f"{model} {what}, and here nothing is searched", hint="precision=int8 without more works here")

    def apply(self, vectors: Float32, compared: str = "dot") -> Float32:
        """The vectors as they come back from this variant, for a task that searches nothing.

        They are shortened, coded (at length 1 where cosine is meant, as an index holds them) and read again.

        >>> import numpy as np
        >>> Variant(precision="binary").apply(np.array([[3, -4]], dtype=np.float32)).tolist()
        [[1.0, -1.0]]
        """
        kept = vectors if self.truncate_dim is None else truncate(vectors, self.truncate_dim)
        if self.precision == WHOLE.precision:
            return kept
        return PRECISIONS[self.precision].of(normalised(kept) if compared == "cosine" else kept).decode()

    def build(self, vectors: Float32, compared: str = "dot") -> VariantIndex:
        """Make float vectors (normalised, where cosine is meant) searchable in this way."""
        return VariantIndex(self, CodedVectors.of(vectors, self.truncate_dim, self.precision, compared))


WHOLE = Variant()
"""The vectors as the encoder gives them."""


@dataclass(eq=False)
class CodedVectors:
    """The vectors of a corpus, shortened and stored; what a plain variant and a rescored one have in common.

    The last search is kept: the variant that rescores its list need not search again.
    """

    truncate_dim: int | None
    precision: str
    exact: ExactIndex
    codes: Codes
    _asked: tuple[Float32, Float32] | None = None
    _last: tuple[Float32, Run, float] | None = None

    @classmethod
    def of(
        cls,
        vectors: Float32,
        truncate_dim: int | None = None,
        precision: str = "float32",
        compared: str = "dot",
        beside: CodedVectors | None = None,
    ) -> CodedVectors:
        """Shorten and store float vectors; `beside` are codes of the same vectors, with which they share the floats."""
        if beside is not None and (beside.truncate_dim, _unit(beside.precision)) == (truncate_dim, _unit(precision)):
            exact, asked = beside.exact, beside._asked
        else:
            exact, asked = ExactIndex(_prepared(vectors, truncate_dim, precision), similarity(compared)), None
        codes = (BY_DISTANCE if exact.similarity.is_distance else PRECISIONS)[precision]
        return cls(truncate_dim, precision, exact, codes.of(exact.vectors), asked)

    def search(self, queries: Float32, depth: int) -> tuple[Run, float]:
        """The best `depth` documents of each query, and the seconds that it took to find them, now or before."""
        if self._last is not None and self._last[0] is queries:
            _, run, seconds = self._last
            if run.depth >= min(depth, len(self.codes)):
                return run.cut(depth), seconds
        if self.precision == WHOLE.precision:
            run, seconds = self.exact.search(self.prepared(queries), depth)
        else:
            start = time.perf_counter()
            asked = self.codes.prepare_queries(self.prepared(queries))
            run = search(asked, self.codes, max(depth, AHEAD), self.exact.similarity)
            seconds = time.perf_counter() - start
        self._last = queries, run, seconds
        return run.cut(depth), seconds

    def prepared(self, queries: Float32) -> Float32:
        """The queries, shortened as the documents were; the same object for the same queries."""
        if self._asked is None or self._asked[0] is not queries:
            self._asked = queries, _prepared(queries, self.truncate_dim, self.precision)
        return self._asked[1]


@dataclass(eq=False)
class VariantIndex:
    """The vectors of a corpus in one variant."""

    variant: Variant
    coded: CodedVectors
    search_seconds: float | None = None
    """What the last search took: all of it, also what another variant had done before."""

    @property
    def size_bytes(self) -> int:
        """The codes, and the float vectors where the best are rescored by them."""
        return self.coded.codes.nbytes + (0 if self.variant.rescore is None else self.coded.exact.vectors.nbytes)

    @property
    def notes(self) -> dict[str, Any]:
        """Bytes for each document: of what is searched, and of what is kept for rescoring."""
        codes, floats = self.coded.codes, self.coded.exact.vectors
        notes: dict[str, Any] = {"bytes_per_document": codes.bytes_per_vector}
        if self.variant.rescore is not None:
            notes["rescore_bytes_per_document"] = floats.shape[1] * floats.itemsize
        if isinstance(codes, Int8Codes):
            notes["clipped"] = codes.clipped
        return notes

    def search(self, queries: Float32, k: int) -> Run:
        """The best `k` documents of each query, ties by row; a shorter list is the beginning of a longer one."""
        limit = self.coded.codes.limit
        depth = k if limit is None else min(k, limit)
        if self.variant.rescore is None:
            run, self.search_seconds = self.coded.search(queries, depth)
            return run
        first, seconds = self.coded.search(queries, self.variant.rescore * self.variant.rescore_k)
        run, again = self.coded.exact.rescore(first, self.coded.prepared(queries))
        self.search_seconds = seconds + again
        return run.cut(depth)


def _prepared(vectors: Float32, truncate_dim: int | None, precision: str) -> Float32:
    kept = vectors if truncate_dim is None else truncate(vectors, truncate_dim)
    return normalised(kept) if _unit(precision) else kept


def _unit(precision: str) -> bool:
    """Whether a precision wants vectors of length 1, however they are compared."""
    return precision.endswith("@hakari")


def _rescored(options: Mapping[str, str]) -> int:
    found = _whole(options, "rescore_k")
    if found is not None and "rescore" not in options:
        raise UsageError(f"rescore_k is {found}, and nothing is rescored", hint="give rescore too, such as rescore=4")
    return DEPTH if found is None else found


def _whole(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name)
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        also = f", or {', '.join(PRESETS)}" if name == "rescore" else ""
        raise UsageError(f"{name} is {text!r}", hint=f"give a whole number from 1 up{also}") from None
