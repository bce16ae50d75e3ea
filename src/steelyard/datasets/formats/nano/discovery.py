"""The layout of published Nano-sets: one folder per table, one Parquet file per task, in shards if large.

    corpus/{task}.parquet            _id, text[, title]
    queries/{task}.parquet           _id, text
    qrels/{task}.parquet             query-id, corpus-id[, score]       no score: 1
    {candidates}/{task}.parquet      query-id, corpus-ids               ranked, best first

Shards are named as the `datasets` library names them (`corpus/{task}-00000-of-00002.parquet`), with or without a
folder `data/` above, or `corpus/{task}/0000.parquet`. A folder with one file (mteb's `corpus/corpus.parquet`) is used
for every task.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from steelyard.datasets.formats.task_files import TaskFiles
from steelyard.datasets.tables.files import missing_shards
from steelyard.errors import DataError

FILE = re.compile(
    r"(?:data/)?(?P<config>[^/]+)/(?P<split>[^/]+?)"
    r"(?:(?:-\d{5}-of-\d{5}(?:-[0-9a-f]{16,})?|/\d{4,})?\.parquet|/(?:data-\d{5}-of-\d{5}|dataset)\.arrow)"
)
TABLES = ("corpus", "queries", "qrels")
NOT_CANDIDATES = {"default", "instruction", "instructions", "metadata", "top_ranked_instructions"}
"""Folders of published sets without candidate lists."""


def find(names: Iterable[str]) -> dict[str, TaskFiles]:
    """Return the tasks of a set in this layout, by name.

    >>> found = find(["corpus/ja.parquet", "queries/ja.parquet", "qrels/ja.parquet", "bm25/ja.parquet"])
    >>> found["ja"].corpus, found["ja"].candidates
    (('corpus/ja.parquet',), {'bm25': ('bm25/ja.parquet',)})
    """
    configs = _configs(names)
    if any(table not in configs for table in TABLES):
        return {}
    return {task: _files(configs, task) for task in configs["qrels"] if not _lacking(configs, task)}


def incomplete(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the tasks of a set that lack a table or a shard, with the missing files.

    >>> incomplete(f"{table}/{task}.parquet" for table in TABLES for task in "ab" if (table, task) != ("qrels", "b"))
    {'b': ['qrels/b.parquet']}
    >>> incomplete(["corpus/a-00001-of-00002.parquet", "queries/a.parquet", "qrels/a.parquet"])
    {'a': ['corpus/a-00000-of-00002.parquet']}
    """
    configs = _configs(names)
    if any(table not in configs for table in TABLES):
        return {}
    tasks = [*configs["qrels"], *(task for task in configs["corpus"] if task in configs["queries"])]
    missing = {task: _lacking(configs, task) for task in tasks}
    return {task: files for task, files in missing.items() if files}


def missing_files(where: str, task: str, files: Iterable[str]) -> DataError:
    """Return the error for a task that lacks files."""
    names = list(files)
    hint = "add the file; if there are two versions of a table, remove the older one"
    message = f"the task {task!r} lacks {', '.join(names)}"
    return DataError(message, where=where, path=names[0] if names else where, hint=hint)


def _configs(names: Iterable[str]) -> dict[str, dict[str, list[str]]]:
    """Return the files by folder and split."""
    configs: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name in sorted(names):
        if match := FILE.fullmatch(name):
            configs[match["config"]][match["split"]].append(name)
    # mteb's older repositories keep the judgements in the default configuration.
    if "qrels" not in configs and "default" in configs:
        configs["qrels"] = configs.pop("default")
    return configs


def _lacking(configs: dict[str, dict[str, list[str]]], task: str) -> list[str]:
    """Return the missing files of a task; judgements are never shared between tasks."""
    files = _files(configs, task)
    present = {"corpus": files.corpus, "queries": files.queries, "qrels": tuple(configs["qrels"].get(task, ()))}
    tables = [f"{table}/{task}.parquet" for table in TABLES if not present[table]]
    return tables + [
        shard for names in (*present.values(), *files.candidates.values()) for shard in missing_shards(names)
    ]


def _pick(splits: dict[str, list[str]], task: str) -> tuple[str, ...]:
    """Return the split of the task, or the only one."""
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
