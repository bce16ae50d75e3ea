"""How tasks are written: types, prefixes, and the parts of a reference. Nothing here reads a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote

from steelyard.errors import HubError, UnknownName, UsageError
from steelyard.files import with_home
from steelyard.types.task_info import MTEB_TYPES

TYPES = tuple(MTEB_TYPES)
"""Every type of task that can be loaded and evaluated."""

HUB_PREFIXES = ("hf://", "modelscope://")

PREFIXES = {
    "hf://": "huggingface",
    "modelscope://": "modelscope",
    "ir_datasets:": "ir_datasets",
    "irds:": "ir_datasets",
    "mteb:": "mteb",
    "clicks:": "clicks",
    **dict.fromkeys((f"{type}:" for type in TYPES), "samples"),
}
"""Prefixes of references that name their source, so that no other source is tried (or imported)."""


def task_type(word: str) -> str:
    """Return the type of a word as mteb and EvalScope write it, or as we do.

    >>> task_type("PairClassification"), task_type("STS"), task_type("pair_classification")
    ('pair_classification', 'sts', 'pair_classification')
    """
    plain = word.replace("_", "").replace("-", "").lower()
    for known in TYPES:
        if plain == known.replace("_", ""):
            return known
    raise UnknownName("type of task", word, TYPES, hint=f"known: {', '.join(TYPES)}")


@dataclass(frozen=True)
class TypedReference:
    """A reference with a task type, in its parts.

    >>> TypedReference.parse("sts:./pairs.csv::dev?max_score=5")
    TypedReference(type='sts', path='./pairs.csv', split='dev', options={'max_score': '5'})
    """

    type: str
    path: str
    split: str
    options: Mapping[str, str]

    @classmethod
    def parse(cls, text: str) -> TypedReference:
        """Return type, path, split and options of `type:path::split?option=value`."""
        type, _, rest = text.partition(":")
        if type not in TYPES:
            raise UnknownName("task type", type, TYPES, hint=f"use one of {', '.join(TYPES)}")
        rest, _, query = rest.partition("?")
        path, _, split = rest.partition("::")
        return cls(type, path, split, dict(parse_qsl(query, keep_blank_values=True)))

    def __str__(self) -> str:
        query = "&".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.type}:{self.path}{'::' if self.split else ''}{self.split}{'?' if query else ''}{query}"


def has_type(reference: str) -> bool:
    """Return whether a reference begins with a task type.

    >>> has_type("sts:./pairs.csv"), has_type("./pairs.csv")
    (True, False)
    """
    return reference.startswith(tuple(f"{type}:" for type in TYPES))


def parse_hub_reference(reference: str, prefix: str) -> tuple[str, str, str | None]:
    """Return repository, task ('' for none) and revision of `hf://owner/dataset/task@revision`.

    >>> parse_hub_reference("hf://mteb/scifact/test@main", "hf://")
    ('mteb/scifact', 'test', 'main')
    """
    path, _, revision = reference.removeprefix(prefix).strip("/").partition("@")
    owner, _, rest = path.partition("/")
    dataset, _, task = rest.partition("/")
    if not (owner and dataset):  # not every client refuses such a name before it asks the hub for it
        raise HubError.invalid(
            "the name of a hub dataset",
            expected="owner/dataset",
            found=path,
            hint=f"write {prefix}owner/dataset[/task][@revision]",
        )
    return f"{owner}/{dataset}", task, revision or None


def looks_like_path(reference: str) -> bool:
    """Return whether a reference can only be a path: names of tasks have no comma, `::`, leading dot or tilde.

    >>> looks_like_path("./folder"), looks_like_path("a.csv,b.csv"), looks_like_path("NanoAlmanac/en")
    (True, True, False)
    """
    return "," in reference or "::" in reference or reference.startswith((".", "~")) or Path(reference).is_absolute()


def split_columns(text: str) -> tuple[str, dict[str, str]]:
    """Return the path of `corpus.csv?id=chunk_uuid&text=chunk_words`, and the columns by field.

    A file whose own name has a question mark is used unchanged.

    >>> split_columns("corpus.csv?id=chunk_uuid&text=chunk%20words")
    ('corpus.csv', {'id': 'chunk_uuid', 'text': 'chunk words'})
    """
    path, mark, query = text.partition("?")
    if not mark or "=" not in query or path_exists(text):
        return text, {}
    return path, dict(parse_qsl(query, keep_blank_values=True))


Columns = Mapping[str, str] | Mapping[str, Mapping[str, str]]
"""The names of columns by field, of a single table or of each table of several."""


def with_columns(reference: str, columns: Columns) -> str:
    """Return the reference of files with the names of their columns.

    >>> with_columns("faq.csv", {"question": "q", "context": "the answer"})
    'faq.csv?question=q&context=the%20answer'
    >>> with_columns("docs.csv,asked.csv", {"corpus": {"id": "key"}})
    'docs.csv?id=key,asked.csv'
    """
    files = reference.split(",")
    tables = ("corpus", "queries", "qrels", "candidates")
    for name, value in columns.items():
        names = value if isinstance(value, Mapping) else {name: value}
        place = tables.index(name) if isinstance(value, Mapping) and name in tables else 0
        if (isinstance(value, str) and len(files) > 1) or place >= len(files):
            expected = f"by table ({', '.join(tables[: len(files)])})"
            raise UsageError.invalid("columns", expected=expected, found=dict(columns), option="columns")
        mark = "&" if "?" in files[place] else "?"
        files[place] += mark + "&".join(f"{field}={quote(column, safe='')}" for field, column in names.items())
    return ",".join(files)


def names_file(text: str) -> bool:
    """Return whether a reference is a file or folder that exists, or several of them, with or without columns."""
    return all(path_exists(split_columns(part.strip())[0]) for part in text.partition("::")[0].split(","))


def local_path(text: str) -> Path:
    r"""Return the path that a text names, with `~` expanded; a UsageError if no file can have that name.

    >>> local_path("corpus\0.jsonl")
    Traceback (most recent call last):
    steelyard.errors.UsageError: a path must be free of NUL characters, got 'corpus\x00.jsonl' (check the path)
    """
    if "\0" in text:
        raise UsageError.invalid("a path", expected="free of NUL characters", found=text, hint="check the path")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise UsageError.invalid(
            "a path", expected="valid Unicode", found=ascii(text), hint="rename the file"
        ) from None
    return with_home(text)


def path_exists(text: str) -> bool:
    """Return whether a file or folder of that name exists; a name that no file can have does not exist.

    >>> path_exists("."), path_exists("x" * 5000)
    (True, False)
    """
    try:
        return local_path(text).exists()
    except (OSError, ValueError, UsageError):
        return False
