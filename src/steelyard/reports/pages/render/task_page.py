"""The page of a task, with the headings of published pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from steelyard.reports.pages.findings import (
    advice,
    diagnosis_findings,
    metric_findings,
    published_findings,
    slice_findings,
    task_findings,
    text_findings,
)
from steelyard.reports.pages.findings.sentences import Finding
from steelyard.reports.pages.measure.page_inputs import KINDS, LABELS
from steelyard.reports.pages.measure.page_values import TaskValues
from steelyard.reports.pages.measure.part_values import CardQuote
from steelyard.reports.pages.prose.notes import with_notes
from steelyard.reports.pages.render import diagnosis_tables, pictures, tables
from steelyard.reports.pages.render.blocks import (
    Block,
    Links,
    Page,
    Quote,
    Section,
    paragraph_of,
    points_of,
    section,
)

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


def task_page(task: TaskValues, siblings: Sequence[TaskValues] = ()) -> Page:
    """Return the page of a task; `siblings` are the tasks of its group in order, with the task itself."""
    title = f"{task.nano_set} / {task.name.removeprefix(task.nano_set + '/')}"
    page = Page(title, slug_of(task.name, task.nano_set), tuple(_sections(task, siblings)), task.made_from)
    return with_notes(page, (*task.notes, *(task.draft.notes if task.draft else ())))


def _sections(task: TaskValues, siblings: Sequence[TaskValues]) -> Iterator[Section]:
    yield section("Overview", paragraph_of(task_findings.overview(task)), pictures.scores(task))
    yield section("Task Navigation", _navigation(task, siblings))
    yield section("Details")
    yield _measures(task)
    yield _data(task)
    for kind in KINDS:
        drawn = pictures.first_positive(task) if kind == KINDS[-1] else None
        own = diagnosis_findings.undeclared(task) if kind == "dense" else ()
        scores = paragraph_of(task_findings.profile(task, kind))
        compared = paragraph_of(task_findings.comparisons(task, kind))
        yield section(HEADINGS[kind], scores, compared, paragraph_of(own), drawn, level=3)
    yield section(
        "Metric Interpretation for Model Researchers", paragraph_of(metric_findings.interpretation(task)), level=3
    )
    yield section("Query and Relevance Type Tendencies", paragraph_of(task_findings.tendencies(task)), level=3)
    yield from _failures(task)
    yield _slices(task)
    yield _limits(task)
    yield from _advice(task)
    yield section("Example Data", tables.example_data(task))
    yield section("Representative Snippets", diagnosis_tables.snippets(task))
    yield section("Source Reference Table", tables.sources(task.sources), tables.bibtex(task.sources))
    yield section("Dataset Information", tables.dataset_information(task))
    yield section("Candidate Subsets", tables.candidate_subsets(task), paragraph_of(task_findings.rerank(task)))
    if task.published_name:
        yield _published(task)
    yield section("Training and Leakage Metadata", tables.leakage_metadata(task))
    if task.draft is not None:
        yield section("Drafted Text", paragraph_of(task_findings.drafted(task.draft)), tables.dropped(task.draft))


def _navigation(task: TaskValues, siblings: Sequence[TaskValues]) -> Links:
    names = [one.name for one in siblings]
    links = [(f"{task.nano_set}: all tasks", "index"), ("All groups", "../index")]
    if task.name in names:
        at = names.index(task.name)
        around = (("Previous", at - 1 if at else None), ("Next", at + 1 if at + 1 < len(names) else None))
        links += [
            (f"{label}: {siblings[other].task}", slug_of(siblings[other].name, siblings[other].nano_set))
            for label, other in around
            if other is not None
        ]
    return Links(tuple(links))


def _measures(task: TaskValues) -> Section:
    quotes = [Quote(task.description, f"catalogue or task.json of {task.name}")] if task.description else []
    quotes += [Quote(one.text, _card_origin(one)) for one in task.cards]
    return section(
        "What the Original Data Measures",
        paragraph_of(task_findings.measures(task)),
        *quotes,
        paragraph_of(task_findings.declared(task)),
        level=3,
    )


def _card_origin(card: CardQuote) -> str:
    kind = "dataset card of" if card.role == "set" else "dataset card of the source"
    return f"{kind} {card.name}" + (f", {card.url}" if card.url else "")


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
        yield section("Representative Failure Modes", paragraph_of(diagnosis_findings.classes(task)), level=3)
        return
    definition, *modes = task_findings.failures(task)
    blocks: list[Block | None] = [paragraph_of([definition])]
    for sentence, mode in zip(modes, task.failures, strict=True):
        blocks += [paragraph_of([sentence]), tables.failure_examples(mode)]
    blocks += [
        paragraph_of(diagnosis_findings.classes(task)),
        diagnosis_tables.failure_classes(task),
        diagnosis_tables.class_examples(task),
    ]
    yield section("Representative Failure Modes", *blocks, level=3)


def _slices(task: TaskValues) -> Section:
    return section(
        "Slices",
        paragraph_of(slice_findings.slices(task)) if task.slices else None,
        paragraph_of(diagnosis_findings.relations(task)),
        diagnosis_tables.relations(task),
        paragraph_of(diagnosis_findings.separation(task)),
        diagnosis_tables.separators(task),
        pictures.overlap_gain(task),
        pictures.task_languages(task),
        tables.slices(task.slices),
        level=3,
    )


def _limits(task: TaskValues) -> Section:
    return section(
        "What Limits the Score",
        paragraph_of(diagnosis_findings.limits(task)),
        diagnosis_tables.limits(task),
        paragraph_of(diagnosis_findings.complement(task)),
        paragraph_of(diagnosis_findings.counterfactuals(task)),
        diagnosis_tables.counterfactuals(task),
        level=3,
    )


def _advice(task: TaskValues) -> Iterator[Section]:
    yield section("Training Data That May Help", *_listed(advice.training(task), "derived_data"), level=3)
    yield section("Synthetic Data Guidance", paragraph_of(advice.synthetic(task)), level=3)
    yield section("Training and Leakage Notes", paragraph_of(task_findings.leakage(task)), level=3)
    yield section("Model Improvement Notes", points_of(advice.improvement(task)), level=3)
    summary, notes = diagnosis_tables.language_summary(task), paragraph_of(task_findings.language_notes(task))
    if summary is not None or notes is not None:
        yield section("Language Summary", summary, notes, level=3)


def _listed(findings: Iterable[Finding], last: str) -> Iterator[Block | None]:
    """Yield the findings up to one of that kind as a paragraph, and the others as a list."""
    every = list(findings)
    at = next((place for place, one in enumerate(every) if one.kind == last), len(every) - 1) + 1
    yield paragraph_of(every[:at])
    yield points_of(every[at:])


def _published(task: TaskValues) -> Section:
    return section(
        "Comparison with Published Scores", paragraph_of(published_findings.of_task(task)), tables.published(task)
    )
