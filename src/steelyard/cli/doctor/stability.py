"""`steelyard doctor stability`: which scores move under other batch sizes, dtypes, thread counts and devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.cli._ui.options import add_locations, integer, integers, number

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the job."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="Model to evaluate.")
    add(
        "-t",
        "--task",
        default="NanoAlmanac/en",
        metavar="TASK",
        help="Task to evaluate it on (default: NanoAlmanac/en).",
    )
    add("--limit", type=integer("--limit", at_least=1), metavar="N", help="Use N random queries (default: all).")
    sizes = integers("--batch-sizes")
    add("--batch-sizes", type=sizes, default=[1, 8, 64], metavar="N,N", help="Batch sizes to try (default: 1,8,64).")
    add(
        "--dtypes",
        default="float16,bfloat16",
        metavar="D,D",
        help="Dtypes to try besides the model's own (default: float16,bfloat16).",
    )
    add("--threads", type=integers("--threads"), default=[1], metavar="N,N", help="Thread counts to try (default: 1).")
    add("--devices", default="", metavar="D,D", help="Devices to try, such as cuda:0 (default: all accelerators).")
    margin = number("--margin", low=0)
    add("--margin", type=margin, default=0.005, help="Difference that counts for a decision (default: 0.005).")
    add_locations(parser.add_argument_group("data").add_argument)


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Evaluate under every condition; 1 if one of them could change a decision."""
    from steelyard.engine.stability import stability

    outcome = stability(
        arguments.model,
        arguments.task,
        limit=arguments.limit,
        batch_sizes=arguments.batch_sizes,
        dtypes=[name for name in arguments.dtypes.split(",") if name],
        threads=arguments.threads,
        devices=[name for name in arguments.devices.split(",") if name] or None,
        margin=arguments.margin,
        report=output.note,
        settings=arguments.settings,
    )
    output.findings(outcome)
    return 1 if outcome.unstable else 0
