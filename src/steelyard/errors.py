"""Every error that Steelyard raises on purpose.

SteelyardError            something failed that a person can fix             exit 1
├── UsageError            the request is wrong: option, name, combination    exit 2
│   └── UnknownName       no such task, model, metric ... with near names    exit 2
├── DataError             input data is wrong: file, row, found, expected    exit 2
├── MissingPart           a package, file or service is needed               exit 3
│   └── HubError          a hub refused, failed or is out of reach           exit 3
├── ModelError            a model cannot be loaded, or returned NaN          exit 1
└── ResultError           a stored result cannot be read or written          exit 1

The command line prints the message, then the hint, and exits with `exit_code`. Every error carries what a program may
need as fields: `option`, `path`, `row`, `field`, `found`, `expected`. Tests assert these, not the wording.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Self


def printable(text: str, longest: int | None = None) -> str:
    r"""Return a text without control characters, so that names and values from files cannot change the terminal.

    >>> printable("a\x1b[31mb\nc"), printable("abcdef", 3)
    ('a\ufffd[31mb\nc', 'abc...')
    """
    shown = text if longest is None or len(text) <= longest else f"{text[:longest]}..."
    return shown if shown.isprintable() else "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in shown)


def _close_matches(word: str, known: Iterable[str]) -> list[str]:
    """Return what `difflib.get_close_matches` returns; most of the known names are excluded before it compares them.

    The number of characters in common, in any order, is an upper bound of what it counts.
    """
    import difflib  # only for errors

    counts = {character: word.count(character) for character in set(word)}

    def may_be_close(other: str) -> bool:
        least = 0.6 * (len(word) + len(other)) - 0.01  # a margin for rounding
        if 2 * min(len(word), len(other)) < least:
            return False
        return 2 * sum(min(count, other.count(character)) for character, count in counts.items()) >= least

    return difflib.get_close_matches(word, filter(may_be_close, known), n=3, cutoff=0.6)


class SteelyardError(Exception):
    """Something failed that a person can fix; `hint` is what to do, in the imperative.

    >>> str(SteelyardError("the disk is full", hint="free some space"))
    'the disk is full (free some space)'
    """

    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        option: str | None = None,
        path: str | Path | None = None,
        row: int | None = None,
        field: str | None = None,
        found: Any = None,
        expected: str | None = None,
    ) -> None:
        message = printable(message)
        super().__init__(message)
        self.message = message
        self.hint = None if hint is None else printable(hint)
        self.option = option
        self.path = None if path is None else str(path)
        self.row = row
        self.field = field
        self.found = found
        self.expected = expected

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    @classmethod
    def invalid(cls, what: str, *, expected: str, found: Any, hint: str | None = None, **fields: Any) -> Self:
        """Return the error "WHAT must be EXPECTED, got FOUND", with both kept as fields.

        >>> error = UsageError.invalid("--limit", expected="at least 1", found=0, option="--limit")
        >>> str(error), error.option, error.found
        ('--limit must be at least 1, got 0', '--limit', 0)
        """
        shown = repr(found) if isinstance(found, str) else found
        return cls(f"{what} must be {expected}, got {shown}", hint=hint, expected=expected, found=found, **fields)


class UsageError(SteelyardError):
    """The request is wrong: an option, a name, a combination."""

    exit_code = 2


class UnknownName(UsageError):
    """No such task, model or metric; lists the nearest names.

    >>> str(UnknownName("metric", "ncdg", ["ndcg", "map"])), UnknownName("task", "x/EN", ["X/zh", "X/en"]).near
    ("unknown metric 'ncdg' (did you mean 'ndcg'?)", ['X/en'])
    """

    def __init__(
        self, kind: str, name: str, known: Iterable[str], *, hint: str | None = None, option: str | None = None
    ) -> None:
        folded = {other.casefold(): other for other in known}
        near = [folded[match] for match in _close_matches(name.casefold(), folded)]
        guess = f"did you mean {' or '.join(map(repr, near))}?" if near else None
        super().__init__(f"unknown {kind} {name!r}", hint=guess or hint, option=option, found=name)
        self.kind, self.name, self.near = kind, name, near


class DataError(SteelyardError):
    """Input data is wrong; reports where, what was found, what was expected.

    `where` is printed before the message. It defaults to the path and row, if those are given.

    >>> str(DataError("the text must not be empty", path="corpus.jsonl", row=3, hint="remove the row"))
    'corpus.jsonl row 3: the text must not be empty (remove the row)'
    """

    exit_code = 2

    def __init__(
        self,
        message: str,
        *,
        where: str | None = None,
        hint: str | None = None,
        path: str | Path | None = None,
        row: int | None = None,
        **fields: Any,
    ) -> None:
        if where is None and path is not None:
            where = str(path) if row is None else f"{path} row {row}"
        super().__init__(f"{where}: {message}" if where else message, hint=hint, path=path, row=row, **fields)
        self.where = where


class MissingPart(SteelyardError):
    """A package, file or service is needed; the hint is the command that gets it.

    >>> str(MissingPart.extra("jieba", "cjk"))
    "the package 'jieba' is not installed (pip install 'steelyard[cjk]')"
    """

    exit_code = 3

    @classmethod
    def extra(cls, package: str, extra: str) -> MissingPart:
        """Return the error for a package that one of Steelyard's extras installs."""
        return cls(f"the package {package!r} is not installed", hint=f"pip install 'steelyard[{extra}]'")


class EvaluationWarning(UserWarning):
    """A model failed on a task: its result has the reason and no scores."""


class HubError(MissingPart):
    """A hub refused, failed or is out of reach."""


class ModelError(SteelyardError):
    """A model cannot be loaded, or returned what no model may return: NaN, a wrong shape, nothing."""


class ResultError(SteelyardError):
    """A stored result cannot be read or written."""


class DataWarning(UserWarning):
    """Data was loaded with repairs, or with judgements of documents that do not exist; the message lists them."""
