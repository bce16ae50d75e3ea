"""The parser of a verb: subcommands, shared options, and errors of ours that name the nearest option or choice."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from steelyard.errors import UsageError

SHARED = ("--json", "-q", "--quiet", "-v", "--verbose")
"""The options that every verb and subcommand has."""


class HelpFormatter(argparse.HelpFormatter):
    """Format help the same on every Python: `-l, --languages LANG`, as Python 3.13 does."""

    def __init__(self, prog: str, **settings: Any) -> None:
        super().__init__(prog, **{"width": _width(), **settings})

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"


def _width() -> int:
    """Return the width of a help page, as argparse does, without importing the compression libraries of `shutil`."""
    try:
        columns = int(os.environ["COLUMNS"])
    except (KeyError, ValueError):
        columns = 0
    if columns <= 0:
        try:
            columns = os.get_terminal_size(sys.__stdout__.fileno()).columns  # type: ignore[union-attr]
        except (AttributeError, ValueError, OSError):  # closed, detached, or not a terminal
            columns = 80
    return (columns or 80) - 2


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises UsageError, with a suggestion where a known name is near.

    >>> parser = Parser(prog="steelyard x")
    >>> _ = parser.add_argument("--limit", choices=["some", "all"])
    >>> parser.parse_args(["--limits=5"])
    Traceback (most recent call last):
    ...
    steelyard.errors.UsageError: x: unknown option --limits (did you mean --limit?)
    >>> parser.parse_args(["--limit", "al"])
    Traceback (most recent call last):
    ...
    steelyard.errors.UsageError: x: --limit must be one of some, all, got 'al' (did you mean all?)
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"formatter_class": HelpFormatter, "add_help": False, **settings})
        self.add_argument("-h", "--help", action="help", help="Show this help and exit.")
        self._optionals.title = "general options"
        self.commands: dict[str, Parser] = {}
        """The parsers of the subcommands by name."""
        self.default = ""

    @property
    def command_name(self) -> str:
        """The verb and subcommand, without the program's name."""
        return self.prog.removeprefix("steelyard ")

    def add_commands(
        self, lines: Mapping[str, str], configure: Callable[[str, Parser], None], *, default: str, shown: bool = True
    ) -> None:
        """Add a subcommand for each name, with its line of help.

        `default` is the one that is meant where none is named; with `shown`, the help marks it.
        """
        actions = self.add_subparsers(
            prog=self.prog, dest="command", metavar="COMMAND", title="commands", required=True
        )
        for name, line in lines.items():
            help = f"{line} (default)." if shown and name == default else f"{line}."
            parser = actions.add_parser(name, help=help, description=f"{line}.")
            configure(name, parser)
            add_shared_options(parser, default=argparse.SUPPRESS)
            self.commands[name] = parser
        self.default = default

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the words; an unknown option or a word too many is a UsageError.

        The result has `implied`: the subcommand that was added because the words name none.
        """
        words, implied = self._with_command(list(args))
        arguments, unknown = self.parse_known_args(words, namespace)
        if unknown:
            self._refuse(unknown, self.commands.get(getattr(arguments, "command", ""), self))
        arguments.implied = implied
        return arguments

    def _with_command(self, words: list[str]) -> tuple[list[str], str]:
        """Return the words with the subcommand in front of its options, and the default if it had to be added."""
        start = next((place for place, word in enumerate(words) if word not in SHARED), len(words))
        first = words[start] if start < len(words) else ""
        if not self.default or first in (*self.commands, "-h", "--help"):
            return words, ""
        for place in range(start + 1, len(words)):  # options before the subcommand: `list -l zh groups`
            if words[place] in self.commands and not self._takes_value(words[place - 1]):
                return [*words[:start], words[place], *words[start:place], *words[place + 1 :]], ""
        return [*words[:start], self.default, *words[start:]], self.default

    def _takes_value(self, word: str) -> bool:
        """Return whether the word is an option that takes exactly the word after it."""
        actions = (parser._option_string_actions.get(word) for parser in self.commands.values())
        return any(action is not None and action.nargs is None for action in actions)

    def _refuse(self, unknown: Sequence[str], parser: Parser) -> NoReturn:
        option = next((word.partition("=")[0] for word in unknown if word.startswith("-")), None)
        if option is None:
            raise UsageError(
                f"{parser.command_name}: unexpected argument {' '.join(unknown)!r}",
                hint=self._suggestion(unknown[0], list(self.commands)),
                found=unknown[0],
            )
        raise UsageError(
            f"{parser.command_name}: unknown option {option}",
            hint=parser._suggestion(option, list(parser._option_string_actions)),
            option=option,
        )

    def _suggestion(self, word: str, known: Sequence[str]) -> str:
        import difflib

        near = difflib.get_close_matches(word, known, n=1)
        return f"did you mean {near[0]}?" if near else f"run `{self.prog} --help` to list the options"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        name = "/".join(action.option_strings) or (action.dest if action.dest != "command" else "the command")
        choices = list(map(str, action.choices))
        raise UsageError.invalid(
            f"{self.command_name}: {name}",
            expected=f"one of {', '.join(choices)}",
            found=value,
            hint=self._suggestion(str(value), choices),
            option=name,
        )

    def error(self, message: str) -> NoReturn:
        """Raise a UsageError."""
        raise UsageError(f"{self.command_name}: {message}", hint=f"run `{self.prog} --help` to list the options")


def add_shared_options(parser: argparse.ArgumentParser, *, default: Any = False) -> None:
    """Add the options that every verb has."""
    add = parser.add_argument_group("output").add_argument
    add("--json", action="store_true", default=default, help="Print data as JSON on standard output.")
    quiet = [flag for flag in ("-q", "--quiet") if flag not in parser._option_string_actions]  # -q of trec_eval
    add(*quiet, action="store_true", default=default, help="Print data and errors only.")
    add("-v", "--verbose", action="store_true", default=default, help="Print details, and the traceback of an error.")
