"""The page of a task: its figures and findings under the headings that published pages have."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.reports.pages.findings import data as data_findings
from steelyard.reports.pages.findings import metrics as metric_findings
from steelyard.reports.pages.findings import published as published_findings
from steelyard.reports.pages.findings import slices as slice_findings
from steelyard.reports.pages.findings import task as findings
from steelyard.reports.pages.measure.inputs import KINDS, LABELS
from steelyard.reports.pages.measure.page_values import TaskFigures
from steelyard.reports.pages.render import pictures, tables
from steelyard.reports.pages.render.blocks import Block, Links, Page, Quote, Section, said, section

HEADINGS = {
    kind: f"{label.title() if kind == 'hybrid' else label} Evaluation Profile" for kind, label in LABELS.items()
}


def file_name(name: str) -> str:
    """A name that is safe as that of a file or folder, whatever a set calls itself.

    >>> file_name("NanoBEIR-ar/NanoArguAna"), file_name("../etc: x")
    ('NanoBEIR-ar__NanoArguAna', '_..__etc__x')
    """
    safe = "".join(c if c.isalnum() or c in "-_." else "_" for c in name.replace("/", "__"))
    return f"_{safe}" if not safe or safe.startswith(".") else safe


def slug_of(name: str, nano_set: str) -> str:
    """The name of the task's files: its name within the set.

    >>> slug_of("A/b/c", "A"), slug_of("A/index", "A")
    ('b__c', 'index_')
    """
    slug = file_name(name.removeprefix(f"{nano_set}/"))
    return f"{slug}_" if slug == "index" else slug


def task_page(figures: TaskFigures) -> Page:
    """The page of these figures."""
    title = f"{figures.nano_set} / {figures.name.removeprefix(figures.nano_set + '/')}"
    return Page(title, slug_of(figures.name, figures.nano_set), tuple(_sections(figures)), figures.made_from)


def _sections(figures: TaskFigures) -> Iterator[Section]:
    back = Links(((f"{figures.nano_set}: all tasks", "index"), ("All groups", "../index")))
    yield section("Overview", said(findings.overview(figures)), pictures.scores(figures), back)
    yield section("Details")
    yield _measures(figures)
    yield _data(figures)
    for kind in KINDS:
        drawn = pictures.first_positive(figures) if kind == KINDS[-1] else None
        told = said(findings.profile(figures, kind))
        yield section(HEADINGS[kind], told, said(findings.comparisons(figures, kind)), drawn, level=3)
    yield section("Metric Interpretation for Model Researchers", said(metric_findings.interpretation(figures)), level=3)
    yield section("Query and Relevance Type Tendencies", said(findings.tendencies(figures)), level=3)
    yield from _failures(figures)
    yield section(
        "Slices",
        said(slice_findings.slices(figures)) if figures.slices else None,
        pictures.overlap_gain(figures),
        pictures.task_languages(figures),
        tables.slices(figures.slices),
        level=3,
    )
    yield section("Training Data That May Help", said(slice_findings.training(figures)), level=3)
    yield section("Training and Leakage Notes", said(findings.leakage(figures)), level=3)
    yield section("Model Improvement Notes", said(slice_findings.improvement(figures)), level=3)
    yield section("Example Data", tables.example_data(figures))
    yield section("Source Reference Table", tables.sources(figures.sources))
    yield section("Dataset Information", tables.dataset_information(figures))
    yield section("Candidate Subsets", tables.candidate_subsets(figures))
    if figures.published_name:
        yield _published(figures)
    yield section("Training and Leakage Metadata", tables.leakage_metadata(figures))


def _measures(figures: TaskFigures) -> Section:
    quoted = Quote(figures.description, f"card or catalogue of {figures.name}") if figures.description else None
    told = said(findings.measures(figures))
    return section("What the Original Data Measures", told, quoted, said([findings.declared(figures)]), level=3)


def _data(figures: TaskFigures) -> Section:
    return section(
        "Observed Data Profile",
        said(data_findings.data(figures)),
        said(data_findings.languages(figures)),
        said(data_findings.pairs(figures)),
        tables.lengths(figures) if figures.query_lengths.words else None,
        pictures.lengths("Queries", figures.query_lengths),
        pictures.lengths("Documents", figures.document_lengths),
        tables.pair_languages(figures),
        level=3,
    )


def _failures(figures: TaskFigures) -> Iterator[Section]:
    if not figures.failures:
        yield section("Representative Failure Modes", level=3)
        return
    found, *modes = findings.failures(figures)
    blocks: list[Block | None] = [said([found])]
    for told, mode in zip(modes, figures.failures, strict=True):
        blocks += [said([told]), tables.failure_examples(mode)]
    yield section("Representative Failure Modes", *blocks, level=3)


def _published(figures: TaskFigures) -> Section:
    return section("Against Published Figures", said(published_findings.of_task(figures)), tables.published(figures))
