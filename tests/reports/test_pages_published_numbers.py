"""Every number of the sections with published scores and with missing tasks is explained.

Two of the 18 tasks of a published group are read: one has as many queries, documents and relevant documents as the
published task, the other does not. The published scores are those of the group's own page, and of the raw table of the
catalogue.
"""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from every_number import Made, numbered_task
from page_advice_numbers import PageExpectations
from page_expectations import KIND_OF, LABELS
from page_group_numbers import Group, problems
from page_numbers import Place, mismatch, numbers, places
from page_oracle import KINDS, Oracle
from page_oracles import Lists, as_run, noisy_lists
from page_statistics import bca
from pages_parts import as_lists

from steelyard.config import Settings
from steelyard.datasets import load_task, write_nano_set
from steelyard.engine.pages import build_pages
from steelyard.reports.pages import GroupValues
from steelyard.reports.pages.render import writing
from steelyard.reports.pages.render.group_page import group_page
from steelyard.reports.pages.render.task_page import task_page
from steelyard.types import Task

pytestmark = pytest.mark.slow

GROUP = "NanoMMTEB-v2"
ROOT = Path(__file__).parents[2]
CATALOGUE = ROOT / "src" / "steelyard" / "datasets" / "catalogue" / "nano.csv"
SEED = ROOT / "tests" / "parity" / "pages" / "published_tables.json"
CONFIGS = {"bm25": "bm25", "dense": "harrier_oss_v1_270m", "hybrid": "reranking_hybrid"}
METRICS = {
    "nDCG@10": ("ndcg_at_10", "ndcg_cut_10"),
    "hit@10": ("hit_at_10", "success_10"),
    "pooled recall@100": ("pooled_recall_at_100", "recall_100"),
}
"""The names of metrics on a page, in the catalogue and in pytrec_eval."""
COUNTS = ("queries", "documents", "positives")


def catalogue() -> dict[str, dict[str, str]]:
    """The rows of the group in the catalogue's table, by task."""
    with CATALOGUE.open(encoding="utf-8", newline="") as file:
        return {row["task"]: row for row in csv.DictReader(file) if row["group"] == GROUP}


def same_size_task() -> Task:
    """50 questions, 82 documents and 217 relevant documents, as the published ailastatutes."""
    questions, passages = load_task("NanoAlmanac/en"), load_task("NanoAlmanac/graded")
    documents = dict(zip(passages.corpus.ids[:82], passages.corpus.texts, strict=False))
    queries = dict(zip(questions.queries.ids[:50], questions.queries.texts, strict=False))
    ids = list(documents)
    qrels = {id_: {ids[(7 * q + 3 * n) % 82]: 1 for n in range(5 if q < 17 else 4)} for q, id_ in enumerate(queries)}
    return Task.of(f"{GROUP}/ailastatutes", documents, queries, qrels, language="en", languages=("en",))


def other_size_task() -> Task:
    task = numbered_task()
    return Task(replace(task.info, name=f"{GROUP}/belebele"), task.corpus, task.queries, task.qrels)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[GroupValues, list[Made]]:
    """The values of a build of the whole group from copies of two tasks, and what they are computed again from."""
    folder = tmp_path_factory.mktemp("published")
    chances = {"bm25": 0.15, "dense": 0.3, "hybrid": 0.25}
    tasks = {task.info.task: task for task in (same_size_task(), other_size_task())}
    lists: dict[str, dict[str, Lists]] = {
        name: {
            kind: [ids[:40] for ids in noisy_lists(task, seed, lambda q, row, c=c: c)]
            for seed, (kind, c) in enumerate(chances.items())
        }
        for name, task in tasks.items()
    }
    stored = [
        Task(
            *(task.info, task.corpus, task.queries, task.qrels),
            {CONFIGS[kind]: as_lists(as_run(task, found)) for kind, found in lists[name].items()},
        )
        for name, task in tasks.items()
    ]
    write_nano_set(folder / "hakari-bench" / GROUP, stored)
    seen: list[GroupValues] = []
    with pytest.MonkeyPatch.context() as patch:
        write = writing.write_pages
        patch.setattr(writing, "write_pages", lambda group, *a, **k: seen.append(group) or write(group, *a, **k))
        settings = Settings.load().updated(data=folder, offline=True)
        build_pages(GROUP, folder / "out", against="published", results=folder / "results", settings=settings)
    (group,) = seen
    made = []
    for values in group.tasks:
        oracle = Oracle(tasks[values.task], lists[values.task], lambda id_: "en", ())
        made.append(Made(values, task_page(values), oracle))
    return group, made


