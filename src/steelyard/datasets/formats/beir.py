"""The layout of BEIR and of your own files: one file per table, judgements of several splits in a folder.

    corpus.jsonl       _id, text[, title]       also documents, docs, collection, passages
    queries.jsonl      _id, text                also query, questions, topics
    qrels/{split}.tsv  query-id, corpus-id, score     or one file qrels.tsv
    candidates.tsv     query-id, corpus-id      optional; one per line, best first, or lists

Each may have any format of `tabular`. A split is a task; a single `qrels` file is a task without a name. Splits may
also be part of the names, as in MS MARCO: `qrels.dev.tsv` and `queries.dev.tsv`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import NamedTuple

from steelyard.datasets.formats.task_files import TaskFiles
from steelyard.datasets.tables.files import format_of, plain_name

CORPUS = ("corpus", "documents", "docs", "collection", "passages")
QUERIES = ("queries", "query", "questions", "topics")
QRELS = ("qrels", "judgements", "judgments", "relevance")
CANDIDATES = ("candidates", "top_ranked", "qrel_diff")
TREC_SUFFIXES = ("", ".trec", ".sgml", ".xml", ".qrels", ".topics", ".run")
"""Suffixes of TREC files (`topics`, `qrels.trec`), whose format is detected by their content."""
ORDER = {stem: place for place, stem in enumerate((*CORPUS, *QUERIES, *QRELS, *CANDIDATES))}
"""The order of preference of names for the same table."""


class Part(NamedTuple):
    """A file of a folder: its table, and its split ('' if the name has none)."""

    name: str
    stem: str
    split: str


def find(names: Iterable[str]) -> dict[str, TaskFiles]:
    """Return the tasks of a folder in this layout: by split, or under '' if there is only one.

    >>> list(find(["corpus.jsonl.gz", "queries.jsonl", "qrels/dev.tsv", "qrels/test.tsv"]))
    ['dev', 'test']
    >>> find(["collection.tsv", "queries.dev.tsv", "queries.train.tsv", "qrels.dev.tsv"])[""].queries
    ('queries.dev.tsv',)
    """
    flat, inside = [], []
    for name in sorted(names):
        path = PurePosixPath(name)
        part = Part(name, *_stem_and_split(path.name))
        if format_of(name) is None and not (path.suffix.lower() in TREC_SUFFIXES and part.stem in ORDER):
            continue
        if len(path.parts) == 1:
            flat.append(part)
        elif len(path.parts) == 2 and path.parts[0].lower() in QRELS:
            inside.append(Part(name, "qrels", plain_name(path.name).rsplit(".", 1)[0]))
    judged = inside or [part for part in flat if part.stem in QRELS]
    splits = list(dict.fromkeys(part.split for part in judged))
    tasks = {}
    for split in splits:
        chosen = {
            role: _choose([part for part in (judged if role == QRELS else flat) if part.stem in role], split)
            for role in (CORPUS, QUERIES, QRELS, *((stem,) for stem in CANDIDATES))
        }
        files = {role: (names[0],) for role, names in chosen.items() if names}
        if CORPUS in files and QUERIES in files:
            lists = {stem: files[stem,] for stem in CANDIDATES if (stem,) in files}
            aside = tuple((names[0], other) for names in chosen.values() for other in names[1:])
            name = split if inside or len(splits) > 1 else ""
            tasks[name] = TaskFiles(files[CORPUS], files[QUERIES], files[QRELS], lists, aside)
    return tasks


def default_split(splits: Iterable[str]) -> str | None:
    """Return the split that a folder means when none is named: `test`, else the only one.

    >>> default_split(["dev", "test"]), default_split(["dev", "train"])
    ('test', None)
    """
    listed = list(splits)
    return "test" if "test" in listed else listed[0] if len(listed) == 1 else None


def _stem_and_split(file: str) -> tuple[str, str]:
    """Return the table and the split of a file, as MS MARCO names its files.

    >>> _stem_and_split("qrels.dev.small.tsv"), _stem_and_split("Corpus.jsonl.gz"), _stem_and_split("topics")
    (('qrels', 'dev.small'), ('corpus', ''), ('topics', ''))
    """
    stem, *rest = plain_name(file).split(".")
    return stem.lower(), ".".join(rest[:-1])


def _choose(parts: list[Part], split: str) -> list[str]:
    """Return the file of the split, or of all splits, or any; then the other candidates."""
    for own in (split, ""):
        if fitting := [part for part in parts if part.split == own]:
            break
    else:
        fitting = parts
    return [part.name for part in sorted(fitting, key=lambda part: ORDER[part.stem])]
