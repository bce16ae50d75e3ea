"""Every error that Steelyard raises on purpose.

SteelyardError            something went wrong that a person can mend        exit 1
├── UsageError            the request itself is wrong                        exit 2
│   └── UnknownName       no such task, model, metric ... with near names    exit 2
├── DataError             input data is wrong: file, row, found, expected    exit 2
├── MissingPart           a package, file or service is needed               exit 3
│   └── HubError          a hub refused, failed or is out of reach           exit 3
├── ModelError            a model cannot be opened, or gives NaN, nothing    exit 1
└── ResultError           a stored result cannot be read or written          exit 1

The command line prints the message, then the hint, and exits with `exit_code`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import ClassVar


class SteelyardError(Exception):
    """Something went wrong that a person can mend; `hint` says how.

    >>> str(SteelyardError("the disk is full", hint="free some space"))
    'the disk is full (free some space)'
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UsageError(SteelyardError):
    """The request itself is wrong: an option, a name, a combination."""

    exit_code = 2


class UnknownName(UsageError):
    """No such task, model or metric; names the nearest ones.

    >>> str(UnknownName("metric", "ncdg", ["ndcg", "map"])), UnknownName("task", "x/EN", ["X/zh", "X/en"]).near
    ("unknown metric 'ncdg' (did you mean 'ndcg'?)", ['X/en'])
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], *, hint: str | None = None) -> None:
        folded = {other.casefold(): other for other in known}
        near = [folded[match] for match in difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)]
        guess = f"did you mean {' or '.join(map(repr, near))}?" if near else None
        super().__init__(f"unknown {kind} {name!r}", hint=guess or hint)
        self.kind, self.name, self.near = kind, name, near


class DataError(SteelyardError):
    """Input data is wrong; says where, what was found, what was expected.

    >>> str(DataError("empty text", where="corpus.jsonl row 3", hint="remove the row"))
    'corpus.jsonl row 3: empty text (remove the row)'
    """

    exit_code = 2

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(f"{where}: {message}" if where else message, hint=hint)
        self.where = where


class MissingPart(SteelyardError):
    """A package, file or service is needed; the hint is the command that gets it.

    >>> str(MissingPart.extra("jieba", "cjk"))
    "the package 'jieba' is not installed (pip install 'steelyard[cjk]')"
    """

    exit_code = 3

    @classmethod
    def extra(cls, package: str, extra: str) -> MissingPart:
        """The error for a package that one of Steelyard's extras would bring."""
        return cls(f"the package {package!r} is not installed", hint=f"pip install 'steelyard[{extra}]'")


class HubError(MissingPart):
    """A hub refused, failed or is out of reach."""


class ModelError(SteelyardError):
    """A model cannot be opened, or gave what no model may give: NaN, a wrong shape, nothing."""


class ResultError(SteelyardError):
    """A stored result cannot be read or written."""
