"""The page of a task, with the headings of published pages."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.reports.pages.findings import (
    metric_findings,
    published_findings,
    slice_findings,
    task_findings,
    text_findings,
)
from steelyard.reports.pages.measure.page_inputs import KINDS, LABELS
from steelyard.reports.pages.measure.page_values import TaskValues
from steelyard.reports.pages.render import pictures, tables
from steelyard.reports.pages.render.blocks import Block, Links, Page, Quote, Section, paragraph_of, section

HEADINGS = {
    kind: f"{label.title() if kind == 'hybrid' else label} Evaluation Profile" for kind, label in LABELS.items()
}


def file_name(name: str) -> str:
    """Return a name that is safe for a file or folder.

    >>> file_name("NanoBEIR-ar/NanoArguAna"), file_name("../etc: x")
    ('NanoBEIR-ar__NanoArguAna', '_..__etc__x')
    """
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in name.replace("/", "__"))
    return f"_{safe}" if not safe or safe.startswith(".") else safe


def slug_of(name: str, nano_set: str) -> str:
    """Return the name of the task's files: its name within the set.

    >>> slug_of("A/b/c", "A"), slug_of("A/index", "A")
    ('b__c', 'index_')
    """
    slug = file_name(name.removeprefix(f"{nano_set}/"))
    return f"{slug}_" if slug == "index" else slug


def task_page(task: TaskValues) -> Page:
    """Return the page of a task."""
    title = f"{task.nano_set} / {task.name.removeprefix(task.nano_set + '/')}"
    return Page(title, slug_of(task.name, task.nano_set), tuple(_sections(task)), task.made_from)


def _sections(task: TaskValues) -> Iterator[Section]:
    back = Links(((f"{task.nano_set}: all tasks", "index"), ("All groups", "../index")))
    yield section("Overview", paragraph_of(task_findings.overview(task)), pictures.scores(task), back)
    yield section("Details")
    yield _measures(task)
    yield _data(task)
    for kind in KINDS:
        drawn = pictures.first_positive(task) if kind == KINDS[-1] else None
        scores = paragraph_of(task_findings.profile(task, kind))
        yield section(HEADINGS[kind], scores, paragraph_of(task_findings.comparisons(task, kind)), drawn, level=3)
    yield section(
        "Metric Interpretation for Model Researchers", paragraph_of(metric_findings.interpretation(task)), level=3
    )
    yield section("Query and Relevance Type Tendencies", paragraph_of(task_findings.tendencies(task)), level=3)
    yield from _failures(task)
    yield section(
        "Slices",
        paragraph_of(slice_findings.slices(task)) if task.slices else None,
        pictures.overlap_gain(task),
        pictures.task_languages(task),
        tables.slices(task.slices),
        level=3,
    )
    yield section("Training Data That May Help", paragraph_of(slice_findings.training(task)), level=3)
    yield section("Training and Leakage Notes", paragraph_of(task_findings.leakage(task)), level=3)
    yield section("Model Improvement Notes", paragraph_of(slice_findings.improvement(task)), level=3)
    yield section("Example Data", tables.example_data(task))
    yield section("Source Reference Table", tables.sources(task.sources))
    yield section("Dataset Information", tables.dataset_information(task))
    yield section("Candidate Subsets", tables.candidate_subsets(task))
    if task.published_name:
        yield _published(task)
    yield section("Training and Leakage Metadata", tables.leakage_metadata(task))


def _measures(task: TaskValues) -> Section:
    quoted = Quote(task.description, f"card or catalogue of {task.name}") if task.description else None
    measured = paragraph_of(task_findings.measures(task))
    return section(
        "What the Original Data Measures", measured, quoted, paragraph_of([task_findings.declared(task)]), level=3
    )


def _data(task: TaskValues) -> Section:
    return section(
        "Observed Data Profile",
        paragraph_of(text_findings.data(task)),
        paragraph_of(text_findings.languages(task)),
        paragraph_of(text_findings.pairs(task)),
        tables.lengths(task) if task.query_lengths.words else None,
        pictures.lengths("Queries", task.query_lengths),
        pictures.lengths("Documents", task.document_lengths),
        tables.pair_languages(task),
        level=3,
    )


def _failures(task: TaskValues) -> Iterator[Section]:
    if not task.failures:
        yield section("Representative Failure Modes", level=3)
        return
    definition, *modes = task_findings.failures(task)
    blocks: list[Block | None] = [paragraph_of([definition])]
    for one, mode in zip(modes, task.failures, strict=True):
        blocks += [paragraph_of([one]), tables.failure_examples(mode)]
    yield section("Representative Failure Modes", *blocks, level=3)


def _published(task: TaskValues) -> Section:
    return section(
        "Comparison with Published Scores", paragraph_of(published_findings.of_task(task)), tables.published(task)
    )
