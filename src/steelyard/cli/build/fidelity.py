"""`steelyard build fidelity`: how well a cut of n queries and m documents ranks models as the full set does."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.cli._ui.progress import duration
from steelyard.cli._ui.values import numbers
from steelyard.cli.build.fidelity_report import LABELS, tell
from steelyard.config import Settings
from steelyard.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from steelyard.build.fidelity.scores import Scored, Weigh
    from steelyard.build.fidelity.sizes import Impossible
    from steelyard.build.sample.recipe import Recipe
    from steelyard.cli._ui.output import Output
    from steelyard.types import Task

SIZES = (10, 20, 50, 100, 200, 500, 1000)


def configure(add: Callable[..., Any]) -> None:
    """Add the arguments of the sub-verb."""
    add("--results", type=Path, metavar="DIR", help="take the full set's figures from stored results, not from a run")
    add("-m", "--model", action="append", default=[], help="compare these (default: all stored; else a light grid)")
    add("--metric", default="nDCG@10", help="that ranks the models (default: nDCG@10)")
    add("--sizes", type=numbers, default=[], metavar="N,N", help="numbers of queries (default: 10,20,50,100 ...)")
    add("--cut-docs", type=numbers, default=[], metavar="M,M", help="really cut, to each of these many documents")
    add("--seeds", type=int, default=5, metavar="N", help="real cuts of each size (default: 5)")
    add("--draws", type=int, default=1000, metavar="N", help="resamples of each size (default: 1000)")
    add("--target", type=float, default=0.95, metavar="X", help="the smallest cut that reaches this (default: 0.95)")
    add("--by", choices=list(LABELS), default="spearman", help="the measure of the target (default: spearman)")
    add("--plot", type=Path, metavar="FILE.html", help="write a page with fidelity against size")


def run(arguments: argparse.Namespace, output: Output, reference: str, recipe: Recipe) -> int:
    """Get the figures of the full set, resample them, cut if asked to, and name the smallest cut that will do."""
    from steelyard.build.fidelity.sizes import recut, resample
    from steelyard.metrics import parse

    _check(arguments)
    metric = str(parse(arguments.metric))
    weigh = weigher(metric, arguments.settings, output)
    scored = _full(arguments, output, reference, metric, weigh)
    for name, reason in scored.passed_over.items():
        output.note(f"passed over: {name}: {reason}")
    sizes = _sizes(arguments, scored.queries, output)
    found = resample(scored, sizes, draws=arguments.draws, seed=arguments.seed)
    impossible: list[Impossible] = []
    if arguments.cut_docs:
        made, impossible = recut(
            reference,
            scored,
            [(queries, documents) for documents in arguments.cut_docs for queries in sizes],
            weigher(metric, arguments.settings),
            recipe=recipe,
            seeds=range(arguments.seed, arguments.seed + arguments.seeds),
            settings=arguments.settings,
            watch=_watch(output),
        )
        found += made
    tell(arguments, output, scored, found, impossible)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    if not 0 < arguments.target <= 1:
        raise UsageError(f"a target of {arguments.target:g}", hint="above 0 and at most 1, which is the same order")
    if arguments.plot is not None and arguments.plot.suffix not in (".html", ".htm"):
        raise UsageError(f"--plot {arguments.plot}", hint="it is a page: give a file that ends in .html")
    for name in ("seeds", "draws"):
        if getattr(arguments, name) < 1:
            raise UsageError(f"--{name} {getattr(arguments, name)}", hint="1 or more")


def _sizes(arguments: argparse.Namespace, queries: int, output: Output) -> list[int]:
    wanted = sorted({*arguments.sizes}) or [*(size for size in SIZES if size < queries), queries]
    for size in (size for size in wanted if size > queries):
        output.note(f"{size:,} queries: left out, the full set has {queries:,}")
    fitting = [size for size in wanted if size <= queries]
    if not fitting:
        raise UsageError(f"no size fits: the full set has {queries:,} queries", hint="give smaller --sizes")
    return fitting


def _full(arguments: argparse.Namespace, output: Output, reference: str, metric: str, weigh: Weigh) -> Scored:
    """The figures of the full set, stored or fresh."""
    from steelyard.build.fidelity.scores import GRID, stored_scores
    from steelyard.datasets import load_task, task_facts
    from steelyard.retrievers import canonical

    models = [str(canonical(model)) for model in arguments.model]
    if arguments.results is None:
        return weigh(load_task(reference, settings=arguments.settings), models or [*map(str, map(canonical, GRID))])
    facts = task_facts(reference) if arguments.cut_docs else None
    if facts is not None and facts.type == "reranking":
        raise UsageError(
            f"stored results of {facts.name} are of ranking its lists, and a cut is searched",
            hint="leave --results out: models are then weighed on the whole corpus; or leave --cut-docs out",
        )
    task = _stored_name(reference, arguments.results)
    return stored_scores(arguments.results, task, metric, models, lambda damaged: output.note(str(damaged)))


def _stored_name(reference: str, folder: Path) -> str:
    """What results call the task: by the same name, or by the one that a path stands for."""
    from steelyard.datasets import task_facts
    from steelyard.results import ResultStore

    if ResultStore(folder).find(task=reference, report=lambda damaged: None) or not Path(reference).exists():
        return reference
    facts = task_facts(reference)
    return facts.name if facts is not None else reference


def weigher(metric: str, settings: Settings, output: Output | None = None) -> Weigh:
    """Weighs models on a task as the engine does, the parts of fusions once; says so where there is an output."""
    from dataclasses import replace

    import numpy as np

    from steelyard.build.fidelity.scores import Scored
    from steelyard.engine.plan import TOP_K, Conditions
    from steelyard.engine.task import Bench, depth_for
    from steelyard.metrics import score
    from steelyard.retrievers import load_retriever

    def weigh(task: Task, models: Sequence[str]) -> Scored:
        # A cut of a reranking task is searched, so the full one must be, too.
        task = replace(task, info=replace(task.info, type="retrieval", main_metric=None))
        retrievers = [load_retriever(model, settings) for model in models]
        bench = Bench(task, Conditions(), depth_for(retrievers, TOP_K))
        rows = []
        for number, retriever in enumerate(retrievers):
            if output is not None:
                output.note(f"{number + 1}/{len(models)}  {retriever.name} on {task.name}")
            run = bench.retrieve(retriever).run.cut(TOP_K)
            rows.append(score(run, task.qrels, [metric]).per_query[metric])
        return Scored(task.name, metric, tuple(models), np.stack(rows), {})

    return weigh


def _watch(output: Output) -> Callable[[int, int, str], None]:
    started = time.monotonic()

    def watch(done: int, total: int, stage: str) -> None:
        spent = time.monotonic() - started
        left = f"  {duration(spent / done * (total - done))} left" if 0 < done < total else ""
        if stage:
            output.note(f"cut {done + 1}/{total}{left}  {stage}")

    return watch
