"""The results of a run as tables or as JSON: scores, the stages of pipelines and fusions, and truncated texts."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steelyard.cli._ui.output import Cell, Output
    from steelyard.results import Result, Results


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


MAX_TASKS = 3
"""Tasks that a warning names; of more it prints the number."""
KINDS = ("documents", "queries", "texts")


def print_stages(results: Results, output: Output) -> None:
    """Print the stages with their gains and recall ceilings, then each warning once."""
    from steelyard.cli._ui.output import line_width

    models: dict[str, list[Result]] = {}
    for result in results:
        if result.notes.get("stages"):
            models.setdefault(result.model, []).append(result)
    if not models:
        return
    output.note(f"\n{_tables(models, line_width(sys.stderr))}")
    for line in _warnings(models, results):
        output.note(line)


def _tables(models: Mapping[str, Sequence[Result]], max_width: int | None) -> str:
    """Return one table of all stages; if it is too wide, one of each pipeline below its name."""
    from steelyard.cli._ui.output import format_table
    from steelyard.reports.run_report.stages import stages_of
    from steelyard.results import HEADLINES, MAIN_METRIC
    from steelyard.text.display import broken_at

    rows: dict[str, list[list[Cell]]] = {}
    for model, done in models.items():
        for stage in stages_of(done):
            gain = None if stage.gain is None else f"{stage.gain:+.4f}"
            rows.setdefault(model, []).append([stage.name, stage.value, gain, stage.ceiling])
    columns = ["stage", HEADLINES[MAIN_METRIC], "gain", "recall ceiling"]
    named = [["" if place else model, *row] for model, own in rows.items() for place, row in enumerate(own)]
    whole = format_table(["pipeline", *columns], named)
    if max_width is None or len(whole.partition("\n")[0]) <= max_width:
        return whole
    tables = (
        "\n".join([*broken_at(model, max_width), format_table(columns, own, max_width)]) for model, own in rows.items()
    )
    return "\n\n".join(tables)


def _warnings(models: dict[str, list[Result]], results: Results) -> list[str]:
    """Return each warning once, with its tasks; a model that the table marks as one of the best has none."""
    affected: dict[str, list[str]] = {}
    for done in models.values():
        for result in done:
            for stage in result.notes["stages"]:
                if "warning" in stage and not _marked(stage["model"], result, results):
                    tasks = affected.setdefault(f"{stage['model']}: {stage['warning']}", [])
                    if result.task not in tasks:
                        tasks.append(result.task)
    lines = []
    for warning, tasks in affected.items():
        named = ", ".join(tasks) if len(tasks) <= MAX_TASKS else f"{len(tasks)} tasks"
        lines.append(f"{warning} ({named})")
    return lines


def _marked(model: str, result: Result, results: Results) -> bool:
    """Return whether the table marks the score of a model on the task as one of the best."""
    leaders = results.leaders(results.label_of(result)) if model in results.models else None
    return leaders is not None and model in leaders.best


def truncation_lines(results: Iterable[Result]) -> Iterator[str]:
    """Yield a line for each model that truncated texts; counted where texts were encoded.

    >>> from steelyard.results import Result
    >>> notes = {"documents": {"texts_encoded": 40, "texts_cut": 3}, "queries": {"texts_encoded": 9, "texts_cut": 0}}
    >>> limits = {"model_settings": {"max_seq_length": 256}}
    >>> list(truncation_lines([Result("T/a", "dense:X", limits, "1", notes=notes), Result("T/a", "bm25", {}, "2")]))
    ['dense:X read only the beginning of 3 of 40 documents; add ?chunk=128 to its name to read all of them in passages']
    """
    counts: dict[str, dict[str, list[int]]] = {}
    hints: dict[str, str] = {}
    for result in results:
        for kind in KINDS:
            note = result.notes.get(kind)
            if isinstance(note, Mapping) and note.get("texts_cut"):
                noun = "passages" if kind == "documents" and "passages" in result.notes else kind
                truncated, total = counts.setdefault(result.model, {}).setdefault(noun, [0, 0])
                counts[result.model][noun] = [truncated + note["texts_cut"], total + note.get("texts_encoded", 0)]
                if kind == "documents":
                    hints[result.model] = _chunk_hint(result)
    for model, kinds in counts.items():
        parts = (f"{truncated:,} of {total:,} {kind}" for kind, (truncated, total) in kinds.items())
        yield f"{model} read only the beginning of {' and '.join(parts)}{hints.get(model, '')}"


def _chunk_hint(result: Result) -> str:
    """Return the option that reads whole documents in passages: half of what it can read at once, or shorter ones."""
    settings = result.settings.get("model_settings") or {}
    own = settings.get("chunking", {}).get("chunk")
    limit = settings.get("max_seq_length") or settings.get("max_length") or settings.get("document_length") or 512
    size = min(own or limit, limit) // 2
    if size < 1:
        return ""
    return f"; add ?chunk={size} to its name to read all of them in {'shorter ' if own else ''}passages"
