"""A Python function as a dense encoder: `dense:package.module:function`, or `from_function` in Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np

from steelyard.encoders.backends.ragged_function import load_function, source_hash
from steelyard.encoders.float_arrays import as_floats
from steelyard.errors import ModelError
from steelyard.options import Options
from steelyard.types import Float32, Role
from steelyard.types.protocols import ModelSettings, Tick, no_tick
from steelyard.vectors.similarity import SIMILARITIES
from steelyard.vectors.similarity import similarity as named

Function = Callable[..., Any]
"""Takes texts, and their role if it has a parameter for that; gives an array of shape (texts, dimension)."""

BATCH = 256
SHAPE = "one row a text, (texts, dimension)"


class FunctionEncoder:
    """Encodes with a function.

    What it gives is stored only if it has a `version`: no hash could say that all that a function uses is the same.
    """

    def __init__(
        self, function: Function, name: str, *, similarity: str = "cosine", version: str | None, batch_size: int
    ) -> None:
        self.name = name
        self.similarity = named(similarity).name
        self.storable = version is not None
        self._function = function
        self._version = version
        self._batch = batch_size
        self._role = _role_parameter(function)

    @cached_property
    def settings(self) -> ModelSettings:
        """The name, the version, and a hash of the function's source where there is one."""
        return {
            "encoder": self.name,
            "kind": "function",
            "version": self._version,
            "source": source_hash(self._function),
            "symmetric": self._role is None,
        }

    @cached_property
    def dimension(self) -> int:
        """Length of a vector: found by encoding one word."""
        return int(self._call(["steelyard"], "document").shape[1])

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Float32:
        """What the function gives for the texts, some of them at a time."""
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), self._batch):
            part = list(texts[start : start + self._batch])
            found = self._call(part, role)
            if found.shape[1] != self.dimension:
                widths = f"{found.shape[1]} numbers, and of {self.dimension} before"
                raise ModelError(
                    f"the function {self.name} gave vectors of {widths}",
                    hint="all its vectors, of queries and of documents, must have one dimension",
                )
            vectors[start : start + len(part)] = found
            tick(len(part))
        return vectors

    def _call(self, texts: list[str], role: Role) -> Float32:
        asked = {"role": role} if self._role == "by name" else {}
        found = self._function(texts, role) if self._role == "second" else self._function(texts, **asked)
        vectors = as_floats(found, f"the function {self.name}", SHAPE)
        if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.shape[1]:
            raise ModelError(
                f"the function {self.name} gave an array of shape {vectors.shape} for {len(texts)} texts",
                hint=f"expected: {SHAPE}",
            )
        return vectors


def from_function(
    function: Function, name: str, *, similarity: str = "cosine", version: str | None = None, batch_size: int = BATCH
) -> FunctionEncoder:
    """An encoder from a function of texts, or of texts and their role (`query` or `document`).

    With a `version`, vectors are stored and used again while name, version and the function's source are the same.

    >>> from steelyard.retrievers.dense import DenseRetriever
    >>> encoder = from_function(lambda texts: [[text.count("a"), 1.0] for text in texts], "count-a")
    >>> encoder.encode(["banana", "plum"], "query").tolist()
    [[3.0, 1.0], [0.0, 1.0]]
    >>> DenseRetriever("dense:count-a", encoder).settings["similarity"]
    'cosine'
    """
    return FunctionEncoder(function, name, similarity=similarity, version=version, batch_size=batch_size)


def from_options(id: str, given: Mapping[str, str]) -> FunctionEncoder:
    """The encoder of `dense:package.module:function?OPTIONS`."""
    options = Options(f"dense:{id}", given, ("batch_size", "similarity_fn_name", "version"))
    return from_function(
        load_function(id),
        id,
        similarity=options.choice("similarity_fn_name", SIMILARITIES),
        version=options.text("version"),
        batch_size=options.whole("batch_size", BATCH),
    )


def _role_parameter(function: Function) -> Literal["second", "by name"] | None:
    """How the function is told the role: as its second parameter, by name, or (None) not at all.

    A second parameter counts if it has no default or is called `role`.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a function of C that does not tell
        return None
    in_place = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.name == "role" or p.default is p.empty for p in in_place[1:2]):
        return "second"
    return "by name" if any(p.name == "role" for p in parameters) else None
