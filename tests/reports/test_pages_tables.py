"""Given the figures of published pages, ours has their tables row by row, and all of their sections."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from steelyard.datasets import catalogue
from steelyard.reports.pages import GroupValues, TaskValues, measure_group
from steelyard.reports.pages.measure.part_values import Leakage, Lengths, Positives, ProfileValues, Source, Spread
from steelyard.reports.pages.render.blocks import Bullets, Page, Table
from steelyard.reports.pages.render.group_page import group_page
from steelyard.reports.pages.render.tables import bibtex
from steelyard.reports.pages.render.task_page import task_page

PUBLISHED: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "parity" / "pages" / "published_tables.json").read_text(encoding="utf-8")
)
CONFIGS = {"bm25": "bm25", "dense": "harrier_oss_v1_270m", "hybrid": "reranking_hybrid"}
DEPTHS = {"bm25": "top-500", "dense": "top-500", "hybrid": "top-100"}


def figures(name: str, **more: Any) -> TaskValues:
    """The figures of a published task, from its counts and scores in the catalogue; nothing was measured here."""
    entry = catalogue.entries()[name]
    counts, scores, task = entry.counts, entry.reference, name.rpartition("/")[2]
    queries, positives, most = (int(counts[key]) for key in ("queries", "positives", "positives_max"))
    several = 0 if most == 1 else queries
    return TaskValues(
        name=name,
        nano_set=entry.group,
        backing_dataset=entry.hub.split("/")[1],
        task=task,
        dataset=entry.hub,
        on_hub=True,
        language=entry.language,
        category=entry.category,
        queries=queries,
        documents=int(counts["documents"]),
        positives=Positives(positives / queries, 1, 1.0, most, positives, several, several / queries),
        query_lengths=Lengths(Spread(counts["query_chars"], 0, 0.0, 0)),
        document_lengths=Lengths(Spread(counts["document_chars"], 0, 0.0, 0)),
        profiles=tuple(
            ProfileValues(
                kind=kind,  # type: ignore[arg-type]
                config=config,
                ndcg_at_10=scores[f"{kind}_ndcg_at_10"],
                hit_rate_at_10=scores[f"{kind}_hit_at_10"],
                pooled_recall_at_100=scores[f"{kind}_pooled_recall_at_100"],
                candidates=DEPTHS[kind],
            )
            for kind, config in CONFIGS.items()
        ),
        **more,
    )


def rows(page: Page, heading: str) -> list[tuple[str, ...]]:
    table = page.table(heading)
    return [table.columns, *table.rows]


@pytest.mark.parametrize("name", ["NanoMMTEB-v2/belebele", "NanoMMTEB-v2/mlqa"])
@pytest.mark.parametrize("heading", ["Dataset Information", "Candidate Subsets"])
def test_tables_of_a_task(name: str, heading: str) -> None:
    published = PUBLISHED["tasks"][name.rpartition("/")[2]][heading]
    assert [list(row) for row in rows(task_page(figures(name)), heading)] == published


@pytest.mark.parametrize("heading", ["Dataset Information", "Candidate Subsets"])
def test_tables_of_a_task_whose_cells_run_together(heading: str) -> None:
    page = task_page(figures("NanoCMTEB/medical"))
    assert ["".join(row) for row in rows(page, heading)] == PUBLISHED["tasks"]["medical"][heading]


@pytest.mark.parametrize("task", ["belebele", "mlqa"])
def test_sources_and_leakage_metadata(task: str) -> None:
    tables = PUBLISHED["tasks"][task]
    listed = tables["Source Reference Table"]
    recorded = dict(line.split(": ", 1) for line in tables["Training and Leakage Metadata"])
    known = figures(
        f"NanoMMTEB-v2/{task}",
        sources=tuple(Source(*row) for row in listed[1:]),
        leakage=Leakage(*recorded.values()),
    )
    page = task_page(known)
    assert [list(row) for row in rows(page, "Source Reference Table")] == listed
    (bullets,) = (
        block
        for section in page.sections
        if section.heading == "Training and Leakage Metadata"
        for block in section.blocks
    )
    assert isinstance(bullets, Bullets)
    assert [f"{name}: {value}" for name, value in bullets.items] == tables["Training and Leakage Metadata"]


def group() -> GroupValues:
    tasks = [figures(f"NanoMMTEB-v2/{task}", focus=focus) for task, focus in PUBLISHED["focus"].items()]
    return measure_group("NanoMMTEB-v2", tasks)


@pytest.mark.parametrize("heading", ["Task Summary", "Metadata Summary", "Task Metadata Summary"])
def test_tables_of_a_group(heading: str) -> None:
    assert ["".join(row) for row in rows(group_page(group()), heading)] == PUBLISHED["group"][heading]


def test_sections_are_all_there() -> None:
    assert set(PUBLISHED["headings"]["group"]) <= {one.heading for one in group_page(group()).sections}
    task = task_page(figures("NanoMMTEB-v2/belebele"))
    ours = [one.heading for one in task.sections if one.heading in PUBLISHED["headings"]["task"]]
    assert ours == PUBLISHED["headings"]["task"]


def test_without_values_by_query_no_lead_is_claimed() -> None:
    page = task_page(figures("NanoMMTEB-v2/belebele"))
    kinds = {one.kind for _, one in page.findings}
    assert "highest" in kinds
    assert kinds.isdisjoint({"strongest", "strongest_shared", "better", "worse", "hybrid_hurts"})


def test_a_table_has_as_many_cells_as_columns() -> None:
    for page in (group_page(group()), task_page(figures("NanoMMTEB-v2/mlqa"))):
        for section in page.sections:
            for block in section.blocks:
                if isinstance(block, Table):
                    assert {len(row) for row in block.rows} == {len(block.columns)}


def test_bibtex_keys_of_several_tasks_are_unique() -> None:
    """Each task makes its own keys, so that two papers of a group may get the same one."""
    entries = [f"@misc{{mteb2024,\n  title = {{{{{title}}}}},\n}}" for title in ("mteb/a", "mteb/b", "mteb/a")]
    found = bibtex([Source("x", "2024", "paper", "-", bibtex=entry) for entry in entries])
    assert found is not None
    assert re.findall(r"@misc\{([^,]+),", found.text) == ["mteb2024", "mteb2024-2"]
