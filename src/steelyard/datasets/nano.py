"""The layout of published Nano-sets: a folder a table, a Parquet file a task, in shards where it is large.

    corpus/{task}.parquet            _id, text[, title]
    queries/{task}.parquet           _id, text
    qrels/{task}.parquet             query-id, corpus-id[, score]       no score: 1
    {candidates}/{task}.parquet      query-id, corpus-ids               ranked, best first

Shards are named as the `datasets` library names them (`corpus/{task}-00000-of-00002.parquet`), with or without a
folder `data/` above, or `corpus/{task}/0000.parquet`. A folder with one file (mteb's `corpus/corpus.parquet`)
serves every task.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from steelyard.datasets.layout import TaskFiles
from steelyard.errors import DataError

FILE = re.compile(
    r"(?:data/)?(?P<config>[^/]+)/(?P<split>[^/]+?)"
    r"(?:-(?P<shard>\d{5})-of-(?P<shards>\d{5})(?:-[0-9a-f]{16,})?|/(?P<part>\d{4,}))?\.parquet"
)
TABLES = ("corpus", "queries", "qrels")
NOT_CANDIDATES = {"default", "instruction", "instructions", "metadata", "top_ranked_instructions"}
"""Folders of published sets that hold no candidate lists."""


def find(names: Iterable[str]) -> dict[str, TaskFiles]:
    """The tasks of a set in this layout, by name.

    >>> found = find(["corpus/ja.parquet", "queries/ja.parquet", "qrels/ja.parquet", "bm25/ja.parquet"])
    >>> found["ja"].corpus, found["ja"].candidates
    (('corpus/ja.parquet',), {'bm25': ('bm25/ja.parquet',)})
    """
    configs = _configs(names)
    if any(table not in configs for table in TABLES):
        return {}
    return {task: _files(configs, task) for task in configs["qrels"] if not _lacking(configs, task)}


def incomplete(names: Iterable[str]) -> dict[str, list[str]]:
    """The tasks of a set that lack a table, and which: judged without documents or queries, or never judged.

    >>> incomplete(f"{table}/{task}.parquet" for table in TABLES for task in "ab" if (table, task) != ("qrels", "b"))
    {'b': ['qrels']}
    """
    configs = _configs(names)
    if any(table not in configs for table in TABLES):
        return {}
    meant = [*configs["qrels"], *(task for task in configs["corpus"] if task in configs["queries"])]
    found = {task: _lacking(configs, task) for task in meant}
    return {task: tables for task, tables in found.items() if tables}


def _configs(names: Iterable[str]) -> dict[str, dict[str, list[str]]]:
    """The files by folder and split."""
    configs: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    counts: dict[tuple[str, str], int] = {}
    for name in sorted(names):
        if match := FILE.fullmatch(name):
            config, split = match["config"], match["split"]
            configs[config][split].append(name)
            if match["shards"]:
                counts[config, split] = int(match["shards"])
    # mteb's older repositories keep the judgements in the default configuration.
    if "qrels" not in configs and "default" in configs:
        configs["qrels"] = configs.pop("default")
        counts |= {("qrels", split): n for (config, split), n in counts.items() if config == "default"}
    if all(table in configs for table in TABLES):
        _complete(configs, counts)
    return configs


def _lacking(configs: dict[str, dict[str, list[str]]], task: str) -> list[str]:
    """The tables that there are not for a task; judgements are never those of another."""
    judged = [] if task in configs["qrels"] else ["qrels"]
    return [table for table in TABLES[:-1] if not _pick(configs[table], task)] + judged


def _pick(splits: dict[str, list[str]], task: str) -> tuple[str, ...]:
    """The split of the task, or the only one there is."""
    if task in splits:
        return tuple(splits[task])
    return tuple(next(iter(splits.values()))) if len(splits) == 1 else ()


def _files(configs: dict[str, dict[str, list[str]]], task: str) -> TaskFiles:
    others = [name for name in configs if name not in TABLES and name not in NOT_CANDIDATES]
    return TaskFiles(
        _pick(configs["corpus"], task),
        _pick(configs["queries"], task),
        _pick(configs["qrels"], task),
        {name: tuple(configs[name][task]) for name in others if task in configs[name]},
    )


def _complete(configs: dict[str, dict[str, list[str]]], counts: dict[tuple[str, str], int]) -> None:
    """A table in shards has all of them."""
    for (config, split), expected in counts.items():
        found = configs[config][split] if config in configs else []
        if found and len(found) != expected:
            raise DataError(
                f"{len(found)} of {expected} shards",
                where=f"{config}/{split}",
                hint="fetch the missing files, or remove a leftover of an earlier version",
            )
