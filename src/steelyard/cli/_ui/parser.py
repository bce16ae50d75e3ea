"""The parser of a verb's words: a slip is told in two lines, with the name that is nearest."""

from __future__ import annotations

import argparse
import difflib
import re
from typing import Any, NoReturn

from steelyard.errors import UsageError

UNKNOWN = re.compile(r"unrecognized arguments: (.*)", re.DOTALL)
CHOICE = re.compile(r"invalid choice: '(.*?)' \(choose from (.*)\)", re.DOTALL)


class Help(argparse.HelpFormatter):
    """Help that is the same on every Python: `-l, --languages LANG`, as it is from 3.13 on."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that does not bury what is wrong below all options that there are.

    >>> parser = Parser(prog="steelyard x")
    >>> _ = parser.add_argument("--limit")
    >>> parser.near("unrecognized arguments: --limits 5"), parser.near("invalid choice: 'b' (choose from 'c', 'bb')")
    ('--limit', 'bb')
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"formatter_class": Help, **settings})

    def error(self, message: str) -> NoReturn:
        """A UsageError: what is wrong and what was meant, or where the options are told."""
        near = self.near(message)
        hint = f"did you mean {near}?" if near else f"{self.prog} --help tells the options"
        raise UsageError(f"{self.prog.removeprefix('steelyard ')}: {message}", hint=hint)

    def near(self, message: str) -> str | None:
        """The option, or the choice, that is nearest to the one that the message tells of."""
        if match := UNKNOWN.search(message):
            word = next((word for word in match[1].split() if word.startswith("-")), "").partition("=")[0]
            known = list(self._option_string_actions)
        elif match := CHOICE.search(message):
            word, known = match[1], re.findall(r"[\w.-]+", match[2])
        else:
            return None
        return next(iter(difflib.get_close_matches(word, known, n=1)), None)
