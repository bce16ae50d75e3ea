"""`steelyard build`: cut a Nano-set from a full dataset, add candidate lists to a set, tell how well a cut ranks."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.cli import INTERRUPTED
from steelyard.cli._ui.data_options import add_place_options
from steelyard.cli._ui.values import dense_model
from steelyard.cli.build import fidelity
from steelyard.cli.build.progress import Stages
from steelyard.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from steelyard.build.candidates.hybrid import Hybrid
    from steelyard.build.sample.recipe import Recipe
    from steelyard.build.sample.sampler import NanoSet
    from steelyard.cli._ui.output import Output


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `steelyard build`."""
    parser.add_argument(
        "words",
        nargs="+",
        metavar="SOURCE",
        help="what to cut from: a task, a set, a path; or `candidates SET`: add candidate lists to a set; "
        "or `fidelity TASK`: how well cuts rank models",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="the folder of the new set")
    add_place_options(parser)
    parser.add_argument("--offline", action="store_true", help="never reach for the network")
    _configure_cut(parser.add_argument_group("cutting a set").add_argument)
    _configure_candidates(parser.add_argument_group("candidate lists (build candidates SET)").add_argument)
    fidelity.configure(parser.add_argument_group("fidelity (build fidelity TASK)").add_argument)


def _configure_cut(add: Callable[..., Any]) -> None:
    add("--queries", type=int, default=200, metavar="N", help="at most so many queries (default: 200)")
    add("--docs", type=int, default=10_000, metavar="N", help="at most so many documents (default: 10000)")
    add("--seed", type=int, default=0, help="of every draw; recorded (default: 0)")
    add("--recipe", choices=["default", "hakari"], default="default", help="hakari: in source order, as published sets")
    add("--stratify", metavar="COLUMN", help="a column of the queries, each value of which gets its share; `language`")
    add("--shares", choices=["equal", "proportional"], default="equal", help="of the strata (default: equal)")
    add("--max-positives", type=int, metavar="N", help="a query's further positives leave the corpus")
    add(
        "--near",
        type=float,
        metavar="J",
        help="Jaccard index of near copies, which are left out; 0: keep (default: 0.9)",
    )
    add("--no-judged-negatives", action="store_true", help="do not favour documents that were judged not relevant")
    add(
        "--mine", action="append", default=[], metavar="MODEL", help="mine hard negatives with bm25, dense:X ...; again"
    )
    add("--hard-negatives", type=int, default=20, metavar="N", help="at most so many for each query (default: 20)")
    add(
        "--guard",
        type=float,
        default=0.7,
        metavar="J",
        help="mined texts this similar to a positive are left out (0.7)",
    )
    add("--guard-margin", type=float, metavar="X", help="also those that score above X times the best positive")
    add("--pool", type=int, metavar="N", help="mine among N documents, drawn by the seed (default: all)")
    add("--merge-titles", action="store_true", help="write titles before the texts, for readers that know no titles")
    add("--zero-grades", action="store_true", help="also write judgements below 1")
    add("--title", default="", help="of the dataset card (default: the folder's name)")
    add("--licence", default="", help="of the new set (default: the source's)")
    add("--overwrite", action="store_true", help="replace a task of the folder that was made in another way")


