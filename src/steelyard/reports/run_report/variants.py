"""Variants of models: their size, speed and quality compared with the model that they are variants of."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from steelyard.results import HEADLINES, MAIN_METRIC, Result, Results
from steelyard.spec import parse

BYTES = ("bytes_per_document", "rescore_bytes_per_document")
FIRST = "truncate_dim"


def variant_rows(results: Sequence[Result], metric: str = MAIN_METRIC) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows: each model with variants, then its variants, with means over their common tasks.

    `kept` is the variant's mean divided by that of its model; `-` if that is 0 or missing, and then the row has the
    variant's full name. Bytes are those of the searched vectors, then of the float vectors for rescoring. The time is
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
                    _share(mean, means.get(base)),
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
    whole, own = parse(base).options, parse(model).options
    names = sorted((name for name in own if own[name] != whole.get(name)), key=lambda name: (name != FIRST, name))
    return "  " + ", ".join(f"{name}={own[name]}" for name in names)


def _share(value: float | None, of: float | None) -> str:
    return f"{value / of:.1%}" if value is not None and of else "-"
