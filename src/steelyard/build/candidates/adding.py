"""Add candidate lists to a set on disk, which is then read back, documented and hashed again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from steelyard import __version__
from steelyard.build.candidates.lists import CandidatePlan, Candidates, Coverage, make_candidates, stored_coverage
from steelyard.build.sample.completing import CardTexts, complete
from steelyard.config import Settings
from steelyard.datasets import load_tasks, write_nano_set
from steelyard.datasets.formats.folder import locate
from steelyard.datasets.formats.nano.manifest import (
    CARD,
    EVALUATION,
    candidate_table,
    refuse_foreign_files,
    write_json,
    write_table,
)
from steelyard.datasets.formats.sidecar import MANIFEST, candidates_path, read_json_object
from steelyard.datasets.formats.task_files import TaskLocation
from steelyard.datasets.options import LoadOptions
from steelyard.datasets.sources import FolderSource, source_of
from steelyard.errors import UsageError
from steelyard.types import Task
from steelyard.types.protocols import Tick, no_tick

SECTION = "Candidate subsets"
Cells = list[str | int | float | None]


def build_candidates(
    reference: str,
    plan: CandidatePlan,
    folder: Path | None = None,
    *,
    settings: Settings | None = None,
    overwrite: bool = False,
    begin: Callable[[Task, str], Tick] = lambda task, model: no_tick,
) -> dict[str, Candidates]:
    """Make the lists of the plan for every task of a set, and write them into it, or into a copy of it.

    A Nano-set on this machine is added to in location unless a `folder` is given; anything else is written there first.
    """
    settings = settings or Settings.load()
    locations = _nano_locations(reference, settings)
    home = folder if folder is not None else locations[0].folder if locations else None
    if home is None:
        raise UsageError.invalid(
            reference, expected="a Nano-set on this machine", found="another source", hint="give a folder with -o DIR"
        )
    if locations and home.resolve() != locations[0].folder.resolve():
        refuse_foreign_files(home, overwrite=overwrite)
        _copy(locations, home)
    elif not locations:
        write_nano_set(home, load_tasks([reference], settings=settings), keep_other_tables=True, overwrite=overwrite)
    names = [location.task for location in locations] or [location.task for location in locate(home)]
    by_task: dict[str, Candidates] = {}
    for name in names:
        (location,) = locate(f"{home}::{name}")
        task = location.load(missing=settings.missing_judgements)
        by_task[name] = make_candidates(task, plan, begin, settings)
        for config in by_task[name].made:
            write_table(home, config, name, candidate_table(task, by_task[name].task.candidates[config]))
        path = candidates_path(home, name)
        write_json(path, {"steelyard": __version__, **read_json_object(path), **by_task[name].made})
    every = {location.task: coverage_of(location, settings) for location in locate(home)}
    complete(home, CardTexts(sections={SECTION: card_table(every)}))
    return by_task


def coverage_of(location: TaskLocation, settings: Settings) -> dict[str, Coverage]:
    """Return the coverage of the stored lists of a task."""
    return stored_coverage(location.load(missing=settings.missing_judgements))


def candidate_coverage(reference: str, *, settings: Settings | None = None) -> dict[str, dict[str, Coverage]]:
    """Return the coverage of the candidate lists of a set, by task and list; nothing is written."""
    settings = settings or Settings.load()
    if locations := _nano_locations(reference, settings):
        return {location.task: coverage_of(location, settings) for location in locations}
    return {task.info.task: stored_coverage(task) for task in load_tasks([reference], settings=settings)}


COLUMNS = (
    *("task", "config", "nDCG@10", "hit@10", "recall@100", "pooled recall@100", "candidates", "min", "max", "mean"),
    *("safeguards", "queries with lists", "queries covered", "positives covered"),
    *("queries covered without safeguards", "positives covered without"),
)


def rows(coverage: Mapping[str, Mapping[str, Coverage]]) -> list[Cells]:
    """Return the coverage as rows of a table with `COLUMNS`."""
    return [[task, *_cells(one)] for task, lists in coverage.items() for one in lists.values()]


def _cells(coverage: Coverage) -> Cells:
    plain = coverage.without_safeguards or {
        "covered_queries": coverage.covered_queries,
        "relevant_coverage": coverage.relevant_coverage,
    }
    return [
        coverage.config,
        coverage.ndcg_at_10,
        coverage.hit_rate_at_10,
        coverage.recall_at_100,
        coverage.pooled_recall_at_100,
        coverage.label,
        coverage.candidates_min,
        coverage.candidates_max,
        coverage.candidates_mean,
        coverage.safeguard_rows,
        coverage.query_coverage,
        coverage.covered_queries,
        coverage.relevant_coverage,
        plain["covered_queries"],
        plain["relevant_coverage"],
    ]


def card_table(coverage: Mapping[str, Mapping[str, Coverage]]) -> str:
    """Return the table for a dataset card."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    for row in rows(coverage):
        lines.append("| " + " | ".join(_text(cell) for cell in row) + " |")
    return "\n".join(
        [*lines, "", "recall@100 is the mean over queries; pooled recall@100 counts all positives together."]
    )


def _text(cell: str | int | float | None) -> str:
    return "-" if cell is None else f"{cell:.4f}" if isinstance(cell, float) else str(cell)


def _nano_locations(reference: str, settings: Settings) -> list[TaskLocation]:
    if not isinstance(source_of(reference, LoadOptions(settings=settings)), FolderSource):
        return []
    return [
        location for location in locate(reference) if location.task and location.files.corpus[0].endswith(".parquet")
    ]


def _copy(locations: Sequence[TaskLocation], home: Path) -> None:
    origin = locations[0].folder
    names = [name for location in locations for name in location.files.all]
    others = [CARD, MANIFEST, EVALUATION, *(path.relative_to(origin).as_posix() for path in origin.glob("metadata/*"))]
    for name in [*names, *others]:
        if (origin / name).is_file():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(origin / name, home / name)