class Published(PageExpectations):
    """The numbers of the section with published scores on the page of a task."""

    def __init__(self, made: Made) -> None:
        super().__init__(made.oracle)
        self.published = catalogue()[made.values.task]

    def here(self, kind: str, metric: str) -> tuple[float, tuple[float, float] | None]:
        """The score and its interval; pooled recall has one only if every query counts the same."""
        values = self.oracle.per_query(kind, METRICS[metric][1])
        if not metric.startswith("pooled"):
            return float(values.mean()), bca(values)
        pooled = self.oracle.pooled(kind)
        return pooled, bca(values) if abs(pooled - values.mean()) < 1e-12 else None

    def compared(self, kind: str, metric: str) -> list[float]:
        """Our score, the published one, the difference and its interval."""
        score, interval = self.here(kind, metric)
        other = float(self.published[f"{kind}_{METRICS[metric][0]}"])
        return [score, other, score - other, *(end - other for end in interval or ())]

    def outside(self) -> list[tuple[str, str]]:
        """The profiles and metrics whose published score is outside our interval."""
        every = {(kind, metric): self.compared(kind, metric)[3:] for kind in KINDS for metric in METRICS}
        return [pair for pair, ends in every.items() if ends and not ends[0] <= 0 <= ends[1]]

    def known(self) -> int:
        return sum(len(self.compared(kind, metric)) == 5 for kind in KINDS for metric in METRICS)

    def counts_differ(self) -> list[tuple[int, int]]:
        here = (self.size, len(self.oracle.task.corpus), sum(self.counts))
        pairs = zip(here, (int(self.published[name]) for name in COUNTS), strict=True)
        return [pair for pair in pairs if pair[0] != pair[1]]

    def on_other_data(self, place: Place) -> list[Any]:
        assert self.counts_differ()
        return [number for pair in self.counts_differ() for number in pair]

    def on_same_counts(self, place: Place) -> list[Any]:
        assert not self.counts_differ()
        return []

    def on_all_inside(self, place: Place) -> list[Any]:
        assert not self.outside()
        return [self.known()]

    def on_outside_interval(self, place: Place) -> list[Any]:
        """All scores of a profile that are outside on that side, in the order of the metrics."""
        kind, sign = KIND_OF[str(place.figures["label"])], 1 if place.figures["side"] == "above" else -1
        own = [self.compared(*pair)[2:] for pair in self.outside() if pair[0] == kind]
        chosen = [one for one in own if sign * one[0] > 0]
        assert chosen
        return [number for difference, low, high in chosen for number in (abs(difference), low, high)]

    def row(self, place: Place) -> tuple[list[str], list[Any]]:
        profile, metric, *scores, inside = place.key
        pair = KIND_OF[profile], metric
        values = self.compared(*pair)
        assert inside == ("-" if len(values) < 5 else "outside" if pair in self.outside() else "inside"), place.key
        return scores, values


