"""`steelyard build candidates`: add candidate lists to a set, or report the quality of its lists."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.cli._ui.options import add_locations, dense_model, integer
from steelyard.cli._ui.progress import Progress
from steelyard.cli._ui.signals import interrupt_code

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from steelyard.build.candidates.hybrid import Hybrid
    from steelyard.cli._ui.output import Output
    from steelyard.cli._ui.parser import Parser


def configure(parser: Parser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument("set", metavar="SET", help="A Nano-set: a folder, or a published set to copy with -o.")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="Write to a copy in this folder.")
    add = parser.add_argument_group("lists").add_argument
    add("--bm25", nargs="?", const="bm25", metavar="MODEL", help="Add a BM25 list, by another BM25 model if named.")
    add(
        "--dense",
        nargs="?",
        const="dense",
        action="append",
        default=[],
        metavar="MODEL",
        help="Add a list by a dense model, repeatable (default model: the built-in one).",
    )
    add(
        "--hybrid",
        action="store_true",
        help="Add reranking_hybrid (RRF, k=100, as published) and hybrid (RRF, k=60).",
    )
    add(
        "--from",
        dest="sources",
        nargs=2,
        default=[],
        metavar="LIST",
        help="Stored lists that --hybrid fuses (default: the BM25 and the dense list).",
    )
    depth = integer("--depth", at_least=1)
    add("--depth", type=depth, default=500, metavar="N", help="Documents of each list (default: 500).")
    add(
        "--no-safeguard",
        action="store_true",
        help="Do not insert a relevant document at rank 101 of hybrid lists without one above.",
    )
    add("--report", action="store_true", help="Only report the quality of the lists that the set has.")
    add("--overwrite", action="store_true", help="Change a card or manifest in DIR that Steelyard did not write.")
    add_locations(parser.add_argument_group("data").add_argument)


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Add the lists, or report on those of the set, and print their quality."""
    from steelyard.build.candidates import adding
    from steelyard.build.candidates.lists import CandidatePlan

    if arguments.report:
        coverage: Any = adding.candidate_coverage(arguments.set, settings=arguments.settings)
        if not any(coverage.values()):
            output.note(f"{arguments.set} has no candidate lists; add them with --bm25, --dense MODEL or --hybrid")
    else:
        models = ([arguments.bm25] if arguments.bm25 else []) + [dense_model(name) for name in arguments.dense]
        plan = CandidatePlan(tuple(models), arguments.depth, _hybrids(arguments), tuple(arguments.sources))
        progress = Progress.for_output(output)
        try:
            by_task = adding.build_candidates(
                arguments.set,
                plan,
                arguments.output,
                settings=arguments.settings,
                overwrite=arguments.overwrite,
                begin=lambda task, model: progress.stage(f"searching {task.name} with {model}", len(task.corpus)),
            )
        except KeyboardInterrupt:
            progress.close()
            activity = progress.activity or "reading"
            output.note(f"\ninterrupted while {activity}; the same command starts again with stored vectors")
            return interrupt_code()
        finally:
            progress.close()
        coverage = {name: candidates.coverage for name, candidates in by_task.items()}
    if output.json:
        output.data({task: {name: one.to_dict() for name, one in lists.items()} for task, lists in coverage.items()})
        return 0
    output.table(adding.COLUMNS, adding.rows(coverage))
    return 0


def _hybrids(arguments: argparse.Namespace) -> Mapping[str, Hybrid]:
    from steelyard.build.candidates.lists import HYBRIDS

    if not arguments.hybrid:
        return {}
    return {name: replace(hybrid, safeguard=not arguments.no_safeguard) for name, hybrid in HYBRIDS.items()}
