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
    parser.add_argument("theirs", type=Path, metavar="THEIRS", help="Folder, file or .tar.gz of published results.")
    parser.add_argument("-m", "--model", help="The model to compare, if a side has several (default: the only one).")
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
    most = None if output.verbose else SHOWN
    for title, side in (("ours", result.ours), ("theirs", result.theirs)):
        versions = f", mteb {', '.join(side.versions)}" if side.versions else ""
        output.note(f"{title + ':':7} {side.model} at {side.revision}{versions}")
    shown = result.scores[:most]
    rows = [
        [item.task, item.split, item.subset, *_values(item.ours, item.theirs), f"{item.equal} of {item.compared}"]
        for item in shown
    ]
    output.table(["task", "split", "subset", "ours", "theirs", "difference", "equal metrics"], rows)
    _print_differences(result, most, output)
    for task, one, other in result.revisions[:most]:
        output.note(f"{task}: other data revision ({one or 'unknown'} in ours, {other or 'unknown'} in theirs)")
    for task, split, subset in result.partial[:most]:
        output.note(f"{task} {split} {subset}: a partial result, of a sample")
    differ = len(result.main_scores())
    output.line(
        f"{len(result.scores) - differ} of {len(result.scores)} main scores and {result.equal:,} of "
        f"{result.compared:,} metrics are equal"
    )
    for label, places in (("only in ours", result.only_ours), ("only in theirs", result.only_theirs)):
        if places:
            output.note(f"{label}: {', '.join(sorted({place[0] for place in places})[:most])}")
    for path, reason in result.bad:
        output.failure(f"unreadable: {path}: {reason}")


def _print_differences(result: Diff, most: int | None, output: Output) -> None:
    """Print the metrics with other values, and the names of those that one side lacks."""
    changed = result.changed()
    if changed:
        output.line("")
        rows = [
            [item.task, item.split, item.subset, item.metric, *_values(item.ours, item.theirs)]
            for item in changed[:most]
        ]
        output.table(["task", "split", "subset", "metric", "ours", "theirs", "difference"], rows)
    if most is not None and len(changed) > most:
        output.note(f"{len(changed) - most:,} more metrics differ: -v lists all")
    output.note("")
    for side, names in result.one_sided().items():
        if names:
            more = f" and {len(names) - SHOWN} more" if most is not None and len(names) > SHOWN else ""
            output.note(f"metrics only in {side}: {', '.join(names[:most])}{more}")


def _values(one: float | None, other: float | None) -> list[str]:
    """Return both values and their difference with six decimals, as mteb writes scores."""
    difference = None if one is None or other is None else one - other
    texts = ["-" if value is None else f"{value:.6f}" for value in (one, other)]
    return [*texts, "-" if difference is None else f"{difference:+.6f}"]