class PublishedGroup(Group):
    """The numbers of the page of a group that measures two of 18 tasks."""

    def __init__(self, made: list[Made]) -> None:
        super().__init__(made)
        self.tasks = {one.values.task: Published(one) for one in made}  # type: ignore[assignment]
        self.rows = catalogue()

    def on_group_part(self, place: Place) -> list[Any]:
        tasks, *sizes = self.on_group_size(place)
        return [tasks, len(self.rows), *sizes, len(self.rows) - tasks]

    def on_group_published(self, place: Place) -> list[Any]:
        own = self.tasks.values()
        return [sum(one.known() for one in own), sum(len(one.outside()) for one in own)]  # type: ignore[attr-defined]

    def on_group_other_data(self, place: Place) -> list[Any]:
        differ = [name for name, one in self.tasks.items() if one.counts_differ()]  # type: ignore[attr-defined]
        assert self.named(place) == differ
        return []

    def field(self, cells: dict[str, str]) -> tuple[list[str], list[Any]]:
        if cells["Field"] == "Task pages":
            return [cells["Value"]], [self.count, len(self.rows)]
        return super().field(cells)

    def row(self, place: Place) -> tuple[list[str], list[Any]]:
        columns = tuple(str(name) for name in place.figures["columns"])  # type: ignore[attr-defined]
        cells = dict(zip(columns, place.key, strict=True))
        if "Reason" in cells:
            row = self.rows[cells["Task"]]
            assert cells["Task"] not in self.tasks and cells["Language"] == row["language"] and cells["Reason"]
            scores = [float(row[f"{kind}_ndcg_at_10"]) for kind in KINDS]
            return list(place.key[2:-1]), [int(row["queries"]), int(row["documents"]), *scores]
        if "nDCG@10 here" in cells:
            one = self.tasks[cells["Task"]]
            return list(place.key[2:]), one.compared(KIND_OF[cells["Profile"]], "nDCG@10")  # type: ignore[attr-defined]
        return super().row(place)


def test_every_number_next_to_published_scores_is_explained(built: tuple[GroupValues, list[Made]]) -> None:
    kinds: set[str] = set()
    for made in built[1]:
        expected, wrong = Published(made), []
        for place in (one for one in places(made.page) if one.section == "Comparison with Published Scores"):
            kinds.add(place.kind)
            if place.kind == "table":
                cells, values = expected.row(place)
                why = mismatch(numbers(" ; ".join(cells)), values)
            else:
                shown = numbers(place.text)
                known = hasattr(expected, f"on_{place.kind}")
                why = mismatch(shown, expected.of(place)) if shown or known else ""
            wrong += [f"{made.values.task}, {place.kind}: {why}"] if why else []
        assert not wrong, "\n".join(wrong)
        rows = [one for one in places(made.page) if one.kind == "table" and one.section.startswith("Comparison")]
        assert len(rows) == len(KINDS) * len(METRICS)
        claimed = [numbers(one.text) for one in places(made.page) if one.kind == "outside_interval"]
        assert sum(map(len, claimed)) == 3 * len(expected.outside())
    assert {"other_data", "same_counts", "outside_interval"} <= kinds, "each case is in the data"


def test_every_number_of_a_group_with_missing_tasks_is_explained(built: tuple[GroupValues, list[Made]]) -> None:
    group, made = built
    page, expected = group_page(group), PublishedGroup(made)
    wrong = problems(expected, page)
    assert not wrong, "\n".join(wrong)
    kinds = {place.kind for place in places(page)}
    assert {"group_part", "group_published", "group_other_data"} <= kinds and "group_size" not in kinds
    compared = [p.key[:2] for p in places(page) if p.section.startswith("Comparison") and p.kind == "table"]
    assert compared == [(one.values.task, LABELS[kind]) for one in made for kind in KINDS]


def test_missing_tasks_are_all_others_as_published(built: tuple[GroupValues, list[Made]]) -> None:
    """The rows of the missing tasks are, cell by cell, in the table of the published page of the group."""
    rows = [p.key for p in places(group_page(built[0])) if p.section == "Missing Tasks" and p.kind == "table"]
    published = json.loads(SEED.read_text(encoding="utf-8"))["group"]["Task Metadata Summary"][1:]
    assert len(rows) == len(published) - 2
    for task, language, queries, documents, *scores, reason in rows:
        start = f"{task}{GROUP}{language}natural_language{queries}{documents}"
        (row,) = (one for one in published if one.startswith(start))
        assert re.fullmatch(rf"[\d,]+{''.join(scores)}(BM25|Dense|Reranking hybrid)", row.removeprefix(start)), row
        assert reason not in ("", "not part of this build"), "the whole group was requested: the error is the reason"
