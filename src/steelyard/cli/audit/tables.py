"""The tables that `steelyard audit` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.audit import Audit, OverlapAudit, PartFindings, Rate
    from steelyard.cli._ui.output import Cell, Output


def print_audit(result: Audit, output: Output) -> None:
    """Print one line for each part of each task, then the verdicts."""
    levels = [*result.settings["levels"], "any"]
    rows: list[list[Cell]] = []
    for task in result.tasks:
        for part in task.parts:
            rates = [_rate(part.rates[level]) if level in part.rates else "-" for level in levels]
            rows.append([task.task, part.part, part.items, *rates, _apart(part)])
        if task.pairs.total:
            blank: list[Cell] = ["-"] * (len(levels) - 1)
            rows.append([task.task, "pairs", task.pairs.total, *blank, _rate(task.pairs), "-"])
    output.table(["task", "part", "items", *levels, "kept apart"], rows, fold=True)
    output.line("")
    for task in result.tasks:
        output.line(f"{task.task}: {task.verdict}: {task.reason}")
    _print_scores(result, output)
    training = result.training
    output.note(f"{training['rows']:,} rows, {training['texts']:,} texts in {len(training['files'])} training files")
    semantic = result.settings.get("semantic")
    if semantic:
        output.note(
            f"semantic level: {semantic['encoder']}, margin at least {semantic['threshold']:.3f}: "
            f"{semantic['flagged']:.1%} of the texts pass, about {semantic['false_positive_rate']:.1%} by chance"
        )


def _print_scores(result: Audit, output: Output) -> None:
    from steelyard.audit.report.page import lead_sentence

    for score in result.scores:
        rows: list[list[Cell]] = [
            [model["model"], model["all"], model["clean"], model["contaminated"], model["effect"], model["effect_p"]]
            for model in score["models"]
        ]
        output.line(f"\n{score['task']}: {score['metric']} with {score['contaminated']:,} contaminated queries")
        output.table(["model", "all", "clean", "contaminated", "contaminated - clean", "p"], rows, fold=True)
        for lead in score["leads"]:
            output.line(lead_sentence(lead))


def print_overlap(result: OverlapAudit, output: Output) -> None:
    """Print what each set repeats of itself, then which sets overlap."""
    rows: list[list[Cell]] = [
        [one.task, finding.kind.replace("_", " "), finding.count, finding.total]
        for one in result.within
        for finding in one.overlaps
    ]
    output.table(["task", "finding", "count", "of"], rows, fold=True)
    if result.between is None:
        return
    output.line("")
    pairs: list[list[Cell]] = [
        [pair["first"], pair["second"], ", ".join(pair["kinds"]), _both(pair["queries"]), _both(pair["documents"])]
        for pair in result.between.overlaps()
    ]
    if pairs:
        output.table(["task", "other task", "overlap", "queries", "documents"], pairs, fold=True)
    else:
        output.line(f"No two of the {len(result.between.tasks)} sets overlap.")


def _both(shares: list[float]) -> str:
    return f"{shares[0]:.1%} / {shares[1]:.1%}"


def _rate(rate: Rate) -> str:
    if not rate.count or rate.interval is None:
        return "0"
    return f"{rate.count:,} ({rate.share:.1%} [{rate.interval.low:.1%}, {rate.interval.high:.1%}])"


def _apart(part: PartFindings) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in part.kept_apart.items()) or "-"
