"""The command line: `steelyard VERB ...`. A verb's module is imported only when that verb is asked for.

A verb's module has two names: `configure(parser)` adds its arguments,
`run(arguments, output)` does the work and returns the exit code.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from steelyard.errors import SteelyardError

VERBS = {
    "run": "evaluate models on tasks; with no arguments: the default models on every built-in set",
    "eval": "carry out a config of EvalScope (YAML, JSON or TOML) as it stands; files in MTEB's layout",
    "list": "list tasks, groups, models, metrics or results",
    "show": "open one: a task, a group, a model, a metric, a result, or your own data",
    "score": "score a TREC run against TREC judgements, as trec_eval does",
    "pages": "task and group pages whose every sentence is computed",
    "build": "cut a Nano-set from a full dataset or one's own files; add candidate subsets; measure fidelity",
    "publish": "put a finished set on the Hugging Face hub",
    "cache": "what is stored on this machine, and how to remove it",
    "doctor": "what is installed, missing or slow",
}
"""Every verb and its one line; the order of the help page."""

INTERRUPTED = 130
"""The exit code of a command that someone interrupted, as shells have it."""

USAGE = "usage: steelyard VERB [ARGUMENTS]        steelyard VERB --help tells more"


def build_parser(verb: str) -> argparse.ArgumentParser:
    """The parser of one verb, with the flags that all verbs share."""
    from steelyard.cli.parser import Parser

    parser = Parser(prog=f"steelyard {verb}", description=VERBS[verb])
    shared = parser.add_argument_group("shared options")
    shared.add_argument("--json", action="store_true", help="print data as JSON on standard output")
    shared.add_argument(
        "-q",
        "--quiet",
        action="store_true",
        help="no progress and no notes: only the data that was asked for, and errors",
    )
    shared.add_argument("-v", "--verbose", action="store_true", help="say more; on an error, show the traceback")
    importlib.import_module(f"steelyard.cli.{verb}").configure(parser)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code; a reader (head, less) that has gone is not an error.

    A character that the terminal, or the code page of a pipe, does not have is written as its number.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    code = 0
    try:
        code = _main(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stderr.close()
        _drop_what_is_printed()
    except OSError as error:  # a full disk, behind what was printed
        if not code:  # else it was told already
            from steelyard.cli.output import Output

            Output().error(_told(error))
        _drop_what_is_printed()
        return code or 1
    except KeyboardInterrupt:  # before there was a verb to heed it
        return INTERRUPTED
    return code


def _drop_what_is_printed() -> None:
    """What is left to be written goes nowhere: Python would try once more at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _main(words: list[str]) -> int:
    """The only place where errors become messages."""
    verb = words[0] if words else "--help"
    if verb in ("-h", "--help", "help"):
        if words[1:2] and words[1] in VERBS:  # `steelyard help run`
            return _main([words[1], "--help"])
        print(_help())
        return 0
    if verb in ("-V", "--version", "version"):
        from steelyard import __version__

        print(f"steelyard {__version__}")
        return 0
    from steelyard import config
    from steelyard.cli.output import Output
    from steelyard.errors import SteelyardError, UnknownName

    output = Output()
    try:
        if verb not in VERBS:
            later = next((word for word in words if word in VERBS), None) if verb.startswith("-") else None
            hint = (
                f"options stand behind the verb: steelyard {later} {verb}" if later else "steelyard --help lists them"
            )
            raise UnknownName("command", verb, VERBS, hint=hint)
        parsed = build_parser(verb).parse_args(words[1:])
        output = Output(json=parsed.json, quiet=parsed.quiet, verbose=parsed.verbose)
        config.check()
        with output.own_warnings():
            return int(importlib.import_module(f"steelyard.cli.{verb}").run(parsed, output))
    except SteelyardError as error:
        output.error(error)
        return error.exit_code
    except KeyboardInterrupt:
        output.note("\ninterrupted")
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except OSError as error:  # a full disk, a folder that nobody may write in
        output.error(_told(error))
        return 1


def _told(error: OSError) -> SteelyardError:
    from steelyard.errors import SteelyardError

    place = f"{error.filename}: " if error.filename else ""
    told = SteelyardError(
        f"{place}{error.strerror or error}", hint="is there space, and who may write there? -v shows more"
    )
    told.__cause__ = error
    return told


def _help() -> str:
    verbs = "\n".join(f"  {name:<8} {line}" for name, line in VERBS.items())
    return f"""{USAGE}

Steelyard weighs retrieval and embedding models under one set of conditions.

{verbs}

  --version  print the version

Exit codes: 0 fine, 1 something failed or got worse, 2 usage or bad input, 3 something needed is missing,
130 interrupted."""
