"""The command line: `steelyard VERB ...`. A verb's module is imported only when that verb is asked for.

A verb's module has two names: `configure(parser)` adds its arguments,
`run(arguments, output)` does the work and returns the exit code.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from steelyard.cli._ui.process import INTERRUPTED, as_process, keep_offline

if TYPE_CHECKING:
    import argparse

__all__ = ["INTERRUPTED", "USAGE", "VERBS", "build_parser", "main"]

VERBS = {
    "run": "evaluate models on tasks; with no arguments: the default models on every built-in set",
    "eval": "carry out a config of EvalScope (YAML, JSON or TOML) as it stands; files in MTEB's layout",
    "compare": "compare models on the same queries: differences, intervals, tests; a gate for CI",
    "recommend": "what to ship: quality against latency, memory and price, under constraints",
    "list": "list tasks, groups, models, metrics or results",
    "show": "open one: a task, a group, a model, a metric, a result, or your own data",
    "score": "score a TREC run against TREC judgements, as trec_eval does",
    "pages": "task and group pages whose every sentence is computed",
    "build": "cut a Nano-set from a full dataset or one's own files; add candidate subsets; measure fidelity",
    "audit": "find evaluation texts in training data, and overlaps between and within evaluation sets",
    "web": "show the leaderboard in the browser, or write it as a static site",
    "results": "import result files into a warehouse; query, export and compare them",
    "publish": "put a finished set on the Hugging Face hub",
    "cache": "what is stored on this machine, and how to remove it",
    "doctor": "what is installed, missing or slow",
}
"""Every verb and its one line; the order of the help page."""

USAGE = "usage: steelyard VERB [ARGUMENTS]        steelyard VERB --help tells more"


def build_parser(verb: str) -> argparse.ArgumentParser:
    """The parser of one verb, with the flags that all verbs share."""
    from steelyard.cli._ui.parser import Parser

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
    """Run one command and return its exit code. Without arguments, it is the one that this process was started with."""
    return _main(arguments) if arguments is not None else as_process(lambda: _main(sys.argv[1:], own_process=True))


def _main(words: list[str], *, own_process: bool = False) -> int:
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
    from steelyard.cli._ui.data_options import settings_of
    from steelyard.cli._ui.output import Output, told
    from steelyard.errors import SteelyardError, UnknownName

    output = Output(json="--json" in words)
    try:
        if verb not in VERBS:
            later = next((word for word in words if word in VERBS), None) if verb.startswith("-") else None
            hint = (
                f"options stand behind the verb: steelyard {later} {verb}" if later else "steelyard --help lists them"
            )
            raise UnknownName("command", verb, VERBS, hint=hint)
        parsed = build_parser(verb).parse_args(words[1:])
        output = Output(json=parsed.json, quiet=parsed.quiet, verbose=parsed.verbose)
        parsed.settings = settings_of(parsed)
        if own_process and parsed.settings.offline:
            keep_offline()
        with output.own_warnings():
            return int(importlib.import_module(f"steelyard.cli.{verb}").run(parsed, output))
    except SteelyardError as error:
        return output.error(error)
    except OSError as error:  # a full disk, a folder that nobody may write in
        return output.error(told(error))
    except KeyboardInterrupt:
        output.interrupted()
        return INTERRUPTED
    except SystemExit as ended:  # --help
        return int(ended.code or 0)


def _help() -> str:
    verbs = "\n".join(f"  {name:<8} {line}" for name, line in VERBS.items())
    return f"""{USAGE}

Steelyard weighs retrieval and embedding models under one set of conditions.

{verbs}

  --version  print the version

Exit codes: 0 fine, 1 something failed or got worse, 2 usage or bad input, 3 something needed is missing,
130 interrupted."""
