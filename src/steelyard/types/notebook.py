"""What a notebook shows of tasks and runs: small HTML tables, all text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.types.retrieval import Run, Task

EXAMPLES, LONGEST = 5, 120
"""Queries, documents and characters of a text that are shown."""


def task_html(task: Task) -> str:
    """Return the size of a task, and its first queries with a relevant document."""
    rows = []
    for row, (id, text) in enumerate(zip(task.queries.ids[:EXAMPLES], task.queries.texts[:EXAMPLES], strict=True)):
        judged = zip(task.qrels.rows_of(row).tolist(), task.qrels.grades_of(row).tolist(), strict=True)
        relevant = [document for document, grade in judged if grade > 0 and document >= 0]
        document = task.corpus.texts[relevant[0]] if relevant else ""
        rows.append([id, text[:LONGEST], document[:LONGEST]])
    return _html(repr(task), ["query", "text", "a relevant document"], rows)


def run_html(run: Run) -> str:
    """Return the first documents of the first queries, by row and score.

    >>> from steelyard.types import Run
    >>> "<td>row 1 (0.5)</td>" in run_html(Run.of([[1, 0]], [[0.5, 0.25]]))
    True
    """
    ranks = range(min(run.depth, EXAMPLES))
    rows = []
    for query in range(min(len(run), EXAMPLES)):
        pairs = [(int(run.rows[query, rank]), float(run.scores[query, rank])) for rank in ranks]
        rows.append([f"query {query}", *(f"row {row} ({score:.4g})" if row >= 0 else "" for row, score in pairs)])
    return _html(repr(run), ["", *(f"rank {rank + 1}" for rank in ranks)], rows)


def _html(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<p>{escape(title)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
