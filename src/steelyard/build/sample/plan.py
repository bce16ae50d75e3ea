"""What a new set is made of: sources, names, recipes and facts of its tasks, from arguments or from `set.yaml`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, cast, get_args

from steelyard.build.sample.recipe import Copies, Order, Recipe, Shares
from steelyard.datasets.formats import sidecar
from steelyard.datasets.formats.task_metadata import refuse_unknown_keys
from steelyard.datasets.references import looks_like_path, path_exists
from steelyard.errors import DataError, UsageError

SUFFIXES = (".yaml", ".yml")
OPTION_NAMES = {"docs": "documents", "guard": "guard_similarity"}
"""Names of options on the command line that differ from those of `Recipe`."""
NAMED = re.compile(r"([\w.-]+)=(.+)", re.DOTALL)


@dataclass(frozen=True)
class PlannedTask:
    """One source of a set; it may mean several tasks if it has no name."""

    source: str
    name: str = ""
    """The name in the set; empty: that of the source."""
    recipe: Recipe | None = None
    """None: that of the set."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Facts and metadata that replace those of the source."""


@dataclass(frozen=True)
class SetPlan:
    """A set to sample."""

    tasks: tuple[PlannedTask, ...]
    title: str = ""
    description: str = ""
    """The first paragraph of a new card."""
    licence: str = ""
    """The licence of all tasks; empty: that of each source."""

    @classmethod
    def of(cls, sources: str | Sequence[str] | SetPlan, recipe: Recipe | None = None) -> SetPlan:
        """Return the plan of one or several sources, each with an optional name: `news=./news`.

        >>> [(task.name, task.source) for task in SetPlan.of(["./a", "news=hf://me/news"]).tasks]
        [('', './a'), ('news', 'hf://me/news')]
        """
        if isinstance(sources, SetPlan):
            return sources
        listed = [sources] if isinstance(sources, str) else list(sources)
        files = [source for source in listed if source.endswith(SUFFIXES)]
        if files and len(listed) > 1:
            raise UsageError(
                f"{files[0]} must be the only source, got {len(listed)} sources",
                hint="list every source under `tasks` of that file",
                found=len(listed),
            )
        return read_set_file(Path(files[0]), recipe) if files else cls(tuple(_named(source) for source in listed))


def _named(text: str) -> PlannedTask:
    match = NAMED.fullmatch(text)
    if match is None or path_exists(text) or looks_like_path(match[1]):
        return PlannedTask(text)
    return PlannedTask(match[2], match[1])


def read_set_file(path: Path, recipe: Recipe | None = None) -> SetPlan:
    """Return the plan in a `set.yaml`; `recipe` has the options that it does not set. Errors are DataErrors.

    Paths of sources are relative to the file.
    """
    content = sidecar.read_set_file(path)
    tasks = content["tasks"]
    base = _recipe(content.get("options"), recipe or Recipe(), path, "options")
    texts = {key: _text(content.get(key), key, path) for key in ("title", "description", "licence", "license")}
    return SetPlan(
        tuple(_task(str(name), facts, base, path) for name, facts in tasks.items()),
        texts["title"],
        texts["description"],
        texts["licence"] or texts["license"],
    )


def _task(name: str, facts: Any, base: Recipe, path: Path) -> PlannedTask:
    where = f"tasks.{name}"
    if not re.fullmatch(r"[\w.-]+", name):
        expected = "letters, digits, '_', '-' and '.'"
        raise DataError.invalid("the name of a task", expected=expected, found=name, path=path, field=where)
    if isinstance(facts, str):
        facts = {"source": facts}
    if not isinstance(facts, dict):
        raise DataError.invalid(where, expected="an object with a source", found=facts, path=path, field=where)
    source = _text(facts.get("source"), f"{where}.source", path)
    if not source:
        raise DataError.invalid(
            f"{where}.source", expected="a name or a path", found=source, path=path, field=f"{where}.source"
        )
    own = {key: value for key, value in facts.items() if key not in ("source", "options")}
    return PlannedTask(_located(source, path.parent), name, _recipe(facts.get("options"), base, path, where), own)


def _located(source: str, folder: Path) -> str:
    """Return a source whose path is relative to the folder of the file."""
    parts = [part.strip() for part in source.split(",")]
    inside = [folder / part.partition("::")[0] for part in parts]
    if all(part.startswith((".", "~")) or path_exists(str(place)) for part, place in zip(parts, inside, strict=True)):
        return ",".join(part if part.startswith("~") else str(folder / part) for part in parts)
    return source


def _text(value: Any, key: str, path: Path) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise DataError.invalid(key, expected="a text", found=value, path=path, field=key)
    return value.strip()


def _recipe(options: Any, base: Recipe, path: Path, where: str) -> Recipe:
    """Return the recipe with these options, which have the names of the command line (`max_positives`)."""
    if options is None:
        return base
    if not isinstance(options, dict):
        raise DataError.invalid(f"options of {where}", expected="an object", found=options, path=path, field=where)
    values = {str(key).replace("-", "_"): value for key, value in options.items()}
    known = {OPTION_NAMES_BACK.get(one.name, one.name): one for one in fields(Recipe)}
    refuse_unknown_keys(values, (*known, "recipe"), f"options of {where}", path)
    style = values.pop("recipe", None)
    if style not in (None, "default", "hakari"):
        raise DataError.invalid("recipe", expected="default or hakari", found=style, path=path, field="recipe")
    if style == "hakari":
        base = Recipe.hakari(queries=base.queries, documents=base.documents)
    changed: dict[str, Any] = {}
    for key, value in values.items():
        kinds, expected = OPTION_TYPES[str(known[key].type)]
        value = [value] if key == "mine" and isinstance(value, str) else value
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise DataError.invalid(f"{key} of {where}", expected=expected, found=value, path=path, field=key)
        if key in CHOICES and value not in CHOICES[key]:
            raise DataError.invalid(f"{key} of {where}", expected=expected, found=value, path=path, field=key)
        changed[known[key].name] = tuple(map(str, cast("list[Any]", value))) if key == "mine" else value
    try:
        return replace(base, **changed)
    except UsageError as error:
        raise DataError(error.message, path=path, field=where, found=error.found, expected=error.expected) from error


CHOICES = {"order": get_args(Order), "shares": get_args(Shares), "copies": get_args(Copies)}
OPTION_NAMES_BACK = {own: option for option, own in OPTION_NAMES.items()}
OPTION_TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "int": ((int,), "a whole number"),
    "int | None": ((int, type(None)), "a whole number"),
    "float": ((int, float), "a number"),
    "float | None": ((int, float, type(None)), "a number"),
    "bool": ((bool,), "true or false"),
    "tuple[str, ...]": ((list, tuple), "a list of models"),
    "str | None": ((str, type(None)), "a text"),
    "Order": ((str,), "random or source"),
    "Shares": ((str,), "equal or proportional"),
    "Copies": ((str,), "merge or drop"),
}
"""What the fields of `Recipe` accept, by their types."""
