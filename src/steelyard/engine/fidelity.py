"""Measure how well samples of a task rank models: scores of the full set, resampling, and real samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from steelyard.config import Settings
from steelyard.errors import UsageError

if TYPE_CHECKING:
    from steelyard.build.fidelity import Evaluate, Fidelity, ModelScores, UnreachableSize
    from steelyard.build.sample.recipe import Recipe
    from steelyard.types import Task

__all__ = ["SIZES", "FidelityStudy", "measure_fidelity"]

SIZES = (10, 20, 50, 100, 200, 500, 1000)
"""The numbers of queries that are tried by default, as far as the task has them."""
Measure = Literal["spearman", "kendall", "pairs"]
Note = Callable[[str], None]
Watch = Callable[[int, int, str], None]


@dataclass(frozen=True)
class FidelityStudy:
    """The agreement of samples of several sizes with the ranking of models by the full task."""

    scored: ModelScores
    """The scores of every model on every query of the full task."""
    sizes: tuple[Fidelity, ...]
    impossible: tuple[UnreachableSize, ...]
    """Sizes that the task cannot be sampled to, with the reason."""
    draws: int
    seed: int

    def smallest(self, target: float = 0.95, by: Measure = "spearman") -> dict[str, dict[str, Fidelity | None]]:
        """Return the smallest sizes that reach the target, on average and at the low end of the interval, by method."""
        from steelyard.build.fidelity import fewest_queries, smallest

        ends = {"on_average": False, "low_end": True}
        best = {
            "resampled": {
                name: fewest_queries(self.scored, target, by, lower_bound=low, draws=self.draws, seed=self.seed)
                for name, low in ends.items()
            }
        }
        if any(size.way == "cut" for size in self.sizes):
            best["cut"] = {name: smallest(self.sizes, target, by, lower_bound=low) for name, low in ends.items()}
        return best

    def to_dict(self, target: float = 0.95, by: Measure = "spearman") -> dict[str, Any]:
        """Return the study for JSON."""
        return {
            "task": self.scored.task,
            "metric": self.scored.metric,
            "queries": self.scored.queries,
            "models": dict(zip(self.scored.models, self.scored.means.tolist(), strict=True)),
            "fidelity": [size.to_dict() for size in self.sizes],
            "impossible": [vars(size) for size in self.impossible],
            "target": {"measure": by, "value": target},
            "smallest": {
                method: {end: size.to_dict() if size else None for end, size in ends.items()}
                for method, ends in self.smallest(target, by).items()
            },
        }


def measure_fidelity(
    task: str,
    models: Sequence[str] = (),
    *,
    metric: str = "nDCG@10",
    results: Path | None = None,
    queries: Sequence[int] = (),
    documents: Sequence[int] = (),
    seeds: int = 5,
    draws: int = 1000,
    seed: int = 0,
    recipe: Recipe | None = None,
    settings: Settings | None = None,
    note: Note = lambda text: None,
    watch: Watch = lambda done, total, stage: None,
) -> FidelityStudy:
    """Measure how well samples of a task rank models as the full task does.

    The scores of the full task come from stored `results`, or from evaluating the models now. They are resampled to
    each number of `queries`. With `documents`, the task is also sampled to each of these sizes, with several seeds, and
    the models are evaluated on each sample.
    """
    from steelyard.build.fidelity import resample, sample_fidelity
    from steelyard.build.sample.recipe import Recipe
    from steelyard.metrics import parse

    for name, value in (("seeds", seeds), ("draws", draws)):
        if value < 1:
            raise UsageError.invalid(name, expected="at least 1", found=value, option=f"--{name}")
    settings = settings or Settings.load()
    metric = str(parse(metric))
    scored = _full_scores(task, models, metric, results, bool(documents), settings, note)
    for name, reason in scored.skipped.items():
        note(f"skipped: {name}: {reason}")
    sizes = _sizes(queries, scored.queries, note)
    measured = resample(scored, sizes, draws=draws, seed=seed)
    impossible: list[UnreachableSize] = []
    if documents:
        samples, impossible = sample_fidelity(
            task,
            scored,
            [(size, count) for count in documents for size in sizes],
            evaluator(metric, settings),
            recipe=recipe or Recipe(),
            seeds=range(seed, seed + seeds),
            settings=settings,
            progress=watch,
        )
        measured += samples
    return FidelityStudy(scored, tuple(measured), tuple(impossible), draws, seed)


def evaluator(metric: str, settings: Settings | None = None, note: Note = lambda text: None) -> Evaluate:
    """Return a function that evaluates models on a task as the engine does, parts of fusions once."""
    import numpy as np

    from steelyard.build.fidelity import ModelScores
    from steelyard.engine.plan import TOP_K, Conditions
    from steelyard.engine.task_evaluator import TaskEvaluator, depth_for
    from steelyard.metrics import score
    from steelyard.retrievers import load_retriever

    used = settings or Settings.load()

    def evaluate(task: Task, models: Sequence[str]) -> ModelScores:
        # A sample of a reranking task is searched, so the full task must be searched, too.
        task = replace(task, info=replace(task.info, type="retrieval", main_metric=None))
        retrievers = [load_retriever(model, used) for model in models]
        evaluator = TaskEvaluator(task, Conditions(), depth_for(retrievers, TOP_K))
        rows = []
        for number, retriever in enumerate(retrievers, 1):
            note(f"{number}/{len(models)}  {retriever.name} on {task.name}")
            run = evaluator.retrieve(retriever).run.top(TOP_K)
            rows.append(score(run, task.qrels, [metric]).per_query[metric])
        return ModelScores(task.name, metric, tuple(models), np.stack(rows), {})

    return evaluate


def _sizes(requested: Sequence[int], queries: int, note: Note) -> list[int]:
    sizes = sorted({*requested}) or [*(size for size in SIZES if size < queries), queries]
    for size in (size for size in sizes if size > queries):
        note(f"skipped: {size:,} queries, the full set has {queries:,}")
    fitting = [size for size in sizes if size <= queries]
    if not fitting:
        raise UsageError.invalid(
            "--sizes", expected=f"at most {queries:,}, the number of queries", found=min(sizes), option="--sizes"
        )
    return fitting


def _full_scores(
    reference: str,
    names: Sequence[str],
    metric: str,
    results: Path | None,
    sampling: bool,
    settings: Settings,
    note: Note,
) -> ModelScores:
    """Return the scores of the full task, stored or fresh."""
    from steelyard.build.fidelity import GRID, stored_scores
    from steelyard.datasets import load_task, task_facts
    from steelyard.retrievers import canonical

    models = [str(canonical(model)) for model in names]
    if results is None:
        return evaluator(metric, settings, note)(
            load_task(reference, settings=settings), models or [*map(str, map(canonical, GRID))]
        )
    facts = task_facts(reference) if sampling else None
    if facts is not None and facts.type == "reranking":
        raise UsageError(
            f"stored results of the reranking task {facts.name} cannot be compared with samples, which are searched",
            hint="remove --results to evaluate the models on the whole corpus, or remove --cut-docs",
            option="--results",
        )
    task = _stored_name(reference, results)
    return stored_scores(results, task, metric, models, lambda damaged: note(str(damaged)))


def _stored_name(reference: str, folder: Path) -> str:
    """Return the name that results have for the task: the reference itself, or the name of the task at a path."""
    from steelyard.datasets import task_facts
    from steelyard.results import ResultStore

    if ResultStore(folder).find(task=reference, report=lambda damaged: None) or not Path(reference).exists():
        return reference
    facts = task_facts(reference)
    return facts.name if facts is not None else reference
