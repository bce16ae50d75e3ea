"""`steelyard completion`: print a script that completes verbs, options, tasks and models in bash, zsh or fish."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.cli._ui.output import Output
    from steelyard.cli._ui.parser import Parser
    from steelyard.config import Settings

SCRIPTS = {
    "bash": """_steelyard() {
    local IFS=$'\\n'
    local current="${COMP_LINE:0:COMP_POINT}"
    COMPREPLY=($(steelyard completion words -- "$current" 2>/dev/null))
    local word="${COMP_WORDS[COMP_CWORD]}" whole="${current##* }"
    # Bash divides words at colons and equals signs: leave out what is already there.
    local prefix="${whole%"$word"}"
    COMPREPLY=("${COMPREPLY[@]#"$prefix"}")
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == */ ]] && compopt -o nospace
}
complete -o default -F _steelyard steelyard
""",
    "zsh": """#compdef steelyard
_steelyard() {
    local -a found
    found=("${(@f)$(steelyard completion words -- "${(j: :)words[1,CURRENT-1]} $PREFIX" 2>/dev/null)}")
    [[ -n "${found[1]}" ]] && compadd -Q -- "${found[@]}" || _files
}
# A file of $fpath is the function itself the first time; "source <(steelyard completion zsh)" registers it.
if [[ "${funcstack[1]}" == _steelyard ]]; then _steelyard "$@"; else compdef _steelyard steelyard; fi
""",
    "fish": """function __steelyard_complete
    steelyard completion words -- (commandline -cp) 2>/dev/null
end
complete -c steelyard -a '(__steelyard_complete)'
""",
}
INSTALL = {
    "bash": "steelyard completion bash > ~/.local/share/bash-completion/completions/steelyard",
    "zsh": "steelyard completion zsh > ~/.zfunc/_steelyard   (a folder of $fpath)",
    "fish": "steelyard completion fish > ~/.config/fish/completions/steelyard.fish",
}
TASK_OPTIONS, MODEL_OPTIONS = ("-t", "--tasks"), ("-m", "--model", "--models")
TASK_VERBS, MODEL_VERBS = ("pages",), ("run", "plan", "compare", "race", "recommend")


def configure(parser: Parser) -> None:
    """Add the arguments of the verb."""
    parser.add_argument(
        "shell", choices=[*SCRIPTS, "words"], metavar="SHELL", help="Shell to print a script for: bash, zsh or fish."
    )
    parser.add_argument("line", nargs="?", default="", help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Print the script of a shell, or the words that may follow a line."""
    if arguments.shell == "words":
        for word in completions(arguments.line, arguments.settings):
            output.line(word)
        return 0
    output.line(SCRIPTS[arguments.shell])
    output.note(f"install it with: {INSTALL[arguments.shell]}")
    return 0


def completions(line: str, settings: Settings) -> list[str]:
    """Return the words that complete a line up to the cursor.

    >>> from steelyard.config import Settings
    >>> completions("steelyard reco", Settings.load())
    ['recommend']
    """
    from steelyard.cli import VERBS

    words = line.lstrip().split(" ")  # fish includes the space after a semicolon
    current = words[-1]
    before = [word for word in words[1:-1] if word]
    if not before:
        return _matching(VERBS, current)
    verb = before[0]
    if verb not in VERBS:
        return []
    parser = _parser(verb, before[1:])
    if current.startswith("-"):
        return _matching(_options(parser), current)
    if parser.commands and verb != "show":
        return _matching(parser.commands, current)
    option = next((word for word in reversed(before) if word.startswith("-")), "")
    if before[-1] == option and (choices := _choices(parser, option)):
        return _matching(choices, current)
    if verb == "completion":
        return _matching(SCRIPTS, current)
    names = _names(settings)
    if option in TASK_OPTIONS or verb in TASK_VERBS:
        before_comma = current[: current.rfind(",") + 1]  # several tasks in one word
        return _matching([before_comma + name for name in names["tasks"]], current)
    if verb == "show":
        commands = [command for command in parser.commands if command != parser.default]
        return _matching([*commands, *names["tasks"], *names["models"]], current)
    if (verb in MODEL_VERBS and not option) or option in MODEL_OPTIONS:
        return _matching(names["models"], current)
    return []


def _matching(words: object, current: str) -> list[str]:
    return [word for word in words if str(word).startswith(current)]  # type: ignore[attr-defined]


def _parser(verb: str, rest: list[str]) -> Parser:
    """Return the parser of a verb, or of its subcommand."""
    from steelyard.cli import build_parser

    parser = build_parser(verb)
    return parser.commands.get(rest[0], parser) if rest else parser


def _options(parser: Parser) -> list[str]:
    """Return the long options of a verb."""
    return sorted(name for action in parser._actions for name in action.option_strings if name.startswith("--"))


def _choices(parser: Parser, option: str) -> list[str]:
    """Return the values that an option may have; none if it may have any."""
    if option == "--executor":
        from steelyard.engine.executors import EXECUTORS

        return list(EXECUTORS)
    actions = (action for action in parser._actions if option in action.option_strings)
    return [str(choice) for action in actions for choice in action.choices or ()]


def _names(settings: Settings) -> dict[str, list[str]]:
    """Return the names of tasks and models, from a file that is written once for each version: a listing takes long."""
    from steelyard import __version__
    from steelyard.files import read_cached, write_cached

    path = settings.home / "completion" / f"{__version__}.json"
    known = read_cached(path)
    names = {kind: known[kind] for kind in ("tasks", "models") if isinstance(known.get(kind), list)}
    if len(names) < 2:
        from steelyard.datasets.names import known_names
        from steelyard.models import cards
        from steelyard.retrievers import DEFAULT_MODELS, RETRIEVERS

        tasks = list(known_names())
        groups = dict.fromkeys(name.partition("/")[0] for name in tasks)
        models = [name for name in DEFAULT_MODELS if not name.startswith("[")]
        families = [f"{family}:" for family in RETRIEVERS if family not in models]
        cards_ = [card.name for card in cards().values()]
        names = {"tasks": [*groups, *tasks], "models": list(dict.fromkeys([*models, *families, *cards_]))}
        write_cached(path, names)
    folders = [f"dense:{path}" for path in Path().glob("*/config.json")]
    local = [f"dense:./{Path(folder.removeprefix('dense:')).parent}" for folder in folders]
    return {**names, "models": [*names["models"], *local]}
