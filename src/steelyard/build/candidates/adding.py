"""Candidate lists added to a whole set on disk, which is read back, described and hashed anew."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from steelyard import __version__
from steelyard.build.candidates.coverage import Coverage
from steelyard.build.candidates.lists import CandidatePlan, Candidates, make_candidates, stored_figures
from steelyard.build.sample.completing import CardWords, complete
from steelyard.config import Settings
from steelyard.datasets import load_tasks, write_nano_set
from steelyard.datasets.formats.folder import locate
from steelyard.datasets.formats.nano.manifest import CARD, EVALUATION, candidate_table, write_json, write_table
from steelyard.datasets.formats.sidecar import MANIFEST, candidates_path, read_json_object
from steelyard.datasets.formats.task_files import TaskLocation
from steelyard.datasets.options import LoadOptions
from steelyard.datasets.sources import FolderSource, source_of
from steelyard.errors import UsageError
from steelyard.types import Task
from steelyard.types.protocols import Tick, no_tick

SECTION = "Candidate subsets"
Cells = list[str | int | float | None]


def add_candidates(
    reference: str,
    plan: CandidatePlan,
    folder: Path | None = None,
    *,
    settings: Settings | None = None,
    begin: Callable[[Task], Tick] = lambda task: no_tick,
) -> dict[str, Candidates]:
    """Make the lists of the plan for every task of a set, and write them into it, or into a copy of it.

    A Nano-set on this machine is added to in location unless a `folder` is given; anything else is written there first.
    """
    settings = settings or Settings.load()
    found = _nano_places(reference, settings)
    home = folder if folder is not None else found[0].folder if found else None
    if home is None:
        raise UsageError(f"{reference} is no Nano-set on this machine", hint="give a folder for the set with -o DIR")
    if found and home.resolve() != found[0].folder.resolve():
        _copy(found, home)
    elif not found:
        write_nano_set(home, load_tasks([reference], settings=settings), beside=True)
    names = [location.task for location in found] or [location.task for location in locate(home)]
    made: dict[str, Candidates] = {}
    for name in names:
        (location,) = locate(f"{home}::{name}")
        task = location.load()
        made[name] = make_candidates(task, plan, begin(task), settings)
        for config in made[name].made:
            write_table(home, config, name, candidate_table(task, made[name].task.candidates[config]))
        path = candidates_path(home, name)
        write_json(path, {"steelyard": __version__, **read_json_object(path), **made[name].made})
    every = {location.task: figures_of(location) for location in locate(home)}
    complete(home, CardWords(sections={SECTION: card_table(every)}))
    return made


def figures_of(location: TaskLocation) -> dict[str, Coverage]:
    """What the stored lists of a task are worth."""
    return stored_figures(location.load())


def report(reference: str, *, settings: Settings | None = None) -> dict[str, dict[str, Coverage]]:
    """What the candidate lists of a set are worth, by task and list; makes nothing."""
    settings = settings or Settings.load()
    found = _nano_places(reference, settings)
    if found:
        return {location.task: figures_of(location) for location in found}
    return {task.info.task: stored_figures(task) for task in load_tasks([reference], settings=settings)}


COLUMNS = (
    *("task", "config", "nDCG@10", "hit@10", "recall@100", "pooled recall@100", "candidates", "min", "max", "mean"),
    *("safeguards", "queries with lists", "queries covered", "positives covered"),
    *("queries covered without safeguards", "positives covered without"),
)


def rows(figures: Mapping[str, Mapping[str, Coverage]]) -> list[Cells]:
    """The figures as the rows of a table under `COLUMNS`."""
    return [[task, *_cells(one)] for task, lists in figures.items() for one in lists.values()]


def _cells(one: Coverage) -> Cells:
    plain = one.without_safeguards or {
        "covered_queries": one.covered_queries,
        "relevant_coverage": one.relevant_coverage,
    }
    return [
        one.config,
        one.ndcg_at_10,
        one.hit_rate_at_10,
        one.recall_at_100,
        one.pooled_recall_at_100,
        one.label,
        one.candidates_min,
        one.candidates_max,
        one.candidates_mean,
        one.safeguard_rows,
        one.query_coverage,
        one.covered_queries,
        one.relevant_coverage,
        plain["covered_queries"],
        plain["relevant_coverage"],
    ]


def card_table(figures: Mapping[str, Mapping[str, Coverage]]) -> str:
    """The table of a dataset card."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    for row in rows(figures):
        lines.append("| " + " | ".join(_text(cell) for cell in row) + " |")
    return "\n".join(
        [*lines, "", "recall@100 is the mean over queries; pooled recall@100 counts all positives together."]
    )


def _text(cell: str | int | float | None) -> str:
    return "-" if cell is None else f"{cell:.4f}" if isinstance(cell, float) else str(cell)


def _nano_places(reference: str, settings: Settings) -> list[TaskLocation]:
    if not isinstance(source_of(reference, LoadOptions(settings=settings)), FolderSource):
        return []
    return [
        location for location in locate(reference) if location.task and location.files.corpus[0].endswith(".parquet")
    ]


def _copy(found: Sequence[TaskLocation], home: Path) -> None:
    origin = found[0].folder
    names = [name for location in found for name in location.files.all]
    beside = [CARD, MANIFEST, EVALUATION, *(path.relative_to(origin).as_posix() for path in origin.glob("metadata/*"))]
    for name in [*names, *beside]:
        if (origin / name).is_file():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(origin / name, home / name)
