"""The options in a model's name, read into values; a bad one is a UsageError that says what was expected."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from steelyard.errors import UnknownName, UsageError

T = TypeVar("T")


@dataclass(frozen=True)
class Options:
    """The options of one model. `known` names all that there are.

    >>> options = Options("api/x", {"batch_size": "8"}, ("batch_size", "timeout"))
    >>> options.whole("batch_size", 64), options.number("timeout", 60)
    (8, 60)
    """

    model: str
    given: Mapping[str, str]
    known: Sequence[str]

    def __post_init__(self) -> None:
        for name in self.given:
            if name not in self.known:
                raise UnknownName(
                    f"option of {self.model}", name, self.known, hint=f"known: {', '.join(sorted(self.known))}"
                )

    def text(self, name: str, default: str | None = None) -> str | None:
        """The value as it stands; an empty one counts as not given."""
        return self.given.get(name) or default

    def choice(self, name: str, known: Sequence[str]) -> str:
        """One of a few words, the first of which is the default."""
        value = self.given.get(name) or known[0]
        if value not in known:
            words = [word for word in known if word]
            raise UnknownName(f"{name} of {self.model}", value, words, hint=f"known: {', '.join(words)}")
        return value

    def number(self, name: str, default: T, *, zero: bool = False) -> float | T:
        """A number above 0; with `zero`, that too."""
        if (text := self.given.get(name)) is None:
            return default
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not 0 <= value < math.inf or (value == 0 and not zero):
            raise UsageError(
                f"the option {name} of {self.model} is {text!r}", hint=f"a number {'from 0 up' if zero else 'above 0'}"
            )
        return value

    def whole(self, name: str, default: T, *, least: int = 1) -> int | T:
        """A whole number from `least` up."""
        if (text := self.given.get(name)) is None:
            return default
        if not text.isdecimal() or int(text) < least:
            raise UsageError(f"the option {name} of {self.model} is {text!r}", hint=f"a whole number from {least} up")
        return int(text)

    def json_object(self, name: str) -> dict[str, Any]:
        """A JSON object: fields to add to every request."""
        if not (text := self.given.get(name)):
            return {}
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise UsageError(
                f"the option {name} of {self.model} is {text!r}", hint='a JSON object such as {"input_type":"query"}'
            )
        return value


@dataclass(frozen=True)
class Traffic:
    """How a service is used; none of it changes a figure."""

    batch_size: int = 64
    """Texts a request, at most; a service that finds that too large gets smaller ones."""
    concurrency: int = 4
    """Requests under way at a time."""
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    timeout: float = 60.0
    """Seconds that one request may take, from sending to the last byte of the answer."""
    max_retries: int = 8
    """How often a request is repeated that failed in a way that may heal."""
    max_wait: float = 300.0
    """Seconds that one request may spend waiting between its tries."""
    backoff: float = 0.5
    """Seconds before the first repetition, where the service names no time; doubled each time."""
    price_per_million_tokens: float | None = None
    price_per_thousand_searches: float | None = None

    @classmethod
    def of(cls, options: Options) -> Traffic:
        """The traffic that the options ask for."""
        return cls(
            batch_size=options.whole("batch_size", cls.batch_size),
            concurrency=options.whole("concurrency", cls.concurrency),
            requests_per_minute=options.number("requests_per_minute", None),
            tokens_per_minute=options.number("tokens_per_minute", None),
            timeout=options.number("timeout", cls.timeout),
            max_retries=options.whole("max_retries", cls.max_retries, least=0),
            max_wait=options.number("max_wait", cls.max_wait, zero=True),
            backoff=options.number("backoff", cls.backoff),
            price_per_million_tokens=options.number("price_per_million_tokens", None, zero=True),
            price_per_thousand_searches=options.number("price_per_thousand_searches", None, zero=True),
        )

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of the options."""
        return tuple(field.name for field in fields(cls))
