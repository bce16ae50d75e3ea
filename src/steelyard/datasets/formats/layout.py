"""Which files make up which task, by their names alone: the same for folders and for hubs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from steelyard.datasets.formats import beir
from steelyard.datasets.formats.nano import discovery as nano
from steelyard.datasets.formats.task_files import TaskFiles


def find_tasks(names: Iterable[str]) -> dict[str, TaskFiles]:
    """Return the tasks in a list of files, by name: those of a Nano-set, else those of a BEIR folder.

    >>> list(find_tasks(["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"]))
    ['test']
    """
    listed = sorted(names)
    return nano.find(listed) or beir.find(listed)


def default_tasks(tasks: Mapping[str, TaskFiles]) -> list[str]:
    """Return the tasks that a set means when none is named: all of a Nano-set; `test` if all splits share a corpus."""
    corpora = {files.corpus for files in tasks.values()}
    separate = len(corpora) > 1 and all("/" in corpus[0] for corpus in corpora)
    split = None if separate else beir.default_split(tasks)
    return list(tasks) if split is None else [split]
