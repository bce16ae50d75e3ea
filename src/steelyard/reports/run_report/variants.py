"""Variants of models: their size, speed and quality compared with the model that they are variants of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from steelyard.results import HEADLINES, MAIN_METRIC, Result, Results
from steelyard.results.per_query import aligned
from steelyard.stats.group_means import GroupScores

BYTES = ("bytes_per_document", "rescore_bytes_per_document")
FIRST = "truncate_dim"
FEWEST = 2
"""Queries that an interval needs."""


def variant_rows(results: Sequence[Result], metric: str = MAIN_METRIC) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows: each model with variants, then its variants, with means over their common tasks.

    `kept` is the variant's mean divided by that of its model, with its interval over queries and the p-value of the
    paired test where there are scores by query; `-` if that is 0 or missing, and then the row has the variant's full
    name. Bytes are those of the searched vectors, then of the float vectors for rescoring. The time is
    that of the search alone, for all queries of a task.

    >>> whole = Result("T/a", "dense:X", {}, "1", metrics={"ndcg_at_10": 0.5}, notes={"bytes_per_document": 2048.0})
    >>> small = Result("T/a", "dense:X?precision=binary", {}, "2", metrics={"ndcg_at_10": 0.4},
    ...                notes={"bytes_per_document": 64.0, "variant_of": "dense:X", "search_seconds": 0.0125})
    >>> for row in variant_rows([whole, small])[1]:
    ...     print(row)
    ['dense:X', '2,048', '-', '0.5000', '100.0%']
    ['  precision=binary', '64', '12.5', '0.4000', '80.0%']
    """
    rows = []
    for base, models in _families(results).items():
        common, means = models.common_tasks(metric), models.means(metric)
        for model in models.models:
            cells = [cell for task in common if (cell := models.cell(task, model))]
            rows.append(
                [
                    _label(model, base) if base in models.models else model,
                    " + ".join(filter(None, (_mean_of(cells, name, "{:,.0f}") for name in BYTES))) or "-",
                    _mean_of(cells, "search_seconds", "{:.1f}", 1000) or "-",
                    "-" if (mean := means.get(model)) is None else f"{mean:.4f}",
                    _share(mean, means.get(base)) + _uncertainty(models, model, base, common, metric),
                ]
            )
    title = HEADLINES.get(metric, metric)
    return ["variant", "bytes/document", "search ms", title, "kept"], rows


def _families(results: Sequence[Result]) -> dict[str, Results]:
    """Return the results of each base model and its variants; models without variants are left out."""
    bases = dict.fromkeys(str(base) for result in results if (base := result.notes.get("variant_of")))
    return {
        base: Results(result for result in results if base in (result.model, result.notes.get("variant_of")))
        for base in bases
    }


def _mean_of(results: Sequence[Result], note: str, form: str, scale: float = 1) -> str:
    """Return the mean of a number in the notes; an empty text if they have none."""
    known = [value for result in results if isinstance(value := result.notes.get(note), int | float)]
    return form.format(scale * fmean(known)) if known else ""


def _label(model: str, base: str) -> str:
    """Return the options of a variant that differ from its base."""
    if model == base:
        return model
    whole, own = (name.partition("?")[2].split("&") for name in (base, model))
    options = sorted(
        (option for option in own if option not in whole), key=lambda name: (not name.startswith(FIRST), name)
    )
    return "  " + ", ".join(options)


def _uncertainty(models: Results, model: str, base: str, common: Sequence[str], metric: str) -> str:
    """Return the interval of the share that a variant keeps, and the p-value of its difference; empty without queries.

    Queries are drawn again within each task, the same ones for both models.
    """
    share = share_kept(models, model, base, common, metric) if model != base else None
    return "" if share is None else f" [{share.low:.1%}, {share.high:.1%}] p={share.p:.3f}"


@dataclass(frozen=True)
class Kept:
    """The share of quality that a variant keeps: its interval, and the p-value of the paired test."""

    low: float
    high: float
    p: float


def share_kept(models: Results, model: str, base: str, common: Sequence[str], metric: str) -> Kept | None:
    """Return the interval of a variant's mean divided by that of its model, and the p-value of their difference."""
    matrices = []
    for label in common:
        columns = models.query_columns(label, metric)
        if base not in columns or model not in columns or len(columns[base].ids) < FEWEST:
            return None
        matrices.append(aligned({name: columns[name] for name in (base, model)}, where=label)[1])
    if not matrices:
        return None
    scores = GroupScores(tuple(common), tuple(matrices))
    whole, variant = scores.resampled_means(over_tasks=False)
    if not (whole > 0).all():
        return None
    low, high = np.quantile(variant / whole, [0.025, 0.975])
    return Kept(float(low), float(high), float(scores.pair_p_values()[0, 1]))


def _share(value: float | None, of: float | None) -> str:
    return f"{value / of:.1%}" if value is not None and of else "-"
