"""Tasks of mteb from the data that it has read: translations, several labels, summaries, changed instructions."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from steelyard.datasets.formats.mteb.tasks import DEFAULT, Part
from steelyard.datasets.tables.columns import CANDIDATES
from steelyard.datasets.tables.tabular import Table
from steelyard.errors import DataError
from steelyard.types import TaskInfo
from steelyard.types.samples import PAIR_COLUMNS, Label, LabelTask, PairTask, SummaryTask

P_MRR = "p-MRR"
OF_MTEB = "the data comes from mteb: check the task there, or give its files yourself"


def bitext(task: Any, part: Part, info: TaskInfo) -> PairTask:
    """Return a bitext task: two columns of a subset, or the columns of two languages of one table."""
    if task.parallel_subsets:
        left, _, right = part.hub_subset.partition("-")
        rows, names = task.dataset[part.split], (left, right)
    else:
        rows, names = subset_of(task, part)[part.split], PAIR_COLUMNS
    first, second = (tuple(rows[name]) for name in names)
    if len(first) != len(second):
        raise DataError.invalid(
            "the columns of translations",
            expected="of the same length",
            found=f"{len(first)} and {len(second)}",
            where=info.name,
            hint="use the .v2 of the task, or evaluate it with mteb itself",
        )
    return PairTask(info, texts_of(first, info), texts_of(second, info), np.ones(len(first)), names)


def multilabel(task: Any, part: Part, info: TaskInfo) -> LabelTask:
    """Return a task with several labels per text; a large evaluation split is sampled by mteb, as in its evaluation."""
    splits = subset_of(task, part)
    text, label = task.input_column_name, task.label_column_name
    test, largest = splits[part.split], task.max_eval_samples
    if largest is not None and len(test) > largest:
        sample = importlib.import_module("mteb.abstasks.abstask")._multilabel_subsampling
        tables = importlib.import_module("datasets").DatasetDict({part.split: test})
        test = sample(tables, seed=task.seed, splits=[part.split], label=label, n_samples=largest)[part.split]
    train = splits[task.train_split]
    return LabelTask(
        info,
        texts_of(train[text], info),
        several(train[label], info),
        texts_of(test[text], info),
        several(test[label], info),
        task.samples_per_label,
        task.n_experiments,
    )


def summaries(task: Any, part: Part, info: TaskInfo) -> SummaryTask:
    """Return a summarization task."""
    rows = subset_of(task, part)[part.split]
    human, machine = (
        tuple(texts_of(cell, info) for cell in rows[name])
        for name in (task.human_summaries_column_name, task.machine_summaries_column_name)
    )
    gold = tuple(tuple(map(float, scores)) for scores in rows[task.relevancy_column_name])
    with_p_values = task.evaluator.__name__ == "DeprecatedSummarizationEvaluator"
    return SummaryTask(info, human, machine, gold, with_p_values, (float(task.min_score), float(task.max_score)))


def changed_documents(task: Any, part: Part) -> Table | None:
    """Return the documents that the changed instruction of each query makes irrelevant; None for other tasks."""
    metadata = task.metadata
    if metadata.main_score != P_MRR:
        return None
    subset = part.hub_subset.replace("eng-", "")  # queries in English have the documents of the other language
    rows = importlib.import_module("datasets").load_dataset(
        metadata.dataset["path"],
        "qrel_diff" if subset == DEFAULT else f"qrel_diff-{subset}",
        split="qrel_diff",
        revision=metadata.dataset["revision"],
    )
    ids = pa.array([list(map(str, changed)) for changed in rows["corpus-ids"]], pa.large_list(pa.large_string()))
    queries = pa.array([f"{query}-changed" for query in rows["query-id"]], pa.large_string())
    return Table(CANDIDATES, {"query": queries, "documents": ids}, ("qrel_diff",), (0,))


def subset_of(task: Any, part: Part) -> Any:
    """Return the splits of the subset."""
    alone = part.hub_subset == DEFAULT and DEFAULT not in task.dataset
    return task.dataset if alone else task.dataset[part.hub_subset]


def several(cells: Any, info: TaskInfo) -> tuple[tuple[Label, ...], ...]:
    """Return the labels of each text."""
    return tuple(labels_of(cell if isinstance(cell, list) else [cell], info) for cell in cells)


def labels_of(labels: Sequence[Any], info: TaskInfo) -> tuple[Label, ...]:
    """Return the labels; a label that is neither an integer nor a text is a DataError."""
    for label in labels:
        if not isinstance(label, int | str):
            raise DataError.invalid(
                "a label", expected="an integer or text", found=label, where=info.name, hint=OF_MTEB
            )
    return tuple(labels)


def texts_of(texts: Sequence[Any], info: TaskInfo) -> tuple[str, ...]:
    """Return the texts; a text that is not a string is a DataError."""
    for row, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise DataError.invalid("a text", expected="a string", found=text, where=info.name, row=row, hint=OF_MTEB)
    return tuple(texts)
