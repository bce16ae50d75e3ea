"""The figures of a run as people and programs want them: tables, or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.cli._ui.stage_tables import tell_stages
from steelyard.cli._ui.truncated_texts import cut_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steelyard.cli._ui.output import Output
    from steelyard.results import Results


def show_results(results: Results, output: Output, *, metrics: Sequence[str] = (), summary: bool = False) -> None:
    """The results as JSON or as tables; with `summary`, also the means and ranks of a benchmark.

    The tables: the main figures, or a table for each of the `metrics`, with whole intervals where output is verbose;
    what the variants of a model keep; what the stages of a pipeline bring. Last, texts that a model did not read whole.
    """
    if output.json:
        figures = results.to_dicts()
        output.data({"results": figures, "summary": results.summary().to_dict()} if summary else figures)
    elif results:
        _show_figures(results.distinct_names(), output, metrics)
        tell_stages(results, output)
        if summary:
            output.line("")
            output.table(*results.summary().table(), fold=True)
        for place, line in enumerate(cut_lines(results)):
            output.note(line if place else f"\n{line}")


def _show_figures(results: Results, output: Output, metrics: Sequence[str]) -> None:
    """A table for each metric; variants stand apart, in one table by the first metric."""
    from steelyard.metrics import parse_many
    from steelyard.reports.run_report.variants import variant_rows
    from steelyard.results import MAIN_METRIC, Results

    named = dict.fromkeys(str(metric) for words in metrics for metric in parse_many(words))
    asked: list[str | None] = [*named] or [None]
    columns, variants = variant_rows(results, asked[0] or MAIN_METRIC)
    apart = {result.model for result in results if result.notes.get("variant_of")}  # where one failed, it has no note
    main = Results(result for result in results if result.model not in apart)
    for place, metric in enumerate(asked if main else ()):
        (output.line if place else output.note)("")
        output.table(*main.table(metric, intervals=output.verbose), fold=True)
    if len(main.models) > 1:
        output.note("* the highest score, and every score that cannot be distinguished from it (p >= 0.05)")
    if variants:
        (output.line if main else output.note)("")
        output.table(columns, variants, fold=True)
