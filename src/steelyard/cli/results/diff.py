"""`steelyard results diff`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output
    from steelyard.warehouse.diff import Diff

SHOWN = 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the job."""
    parser.add_argument("ours", type=Path, metavar="OURS", help="Folder or file of results.")
    parser.add_argument("theirs", type=Path, metavar="THEIRS", help="Folder or file of published results.")
    parser.add_argument("-m", "--model", help="The model to compare, where a folder has several.")
    parser.add_argument(
        "--tolerance", type=float, default=1e-4, help="Largest difference that counts as equal (default: 0.0001)."
    )


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Print the metrics that differ; 1 if a main score does."""
    from steelyard.warehouse.diff import diff_results

    if not arguments.tolerance >= 0:
        raise UsageError.invalid(
            "--tolerance",
            expected="at least 0",
            found=arguments.tolerance,
            option="--tolerance",
            hint="--tolerance 0.0001",
        )
    result = diff_results(arguments.ours, arguments.theirs, tolerance=arguments.tolerance, model=arguments.model)
    if output.json:
        output.data(result.to_dict())
    else:
        _print(result, output)
    return 1 if result.main_scores() else 0


def _print(result: Diff, output: Output) -> None:
    ordered = sorted(
        result.differences, key=lambda item: (item.metric != "main_score", -item.size, item.task, item.metric)
    )
    shown = ordered if output.verbose else ordered[:SHOWN]
    if shown:
        rows = [
            [f"{d.task} {d.split} {d.subset}", d.metric, _shown(d.ours), _shown(d.theirs), _change(d.ours, d.theirs)]
            for d in shown
        ]
        output.table(["task", "metric", "ours", "theirs", "difference"], rows)
    if len(ordered) > len(shown):
        output.note(f"{len(ordered) - len(shown):,} more differences: -v lists all")
    for task, one, other in result.revisions[: SHOWN if not output.verbose else None]:
        output.note(f"{task}: other data revision ({one or 'unknown'} here, {other or 'unknown'} there)")
    output.line(
        f"{result.equal:,} of {result.compared:,} metrics are equal; {len(result.main_scores())} main scores differ"
    )
    for label, places in (("only in ours", result.only_ours), ("only in theirs", result.only_theirs)):
        if places:
            output.note(f"{label}: {', '.join(sorted({place[0] for place in places})[:SHOWN])}")
    for path, reason in result.bad:
        output.failure(f"unreadable: {path}: {reason}")


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.6f}"


def _change(one: float | None, other: float | None) -> str:
    return "-" if one is None or other is None else f"{one - other:+.6f}"
