"""The results of a run as tables, or as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.cli._ui.stage_tables import print_stages, truncation_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steelyard.cli._ui.output import Output
    from steelyard.results import Results


def show_results(results: Results, output: Output, *, metrics: Sequence[str] = (), summary: bool = False) -> None:
    """Print the results as JSON or as tables; with `summary`, also the means and ranks of a benchmark.

    The tables: the main metric, or each of the `metrics`, with intervals if output is verbose; the variants of a model;
    the stages of a pipeline. Then the texts that a model truncated.
    """
    if output.json:
        rows = results.to_dicts()
        output.data({"results": rows, "summary": results.summary().to_dict()} if summary else rows)
    elif results:
        _show_scores(results.distinct_names(), output, metrics)
        _show_passages(results, output)
        print_stages(results, output)
        if summary:
            output.line("")
            output.table(*results.summary().table(), fold=True)
        for place, line in enumerate(truncation_lines(results)):
            output.note(line if place else f"\n{line}")


def _show_passages(results: Results, output: Output) -> None:
    """Print what passages cost, if any model divided documents."""
    from steelyard.reports.run_report.passages import passage_rows

    columns, rows = passage_rows(results)
    if rows:
        output.line("")
        output.table(columns, rows, fold=True)


def _show_scores(results: Results, output: Output, metrics: Sequence[str]) -> None:
    """Print a table for each metric, and one of the variants by the first metric."""
    from steelyard.metrics import parse_many
    from steelyard.reports.run_report.variants import variant_rows
    from steelyard.results import MAIN_METRIC, Results

    named = dict.fromkeys(str(metric) for words in metrics for metric in parse_many(words))
    shown: list[str | None] = [*named] or [None]
    columns, variants = variant_rows(results, shown[0] or MAIN_METRIC)
    apart = {result.model for result in results if result.notes.get("variant_of")}  # a failed variant has no note
    main = Results(result for result in results if result.model not in apart)
    for place, metric in enumerate(shown if main else ()):
        (output.line if place else output.note)("")
        output.table(*main.table(metric, intervals=output.verbose), fold=True)
    if len(main.models) > 1:
        output.note("* the highest score, and every score that cannot be distinguished from it (p >= 0.05)")
    if variants:
        (output.line if main else output.note)("")
        output.table(columns, variants, fold=True)
