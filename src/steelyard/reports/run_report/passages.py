"""What passages cost: how many there are, and the size of their index, next to the same model with whole documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from steelyard.results import HEADLINES, MAIN_METRIC, Result, Results


def passage_rows(results: Sequence[Result], metric: str = MAIN_METRIC) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows, one for each model with a searched index; no rows if no model has passages.

    Values are means over the common tasks. Passages are what is indexed: of a fusion, the sum over its parts.

    >>> notes = {"passages": {"count": 30, "per_document": 3.0}}
    >>> whole = Result("T/a", "bm25", {}, "1", metrics={"ndcg_at_10": 0.5}, index_bytes=1000)
    >>> small = Result("T/a", "bm25?chunk=9", {}, "2", metrics={"ndcg_at_10": 0.6}, index_bytes=1500, notes=notes)
    >>> for row in passage_rows([whole, small])[1]:
    ...     print(row)
    ['bm25', '-', '-', '1,000', '0.5000']
    ['bm25?chunk=9', '30', '3.0', '1,500', '0.6000']
    """
    view = Results(result for result in results if result.done and result.index_bytes)
    columns = ["model", "passages", "per document", "index bytes", HEADLINES.get(metric, metric)]
    if not any(passage_counts(result.notes) for result in view):
        return columns, []
    common, means = view.common_tasks(metric), view.means(metric)
    rows = []
    for model in view.models:
        cells = [cell for task in common if (cell := view.cell(task, model))]
        divided = [counts for cell in cells if (counts := passage_counts(cell.notes))]
        mean = means.get(model)
        if cells:
            rows.append(
                [
                    model,
                    f"{fmean(sum(count for count, _ in counts) for counts in divided):,.0f}" if divided else "-",
                    f"{fmean(sum(ratio for _, ratio in counts) for counts in divided):,.1f}" if divided else "-",
                    f"{fmean(cell.index_bytes or 0 for cell in cells):,.0f}",
                    "-" if mean is None else f"{mean:.4f}",
                ]
            )
    return columns, rows


def passage_counts(notes: Mapping[str, Any]) -> list[tuple[int, float]]:
    """Return the passages of an index, or of each part of a model, and how many a document has."""
    counts: list[tuple[int, float]] = []
    for name, value in notes.items():
        if isinstance(value, Mapping):
            counts += [(value["count"], value["per_document"])] if name == "passages" else passage_counts(value)
    return counts
