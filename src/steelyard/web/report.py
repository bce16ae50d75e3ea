"""The report at the end of a run: the leaderboard and explorer of its results in one HTML file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from steelyard.config import Settings
from steelyard.engine import TaskLike
from steelyard.files import write_output
from steelyard.results import Results
from steelyard.web.site import index_of, one_page
from steelyard.web.sources import Boards, without_texts
from steelyard.web.task_details import DetailSources

LARGEST = 12_000_000
"""Characters of texts and ranked lists in the file; further tasks have scores of queries only."""
MOST_TASKS = 200
"""Tasks with scores of queries; a report of more has the board alone."""
CHARACTERS = 300
"""Characters of a text that are kept."""


def write_report(
    results: Results, path: Path, *, tasks: Sequence[TaskLike] = (), settings: Settings | None = None
) -> Path:
    """Write the report, whole or not at all, and return its path.

    `tasks` are those that cannot be loaded by the names in the results, such as folders.
    """
    sources = DetailSources(settings or Settings.load(), tasks, None, CHARACTERS, top=5, duplicates=False)
    boards = Boards.of_results(results, sources)
    write_output(path, one_page(_data(boards)).encode("utf-8"))
    return path


def _data(boards: Boards) -> Iterator[tuple[str, Any]]:
    board = boards.board("results")
    if board is None:
        yield "index", index_of([], [])
        return
    names, size = [], 0
    for name, content in boards.details(board.slug) if len(board.tasks) <= MOST_TASKS else ():
        if name.startswith("task-"):
            size += len(json.dumps(content, ensure_ascii=False))
            content = content if size <= LARGEST else without_texts(content)
        names.append(name)
        yield name, content
    yield f"board-{board.slug}", board.payload()
    yield "index", index_of([board], names)
