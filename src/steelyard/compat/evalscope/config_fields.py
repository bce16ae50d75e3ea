"""The fields of one part of a config: each known by name, of the right type, or an error that says where."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.errors import UsageError


class Fields:
    """One table of a config. A field that is null counts as not given; a name that nobody knows is an error.

    >>> fields = Fields({"top_k": 5, "prompt": None}, "eval", ("top_k", "topk", "prompt"))
    >>> fields.whole("top_k", "topk"), fields.text("prompt")
    (5, None)
    >>> Fields({"poling_mode": "cls"}, "eval_config.model[0]", ("pooling_mode", "prompt"))
    Traceback (most recent call last):
    steelyard.errors.UsageError: unknown field eval_config.model[0].poling_mode (did you mean 'pooling_mode'?)
    """

    def __init__(self, value: object, where: str, known: Sequence[str], *, hint: str | None = None) -> None:
        if not isinstance(value, Mapping):
            raise wrong(where, value, "a table of fields")
        self.where = where
        self._value = value
        for name in value:
            if name not in known:
                raise unknown(self.at(str(name)), str(name), known, hint)

    def at(self, name: str) -> str:
        """The place of a field, as errors name it."""
        return f"{self.where}.{name}" if self.where else name

    def get(self, *names: str) -> Any:
        """The value under whichever of the names it was given; None without. Under two names is an error."""
        given = [name for name in names if self._value.get(name) is not None]
        if len(given) > 1:
            raise UsageError(
                f"{self.at(given[0])} and {self.at(given[1])} are one field under two names", hint="give one of them"
            )
        return self._value[given[0]] if given else None

    def has(self, name: str) -> bool:
        """Whether the field was given, and not as null."""
        return self._value.get(name) is not None

    def text(self, *names: str) -> str | None:
        """A string."""
        value = self.get(*names)
        if value is not None and not isinstance(value, str):
            raise wrong(self.at(names[0]), value, "a string")
        return value

    def choice(self, name: str, known: Sequence[str]) -> str | None:
        """One of a few words."""
        value = self.text(name)
        if value is not None and value not in known:
            near = difflib.get_close_matches(value, known, n=1)
            guess = f"did you mean {near[0]!r}? " if near else ""
            raise UsageError(f"{self.at(name)} is {value!r}", hint=f"{guess}one of {', '.join(known)}")
        return value

    def flag(self, name: str) -> bool | None:
        """True or false."""
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            raise wrong(self.at(name), value, "true or false")
        return value

    def whole(self, *names: str, least: int = 1, most: int | None = None) -> int | None:
        """A whole number from `least` up."""
        value = self.get(*names)
        if value is None:
            return None
        right = isinstance(value, int) and not isinstance(value, bool) and value >= least
        if not right or (most is not None and value > most):
            upper = "up" if most is None else f"to {most}"
            raise wrong(self.at(names[0]), value, f"a whole number from {least} {upper}")
        return int(value)

    def table(self, name: str) -> dict[str, Any]:
        """Names and values of any kind; empty if not given."""
        value = self.get(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise wrong(self.at(name), value, "a table of names and values")
        return dict(value)

    def texts(self, *names: str) -> tuple[str, ...]:
        """A list of strings, or one string for a list of one; empty if not given."""
        value = self.get(*names)
        if value is None:
            return ()
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list | tuple) or not all(isinstance(item, str) for item in listed):
            raise wrong(self.at(names[0]), value, "a list of strings")
        return tuple(listed)


def wrong(where: str, value: object, expected: str) -> UsageError:
    """The error for a value of the wrong type. The value of what may be a secret is not repeated."""
    secret = any(word in where.lower() for word in ("key", "token", "secret"))
    found = type(value).__name__ if secret or isinstance(value, Mapping | list | tuple) else repr(value)[:80]
    return UsageError(f"{where or 'the config'} is {found}", hint=f"expected {expected}")


def unknown(where: str, name: str, known: Sequence[str], hint: str | None = None) -> UsageError:
    """The error for a field that there is not."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    guess = f"did you mean {near[0]!r}?" if near else hint or f"known: {', '.join(known)}"
    return UsageError(f"unknown field {where}", hint=guess)
