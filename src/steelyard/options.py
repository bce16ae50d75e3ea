"""The one reader of options: text in a model name, a data reference or a file becomes a checked value."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from steelyard.errors import UnknownName, UsageError

T = TypeVar("T")

FLAGS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
MAX_DIGITS = 18
"""Longer numbers do not fit into 64 bits, and Python refuses to read very long ones."""


@dataclass(frozen=True)
class Unavailable:
    """Why an option that others have does not apply; values in `accepted` change nothing and are allowed."""

    reason: str
    accepted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Options:
    """The options of one model, file or dataset. An option that is not in `known` raises an UnknownName.

    One that is in `unavailable` raises a UsageError with the reason.

    >>> options = Options("api/x", {"batch_size": "8"}, ("batch_size", "timeout"))
    >>> options.whole("batch_size", 64), options.number("timeout", 60)
    (8, 60)
    >>> Options("api/x", {"batch_size": "many"}, ("batch_size",)).whole("batch_size", 64)
    Traceback (most recent call last):
    steelyard.errors.UsageError: the option batch_size of api/x must be a whole number of at least 1, got 'many'
    """

    owner: str
    """What the options belong to, for error messages."""
    values: Mapping[str, Any]
    known: Sequence[str]
    unavailable: Mapping[str, Unavailable] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in self.values.items():
            if name not in self.known:
                if (excluded := self.unavailable.get(name)) is not None:
                    if str(value) in excluded.accepted:
                        continue
                    raise UsageError(
                        f"the option {name} does not apply to {self.owner}: {excluded.reason}",
                        option=name,
                        found=str(value),
                        hint=f"remove {name}=",
                    )
                known = sorted(self.known)
                hint = f"known options: {', '.join(known)}"
                raise UnknownName(f"option of {self.owner}", str(name), known, hint=hint, option=str(name))

    def text(self, name: str, default: str | None = None) -> str | None:
        """Return the value as it was written; an empty value counts as missing."""
        return self._value(name) or default

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Return one of a few words; the first one is the default."""
        value = self._value(name) or choices[0]
        if value not in choices:
            words = [word for word in choices if word]
            hint = f"choose one of {', '.join(words)}"
            raise UnknownName(f"{name} of {self.owner}", value, words, hint=hint, option=name)
        return value

    def flag(self, name: str, default: bool) -> bool:
        """Return yes or no.

        >>> Options("qdrant", {"exact": "yes"}, ("exact",)).flag("exact", False)
        True
        """
        value = self._value(name)
        if value is None:
            return default
        if value.lower() not in FLAGS:
            raise self._invalid(name, "yes or no")
        return FLAGS[value.lower()]

    def number(self, name: str, default: T, *, minimum: float | None = None, maximum: float = math.inf) -> float | T:
        """Return a finite number above 0; with `minimum`, a number of at least that."""
        if (text := self._value(name)) is None:
            return default
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        low_enough = value <= maximum and value < math.inf
        if not low_enough or not (value > 0 if minimum is None else value >= minimum):
            above = "above 0" if minimum is None else f"of at least {minimum:g}"
            raise self._invalid(name, f"a number {above}" + (f" and at most {maximum:g}" if maximum < math.inf else ""))
        return value + 0.0  # -0 is 0

    def whole(self, name: str, default: T, *, minimum: int = 1, maximum: int | None = None) -> int | T:
        """Return a whole number of at least `minimum`."""
        if (text := self._value(name)) is None:
            return default
        value = int(text) if text.isdecimal() and len(text) <= MAX_DIGITS else -1
        if value < minimum or (maximum is not None and value > maximum):
            most = "" if maximum is None else f" and at most {maximum:,}"
            raise self._invalid(name, f"a whole number of at least {minimum:,}{most}")
        return value

    def json_object(self, name: str) -> dict[str, Any]:
        """Return a JSON object, empty if the option is missing."""
        if not (text := self._value(name)):
            return {}
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise self._invalid(name, 'a JSON object such as {"input_type":"query"}')
        return value

    def _value(self, name: str) -> str | None:
        value = self.values.get(name)
        return None if value is None else str(value)

    def _invalid(self, name: str, expected: str) -> UsageError:
        return UsageError.invalid(
            f"the option {name} of {self.owner}", expected=expected, found=self._value(name), option=name
        )
