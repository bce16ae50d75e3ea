"""Write evaluation sets without their contaminated queries or samples, in a format that Steelyard reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.datasets import write_nano_set
from steelyard.engine.limit import with_queries
from steelyard.errors import DataError
from steelyard.files import write_atomic
from steelyard.types import Int64, Task
from steelyard.types.samples import AnyTask, ClusterTask, LabelTask, PairTask, SampleTask, SummaryTask


def drop(tasks: Sequence[AnyTask], contaminated: Mapping[str, Iterable[str]], folder: str | Path) -> dict[str, str]:
    """Write the tasks into a folder without the contaminated items; return the reference of each, to load it by.

    Retrieval tasks become one Nano-set with their whole corpora; each other task becomes a folder of JSON Lines.
    """
    folder = Path(folder)
    rest = {task.name: without(task, contaminated.get(task.name, ())) for task in tasks}
    searched = [task for task in rest.values() if isinstance(task, Task)]
    references: dict[str, str] = {}
    if searched:
        home = folder / "retrieval" if len(searched) < len(rest) else folder
        write_nano_set(
            home, searched, title=home.name, description="Without queries that an audit found in training data."
        )
        references |= {task.name: f"{home}::{task.info.task}" for task in searched}
    for name, task in rest.items():
        if not isinstance(task, Task):
            references[name] = f"{task.info.type}:{_write_samples(folder / task.info.task, task)}"
    return references


def without(task: AnyTask, ids: Iterable[str]) -> AnyTask:
    """Return the task without these queries, or without the samples in these rows.

    >>> task = Task.of("X/a", {"d": "text"}, {"q1": "one", "q2": "two"}, {"q1": ["d"], "q2": ["d"]})
    >>> without(task, ["q1"]).queries.ids
    ('q2',)
    """
    gone = frozenset(ids)
    names = task.queries.ids if isinstance(task, Task) else [str(row) for row in range(len(task))]
    keep: Int64 = np.array([row for row, name in enumerate(names) if name not in gone], dtype=np.int64)
    if not len(keep):
        raise DataError(
            f"at least one query must be free of leakage, got 0 of {len(names):,}",
            where=task.name,
            hint="leave out this task, or use another evaluation set",
        )
    if isinstance(task, Task):
        return with_queries(task, keep)
    if isinstance(task, PairTask):
        return replace(task, first=_pick(task.first, keep), second=_pick(task.second, keep), gold=task.gold[keep])
    if isinstance(task, LabelTask):
        return replace(task, texts=_pick(task.texts, keep), labels=_pick(task.labels, keep))
    if isinstance(task, SummaryTask):
        human, machine, gold = (_pick(column, keep) for column in (task.human, task.machine, task.gold))
        return replace(task, human=human, machine=machine, gold=gold)
    return _without_texts(task, keep)


def _without_texts(task: ClusterTask, keep: Int64) -> ClusterTask:
    problems, start = [], 0
    for problem in task.problems:
        rows = keep[(keep >= start) & (keep < start + len(problem))] - start
        start += len(problem)
        if len(rows):
            problems.append(replace(problem, texts=_pick(problem.texts, rows), labels=_pick(problem.labels, rows)))
    return replace(task, problems=tuple(problems))


def _pick(values: Sequence[Any], rows: Int64) -> tuple[Any, ...]:
    return tuple(values[row] for row in rows.tolist())


def _write_samples(folder: Path, task: SampleTask) -> Path:
    if isinstance(task, PairTask):
        name = "score" if task.info.type == "sts" else "label"
        gold = task.gold.tolist() if task.info.type == "sts" else [int(value) for value in task.gold.tolist()]
        rows = zip(task.first, task.second, gold, strict=True)
        _write(folder / "test.jsonl", ({"sentence1": one, "sentence2": two, name: value} for one, two, value in rows))
    elif isinstance(task, LabelTask):
        train = zip(task.train_texts, task.train_labels, strict=True)
        test = zip(task.texts, task.labels, strict=True)
        _write(folder / "train.jsonl", ({"text": text, "label": label} for text, label in train))
        _write(folder / "test.jsonl", ({"text": text, "label": label} for text, label in test))
    elif isinstance(task, SummaryTask):
        names = ("human_summaries", "machine_summaries", "relevance")
        columns = zip(task.human, task.machine, task.gold, strict=True)
        _write(folder / "test.jsonl", (dict(zip(names, map(list, row), strict=True)) for row in columns))
    elif len(task.problems) == 1:
        labelled = zip(task.problems[0].texts, task.problems[0].labels, strict=True)
        _write(folder / "test.jsonl", ({"text": text, "label": _label(levels)} for text, levels in labelled))
    else:
        problems = ((problem.texts, [_label(levels) for levels in problem.labels]) for problem in task.problems)
        _write(folder / "test.jsonl", ({"sentences": list(texts), "labels": labels} for texts, labels in problems))
    return folder


def _label(levels: Sequence[Any]) -> Any:
    """Return one label as such, several levels as a list."""
    return levels[0] if len(levels) == 1 else list(levels)


def _write(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    lines = (json.dumps(record, ensure_ascii=False) for record in records)
    write_atomic(path, "".join(f"{line}\n" for line in lines).encode(errors="replace"))
