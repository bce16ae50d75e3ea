"""The origin of a task: its set, its sources, and what is recorded about leakage."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from steelyard.reports.pages.measure.page_inputs import Audit
from steelyard.reports.pages.measure.part_values import Leakage, Source
from steelyard.types import Task, TaskInfo

_HUB = re.compile(r"(?!github\.com/)[\w.-]+/[\w.-]+")
_WEB = re.compile(r"(?:https?://)?(?:www\.)?(github\.com/[\w./-]+|huggingface\.co/[\w./-]+)")


def origin(info: TaskInfo) -> dict[str, Any]:
    """Return the facts of the source, by their names on a page."""
    on_hub = _HUB.fullmatch(info.source) is not None
    nano_set = set_of(info)
    return {
        "name": info.name,
        "nano_set": nano_set,
        "backing_dataset": info.source.rpartition("/")[2] if on_hub else nano_set,
        "task": info.task,
        "dataset": info.source,
        "language": info.language,
        "category": info.category,
        "description": info.description,
        "type": info.type,
        "on_hub": on_hub,
        "split": info.split,
        "revision": info.revision,
        "licence": info.licence,
        "languages": info.languages,
    }


def set_of(info: TaskInfo) -> str:
    """Return the set of a task: the first part of its name.

    >>> set_of(TaskInfo("NanoBEIR/ar/arguana"))
    'NanoBEIR'
    """
    return info.name.partition("/")[0] if "/" in info.name else info.group


def sources(info: TaskInfo) -> tuple[Source, ...]:
    """Return the sources of the data, as far as the task records them."""
    if _HUB.fullmatch(info.source):
        url = f"https://huggingface.co/datasets/{info.source}"
        return (Source(info.source, "-", "dataset card", url),)
    linked = _WEB.search(info.source)
    url = f"https://{linked[1].rstrip('/.')}" if linked else "-"
    return (Source(info.source or info.name, "-", "data source", url),) if info.source or info.name else ()


def leakage(task: Task, audit: Audit | None) -> Leakage:
    """Return what is recorded about training data and audits."""
    rows = task.qrels.rows[(task.qrels.grades > 0) & (task.qrels.rows >= 0)]
    kept = f"{len(task.queries):,} queries, {int(task.qrels.positives.sum()):,} positive qrels"
    status = "not_audited"
    if audit is not None:
        found = (
            f"{audit.queries_found:,} queries and {audit.documents_found:,} documents found in {audit.training_data}"
        )
        more = ", ".join(filter(None, (audit.method, audit.date)))
        status = f"audited: {found}" + (f" ({more})" if more else "")
    several = bool((task.qrels.positives > 1).any())
    return Leakage(
        split_origin=task.info.split or "not_recorded",
        audit=status,
        note=f"do not train on this task's {kept} or {len(np.unique(rows)):,} positive documents",
        multi_positive="multi_positive" if several else "single_positive",
    )
