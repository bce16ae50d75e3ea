"""Paths into a JSON value, such as `hits.hits[*]._id`.

Names are joined by dots; `[3]` is an item of a list, `[*]` all items, `["a.b"]` a name with a dot in it. A leading `$`
is allowed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from steelyard.errors import ModelError, UsageError

STEP = re.compile(r"""\.?(?P<name>[^.\[\]"']+)|\[(?P<all>\*)\]|\[(?P<item>-?\d{1,9})\]|\[(["'])(?P<quoted>.*?)\4\]""")

Step = str | int | None
"""A name, a place in a list, or None for every item of a list."""


@dataclass(frozen=True)
class JsonPath:
    """A path into a JSON value.

    >>> JsonPath.parse("hits[*].id").find({"hits": [{"id": "a"}, {"id": "b"}]})
    ['a', 'b']
    """

    text: str
    steps: tuple[Step, ...]

    @classmethod
    def parse(cls, text: str) -> JsonPath:
        """Parse a path; an invalid one raises a UsageError that shows where parsing stopped."""
        steps: list[Step] = []
        rest = text.strip().removeprefix("$")
        while rest:
            match = STEP.match(rest)
            if match is None:
                raise UsageError(
                    f"the path must be like hits.hits[*]._id, got {text!r}",
                    hint=f"correct it from {rest!r} on",
                    expected="hits.hits[*]._id",
                    found=text,
                )
            if match["all"]:
                steps.append(None)
            elif match["item"]:
                steps.append(int(match["item"]))
            else:
                steps.append(match["name"] or match["quoted"])
            rest = rest[match.end() :]
        if not steps:
            raise UsageError.invalid(
                "the path to the ids", expected="like hits.hits[*]._id, or [*] for a bare list", found=text
            )
        return cls(text, tuple(steps))

    def find(self, value: Any) -> list[Any]:
        """Return all values at the path, in order; a ModelError if the value has another structure."""
        values = [value]
        for place, step in enumerate(self.steps):
            if step is None:
                values = [item for parent in values for item in self._items(parent, place)]
            else:
                values = [self._step(parent, step, place) for parent in values]
        return values[0] if self._is_one_list(values) else values

    def _is_one_list(self, values: list[Any]) -> bool:
        """Return whether the path names a list: `ids` is the same as `ids[*]`."""
        return None not in self.steps and len(values) == 1 and isinstance(values[0], list)

    def _items(self, value: Any, place: int) -> list[Any]:
        if not isinstance(value, list):
            raise self._mismatch(value, place, "a list")
        return value

    def _step(self, value: Any, step: str | int, place: int) -> Any:
        if isinstance(step, int):
            if isinstance(value, list) and -len(value) <= step < len(value):
                return value[step]
            raise self._mismatch(value, place, f"a list with an item {step}")
        if isinstance(value, dict) and step in value:
            return value[step]
        raise self._mismatch(value, place, f"an object with {step!r}")

    def _mismatch(self, value: Any, place: int, expected: str) -> ModelError:
        parent = "".join(
            f"[{'*' if s is None else s}]" if not isinstance(s, str) else f".{s}" for s in self.steps[:place]
        )
        if isinstance(value, dict):
            description = f"an object with {', '.join(map(repr, list(value)[:8])) or 'no fields'}"
        else:
            description = f"a list of {len(value)}" if isinstance(value, list) else f"{value!r:.60}"
        return ModelError.invalid(
            f"{parent.lstrip('.') or 'the top'} of the answer",
            expected=f"{expected} for the path {self.text!r}",
            found=_Plain(description),
            hint="look at an answer of the service and correct the path",
            field=self.text,
        )


class _Plain(str):
    """Text that an error shows without quotes."""

    def __repr__(self) -> str:
        return str(self)
