"""Study files: data, models, variants, metrics and executor of `steelyard run`, in one TOML file.

A study is another spelling of a command: `steelyard run study.toml` prints the command that it means.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.errors import DataError, UnknownName, UsageError
from steelyard.files import with_home

if TYPE_CHECKING:
    import argparse

WORDS = ("tasks", "benchmarks", "languages", "metrics")
"""Options that take several words."""
LISTS = ("depths", "truncate_dim", "precision", "chunk")
"""Options that take a list with commas."""
VALUES = (
    *("type", "limit", "seed", "top_k", "profile", "candidates", "rescore", "overlap", "device", "dtype", "batch_size"),
    *("query_prompt", "document_prompt", "executor", "results", "overwrite_strategy", "save_runs", "data_dir", "hub"),
    *("cost_samples",),
)
FLAGS = ("costs", "no_report", "offline")
GROUPS = {
    "variants": ("truncate_dim", "precision", "rescore", "depths"),
    "chunking": ("chunk", "overlap"),
}
"""Tables of a study, for options that belong together."""
ALIASES = {"data": "tasks", "output": "results"}
SUFFIX = ".toml"


def expand_study(words: Sequence[str]) -> tuple[list[str], str | None]:
    """Return the words of a command with a study file replaced by what it means, and that command; None without one."""
    place = next((at for at, word in enumerate(words) if _is_study(word) and words[at - 1 : at] != ["-t"]), None)
    if place is None:
        return list(words), None
    meant = study_words(with_home(words[place]))
    expanded = [*meant, *words[:place], *words[place + 1 :]]
    return expanded, shlex.join(["steelyard", "run", *expanded])


def _is_study(word: str) -> bool:
    return word.endswith(SUFFIX) and not word.startswith("-") and "=" not in word and "?" not in word


def study_words(path: Path) -> list[str]:
    """Return the words of the command that a study means; a wrong file is an error with its place."""
    import tomllib

    if not path.is_file():
        raise UsageError(f"the study does not exist: {path}", hint="check the path", path=path)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as error:
        raise DataError(f"the study must be TOML, got: {error}", path=path, hint="see docs/studies.md") from error
    options = _options(table, path)
    words = _models(options.pop("models", None), path)
    for name, value in options.items():
        words += _option(name, value, path)
    return words


def _options(table: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the options of a study by the names of the command line; unknown ones are an error."""
    options: dict[str, Any] = {}
    known = ("models", *WORDS, *LISTS, *VALUES, *FLAGS)
    for name, value in table.items():
        own = {name: value} if name not in GROUPS else value
        if not isinstance(own, dict):
            raise DataError.invalid(f"[{name}]", expected="a table", found=value, path=path, field=name)
        for key, content in own.items():
            key = ALIASES.get(str(key), str(key))
            if key not in known or (name in GROUPS and key not in GROUPS[name]):
                hint = f"known: {', '.join([*known, *GROUPS])}"
                raise UnknownName("field of a study", key, [*known, *GROUPS], hint=f"{path}: {hint}", option=key)
            options[key] = content
    return options


def _models(models: Any, path: Path) -> list[str]:
    """Return the models: a list of names, or names of one's own for them."""
    if models is not None and not isinstance(models, dict | list):
        expected = "a list of names, or a table of them"
        raise DataError.invalid("models", expected=expected, found=models, path=path, field="models")
    pairs = list(models.items()) if isinstance(models, dict) else [("", model) for model in models or []]
    words = []
    for label, model in pairs:
        if not isinstance(model, str) or not model:
            raise DataError.invalid(
                f"the model {label}".strip(), expected="a name such as bm25", found=model, path=path, field="models"
            )
        words.append(f"{label}={model}" if label else model)
    return words


def _option(name: str, value: Any, path: Path) -> list[str]:
    flag = f"--{name.replace('_', '-')}"
    if name in FLAGS:
        if not isinstance(value, bool):
            raise DataError.invalid(name, expected="true or false", found=value, path=path, field=name)
        return [flag] if value else []
    items = value if isinstance(value, list) else [value]
    if not items or any(isinstance(item, dict | list | bool) for item in items):
        raise DataError.invalid(name, expected="a value or a list of values", found=value, path=path, field=name)
    texts = [str(item) for item in items]
    if name == "tasks":
        texts = [_beside(text, path) for text in texts]
    if name in WORDS:
        return [flag, *texts]
    if len(texts) > 1 and name not in LISTS:
        raise DataError.invalid(name, expected="one value", found=value, path=path, field=name)
    return [flag, ",".join(texts)]


def _beside(text: str, path: Path) -> str:
    """Return a path of data relative to the study, if there is one."""
    from steelyard.datasets.references import path_exists

    candidate = str(path.parent / text)
    return candidate if not path_exists(text) and path_exists(candidate) else text


def study_text(arguments: argparse.Namespace) -> str:
    """Return the study that a command means."""
    names = [*arguments.models, *arguments.model]
    lines = [
        f"{name} = {_toml(value)}" for name in (*WORDS, *LISTS, *VALUES, *FLAGS) if (value := _given(arguments, name))
    ]
    labelled = [(name.partition("=")[0], name.partition("=")[2]) for name in names if _has_label(name)]
    if names and len(labelled) == len(names):
        lines += ["", "[models]", *(f"{_toml(label)} = {_toml(model)}" for label, model in labelled)]
    elif names:
        lines.insert(0, f"models = {_toml(names)}")
    return "\n".join([*lines, ""])


def _has_label(name: str) -> bool:
    from steelyard.spec import LABEL

    return LABEL.fullmatch(name) is not None


def _given(arguments: argparse.Namespace, name: str) -> Any:
    value = getattr(arguments, "output" if name == "results" else name, None)
    defaults = {"overwrite_strategy": "only-missing", "cost_samples": 100, "executor": "local"}
    return None if value == defaults.get(name) else str(value) if isinstance(value, Path) else value


def _toml(value: Any) -> str:
    """Return a value as TOML; JSON is the same for texts, numbers, flags and lists of them."""
    import json

    return json.dumps(value, ensure_ascii=False)
