"""Variants of a dense model: truncation, quantisation and rescoring, all from one float matrix."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from steelyard.errors import UnknownName, UsageError
from steelyard.types import Float32, Run
from steelyard.vectors.approximate import RECALL_DEPTHS, ApproximateIndex, Approximation, overlap
from steelyard.vectors.exact_index import ExactIndex
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
    """Return the first `dimension` numbers of each vector, scaled to the length of the full vector.

    Vectors of length 1 are normalised again; for models compared by `dot`, lengths keep their meaning. A vector with
    only zeros there stays zero.

    >>> truncate(np.array([[3, 0, 4], [0, 0, 1]], dtype=np.float32), 2).tolist()
    [[5.0, 0.0], [0.0, 0.0]]
    """
    if dimension >= vectors.shape[1]:
        return vectors
    truncated = vectors[:, :dimension].copy()  # a slice of a single row would be the caller's memory
    full, short = (np.sqrt(np.einsum("ij,ij->i", part, part)) for part in (vectors, truncated))
    truncated *= np.divide(full, short, out=np.zeros_like(short), where=short > 0)[:, None]
    return truncated


PRECISIONS: dict[str, type[Codes]] = {
    "float32": Float32Codes,
    "float16": Float16Codes,
    "int8": Int8Codes,
    "binary": BinaryCodes,
    "int8@hakari": HakariInt8Codes,
    "binary@hakari": HakariBinaryCodes,
}
"""The precisions by name."""

BY_DISTANCE: dict[str, type[Codes]] = {"float32": Float32Codes, "float16": Float16Codes, "int8": Int8DistanceCodes}
"""The precisions that support distances."""

OPTIONS = ("truncate_dim", "precision", "rescore", "rescore_k", "index", "ef", "probes")
"""The options of a variant in a model's name."""

DEPTH = 100
"""The default number of documents to rescore."""
AHEAD = 4 * DEPTH
"""Codes are searched at least to this depth, because a variant that rescores them is likely to follow."""
PRESETS = {"hakari": 1}
"""Oversampling by name: HAKARI-Bench rescores the top 100."""


class UnsupportedVariant(UsageError):
    """A variant that a model does not support."""


