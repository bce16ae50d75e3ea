"""A Python function as an encoder of token vectors or sparse vectors."""

from __future__ import annotations

import hashlib
import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Generic

from steelyard.encoders.cache.cached_ragged import B
from steelyard.errors import UsageError
from steelyard.types import Role
from steelyard.types.protocols import ModelSettings, Tick, no_tick

Function = Callable[[Sequence[str], Role], Any]
"""Takes texts and their role, gives the encoding of each."""


class FunctionEncoder(Generic[B]):
    """Encodes with a function. What it gives is not stored: no settings could say that the function is the same."""

    storable = False

    def __init__(self, function: Function, read: Callable[[Any], B], *, name: str, kind: str, similarity: str) -> None:
        self.name = name
        self.similarity = similarity
        self._function = function
        self._read = read
        self._kind = kind

    @property
    def settings(self) -> ModelSettings:
        """The name, and what kind of encoding it gives."""
        return {"encoder": self.name, "kind": self._kind}

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> B:
        """What the function gives for the texts."""
        encoded = self._read(self._function(list(texts), role))
        tick(len(texts))
        return encoded


def load_function(name: str, takes: str = "texts, role") -> Function:
    """The function `package.module:name`; `takes` is for the error where it cannot be had.

    >>> load_function("math:sqrt")(9, "query")
    Traceback (most recent call last):
    ...
    TypeError: math.sqrt() takes exactly one argument (2 given)
    """
    module, _, attribute = name.partition(":")
    hint = f"a function is named package.module:function, and takes ({takes}); PYTHONPATH=. finds those of this folder"
    try:
        found = getattr(importlib.import_module(module), attribute)
    except ImportError as error:
        raise UsageError(f"cannot import {module!r}: {error}", hint=hint) from error
    except AttributeError as error:
        raise UsageError(f"the module {module!r} has no {attribute!r}", hint=hint) from error
    if not callable(found):
        raise UsageError(f"{name} is not a function", hint=hint)
    return found  # type: ignore[no-any-return]


def source_hash(function: Callable[..., Any]) -> str | None:
    """A hash of what the function's source says; None where it has none."""
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        return None
    return hashlib.blake2b(source.encode(), digest_size=8).hexdigest()
