"""A Python function as an encoder: `dense:package.module:function`, or `from_function` in Python."""

from __future__ import annotations

import hashlib
import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, Literal

import numpy as np

from steelyard.encoders.cache.cached_ragged import B
from steelyard.encoders.compute_options import NOT_FOR
from steelyard.encoders.float_arrays import as_floats
from steelyard.errors import ModelError, UsageError
from steelyard.options import Options
from steelyard.types import Float32, Role
from steelyard.types.protocols import ModelSettings, Tick, no_tick
from steelyard.vectors.similarity import SIMILARITIES
from steelyard.vectors.similarity import similarity as find_similarity

Function = Callable[..., Any]
"""A function of texts, and of their role if it has a parameter for it; returns an array (texts, dimension)."""
RaggedFunction = Callable[[Sequence[str], Role], Any]
"""A function of texts and their role; returns one encoding per text."""

BATCH = 256
SHAPE = "one row per text, (texts, dimension)"


class FunctionEncoder:
    """A dense encoder that calls a function.

    Its vectors are stored only if it has a `version`, because a hash of its source does not cover what it calls.
    """

    fixed_batches = True
    """What a function computes may depend on the batch, so batches do not depend on what is cached."""

    def __init__(
        self, function: Function, name: str, *, similarity: str = "cosine", version: str | None, batch_size: int
    ) -> None:
        self.name = name
        self.similarity = find_similarity(similarity).name
        self.storable = version is not None
        self._function = function
        self._version = version
        self._batch_size = batch_size
        self._role = _role_parameter(function)

    @cached_property
    def settings(self) -> ModelSettings:
        """Name, version, and a hash of the function's source where it has one."""
        return {
            "encoder": self.name,
            "kind": "function",
            "version": self._version,
            "source": source_hash(self._function),
            "symmetric": self._role is None,
        }

    @cached_property
    def dimension(self) -> int:
        """Length of a vector, found by encoding one word."""
        return int(self._call(["steelyard"], "document").shape[1])

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Float32:
        """Return the vectors of the texts, calling the function in batches."""
        parts = []
        for start in range(0, len(texts), self._batch_size):
            batch = list(texts[start : start + self._batch_size])
            encoded = self._call(batch, role)
            if encoded.shape[1] != self.dimension:
                raise ModelError.invalid(
                    f"the vectors of the function {self.name}",
                    expected=f"of dimension {self.dimension} as before",
                    found=f"dimension {encoded.shape[1]}",
                    hint="return vectors of one dimension for queries and documents",
                )
            parts.append(encoded)
            tick(len(batch))
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([np.empty((0, self.dimension), dtype=np.float32), *parts])

    def _call(self, texts: list[str], role: Role) -> Float32:
        keywords = {"role": role} if self._role == "keyword" else {}
        result = self._function(texts, role) if self._role == "second" else self._function(texts, **keywords)
        vectors = as_floats(result, f"the function {self.name}", SHAPE)
        if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.shape[1]:
            raise ModelError.invalid(
                f"the result of the function {self.name} for {len(texts)} texts",
                expected=f"an array of shape ({len(texts)}, dimension)",
                found=f"shape {vectors.shape}",
                hint="return one row per text",
            )
        return vectors


class RaggedFunctionEncoder(Generic[B]):
    """An encoder of token vectors or sparse vectors that calls a function. Its encodings are not stored."""

    storable = False

    def __init__(
        self,
        function: RaggedFunction,
        read: Callable[[Any], B],
        *,
        name: str,
        kind: str,
        similarity: str,
        version: str | None = None,
    ) -> None:
        self.name = name
        self.similarity = similarity
        self._function = function
        self._read = read
        self._kind = kind
        self._version = version

    @property
    def settings(self) -> ModelSettings:
        """Name, kind of encoding, and version if there is one."""
        return {"encoder": self.name, "kind": self._kind, **({"version": self._version} if self._version else {})}

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> B:
        """Return the encodings of the texts."""
        encoded = self._read(self._function(list(texts), role))
        tick(len(texts))
        return encoded


def from_function(
    function: Function, name: str, *, similarity: str = "cosine", version: str | None = None, batch_size: int = BATCH
) -> FunctionEncoder:
    """Return an encoder from a function of texts, or of texts and their role (`query` or `document`).

    With a `version`, vectors are stored and reused while name, version and the function's source stay the same.

    >>> from steelyard.retrievers.dense import DenseRetriever
    >>> encoder = from_function(lambda texts: [[text.count("a"), 1.0] for text in texts], "count-a")
    >>> encoder.encode(["banana", "plum"], "query").tolist()
    [[3.0, 1.0], [0.0, 1.0]]
    >>> DenseRetriever("dense:count-a", encoder).settings["similarity"]
    'cosine'
    """
    return FunctionEncoder(function, name, similarity=similarity, version=version, batch_size=batch_size)


def from_options(id: str, raw_options: Mapping[str, str]) -> FunctionEncoder:
    """Return the encoder of `dense:package.module:function?OPTIONS`."""
    options = Options(f"dense:{id}", raw_options, ("batch_size", "similarity_fn_name", "version"), NOT_FOR["function"])
    return from_function(
        load_function(id),
        id,
        similarity=options.choice("similarity_fn_name", SIMILARITIES),
        version=options.text("version"),
        batch_size=options.whole("batch_size", BATCH),
    )


def load_function(name: str, parameters: str = "texts, role") -> Function:
    """Import the function `package.module:name`; `parameters` is used in the error message.

    >>> load_function("math:sqrt")(9, "query")
    Traceback (most recent call last):
    ...
    TypeError: math.sqrt() takes exactly one argument (2 given)
    """
    module, _, attribute = name.partition(":")
    hint = f"name it package.module:function with parameters ({parameters}); set PYTHONPATH=. to use this folder"
    try:
        loaded = getattr(importlib.import_module(module), attribute)
    except ImportError as error:
        raise UsageError(f"cannot import the module {module!r}: {error}", hint=hint) from error
    except AttributeError as error:
        raise UsageError(f"the module {module!r} does not define {attribute!r}", hint=hint) from error
    if not callable(loaded):
        raise UsageError.invalid(name, expected="a function", found=type(loaded).__name__, hint=hint)
    return loaded  # type: ignore[no-any-return]


def source_hash(function: Callable[..., Any]) -> str | None:
    """Return a hash of the function's source; None where it has none."""
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        return None
    return hashlib.blake2b(source.encode(), digest_size=8).hexdigest()


def _role_parameter(function: Function) -> Literal["second", "keyword"] | None:
    """Return how the function receives the role: as second parameter, by keyword, or not at all (None).

    A second parameter counts if it has no default or is named `role`.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a function in C without a signature
        return None
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if any(p.name == "role" or p.default is p.empty for p in positional[1:2]):
        return "second"
    return "keyword" if any(p.name == "role" for p in parameters) else None