@dataclass(frozen=True)
class Variant:
    """How vectors are truncated, stored and searched; without arguments, they are unchanged.

    With `rescore`, the top `rescore * rescore_k` by the codes are scored again by the float vectors, and lists contain
    only those.

    >>> Variant.of({"truncate_dim": "256", "precision": "int8", "rescore": "4"})
    Variant(truncate_dim=256, precision='int8', rescore=4, rescore_k=100, approximation=None)
    """

    truncate_dim: int | None = None
    precision: str = "float32"
    rescore: int | None = None
    rescore_k: int = DEPTH
    approximation: Approximation | None = None
    """An approximate index instead of exact search."""

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            known = ", ".join(PRECISIONS)
            raise UnknownName("precision", self.precision, PRECISIONS, hint=f"known: {known}")
        for name in ("truncate_dim", "rescore", "rescore_k"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError.invalid(name, expected="at least 1", found=value, option=name)
        if self.approximation is not None and self.precision != "float32":
            raise UsageError(
                "index must be used with precision=float32: an approximate index has codes of its own",
                option="index",
                hint="remove precision, or use index=ivfpq",
            )
        if self.rescore is not None and self.precision == "float32":
            raise UsageError(
                "rescore needs a precision other than float32",
                option="rescore",
                hint="add precision=int8 or precision=binary",
            )

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Variant:
        """Return the variant of the options in a model's name; other options are ignored."""
        rescore = options.get("rescore")
        return cls(
            truncate_dim=_integer(options, "truncate_dim"),
            precision=options.get("precision", cls.precision),
            rescore=PRESETS[rescore] if rescore in PRESETS else _integer(options, "rescore"),
            rescore_k=_rescored(options),
            approximation=_approximation(options),
        )

    @property
    def settings(self) -> dict[str, Any]:
        """Everything here that could change a score."""
        settings: dict[str, Any] = {"precision": self.precision}
        if self.truncate_dim is not None:
            settings["truncate_dim"] = self.truncate_dim
        if self.rescore is not None:
            settings |= {"rescore": self.rescore, "rescore_k": self.rescore_k}
        return settings if self.approximation is None else settings | self.approximation.settings

    def check(self, dimension: int, model: str, compared: str = "dot") -> None:
        """Raise UnsupportedVariant if the model has too few dimensions or another similarity."""
        if self.approximation is not None and compared == "manhattan":
            expected = "cosine, dot or euclidean"
            raise UnsupportedVariant(
                f"the similarity of {model} must be {expected} for index={self.approximation.kind}, got {compared!r}",
                option="index",
                found=compared,
                expected=expected,
            )
        if similarity(compared).is_distance and self.precision not in BY_DISTANCE:
            raise UnsupportedVariant(
                f"the precision of {model} must be {' or '.join(BY_DISTANCE)} for {compared} distance, "
                f"got {self.precision!r}",
                option="precision",
                found=self.precision,
                expected=" or ".join(BY_DISTANCE),
            )
        if self.truncate_dim is not None and self.truncate_dim > dimension:
            raise UnsupportedVariant(
                f"truncate_dim of {model} must be at most {dimension}, got {self.truncate_dim}",
                option="truncate_dim",
                found=self.truncate_dim,
                expected=f"at most {dimension}",
            )

    def check_without_search(self, model: str) -> None:
        """Raise a UsageError if this variant applies to search only."""
        if self.rescore is None and self.approximation is None and not self.precision.endswith("@hakari"):
            return
        option = (
            f"rescore={self.rescore}"
            if self.rescore is not None
            else f"index={self.approximation.kind}"
            if self.approximation is not None
            else f"precision={self.precision}"
        )
        name = option.partition("=")[0]
        raise UsageError(
            f"{option} of {model} applies to retrieval tasks only, and this task has no search",
            hint="use precision=int8 alone" if name == "precision" else f"remove {name}=",
            option=name,
        )

    def apply(self, vectors: Float32, compared: str = "dot") -> Float32:
        """Return the vectors that this variant represents, for a task without search.

        They are truncated, quantised (normalised first for cosine, as in an index) and decoded.

        >>> import numpy as np
        >>> Variant(precision="binary").apply(np.array([[3, -4]], dtype=np.float32)).tolist()
        [[1.0, -1.0]]
        """
        shortened = vectors if self.truncate_dim is None else truncate(vectors, self.truncate_dim)
        if self.precision == WHOLE.precision:
            return shortened
        return PRECISIONS[self.precision].of(normalised(shortened) if compared == "cosine" else shortened).decode()

    def build(self, vectors: Float32, compared: str = "dot") -> VariantIndex:
        """Return an index of float vectors, which are normalised for cosine."""
        return VariantIndex(self, CodedVectors.of(vectors, self.truncate_dim, self.precision, compared))


WHOLE = Variant()
"""Unchanged vectors."""


@dataclass(eq=False)
class CodedVectors:
    """The truncated and quantised vectors of a corpus, shared by a plain variant and a rescored one.

    The last search is cached, so that the variant that rescores it does not search again.
    """

    truncate_dim: int | None
    precision: str
    exact: ExactIndex
    codes: Codes
    _prepared_queries: tuple[Float32, Float32] | None = None
    _last: tuple[Float32, Run, float] | None = None

    @classmethod
    def of(
        cls,
        vectors: Float32,
        truncate_dim: int | None = None,
        precision: str = "float32",
        compared: str = "dot",
        shared: CodedVectors | None = None,
    ) -> CodedVectors:
        """Truncate and quantise float vectors; `shared` are codes of the same vectors, whose floats are reused."""
        if shared is not None and (shared.truncate_dim, _unit(shared.precision)) == (truncate_dim, _unit(precision)):
            exact, prepared = shared.exact, shared._prepared_queries
        else:
            exact, prepared = ExactIndex(_prepare(vectors, truncate_dim, precision), similarity(compared)), None
        codes = (BY_DISTANCE if exact.similarity.is_distance else PRECISIONS)[precision]
        return cls(truncate_dim, precision, exact, codes.of(exact.vectors), prepared)

    def search(self, queries: Float32, depth: int) -> tuple[Run, float]:
        """Return the top `depth` documents of each query, and the seconds it took, now or before."""
        if self._last is not None and self._last[0] is queries:
            _, run, seconds = self._last
            if run.depth >= min(depth, len(self.codes)):
                return run.top(depth), seconds
        if self.precision == WHOLE.precision:
            run, seconds = self.exact.search(self.prepared(queries), depth)
        else:
            start = time.perf_counter()
            prepared = self.codes.prepare_queries(self.prepared(queries))
            run = search(prepared, self.codes, max(depth, AHEAD), self.exact.similarity)
            seconds = time.perf_counter() - start
        self._last = queries, run, seconds
        return run.top(depth), seconds

    def prepared(self, queries: Float32) -> Float32:
        """Return the queries, truncated as the documents; the same object for the same queries."""
        if self._prepared_queries is None or self._prepared_queries[0] is not queries:
            self._prepared_queries = queries, _prepare(queries, self.truncate_dim, self.precision)
        return self._prepared_queries[1]


@dataclass(eq=False)
class VariantIndex:
    """The vectors of a corpus in one variant."""

    variant: Variant
    coded: CodedVectors
    search_seconds: float | None = None
    """The duration of the last search, including what another variant computed for it."""
    lost: dict[str, float] = field(default_factory=dict)
    """The recall of an approximate index against exact search, and the seconds of both."""

    @cached_property
    def approximate(self) -> ApproximateIndex | None:
        """The approximate index, if the variant has one; built at first use."""
        how = self.variant.approximation
        return None if how is None else ApproximateIndex(self.coded.exact.vectors, how, self.coded.exact.similarity)

    @property
    def size_bytes(self) -> int:
        """The bytes of the codes, and of the float vectors if they are used for rescoring."""
        if self.approximate is not None:
            return self.approximate.size_bytes
        return self.coded.codes.nbytes + (0 if self.variant.rescore is None else self.coded.exact.vectors.nbytes)

    @property
    def notes(self) -> dict[str, Any]:
        """Bytes per document: of what is searched, and of what is kept for rescoring."""
        codes, floats = self.coded.codes, self.coded.exact.vectors
        notes: dict[str, Any] = {"bytes_per_document": codes.bytes_per_vector}
        if self.approximate is not None:
            notes["bytes_per_document"] = self.approximate.size_bytes / max(1, len(floats))
        if self.variant.rescore is not None:
            notes["rescore_bytes_per_document"] = floats.shape[1] * floats.itemsize
        if isinstance(codes, Int8Codes):
            notes["clipped"] = codes.clipped
        return notes

    def search(self, queries: Float32, k: int) -> Run:
        """Return the top `k` documents of each query, ties by row; a shorter list is a prefix of a longer one."""
        if self.approximate is not None:
            return self._search_approximate(self.approximate, queries, k)
        limit = self.coded.codes.limit
        depth = k if limit is None else min(k, limit)
        if self.variant.rescore is None:
            run, self.search_seconds = self.coded.search(queries, depth)
            return run
        first, seconds = self.coded.search(queries, self.variant.rescore * self.variant.rescore_k)
        run, rescore_seconds = self.coded.exact.rescore(first, self.coded.prepared(queries))
        self.search_seconds = seconds + rescore_seconds
        return run.top(depth)

    def _search_approximate(self, index: ApproximateIndex, queries: Float32, k: int) -> Run:
        """Search the approximate index, then exactly, to note what was lost."""
        prepared = self.coded.prepared(queries)
        start = time.perf_counter()
        run = index.search(prepared, k)
        self.search_seconds = time.perf_counter() - start
        exact, seconds = self.coded.search(queries, min(k, max(RECALL_DEPTHS)))
        self.lost = {**overlap(run, exact), "exact_search_seconds": seconds}
        return run


def _prepare(vectors: Float32, truncate_dim: int | None, precision: str) -> Float32:
    shortened = vectors if truncate_dim is None else truncate(vectors, truncate_dim)
    return normalised(shortened) if _unit(precision) else shortened


def _unit(precision: str) -> bool:
    """Return whether a precision needs vectors of length 1 for any similarity."""
    return precision.endswith("@hakari")


def _approximation(options: Mapping[str, str]) -> Approximation | None:
    numbers = {name: value for name in ("ef", "probes") if (value := _integer(options, name)) is not None}
    kind = options.get("index")
    for name, value in numbers.items():
        if kind is None:
            raise UsageError(f"{name}={value} needs the option index", option=name, found=value, hint="add index=hnsw")
        if value < 1:
            raise UsageError.invalid(name, expected="at least 1", found=value, option=name)
    return None if kind is None else Approximation(kind, **numbers)


def _rescored(options: Mapping[str, str]) -> int:
    depth = _integer(options, "rescore_k")
    if depth is not None and "rescore" not in options:
        raise UsageError(
            f"rescore_k={depth} needs the option rescore", option="rescore_k", found=depth, hint="add rescore=4"
        )
    return DEPTH if depth is None else depth


def _integer(options: Mapping[str, str], name: str) -> int | None:
    text = options.get(name)
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        presets = f", or {', '.join(PRESETS)}" if name == "rescore" else ""
        raise UsageError.invalid(name, expected=f"an integer from 1 up{presets}", found=text, option=name) from None
