"""The options of a model name, read one by one; what nobody read is unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from steelyard.errors import UnknownName, UsageError
from steelyard.spec import ModelSpec

YES = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


class Options:
    """Options by name.

    >>> options = Options("qdrant", {"exact": "yes", "ef": "200"})
    >>> options.flag("exact", False), options.whole("ef", 100), options.text("collection")
    (True, 200, None)
    >>> options.finish()
    """

    def __init__(self, family: str, given: Mapping[str, Any]) -> None:
        self.family = family
        self._given = dict(given)
        self._known: list[str] = []

    def text(self, name: str) -> str | None:
        """The option as it was written; None where it was not."""
        self._known.append(name)
        value = self._given.get(name)
        return None if value is None else str(value)

    def choice(self, name: str, default: str, choices: Sequence[str]) -> str:
        """One of a few words."""
        value = self.text(name)
        if value is not None and value not in choices:
            raise self._bad(name, value, f"one of {', '.join(choices)}")
        return value or default

    def flag(self, name: str, default: bool) -> bool:
        """Yes or no."""
        value = self.text(name)
        if value is None:
            return default
        if value.lower() not in YES:
            raise self._bad(name, value, "yes or no")
        return YES[value.lower()]

    def whole(self, name: str, default: int, *, low: int = 1, high: int = 1_000_000) -> int:
        """A whole number within bounds."""
        return int(self.number(name, default, low=low, high=high, whole=True))

    def number(self, name: str, default: float, *, low: float, high: float, whole: bool = False) -> float:
        """A number within bounds."""
        value = self.text(name)
        if value is None:
            return default
        expected = f"a {'whole ' if whole else ''}number from {low:g} to {high:g}"
        try:
            number = int(value) if whole else float(value)
        except ValueError as error:
            raise self._bad(name, value, expected) from error
        if not low <= number <= high:
            raise self._bad(name, value, expected)
        return number

    def finish(self) -> None:
        """An UnknownName for the first option that nobody read."""
        for name in self._given:
            if name not in self._known:
                known = sorted(self._known)
                raise UnknownName(f"option of {self.family}", name, known, hint=f"known: {', '.join(known)}")

    def _bad(self, name: str, found: str, expected: str) -> UsageError:
        return UsageError(f"the option {name} of {self.family} is {found!r}", hint=f"expected {expected}")


def refuse_at(spec: ModelSpec, remedy: str) -> None:
    """A UsageError for an address with an @ in it, which reads as a revision and is nearly always a password."""
    if spec.revision is not None:
        raise UsageError(f"the address of {spec.family} has an @ in it", hint=remedy)


@dataclass(frozen=True)
class Manners:
    """How a service is asked, and what is done with answers that are not as they should be."""

    concurrency: int = 4
    """Queries under way at a time."""
    timeout: float = 30.0
    """Seconds for one answer."""
    retries: int = 3
    unknown: Literal["raise", "ignore"] = "raise"
    """What to do with a document that the corpus does not have."""
    errors: Literal["raise", "empty"] = "raise"
    """What to do with a query that fails after all retries: end the task, or count an empty list."""

    @classmethod
    def of(cls, options: Options, *, concurrency: int = 4) -> Manners:
        """Read from the options of a model name or of a template."""
        return cls(
            concurrency=options.whole("concurrency", concurrency, high=256),
            timeout=options.number("timeout", cls.timeout, low=0.001, high=3600),
            retries=options.whole("retries", cls.retries, low=0, high=20),
            unknown="ignore" if options.choice("unknown", "raise", ("raise", "ignore")) == "ignore" else "raise",
            errors="empty" if options.choice("errors", "raise", ("raise", "empty")) == "empty" else "raise",
        )

    @property
    def settings(self) -> dict[str, Any]:
        """What of it could change a figure."""
        return {"unknown": self.unknown, "errors": self.errors}
