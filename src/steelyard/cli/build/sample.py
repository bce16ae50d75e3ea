"""`steelyard build sample`: sample a Nano-set from a full dataset or your own files."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli._ui.options import Add, add_locations, integer, number
from steelyard.cli._ui.progress import Progress
from steelyard.cli._ui.signals import interrupt_code
from steelyard.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from steelyard.build.sample.recipe import Recipe
    from steelyard.build.sample.sampler import NanoSet
    from steelyard.cli._ui.output import Output
    from steelyard.cli._ui.parser import Parser
    from steelyard.datasets.problems import Problem

COUNTING = "reading ids"
"""The stage after which the number of documents is known."""
ROLES = ("positive", "judged negative", "hard negative", "fill")
"""The roles of documents in a set, which together are all of them."""


def configure(parser: Parser) -> None:
    """Add the arguments of the subcommand."""
    parser.add_argument(
        "sources",
        nargs="+",
        metavar="SOURCE",
        help="What to sample: tasks, groups, paths, NAME=SOURCE, or a set.yaml that lists tasks.",
    )
    add = parser.add_argument_group("the new set").add_argument
    add("-o", "--output", type=Path, metavar="DIR", help="Folder of the new set (required).")
    add("--title", default="", help="Title of the dataset card (default: that of set.yaml, or the folder).")
    add("--licence", default="", help="Licence of the new tasks (default: that of each source).")
    add("--overwrite", action="store_true", help="Replace tasks of the folder that were made in another way.")
    add_recipe_options(parser.add_argument_group("sampling").add_argument)
    add_locations(parser.add_argument_group("data").add_argument)


def add_recipe_options(add: Add) -> None:
    """Add the options that make a recipe, which `recipe_of` reads."""
    queries, docs = integer("--queries", at_least=1), integer("--docs", at_least=1)
    add("--queries", type=queries, default=200, metavar="N", help="Maximum number of queries (default: 200).")
    add("--docs", type=docs, default=10_000, metavar="N", help="Maximum number of documents (default: 10000).")
    add("--seed", type=integer("--seed"), default=0, metavar="N", help="Seed of all random choices (default: 0).")
    add(
        "--recipe",
        choices=["default", "hakari"],
        default="default",
        help="Rules of sampling; hakari takes the source order, as published sets do (default: default).",
    )
    add("--stratify", metavar="COLUMN", help="Give every value of this query column a share; `language` is detected.")
    add(
        "--shares",
        choices=["equal", "proportional"],
        default="equal",
        help="Shares of the values of --stratify (default: equal).",
    )
    add(
        "--max-positives",
        type=integer("--max-positives", at_least=1),
        metavar="N",
        help="Maximum number of relevant documents per query (default: all).",
    )
    add(
        "--near",
        type=number("--near", low=0, high=1),
        metavar="J",
        help="Jaccard index from which texts are near-duplicates and dropped, 0: keep (default: 0.9).",
    )
    add(
        "--no-judged-negatives",
        action="store_true",
        help="Do not prefer documents that were judged as not relevant.",
    )
    _add_mining(add)
    add("--merge-titles", action="store_true", help="Write titles into the texts, for readers without titles.")
    add("--zero-grades", action="store_true", help="Also write judgements with grade 0 or less (default: only above).")


def _add_mining(add: Add) -> None:
    add(
        "--mine",
        action="append",
        default=[],
        metavar="MODEL",
        help="Mine hard negatives with this model, repeatable (default: none).",
    )
    add(
        "--hard-negatives",
        type=integer("--hard-negatives", at_least=0),
        default=20,
        metavar="N",
        help="Maximum number of mined negatives per query (default: 20).",
    )
    add(
        "--guard",
        type=number("--guard", low=0, high=1),
        default=0.7,
        metavar="J",
        help="Do not mine texts with this Jaccard index to a relevant one (default: 0.7).",
    )
    add(
        "--guard-margin",
        type=number("--guard-margin", low=0, above=True),
        metavar="X",
        help="Do not mine texts that score above X times the best relevant one (default: off).",
    )
    pool = integer("--pool", at_least=1)
    add("--pool", type=pool, metavar="N", help="Mine among N random documents (default: all).")


def recipe_of(arguments: argparse.Namespace) -> Recipe:
    """Return the recipe of the options."""
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


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Sample the set and print what it has."""
    from steelyard.build.sample.sampler import sample_set
    from steelyard.datasets.problems import problem_listener

    if arguments.output is None:
        raise UsageError("the folder of the new set is missing", hint="add -o DIR", option="-o")
    started = time.monotonic()
    progress = Progress.for_output(output)
    try:
        with problem_listener(_warnings(output)):
            nano_set = sample_set(
                arguments.sources,
                arguments.output,
                recipe_of(arguments),
                progress=_stages(progress),
                settings=arguments.settings,
                overwrite=arguments.overwrite,
                title=arguments.title,
                licence=arguments.licence,
            )
    except KeyboardInterrupt:
        progress.close()
        _note_interrupt(progress.activity, arguments.output, output)
        return interrupt_code()
    finally:
        progress.close()
    if output.json:
        problems = {name: [problem.to_dict() for problem in part.problems] for name, part in nano_set.tasks.items()}
        output.data({"folder": str(nano_set.folder), "tasks": dict(nano_set.facts), "problems": problems})
        return 0
    _show(nano_set, output)
    output.note(f"\n{nano_set.folder}: {time.monotonic() - started:.1f} s")
    output.note(f"evaluate on it: steelyard run -t {nano_set.folder}")
    output.note(f"add candidate lists: steelyard build candidates {nano_set.folder} --bm25 --dense --hybrid")
    return 0


