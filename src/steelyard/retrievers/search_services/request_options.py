"""Options that all search services have in common: concurrency, timeout, retries, and what to do with odd answers."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Literal

from steelyard.errors import MissingPart
from steelyard.options import Options


def require(module: str, package: str) -> Any:
    """Import and return a module of the extra `search`; without the package, raise a MissingPart."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPart.extra(package, "search") from error


@dataclass(frozen=True)
class RequestOptions:
    """How a service is queried, and what is done with answers that are not as expected."""

    concurrency: int = 4
    """Queries in flight at a time."""
    timeout: float = 30.0
    """Seconds for one answer."""
    retries: int = 3
    unknown: Literal["raise", "ignore"] = "raise"
    """What to do with a document that is not in the corpus."""
    errors: Literal["raise", "empty"] = "raise"
    """What to do with a query that fails after all retries: stop the task, or count an empty list."""

    NAMES = ("concurrency", "timeout", "retries", "unknown", "errors")

    @classmethod
    def of(cls, options: Options, *, concurrency: int = 4) -> RequestOptions:
        """Read the options of a model name or a template."""
        return cls(
            concurrency=options.whole("concurrency", concurrency, maximum=256),
            timeout=options.number("timeout", cls.timeout, minimum=0.001, maximum=3600),
            retries=options.whole("retries", cls.retries, minimum=0, maximum=20),
            unknown="ignore" if options.choice("unknown", ("raise", "ignore")) == "ignore" else "raise",
            errors="empty" if options.choice("errors", ("raise", "empty")) == "empty" else "raise",
        )

    @property
    def settings(self) -> dict[str, Any]:
        """Return what could change a score."""
        return {"unknown": self.unknown, "errors": self.errors}
