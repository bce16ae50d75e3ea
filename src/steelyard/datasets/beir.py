"""The layout of BEIR and of one's own files: a file a table, judgements of several splits in a folder.

    corpus.jsonl       _id, text[, title]       also documents, docs, collection, passages
    queries.jsonl      _id, text                also query, questions, topics
    qrels/{split}.tsv  query-id, corpus-id, score     or one file qrels.tsv
    candidates.tsv     query-id, corpus-id      optional; one a line, best first, or lists

Any of the formats of `tabular` will do for each. A split is a task; a single `qrels` file makes a task without a
name of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from steelyard.datasets.files import format_of, plain_name
from steelyard.datasets.layout import TaskFiles

CORPUS = ("corpus", "documents", "docs", "collection", "passages")
QUERIES = ("queries", "query", "questions", "topics")
QRELS = ("qrels", "judgements", "judgments", "relevance")
CANDIDATES = ("candidates", "top_ranked")
KNOWN = {*CORPUS, *QUERIES, *QRELS, *CANDIDATES}
TREC_SUFFIXES = ("", ".trec", ".sgml", ".xml", ".qrels", ".topics")
"""A TREC file (`topics`, `qrels.trec`) is known by what is in it; its name need only say what it is."""


def find(names: Iterable[str]) -> dict[str, TaskFiles]:
    """The tasks of a folder in this layout: by split, or under '' where there is but one.

    >>> list(find(["corpus.jsonl.gz", "queries.jsonl", "qrels/dev.tsv", "qrels/test.tsv"]))
    ['dev', 'test']
    """
    flat: dict[str, str] = {}
    splits: dict[str, str] = {}
    for name in sorted(names):
        path = PurePosixPath(name)
        stem = plain_name(path.name).split(".", 1)[0].lower()
        if format_of(name) is None and not (path.suffix.lower() in TREC_SUFFIXES and stem in KNOWN):
            continue
        if len(path.parts) == 1:
            flat.setdefault(stem, name)
        elif len(path.parts) == 2 and path.parts[0].lower() in QRELS:
            splits[plain_name(path.name).rsplit(".", 1)[0]] = name
    corpus, queries, qrels = (_first(flat, stems) for stems in (CORPUS, QUERIES, QRELS))
    if corpus is None or queries is None:
        return {}
    if not splits and qrels is not None:
        splits = {"": qrels}
    lists = {stem: (flat[stem],) for stem in CANDIDATES if stem in flat}
    return {split: TaskFiles((corpus,), (queries,), (file,), lists) for split, file in splits.items()}


def default_split(splits: Iterable[str]) -> str | None:
    """The split that a folder stands for when none is named: `test`, else the only one.

    >>> default_split(["dev", "test"]), default_split(["dev", "train"])
    ('test', None)
    """
    listed = list(splits)
    return "test" if "test" in listed else listed[0] if len(listed) == 1 else None


def _first(flat: dict[str, str], stems: tuple[str, ...]) -> str | None:
    return next((flat[stem] for stem in stems if stem in flat), None)
