"""What each stage of a composite model is worth: its own figures, what it gained, and what it had to work with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from steelyard.metrics import score
from steelyard.results.schema import HEADLINES, MAIN_METRIC
from steelyard.retrievers.fusion.retriever import fuse
from steelyard.types import Run, Task
from steelyard.types.protocols import Composite, Retriever

Notes = dict[str, Any]


def stage_notes(retriever: Retriever, run_of: Callable[[Retriever], Run], task: Task, top_k: int) -> list[Notes]:
    """The stages in the order of their work, each once; none for a model that has no parts.

    Figures are those of the lists cut at `top_k`, as they would be of a result.
    `gain` is against the best of the stage's inputs, which is named as `over`. `recall_ceiling` is the recall of all
    that the stage reads: however well it ranks, it can bring no more to the front.
    """
    if not isinstance(retriever, Composite) or not retriever.parts:
        return []
    notes: dict[str, Notes] = {}

    def add(stage: Retriever) -> Notes:
        if stage.name not in notes:
            before = [add(part) for part in stage.parts] if isinstance(stage, Composite) else []
            figures = score(run_of(stage).cut(top_k), task.qrels, tuple(HEADLINES)).means
            told = {"model": stage.name, **{metric: figures[metric] for metric in HEADLINES}}
            if isinstance(stage, Composite) and before:
                told |= _worth(told, before)
                told["reads"] = stage.reads
                told["recall_ceiling"] = _recall([run_of(part) for part in stage.parts], stage.reads, task)
            notes[stage.name] = told
        return notes[stage.name]

    add(retriever)
    return list(notes.values())


def _worth(told: Notes, before: list[Notes]) -> Notes:
    """What a stage gained over the best of those before it."""
    best = max(before, key=lambda note: note[MAIN_METRIC])
    gain = {metric: told[metric] - best[metric] for metric in HEADLINES}
    if len(before) == 1 or gain[MAIN_METRIC] >= 0:
        return {"over": best["model"], "gain": gain}
    warning = f"weaker than {best['model']} alone: the other lists dilute it, and should weigh less here"
    return {"over": best["model"], "gain": gain, "warning": warning}


def _recall(runs: list[Run], reads: int | None, task: Task) -> float:
    """The recall of everything in these lists, down to the depth."""
    everything = fuse(runs, depth=reads or max(1, *(run.depth for run in runs)))
    metric = f"recall_at_{max(everything.depth, 1)}"
    return score(everything, task.qrels, (metric,)).means[metric]
