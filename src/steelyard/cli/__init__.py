"""The command line: `steelyard VERB ...`. A verb's module is imported only when that verb is used.

A verb's module has two names: `configure(parser)` adds its arguments, `run(arguments, output)` does the work and
returns the exit code.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from steelyard.cli._ui.process import keep_offline, run_process
from steelyard.cli._ui.signals import INTERRUPTED, interrupt_code, was_interrupted

if TYPE_CHECKING:
    from steelyard.cli._ui.output import Output
    from steelyard.cli._ui.parser import Parser

__all__ = ["INTERRUPTED", "USAGE", "VERBS", "build_parser", "main"]

VERBS = {
    "run": "Evaluate models on tasks; without arguments: the default models on all built-in sets",
    "plan": "Print the work of `steelyard run` before anything starts: texts, batches, time, memory, disk, price",
    "eval": "Run an EvalScope config (YAML, JSON or TOML) and write result files in MTEB's layout",
    "compare": "Compare models on the same queries: differences, intervals, tests; a gate for CI",
    "race": "Find the best of several models with as little encoding as possible",
    "recommend": "Choose what to ship: quality against latency, memory and price, under constraints",
    "list": "List tasks, groups, benchmarks, models, metrics or results",
    "show": "Show one task, group, model, metric or result, or check your own data",
    "score": "Score a TREC run against TREC judgements, as trec_eval does",
    "pages": "Write task and group pages with computed diagnostics",
    "build": "Sample a Nano-set, add candidate lists, measure fidelity, or publish a set",
    "audit": "Find evaluation texts in training data, and overlaps between and within evaluation sets",
    "web": "Show the leaderboard in the browser, or write it as a static site",
    "results": "Import result files into a warehouse; query, export and compare them",
    "cache": "List or remove what is stored on this machine",
    "doctor": "Check what is installed, missing or slow",
    "completion": "Print a script that completes verbs, options, tasks and models in bash, zsh or fish",
}
"""Every verb and its line of help, in the order of the help page."""

OLD_VERBS = {"publish": ("build", "publish")}
"""Verbs of earlier versions that still work, with a note, and what replaced them."""

STUDIED = ("run", "plan")
"""Verbs that take a study file."""

USAGE = "usage: steelyard VERB [ARGUMENTS]        (steelyard VERB --help lists its options)"


def build_parser(verb: str) -> Parser:
    """Return the parser of one verb, with the options that all verbs share."""
    from steelyard.cli._ui.parser import Parser, add_shared_options

    parser = Parser(prog=f"steelyard {verb}", description=f"{VERBS[verb]}.")
    importlib.import_module(f"steelyard.cli.{verb}").configure(parser)
    add_shared_options(parser)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code. Without arguments, run the command line of this process."""
    return _main(arguments) if arguments is not None else run_process(lambda: _main(sys.argv[1:], own_process=True))


def _main(words: list[str], *, own_process: bool = False) -> int:
    """Run one command; the only place where errors become messages."""
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
    from steelyard.cli._ui.output import Output, system_error
    from steelyard.errors import SteelyardError

    output = Output(json="--json" in words)
    try:
        if was_interrupted():  # while Python started
            raise KeyboardInterrupt
        return _run_verb(words, output, own_process=own_process)
    except (SteelyardError, OSError, ImportError, RuntimeError) as error:
        if was_interrupted():  # some packages turn an interrupt into an error of their own; DuckDB: RuntimeError
            output.interrupted()
            return interrupt_code()
        if isinstance(error, ImportError | RuntimeError):
            raise
        return output.error(system_error(error) if isinstance(error, OSError) else error)
    except KeyboardInterrupt:
        output.interrupted()
        return interrupt_code()
    except SystemExit as end:  # --help
        return int(end.code or 0)


def _run_verb(words: list[str], output: Output, *, own_process: bool = False) -> int:
    """Parse the words, apply the shared options to the output and run the verb."""
    from steelyard.cli._ui.options import settings_of

    verb, *rest = words
    if replacement := OLD_VERBS.get(verb):
        verb, rest = replacement[0], [*replacement[1:], *rest]
    if verb not in VERBS:
        raise _unknown_verb(verb, words)
    meant = None
    if verb in STUDIED and any(word.endswith(".toml") for word in rest):
        from steelyard.cli._ui.study import expand_study

        rest, meant = expand_study(rest)
    arguments = build_parser(verb).parse_args(rest)
    output.json, output.quiet, output.verbose = arguments.json, arguments.quiet, arguments.verbose
    if meant:
        output.note(meant)
    if replacement:
        output.note(f"deprecated: use `steelyard {' '.join(replacement)}` instead of `steelyard {words[0]}`")
    arguments.settings = settings_of(arguments)
    if own_process and arguments.settings.offline:
        keep_offline()
    with output.own_warnings():
        return int(importlib.import_module(f"steelyard.cli.{verb}").run(arguments, output))


def _unknown_verb(verb: str, words: list[str]) -> Exception:
    from steelyard.errors import UnknownName

    known = next((word for word in words if word in VERBS), None) if verb.startswith("-") else None
    hint = f"write options after the verb: steelyard {known} {verb}" if known else "run `steelyard --help`"
    return UnknownName("command", verb, VERBS, hint=hint)


def _help() -> str:
    verbs = "\n".join(f"  {name:<10} {line}" for name, line in VERBS.items())
    return f"""{USAGE}

Steelyard evaluates retrieval and embedding models under one set of conditions.

{verbs}

  --version  Print the version.

Exit codes: 0 success, 1 something failed or regressed, 2 wrong usage or bad input,
3 something needed is missing, 130 interrupted (143 by SIGTERM)."""
