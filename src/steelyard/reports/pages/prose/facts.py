"""The facts that a draft may use: one statement each, with the names, languages and numbers that are allowed in it."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.reports.pages.findings.sentences import language_name
from steelyard.reports.pages.measure.page_values import TaskValues
from steelyard.reports.pages.render.blocks import Page

METRICS = {"ndcg_at_10": "nDCG@10", "hit_rate_at_10": "hit@10", "recall_at_100": "recall@100"}


def statements(task: TaskValues, page: Page) -> list[str]:
    """Return every fact of the page as a statement of its own."""
    return list(dict.fromkeys((*_scores(task), *_names(task), *(one.sentence for _, one in page.findings))))


def _scores(task: TaskValues) -> Iterator[str]:
    """Yield one statement for each score, so that a number belongs to one profile and one metric."""
    for one in task.profiles:
        for field, name in METRICS.items():
            value = getattr(one, field)
            if value is not None:
                yield f"{one.label} {name} = {value:.4f}"


def _names(task: TaskValues) -> Iterator[str]:
    yield f"The task is {task.name} of the set {task.nano_set}."
    yield f"The data comes from {task.dataset}." if task.dataset else "The origin of the data is not recorded."
    yield from (f"{one.label} is {one.config}." for one in task.profiles)
    yield from (f"Source: {one.title} ({one.year}), {one.type}." for one in task.sources)
    yield from (one.text for one in task.cards)
    if task.description:
        yield task.description
    for code in sorted(task_languages(task)):
        yield f"A language of the task is {language_name(code)}."


def task_languages(task: TaskValues) -> set[str]:
    """Return the codes of the languages that the task declares or that were identified."""
    profile = task.language_profile
    found = {*profile.query_languages, *profile.document_languages} if profile else set()
    return ({*task.languages} | found) - {"und"}
