"""The details of one task: every query with its scores, ranks of its positives and what was ranked above them.

Scores of queries are stored with every result. Ranks of all positives, and the documents above them, are known where
the ranked lists were saved (`--save-runs`) and the data of the task can still be read on this machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.comparison.loaded_tasks import LoadedTask, load_compared
from steelyard.config import Settings
from steelyard.datasets import load_any
from steelyard.datasets.problems import problem_listener
from steelyard.engine import TaskLike, expand
from steelyard.errors import ResultError, SteelyardError
from steelyard.reports.pages.render.json_page import HIDDEN, read_page
from steelyard.results import Result, Results
from steelyard.results.query_scores import QueryScores
from steelyard.text.function_words import FUNCTION_WORDS
from steelyard.text.languages import canonical
from steelyard.types import Task

MOST_QUERIES = 1000
"""Queries of a task that are listed: those with the lowest mean score over the models."""
MOST_MODELS = 30
"""Models whose ranked lists are shown, the best first."""
MOST_DOCUMENTS = 300_000
"""A corpus with more documents than this is not read for its texts."""
NEAR_DUPLICATES = 30_000
"""A corpus with more documents than this is not searched for near-duplicates."""
TOP = 10
MOST_POSITIVES = 10


@dataclass(frozen=True)
class DetailSources:
    """Where details come from besides the results."""

    settings: Settings = field(default_factory=Settings.load)
    tasks: Sequence[TaskLike] = ()
    """Tasks that are not known by name, such as folders."""
    pages: Path | None = None
    """The folder that `steelyard pages` wrote."""
    characters: int = 600
    """Characters of a text that are kept."""
    top: int = TOP
    duplicates: bool = True
    """Whether to search the corpus for duplicates."""

    @cached_property
    def offline(self) -> Settings:
        """The settings that read data without downloading any."""
        return replace(self.settings, offline=True)

    @cached_property
    def given(self) -> dict[str, Task]:
        """The tasks that are not known by name, read once, by the names in their results."""
        tasks = {}
        for reference in expand(self.tasks, settings=self.offline) if self.tasks else ():
            # A task that is gone goes without texts; the evaluation reported what is wrong with the data.
            with suppress(SteelyardError), problem_listener(lambda problems: None):
                task = load_any(reference, settings=self.offline) if isinstance(reference, str) else reference
                if isinstance(task, Task):
                    tasks[task.name] = task
        return tasks


def task_details(results: Results, label: str, models: Sequence[str], sources: DetailSources) -> dict[str, Any] | None:
    """Return the details of a task as plain values; `models` are those of the board, whose positions are used."""
    cells = _cells(results, label, models)
    if not cells:
        return None
    scores = {place: (cell, queries) for place, cell in cells.items() if (queries := _queries(cell)) is not None}
    details: dict[str, Any] = {"task": label, "misses": _misses(cells)}
    details["findings"], details["about"] = _page(cells[next(iter(cells))], sources.pages)
    if not scores:
        return details
    first = next(iter(scores.values()))[1]
    metric = next(iter(scores.values()))[0].main_metric
    shared = {
        place: (cell, queries, _order(first, queries))
        for place, (cell, queries) in scores.items()
        if metric in queries and set(queries.ids) == set(first.ids)
    }
    if not shared:
        return details
    matrix = np.stack([queries[metric][order] for _, queries, order in shared.values()])
    hardest = np.argsort(np.nan_to_num(matrix.mean(axis=0)), kind="stable")[:MOST_QUERIES]
    rows = np.sort(hardest)
    details |= {
        "metric": metric,
        "total": len(first.ids),
        "ids": [first.ids[row] for row in rows],
        "scores": {place: _rounded(values[rows]) for place, values in zip(shared, matrix, strict=True)},
        "first": {
            place: queries.first_positive[order][rows].tolist()
            for place, (_, queries, order) in shared.items()
            if queries.first_positive is not None
        },
        "unsolved": int((np.nan_to_num(matrix).max(axis=0) == 0).sum()),
    }
    if (loaded := _load(label, [cell for cell, _, _ in shared.values()], sources)) is not None:
        best = sorted(range(len(shared)), key=lambda place: -float(matrix[place].mean()))[:MOST_MODELS]
        details |= _texts(details["ids"], list(shared), sorted(best), loaded, sources)
        details["stop"] = sorted(FUNCTION_WORDS.get(canonical(loaded.task.info.language), ()))
        if sources.duplicates and len(loaded.task.corpus) <= NEAR_DUPLICATES:
            from steelyard.audit.within import within

            details["within"] = [finding for finding in within(loaded.task).to_dict()["findings"] if finding["count"]]
    return details


def _cells(results: Results, label: str, models: Sequence[str]) -> dict[int, Result]:
    cells = ((place, results.cell(label, model)) for place, model in enumerate(models))
    return {place: cell for place, cell in cells if cell is not None and cell.done}


def _queries(result: Result) -> QueryScores | None:
    try:
        return result.per_query
    except ResultError:  # damaged or missing: the page goes without it
        return None


def _order(first: QueryScores, other: QueryScores) -> Any:
    if other.ids == first.ids:
        return np.arange(len(first.ids))
    place = {query: row for row, query in enumerate(other.ids)}
    return np.array([place[query] for query in first.ids])


def _rounded(values: Any) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), 4) for value in values]


def _misses(cells: Mapping[int, Result]) -> dict[int, list[dict[str, Any]]]:
    """Return the worst queries of every model, which results have even without their ranked lists."""
    return {
        place: [
            {"query": miss.query_id, "text": miss.query, "rank": miss.rank, "top": miss.top, "positive": miss.positive}
            for miss in cell.misses
        ]
        for place, cell in cells.items()
        if cell.misses
    }


def _load(label: str, cells: Sequence[Result], sources: DetailSources) -> LoadedTask | None:
    if (cells[0].facts.documents or 0) > MOST_DOCUMENTS:
        return None
    task = sources.given.get(cells[0].task)
    try:
        with problem_listener(lambda problems: None):
            return load_compared({label: cells}, [task] if task else [], sources.offline).get(label)
    except SteelyardError:  # a ranked list of other data, or a task that is gone: the page goes without texts
        return None


def _texts(
    ids: Sequence[str], places: Sequence[int], shown: Sequence[int], loaded: LoadedTask, sources: DetailSources
) -> dict[str, Any]:
    """Return texts of queries, positives with their ranks, and the documents at the top of each list."""
    task, documents = loaded.task, _Documents(loaded.task, sources.characters)
    queries = [task.queries.row_of[id_] for id_ in ids]
    positives = [_positives(task, query) for query in queries]
    ranks: dict[int, list[list[int]]] = {}
    top: dict[int, list[list[int]]] = {}
    for number in shown:
        run = loaded.runs[number]
        if run is None:
            continue
        place = places[number]
        ranks[place] = [_ranks(run.rows[q], own) for q, own in zip(queries, positives, strict=True)]
        top[place] = [[documents.add(int(row)) for row in run.rows[q, : sources.top] if row >= 0] for q in queries]
    return {
        "texts": [_shortened(task.queries.texts[query], sources.characters) for query in queries],
        "positives": [[documents.add(row) for row in own] for own in positives],
        "ranks": ranks,
        "top": top,
        "documents": documents.values,
    }


class _Documents:
    """The documents of the page, each once."""

    def __init__(self, task: Task, characters: int) -> None:
        self.values: list[list[str]] = []
        self._task, self._characters = task, characters
        self._places: dict[int, int] = {}

    def add(self, row: int) -> int:
        """Return the place of a document, which is added if it is new."""
        if row not in self._places:
            self._places[row] = len(self.values)
            text = _shortened(self._task.corpus.texts[row], self._characters)
            self.values.append([self._task.corpus.ids[row], text])
        return self._places[row]


def _positives(task: Task, query: int) -> list[int]:
    """Return the rows of the relevant documents, highest grade first."""
    graded = zip(task.qrels.rows_of(query), task.qrels.grades_of(query), strict=True)
    relevant = sorted(((-int(grade), int(row)) for row, grade in graded if grade > 0 and row >= 0))
    return [row for _, row in relevant[:MOST_POSITIVES]]


def _ranks(rows: Any, positives: Sequence[int]) -> list[int]:
    """Return the rank of each positive, from 1; 0 if it was not retrieved."""
    return [int(places[0]) + 1 if len(places := np.flatnonzero(rows == row)) else 0 for row in positives]


def _shortened(text: str, characters: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= characters else f"{line[: characters - 1]}…"


def _page(result: Result, folder: Path | None) -> tuple[list[dict[str, str]], str]:
    """Return the findings of the task's page and its description, if a page of the same data was written."""
    if folder is None:
        return [], ""
    for path in (*folder.glob(f"*/{HIDDEN}/*.json"), *folder.glob("*/*.json")):
        page = read_page(path, "task")
        if page is None or page["figures"].get("content_hash") != result.facts.data_hash:
            continue
        findings = [{"section": str(one["section"]), "text": str(one["sentence"])} for one in page["findings"]]
        return findings, str(page["figures"].get("description") or "")
    return [], ""
