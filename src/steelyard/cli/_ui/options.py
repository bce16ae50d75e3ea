"""Options that several verbs share: where data comes from, how models are loaded, where results are stored."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.config import HUBS, MISSING_JUDGEMENTS, Settings
from steelyard.datasets.references import TYPES
from steelyard.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output
    from steelyard.results import Result, ResultStore
    from steelyard.spec import ModelSpec


__all__ = ["TYPES"]

Add = Callable[..., Any]
"""`add_argument` of a parser or of a group of options."""

MODEL_OPTIONS = ("batch_size", "dtype", "query_prompt", "document_prompt")
"""The options of models that are also options of `steelyard run`."""


def add_tasks(add: Add) -> None:
    """Add the tasks of a verb that evaluates."""
    add(
        *("-t", "--tasks"),
        nargs="+",
        action="extend",
        default=[],
        metavar="TASK",
        help="Tasks, groups or paths (default: builtin).",
    )


def add_languages(add: Add, what: str = "tasks") -> None:
    """Add the filter by language."""
    add(
        *("-l", "--languages"),
        nargs="+",
        action=Languages,
        default=[],
        metavar="LANG",
        help=f"Only {what} in these languages, as codes: zh de, or zh,de (default: all).",
    )


def add_type(add: Add) -> None:
    """Add the type of tasks."""
    add(
        "--type",
        choices=TYPES,
        metavar="TYPE",
        help="Only tasks of this type, such as retrieval or sts (default: all); also the type of a path.",
    )


def add_locations(add: Add) -> None:
    """Add the options that set where published data is read from."""
    add("--data-dir", type=Path, metavar="DIR", help="Read published datasets from this folder instead of a hub.")
    add(
        "--hub",
        choices=HUBS,
        help="Hub of published datasets (default: $STEELYARD_HUB or huggingface).",
    )
    add("--offline", action="store_true", help="Do not use the network (default: $STEELYARD_OFFLINE).")
    add(
        "--missing-judgements",
        choices=MISSING_JUDGEMENTS,
        help="Judged documents outside the corpus: count as not retrieved (default), ignore, or error.",
    )


def add_passages(add: Add) -> None:
    """Add the lengths of passages that documents are divided into."""
    add(
        "--chunk",
        default="",
        metavar="N,N",
        help="Divide documents into passages of N tokens; 'none' is the whole document (default: none).",
    )
    add(
        "--overlap",
        type=integer("--overlap", at_least=0),
        default=0,
        metavar="N",
        help="Tokens that two neighbouring passages share (default: 0).",
    )


def add_executor(add: Add) -> None:
    """Add the executor and the store that its workers share."""
    add(
        "--executor",
        default="local",
        metavar="NAME",
        help="Where to compute: local (default), processes, ray or slurm, as NAME?option=value.",
    )
    add(
        "--vectors",
        metavar="URL",
        help="Shared store of vectors: a folder, s3://BUCKET/PATH or gs:// ... (default: none).",
    )


def add_results(add: Add, *flags: str, dest: str = "results") -> None:
    """Add the folder of results."""
    add(
        *(flags or ("-o", "--output", "--results")),
        dest=dest,
        type=Path,
        metavar="DIR",
        help="Folder of results (default: $STEELYARD_RESULTS or results).",
    )


def settings_of(arguments: argparse.Namespace, **defaults: Any) -> Settings:
    """Return the settings of a command: its options, then the environment, `steelyard.toml` and the defaults."""
    options = {
        "offline": getattr(arguments, "offline", None) or None,
        "hub": getattr(arguments, "hub", None),
        "data": getattr(arguments, "data_dir", None),
        "device": getattr(arguments, "device", None),
        "vectors": getattr(arguments, "vectors", None),
        "missing_judgements": getattr(arguments, "missing_judgements", None),
    }
    return Settings.load(defaults=defaults, **options)


def add_model_options(add: Add) -> None:
    """Add the options that apply to every model whose name does not set them."""
    add("--revision", metavar="REV", help="Commit, tag or branch of the model (default: ID@REV in its name, or main).")
    add("--batch-size", metavar="N", help="Texts or pairs per batch (default: chosen by the model).")
    add("--dtype", metavar="TYPE", help="Number type of models: float32 (default), float16 or bfloat16.")
    add("--query-prompt", metavar="TEXT", help="Text before every query (default: the model's own prompt).")
    add("--document-prompt", metavar="TEXT", help="Text before every document (default: the model's own prompt).")


def with_model_options(models: Sequence[str | ModelSpec], arguments: argparse.Namespace) -> list[ModelSpec]:
    """Return the models with the options of the command line."""
    from steelyard.retrievers.model_variants import with_shared_options

    options = {name: value for name in MODEL_OPTIONS if (value := getattr(arguments, name)) is not None}
    return with_shared_options(models, options, arguments.revision)


def integer(option: str, *, at_least: int | None = None) -> Callable[[str], int]:
    """Return a reader of whole numbers for `type=`.

    >>> integer("--limit", at_least=1)("5")
    5
    >>> integer("--limit", at_least=1)("0")
    Traceback (most recent call last):
    ...
    steelyard.errors.UsageError: --limit must be a whole number of at least 1, got 0
    """
    expected = "a whole number" if at_least is None else f"a whole number of at least {at_least}"

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise UsageError.invalid(option, expected=expected, found=text, option=option) from None
        if at_least is not None and number < at_least:
            raise UsageError.invalid(option, expected=expected, found=number, option=option)
        return number

    return read


def integers(option: str, *, at_least: int = 1) -> Callable[[str], list[int]]:
    """Return a reader of whole numbers with commas between them.

    >>> integers("--sizes")("10,20,50")
    [10, 20, 50]
    """
    read = integer(option, at_least=at_least)

    def read_all(text: str) -> list[int]:
        try:
            return [read(number) for number in text.split(",")]
        except UsageError as error:
            expected = f"{error.expected}, or several with commas between them"
            raise UsageError.invalid(option, expected=expected, found=text, option=option) from None

    return read_all


def number(option: str, *, low: float, high: float | None = None, above: bool = False) -> Callable[[str], float]:
    """Return a reader of numbers from `low` (with `above`: greater than it) to `high`.

    >>> number("--target", low=0, high=1, above=True)("2")
    Traceback (most recent call last):
    ...
    steelyard.errors.UsageError: --target must be a number above 0 and at most 1, got 2.0
    """
    expected = f"a number {'above' if above else 'of at least'} {low:g}"
    expected += "" if high is None else f" and at most {high:g}"

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise UsageError.invalid(option, expected=expected, found=text, option=option) from None
        if not (low < value if above else low <= value) or (high is not None and value > high):
            raise UsageError.invalid(option, expected=expected, found=value, option=option)
        return value

    return read


class Languages(argparse.Action):
    """Codes of languages: as several words, with commas between them, or with the option repeated.

    >>> parser = argparse.ArgumentParser()
    >>> _ = parser.add_argument("-l", nargs="+", action=Languages, default=[])
    >>> parser.parse_args(["-l", "zh", "ja,ko", "-l", "de"]).l
    ['zh', 'ja', 'ko', 'de']
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Append the codes."""
        assert isinstance(values, list)
        codes = [code for word in values for code in word.split(",") if code]
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), *codes])


def dense_model(text: str) -> str:
    """Return the name of a dense model that is given with or without its family.

    >>> dense_model("BAAI/bge-m3"), dense_model("dense:BAAI/bge-m3"), dense_model("dense"), dense_model("late:X")
    ('dense:BAAI/bge-m3', 'dense:BAAI/bge-m3', 'dense', 'late:X')
    """
    from steelyard.retrievers import RETRIEVERS

    family = text.partition(":")[0].partition("?")[0]
    return text if family in RETRIEVERS or text.startswith("[") else f"dense:{text}"


def note_unknown_languages(languages: Sequence[str], output: Output) -> None:
    """Print a note for each code that is not the code of a language."""
    for line in unknown_languages(languages):
        output.note(line)


def unknown_languages(languages: Sequence[str]) -> Iterator[str]:
    """Yield a line for each code that is not the code of a language, with the code of a language of that name.

    >>> list(unknown_languages(["zh", "cmn-Hans", "deu", "multilingual", "Chinese", "qq"]))
    ["unknown language code 'Chinese': the code of Chinese is zh", "unknown language code 'qq'"]
    """
    if not languages:
        return
    import difflib

    from babel import Locale

    from steelyard.datasets.language_codes import KEPT, language_code

    names = {code: str(name) for code, name in Locale("en").languages.items()}
    codes = {name.casefold(): code for code, name in reversed(names.items())}
    for language in languages:
        if language_code(language) in names or language in KEPT:
            continue
        near = next(iter(difflib.get_close_matches(language.casefold(), codes, n=1, cutoff=0.8)), None)
        suggestion = f": the code of {names[codes[near]]} is {codes[near]}" if near else ""
        yield f"unknown language code {language!r}{suggestion}"


def store_of(arguments: argparse.Namespace) -> ResultStore:
    """Return the store of results; a ResultError if its path is a file."""
    from steelyard.errors import ResultError
    from steelyard.results import ResultStore

    store = ResultStore(arguments.results or arguments.settings.results)
    if store.folder.is_file():
        raise ResultError(
            f"the results folder must be a folder, got the file {store.folder}",
            hint="name a folder with -o",
            path=store.folder,
        )
    return store


def stored_results(arguments: argparse.Namespace, output: Output, *, task: str | None = None) -> list[Result]:
    """Return every result in the folder, or those of one task; damaged files are noted and skipped."""
    return store_of(arguments).find(task=task, report=lambda error: output.note(f"skipped: {error}"))
