"""The fields of one part of a config: known names and right types, or an error with the place."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.errors import UsageError


class Fields:
    """One table of a config. A field that is null counts as missing; an unknown name is an error.

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
            if not isinstance(name, str):  # YAML reads `on:` as true and `1:` as a number
                raise wrong(f"the name of a field in {where or 'the config'}", name, "a string (quote it in YAML)")
            if name not in known:
                raise unknown(self.at(name), name, known, hint)

    def at(self, name: str) -> str:
        """Return the path of a field, for errors."""
        return f"{self.where}.{name}" if self.where else name

    def get(self, *names: str) -> Any:
        """Return the value under any of the names; None if missing. Two of the names at once are an error."""
        given = [name for name in names if self._value.get(name) is not None]
        if len(given) > 1:
            raise UsageError(f"{self.at(given[0])} and {self.at(given[1])} are the same field", hint="keep one of them")
        return self._value[given[0]] if given else None

    def has(self, name: str) -> bool:
        """Return whether the field exists and is not null."""
        return self._value.get(name) is not None

    def text(self, *names: str) -> str | None:
        """Return a string."""
        value = self.get(*names)
        if value is not None and not isinstance(value, str):
            raise wrong(self.at(names[0]), value, "a string")
        return value

    def choice(self, name: str, known: Sequence[str]) -> str | None:
        """Return one of the known words."""
        value = self.text(name)
        if value is not None and value not in known:
            near = difflib.get_close_matches(value, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else None
            place, expected = self.at(name), f"one of {', '.join(known)}"
            raise UsageError.invalid(place, expected=expected, found=value, hint=hint, field=place)
        return value

    def flag(self, name: str) -> bool | None:
        """Return true or false."""
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            raise wrong(self.at(name), value, "true or false")
        return value

    def whole(self, *names: str, least: int = 1, most: int | None = None) -> int | None:
        """Return a whole number of at least `least`."""
        value = self.get(*names)
        if value is None:
            return None
        right = isinstance(value, int) and not isinstance(value, bool) and value >= least
        if not right or (most is not None and value > most):
            limits = f"of at least {least}" if most is None else f"from {least} to {most}"
            raise wrong(self.at(names[0]), value, f"a whole number {limits}")
        return int(value)

    def table(self, name: str) -> dict[str, Any]:
        """Return a table of names and values; empty if missing."""
        value = self.get(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise wrong(self.at(name), value, "a table of names and values")
        return dict(value)

    def texts(self, *names: str) -> tuple[str, ...]:
        """Return a list of strings; one string is a list of one; empty if missing."""
        value = self.get(*names)
        if value is None:
            return ()
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list | tuple) or not all(isinstance(item, str) for item in listed):
            raise wrong(self.at(names[0]), value, "a list of strings")
        return tuple(listed)


def wrong(where: str, value: object, expected: str) -> UsageError:
    """Return the error for a value of the wrong type. A value that may be a secret is not repeated."""
    secret = any(word in where.lower() for word in ("key", "token", "secret"))
    shown = f"a {type(value).__name__}" if secret or isinstance(value, Mapping | list | tuple) else repr(value)[:80]
    place = where or "the config"
    return UsageError(f"{place} must be {expected}, got {shown}", field=place, expected=expected, found=shown)


def unknown(where: str, name: str, known: Sequence[str], hint: str | None = None) -> UsageError:
    """Return the error for an unknown field."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    guess = f"did you mean {near[0]!r}?" if near else hint or f"known: {', '.join(known)}"
    return UsageError(f"unknown field {where}", hint=guess, field=where, found=name)
