"""The origin of a task: its set, its sources, and what is recorded about leakage."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from steelyard.datasets.cards import is_hub_name, public_source
from steelyard.reports.pages.measure.page_inputs import Audit, Context
from steelyard.reports.pages.measure.part_values import CardQuote, Leakage, Source
from steelyard.types import Task, TaskInfo
from steelyard.types.task_metadata import bibtex

_WEB = re.compile(r"(?:https?://)?(?:www\.)?(github\.com/[\w./-]+|huggingface\.co/[\w./-]+)")


def origin(info: TaskInfo, context: Context) -> dict[str, Any]:
    """Return the facts of the source and what is recorded about it, by their names on a page."""
    on_hub = is_hub_name(info.source)
    nano_set = set_of(info)
    return {
        "name": info.name,
        "nano_set": nano_set,
        "backing_dataset": info.source.rpartition("/")[2] if on_hub else nano_set,
        "task": info.task,
        "dataset": public_source(info.source),
        "language": info.language,
        "category": info.category,
        "description": info.description,
        "type": info.type,
        "on_hub": on_hub,
        "split": info.split,
        "revision": info.revision,
        "licence": info.licence,
        "languages": info.languages,
        "sources": sources(info),
        "cards": tuple(CardQuote(one.name, one.role, one.quote, one.url) for one in context.cards if one.quote),
        "unread_cards": context.unread_cards,
        "synthetic_data": dict(info.metadata.synthetic_data),
        "language_notes": info.metadata.language_notes,
        "rerank_suitability": info.metadata.rerank_suitability,
        "published_name": context.published_name,
        "made_from": context.made_from,
        "settings": context.settings,
    }


def set_of(info: TaskInfo) -> str:
    """Return the set of a task: the first part of its name.

    >>> set_of(TaskInfo("NanoBEIR/ar/arguana"))
    'NanoBEIR'
    """
    return info.name.partition("/")[0] if "/" in info.name else info.group


def sources(info: TaskInfo) -> tuple[Source, ...]:
    """Return the references of the task, and where its data comes from."""
    references = info.metadata.references
    entries = bibtex(references).split("\n\n") if references else []
    listed = [
        Source(one.title, str(one.year or "-"), one.type, one.url or "-", one.doi, one.confidence, entry)
        for one, entry in zip(dict.fromkeys(references), entries, strict=True)
    ]
    known = {one.url.rstrip("/") for one in listed}
    return (*listed, *(one for one in _origins(info) if one.url.rstrip("/") not in known))


def _origins(info: TaskInfo) -> tuple[Source, ...]:
    """Return the place of the data, as far as the task records it."""
    if is_hub_name(info.source):
        url = f"https://huggingface.co/datasets/{info.source}"
        return (Source(info.source, "-", "dataset card", url),)
    linked = _WEB.search(info.source)
    url = f"https://{linked[1].rstrip('/.')}" if linked else "-"
    name = public_source(info.source) if info.source else info.name
    return (Source(name, "-", "data source", url),) if name else ()


def leakage(task: Task, audit: Audit | None, signs: Mapping[str, int]) -> Leakage:
    """Return what is recorded about training data and audits, and the signs of leakage that `build` counted."""
    known = task.info.metadata
    several = bool((task.qrels.positives > 1).any())
    return Leakage(
        train_split=known.original_train_split or "not_recorded",
        split_origin=known.evaluation_split_origin or "not_recorded",
        audit=_audited(audit) if audit is not None else known.train_eval_overlap_audit or "not_audited",
        note=known.leakage_note or _keep_out(task),
        multi_positive=known.multi_positive_training or ("multi_positive" if several else "single_positive"),
        useful_data=", ".join(known.useful_training_data) or "not_recorded",
        signs=dict(signs),
    )


def _audited(audit: Audit) -> str:
    counts = f"{audit.queries_found:,} queries and {audit.documents_found:,} documents found in {audit.training_data}"
    more = ", ".join(filter(None, (audit.verdict, audit.method, audit.date)))
    return f"audited: {counts}" + (f" ({more})" if more else "")


def _keep_out(task: Task) -> str:
    rows = task.qrels.rows[(task.qrels.grades > 0) & (task.qrels.rows >= 0)]
    counts = f"{len(task.queries):,} queries, {int(task.qrels.positives.sum()):,} positive qrels"
    documents = len(np.unique(rows))
    return f"do not train on this task's {counts} or {documents:,} positive document{'' if documents == 1 else 's'}"