def _stages(progress: Progress) -> Callable[[str], Callable[[int], None]]:
    """Return a function that begins a stage; from the second pass on, the number of documents is known."""
    name, done, total = "", 0, 0

    def begin(stage: str) -> Callable[[int], None]:
        nonlocal name, done, total
        if name == COUNTING:
            total = done
        if stage == COUNTING:  # of the next task
            total = 0
        name, done = stage, 0
        advance = progress.stage(stage, total)

        def tick(count: int) -> None:
            nonlocal done
            done += count
            advance(count)

        return tick

    return begin


def _warnings(output: Output) -> Callable[[Sequence[Problem]], None]:
    """Return a listener that prints every warning once: a corpus is read several times."""
    printed: set[Problem] = set()

    def listen(problems: Sequence[Problem]) -> None:
        for problem in problems:
            if problem.severity == "warning" and problem not in printed:
                printed.add(problem)
                output.note(str(problem))

    return listen


def _note_interrupt(activity: str, folder: Path, output: Output) -> None:
    """Print where the work was interrupted, what is kept in the folder, and how to continue."""
    from steelyard.build.sample.sampler import finished_steps

    output.note(f"\ninterrupted while {activity}" if activity else "\ninterrupted")
    finished = [f"{task}: {', '.join(stages)}" for task, stages in finished_steps(folder).items()]
    if finished:
        output.note(f"kept in {folder}: " + "; ".join(finished))
        output.note("the same command continues from there")
    else:
        output.note("nothing was finished; the same command starts again")


def _show(nano_set: NanoSet, output: Output) -> None:
    columns = ["task", "queries", "of", "relevant pairs", "documents", "of"]
    columns += [role if role == "fill" else f"{role}s" for role in ROLES]
    rows = []
    for name, facts in nano_set.facts.items():
        counts = [facts["documents"]["roles"].get(role, 0) for role in ROLES]
        pairs, documents, source = facts["judgements"]["positive"], facts["documents"]["kept"], facts["source"]
        rows.append([name, facts["queries"]["kept"], source["queries"], pairs, documents, source["documents"], *counts])
    output.table(columns, rows)
    for name, facts in nano_set.facts.items():
        if facts["queries"]["strata"]:
            output.note(f"{name}: queries by {facts['recipe']['stratify']}: " + _counts(facts["queries"]["strata"]))
        for part in ("queries", "documents"):
            dropped = facts[part].get("left_out") or facts[part].get("copies") or {}
            if dropped:
                output.note(f"{name}: dropped {part}: " + _counts(dropped))
        if facts["notes"]:
            output.note(f"{name}: {_counts(facts['notes'])}")
        problems = nano_set.tasks[name].problems
        output.note(f"{name}: read again and checked: no errors, {len(problems)} warnings and notes")
        for problem in problems:
            output.note(f"{name}: {problem}")
        output.note(f"{name}: leakage: {_counts(facts['leakage'])}")


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items())
