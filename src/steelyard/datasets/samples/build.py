"""Build a task from its tables, by its type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow.compute as pc

from steelyard.datasets.problems import Report
from steelyard.datasets.samples.clusters import cluster_task
from steelyard.datasets.samples.constants import Constants
from steelyard.datasets.samples.labels import label_task, multilabel_task, rows_of_split
from steelyard.datasets.samples.pairs import bitext_task, pair_task
from steelyard.datasets.samples.rows import reranking_task
from steelyard.datasets.samples.splits import evaluation_split, matching_split
from steelyard.datasets.samples.summaries import summary_task
from steelyard.datasets.tables.tabular import Table
from steelyard.types import TaskInfo
from steelyard.types.samples import AnyTask

TRAIN = "train"


def build(
    tables: Mapping[str, Table], split: str, info: TaskInfo, constants: Constants, report: Report
) -> AnyTask | None:
    """Return the task of a split of the tables.

    A table under `''` is the only one; it may have a column of splits, of which `split`, or the default, is used.
    """
    if "" in tables:
        tables, chosen = divided(tables[""], split)
        if chosen is None:
            known = ", ".join(tables) or "none"
            report.add(
                "nothing-there",
                next(iter(tables.values())).name,
                f"the split {split!r} does not exist; the splits are {known}",
            )
            return None
        split = chosen
        info = replace(info, split=split or info.split)
    table = tables[split]
    if info.type == "classification":
        training = matching_split(TRAIN, tables)
        train = tables[training] if training is not None and training != split else None
        return label_task(train, table, info, constants, report)
    if info.type == "clustering":
        return cluster_task(table, info, constants, report)
    if info.type == "reranking":
        return reranking_task(table, info, report)
    if info.type == "multilabel_classification":
        training = matching_split(TRAIN, tables)
        return multilabel_task(tables.get(training or ""), table, info, constants, report)
    if info.type == "summarization":
        return summary_task(table, info, constants, report)
    if info.type == "bitext_mining":
        return bitext_task(table, info, report)
    return pair_task(table, info, constants, report)


def divided(table: Table, split: str) -> tuple[dict[str, Table], str | None]:
    """Return a table for each value of the column `split`, and the one to evaluate; None if it does not exist."""
    if "split" not in table:
        return {"": table}, None if split else ""
    words = (value.strip().lower() for value in pc.unique(table["split"]).to_pylist() if value)
    known = list(dict.fromkeys(filter(None, words)))
    chosen = matching_split(split, known) if split else evaluation_split(known)
    if chosen is None and not split:  # no value names a split: it is another column
        return {"": table}, ""
    return {name: rows_of_split(table, name) for name in known}, chosen
