"""Where in an answer the ids are: a small path such as `hits.hits[*]._id`.

Names are joined by dots; `[3]` is an item of a list, `[*]` all of them, `["a.b"]` a name that holds a dot. A leading
`$` is allowed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from steelyard.errors import ModelError, UsageError

STEP = re.compile(r"""\.?(?P<name>[^.\[\]"']+)|\[(?P<all>\*)\]|\[(?P<item>-?\d+)\]|\[(["'])(?P<quoted>.*?)\4\]""")

Step = str | int | None
"""A name, a place in a list, or None for every item of it."""


@dataclass(frozen=True)
class Path:
    """A path into a JSON value.

    >>> Path.parse("hits[*].id").find({"hits": [{"id": "a"}, {"id": "b"}]})
    ['a', 'b']
    """

    text: str
    steps: tuple[Step, ...]

    @classmethod
    def parse(cls, text: str) -> Path:
        """Read a path; a bad one is a UsageError that shows where reading stopped."""
        steps: list[Step] = []
        rest = text.strip().removeprefix("$")
        while rest:
            match = STEP.match(rest)
            if match is None:
                raise UsageError(f"cannot read the path {text!r} from {rest!r} on", hint="such as hits.hits[*]._id")
            if match["all"]:
                steps.append(None)
            elif match["item"]:
                steps.append(int(match["item"]))
            else:
                steps.append(match["name"] or match["quoted"])
            rest = rest[match.end() :]
        if not steps:
            raise UsageError("the path to the ids is empty", hint="such as hits.hits[*]._id, or [*] for a bare list")
        return cls(text, tuple(steps))

    def find(self, value: Any) -> list[Any]:
        """All values that the path leads to, in order; a ModelError where it leads nowhere."""
        found = [value]
        for place, step in enumerate(self.steps):
            if step is None:
                found = [item for held in found for item in self._items(held, place)]
            else:
                found = [self._step(held, step, place) for held in found]
        return found[0] if self._one_list(found) else found

    def _one_list(self, found: list[Any]) -> bool:
        """`ids` alone may name a list, which is the same as `ids[*]`."""
        return None not in self.steps and len(found) == 1 and isinstance(found[0], list)

    def _items(self, value: Any, place: int) -> list[Any]:
        if not isinstance(value, list):
            raise self._lost(value, place, "a list")
        return value

    def _step(self, value: Any, step: str | int, place: int) -> Any:
        if isinstance(step, int):
            if isinstance(value, list) and -len(value) <= step < len(value):
                return value[step]
            raise self._lost(value, place, f"a list with an item {step}")
        if isinstance(value, dict) and step in value:
            return value[step]
        raise self._lost(value, place, f"an object with {step!r}")

    def _lost(self, value: Any, place: int, expected: str) -> ModelError:
        there = "".join(
            f"[{'*' if s is None else s}]" if not isinstance(s, str) else f".{s}" for s in self.steps[:place]
        )
        if isinstance(value, dict):
            found = f"an object with {', '.join(map(repr, list(value)[:8])) or 'nothing'}"
        else:
            found = f"a list of {len(value)}" if isinstance(value, list) else f"{value!r:.60}"
        return ModelError(
            f"the answer does not have {self.text!r}: at {there.lstrip('.') or 'the top'} there is {found}",
            hint=f"expected {expected}; look at an answer of the service and mend the path",
        )
