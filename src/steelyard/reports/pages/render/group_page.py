"""The page of a group."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.reports.pages.findings import group_findings, published_findings
from steelyard.reports.pages.measure.page_inputs import KINDS, LABELS
from steelyard.reports.pages.measure.page_values import GroupValues
from steelyard.reports.pages.prose.notes import with_notes
from steelyard.reports.pages.render import group_tables, pictures, tables
from steelyard.reports.pages.render.blocks import Links, Page, Section, Table, paragraph_of, section, table
from steelyard.reports.pages.render.task_page import slug_of

HEADINGS = {"bm25": "BM25 Profile", "dense": "Dense Profile", "hybrid": "Reranking Hybrid Profile"}


def group_page(group: GroupValues) -> Page:
    """Return the page of a group."""
    return with_notes(Page(group.name, "index", tuple(_sections(group))), group.notes)


def _sections(group: GroupValues) -> Iterator[Section]:
    home = Links((("All groups", "../index"),))
    yield section("Overview", paragraph_of(group_findings.overview(group)), pictures.group_scores(group), home)
    yield section(
        "What This Group Measures", paragraph_of(group_findings.measures(group)), group_tables.descriptions(group)
    )
    yield section("Task Families", group_tables.families(group))
    yield section("Dataset Shape", paragraph_of(group_findings.shape(group)))
    yield section("Retrieval Behavior")
    for kind in KINDS:
        own = group_findings.undeclared(group) if kind == "dense" else ()
        profile = paragraph_of(group_findings.profile(group, kind))
        yield section(HEADINGS[kind], profile, paragraph_of(own), level=3)
    slugs = [slug_of(task.name, task.nano_set) for task in group.tasks]
    yield section("Task Summary", group_tables.task_summary(group, slugs))
    if group.missing:
        yield section("Missing Tasks", group_tables.missing_tasks(group))
    yield section("Language Summary", pictures.group_languages(group), group_tables.language_summary(group))
    yield section("Interpretation Notes for Model Researchers", paragraph_of(group_findings.interpretation(group)))
    yield section("Training and Leakage Notes", paragraph_of(group_findings.leakage(group)))
    yield section("Source Reference Table", tables.sources(group.sources, "Source"), tables.bibtex(group.sources))
    yield section("Metadata Summary", group_tables.metadata_summary(group))
    yield section("Task Metadata Summary", group_tables.task_metadata(group))
    if any(task.published_name for task in group.tasks):
        yield section(
            "Comparison with Published Scores", paragraph_of(published_findings.of_group(group)), _published(group)
        )


def _published(group: GroupValues) -> Table | None:
    """Return nDCG@10 of all tasks and the published scores."""
    rows = []
    for task in group.tasks:
        for one in (score for score in task.published if score.metric == "ndcg_at_10"):
            label = LABELS[one.kind]
            scores = (tables.decimals(one.here), tables.decimals(one.published))
            rows.append((task.task, label, *scores, tables.signed(one.difference, one.interval)))
    return table(("Task", "Profile", "nDCG@10 here", "Published", "Difference"), rows)