def _configure_candidates(add: Callable[..., Any]) -> None:
    add(
        "--bm25", nargs="?", const="bm25", metavar="MODEL", help="a list by BM25; a model's name for another form of it"
    )
    add("--dense", nargs="?", const="dense", action="append", default=[], metavar="MODEL", help="a list by this model")
    add("--hybrid", action="store_true", help="reranking_hybrid as published (k=100), and hybrid, our default (k=60)")
    add("--from", dest="sources", nargs=2, default=[], metavar="LIST", help="the two stored lists that are joined")
    add("--depth", type=int, default=500, metavar="N", help="candidates of each model (default: 500)")
    add("--no-safeguard", action="store_true", help="no positive at rank 101 where a hybrid has none above")
    add("--report", action="store_true", help="make nothing; show what the lists of the set are worth")


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Cut, or add candidates, and say what was made; 130 if interrupted."""
    words: list[str] = arguments.words
    if words[0] == "candidates":
        if len(words) != 2:
            raise UsageError("build candidates takes one set", hint="steelyard build candidates SET --bm25 --hybrid")
        return _candidates(arguments, output, words[1])
    if words[0] == "fidelity":
        if len(words) != 2:
            raise UsageError("build fidelity takes one task", hint="steelyard build fidelity TASK --cut-docs 2000")
        try:
            return fidelity.run(arguments, output, words[1], _recipe(arguments))
        except KeyboardInterrupt:
            output.note("\ninterrupted: of fidelity only the vectors of texts are kept; the same command starts anew")
            return INTERRUPTED
    if len(words) != 1:
        raise UsageError(f"one source at a time, found {' '.join(words)}", hint="steelyard build SOURCE -o DIR")
    return _cut(arguments, output, words[0])


def _cut(arguments: argparse.Namespace, output: Output, source: str) -> int:
    from steelyard.build.sample.sampler import cut
    from steelyard.datasets.problems import problem_listener

    if arguments.output is None:
        raise UsageError("no folder for the new set", hint="give one with -o DIR")
    started = time.monotonic()
    stages = Stages(output)
    try:
        with problem_listener(stages.warn):
            made = cut(
                source,
                arguments.output,
                _recipe(arguments),
                watch=stages.begin,
                settings=arguments.settings,
                overwrite=arguments.overwrite,
                title=arguments.title,
                licence=arguments.licence,
            )
    except KeyboardInterrupt:
        stages.tell_interrupt(arguments.output)
        return INTERRUPTED
    if output.json:
        problems = {name: [problem.to_dict() for problem in part.problems] for name, part in made.tasks.items()}
        output.data({"folder": str(made.folder), "tasks": dict(made.facts), "problems": problems})
        return 0
    _show(made, output)
    output.note(f"\n{made.folder}: {time.monotonic() - started:.1f} s")
    output.note(f"steelyard run -t {made.folder} weighs models on it; build candidates {made.folder} adds lists")
    return 0


def _recipe(arguments: argparse.Namespace) -> Recipe:
    from dataclasses import replace

    from steelyard.build.sample.recipe import Recipe

    base = Recipe.hakari() if arguments.recipe == "hakari" else Recipe()
    return replace(
        base,
        queries=arguments.queries,
        documents=arguments.docs,
        seed=arguments.seed,
        stratify=arguments.stratify,
        shares=arguments.shares,
        max_positives=arguments.max_positives,
        near=base.near if arguments.near is None else arguments.near,
        judged_negatives=not arguments.no_judged_negatives,
        mine=tuple(arguments.mine),
        hard_negatives=arguments.hard_negatives,
        guard_similarity=arguments.guard,
        guard_margin=arguments.guard_margin,
        pool=arguments.pool,
        merge_titles=base.merge_titles or arguments.merge_titles,
        zero_grades=arguments.zero_grades,
    )


def _show(made: NanoSet, output: Output) -> None:
    roles = ("positive", "judged negative", "hard negative", "fill")  # which together are the documents
    columns = ["task", "queries", "of", "relevant pairs", "documents", "of"]
    columns += [role if role == "fill" else f"{role}s" for role in roles]
    rows = []
    for name, facts in made.facts.items():
        counts = [facts["documents"]["roles"].get(role, 0) for role in roles]
        pairs, documents, source = facts["judgements"]["positive"], facts["documents"]["kept"], facts["source"]
        rows.append([name, facts["queries"]["kept"], source["queries"], pairs, documents, source["documents"], *counts])
    output.table(columns, rows)
    for name, facts in made.facts.items():
        if facts["queries"]["strata"]:
            output.note(f"{name}: queries by {facts['recipe']['stratify']}: " + _counts(facts["queries"]["strata"]))
        for part in ("queries", "documents"):
            left = facts[part].get("left_out") or facts[part].get("copies") or {}
            if left:
                output.note(f"{name}: {part}: " + _counts(left))
        if facts["notes"]:
            output.note(f"{name}: {_counts(facts['notes'])}")
        problems = made.tasks[name].problems
        output.note(f"{name}: read back and checked: no errors, {len(problems)} warnings and notes")
        for problem in problems:
            output.note(f"{name}: {problem}")
        output.note(f"{name}: leakage: {_counts(facts['leakage'])}")


def _counts(tally: Mapping[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in tally.items())


def _candidates(arguments: argparse.Namespace, output: Output, reference: str) -> int:
    from steelyard.build.candidates import adding
    from steelyard.build.candidates.lists import CandidatePlan

    settings = arguments.settings
    if arguments.report:
        figures: Any = adding.report(reference, settings=settings)
        if not any(figures.values()):
            output.note(f"{reference} has no candidate lists; --bm25, --dense MODEL and --hybrid make them")
    else:
        models = ([arguments.bm25] if arguments.bm25 else []) + [dense_model(name) for name in arguments.dense]
        plan = CandidatePlan(tuple(models), arguments.depth, _hybrids(arguments), tuple(arguments.sources))
        stages = Stages(output)
        try:
            made = adding.add_candidates(
                reference,
                plan,
                arguments.output,
                settings=settings,
                begin=lambda task: stages.begin(f"searching {task.name}"),
            )
        except KeyboardInterrupt:
            output.note(f"\ninterrupted while {stages}: lists are written task by task, card and manifest at the end")
            output.note("the same command makes them all, with the vectors that are stored by now")
            return INTERRUPTED
        figures = {name: candidates.figures for name, candidates in made.items()}
    if output.json:
        output.data({task: {name: one.to_dict() for name, one in lists.items()} for task, lists in figures.items()})
        return 0
    output.table(adding.COLUMNS, adding.rows(figures))
    return 0


def _hybrids(arguments: argparse.Namespace) -> Mapping[str, Hybrid]:
    from dataclasses import replace

    from steelyard.build.candidates.lists import HYBRIDS

    if not arguments.hybrid:
        return {}
    return {name: replace(hybrid, safeguard=not arguments.no_safeguard) for name, hybrid in HYBRIDS.items()}
