"""The page of a group, and its tables with the columns of published pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.reports.pages.findings import group_findings, published_findings
from steelyard.reports.pages.findings.sentences import language_name, listed
from steelyard.reports.pages.measure.page_inputs import KINDS, LABELS, Kind
from steelyard.reports.pages.measure.page_values import NOT_RECORDED, UNKNOWN, GroupValues, TaskValues
from steelyard.reports.pages.prose.notes import with_notes
from steelyard.reports.pages.render import pictures, tables
from steelyard.reports.pages.render.blocks import Links, Page, Section, Table, paragraph_of, section, table
from steelyard.reports.pages.render.tables import NDCG_COLUMNS, best_profile, decimals
from steelyard.reports.pages.render.task_page import slug_of

HEADINGS = {"bm25": "BM25 Profile", "dense": "Dense Profile", "hybrid": "Reranking Hybrid Profile"}


def group_page(group: GroupValues) -> Page:
    """Return the page of a group."""
    return with_notes(Page(group.name, "index", tuple(_sections(group))), group.notes)


def _sections(group: GroupValues) -> Iterator[Section]:
    home = Links((("All groups", "../index"),))
    yield section("Overview", paragraph_of(group_findings.overview(group)), pictures.group_scores(group), home)
    yield section("What This Group Measures", paragraph_of(group_findings.measures(group)), descriptions(group))
    yield section("Task Families", families(group))
    yield section("Dataset Shape", paragraph_of(group_findings.shape(group)))
    yield section("Retrieval Behavior")
    for kind in KINDS:
        own = group_findings.undeclared(group) if kind == "dense" else ()
        profile = paragraph_of(group_findings.profile(group, kind))
        yield section(HEADINGS[kind], profile, paragraph_of(own), level=3)
    slugs = [slug_of(task.name, task.nano_set) for task in group.tasks]
    yield section("Task Summary", task_summary(group, slugs))
    if group.missing:
        yield section("Missing Tasks", missing_tasks(group))
    yield section("Language Summary", pictures.group_languages(group), language_summary(group))
    yield section("Interpretation Notes for Model Researchers", paragraph_of(group_findings.interpretation(group)))
    yield section("Training and Leakage Notes", paragraph_of(group_findings.leakage(group)))
    yield section("Source Reference Table", tables.sources(group.sources, "Source"), tables.bibtex(group.sources))
    yield section("Metadata Summary", metadata_summary(group))
    yield section("Task Metadata Summary", task_metadata(group))
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


def descriptions(group: GroupValues) -> Table | None:
    """Return the descriptions of dataset cards or the catalogue, quoted."""
    texts: dict[str, list[str]] = {}
    for task in group.tasks:
        if task.description or task.cards:
            texts.setdefault(task.description or task.cards[0].text, []).append(task.task)
    single = next(iter(texts.values()), []) if len(texts) == 1 else []
    if len(single) == len(group.tasks) > 1:
        return table(("Tasks", "In the words of the card or catalogue"), [("all", *texts)])
    return table(
        ("Task", "In the words of its card or catalogue"), ((listed(names), text) for text, names in texts.items())
    )


def families(group: GroupValues) -> Table | None:
    """Return the tasks by kind of texts, with their mean scores."""
    kinds: dict[str, list[TaskValues]] = {}
    for task in group.tasks:
        kinds.setdefault(task.focus or "kind of texts unknown", []).append(task)
    rows = (
        (
            family[:1].upper() + family[1:],
            listed([task.task for task in tasks]),
            f"{sum(task.queries for task in tasks):,}",
            *(decimals(_mean(tasks, kind)) for kind in KINDS),
        )
        for family, tasks in sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0]))
    )
    return table(("Family", "Tasks", "Queries", *(f"Mean {name}" for name in NDCG_COLUMNS)), rows)


def _mean(tasks: Sequence[TaskValues], kind: Kind) -> float | None:
    """Return the mean nDCG@10 of a profile over tasks; None if one does not have it."""
    scores = [profile.ndcg_at_10 for task in tasks if (profile := task.profile(kind))]
    return sum(scores) / len(scores) if scores and len(scores) == len(tasks) else None


def task_summary(group: GroupValues, slugs: Sequence[str] = ()) -> Table | None:
    """Return the tasks of a group with links and their best profile."""
    columns = ("Task", "Language", "Retrieval focus", "Queries", "Docs", *NDCG_COLUMNS, "Best profile")
    rows = (
        (one.task, one.language_label, one.focus or "-", f"{one.queries:,}", f"{one.documents:,}", *_scores(one))
        for one in group.tasks
    )
    return table(columns, rows, links=slugs)


def _scores(one: TaskValues) -> tuple[str, ...]:
    profiles = (one.profile(kind) for kind in KINDS)
    return (*(decimals(p.ndcg_at_10 if p else None) for p in profiles), best_profile(one))


def missing_tasks(group: GroupValues) -> Table | None:
    """Return the tasks that the page does not measure, with their published scores and the reason.

    Columns that nothing is known for are left out.
    """
    columns = ("Task", "Language", "Queries", "Docs", *(f"Published {name}" for name in NDCG_COLUMNS), "Reason")
    rows = [
        (
            *(one.task, NOT_RECORDED if one.language in ("", UNKNOWN) else one.language),
            *(_count(one.queries), _count(one.documents)),
            *(decimals(one.published.get(kind)) for kind in KINDS),
            one.reason,
        )
        for one in group.missing
    ]
    known = [place for place, cells in enumerate(zip(*rows, strict=True)) if {*cells} != {"-"}]
    return table([columns[place] for place in known], ([row[place] for place in known] for row in rows))


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def metadata_summary(group: GroupValues) -> Table | None:
    """Return the totals of a group."""
    rows = [
        ("Task pages", f"{len(group.tasks):,} of {group.total:,}" if group.missing else f"{len(group.tasks):,}"),
        ("Queries", f"{group.queries:,}"),
        ("Split-local documents", f"{group.documents:,}"),
        ("Positive qrels", f"{group.positives:,}"),
        ("Languages", ", ".join(sorted({one.language_label for one in group.tasks})) or "-"),
        ("Categories", ", ".join(sorted({one.category for one in group.tasks})) or "-"),
        ("Positives / query avg", f"{group.positives / max(group.queries, 1):.2f}"),
    ]
    return table(("Field", "Value"), rows)


def task_metadata(group: GroupValues) -> Table | None:
    """Return the tasks of a group with counts."""
    columns = ("Task", "Backing dataset", "Lang", "Category", "Queries", "Docs", "Positives")
    rows = (
        (
            *(one.task, one.backing_dataset, one.language_label, one.category),
            *(f"{one.queries:,}", f"{one.documents:,}", f"{one.positives.count:,}"),
            *_scores(one),
        )
        for one in group.tasks
    )
    return table((*columns, *NDCG_COLUMNS, "Best profile"), rows)


def language_summary(group: GroupValues) -> Table | None:
    """Return the queries of a group by language."""
    rows = (
        (
            language_name(one.language),
            f"{one.tasks:,}",
            f"{one.queries:,}",
            *(decimals(one.ndcg_at_10.get(kind)) for kind in KINDS),
        )
        for one in group.languages
    )
    return table(("Language", "Tasks", "Queries", *NDCG_COLUMNS), rows)
