"""What each stage of a composite model is worth: its own figures, what it gained, and what it had to work with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from steelyard.metrics import score
from steelyard.protocols import Composite, Retriever
from steelyard.results.schema import HEADLINES, MAIN_METRIC
from steelyard.retrievers.fusion import fuse
from steelyard.types import Run, Task

Notes = dict[str, Any]


def stage_notes(retriever: Retriever, run_of: Callable[[Retriever], Run], task: Task) -> list[Notes]:
    """The stages in the order of their work, each once; none for a model that has no parts.

    `gain` is against the best of the stage's inputs, which is named as `over`. `recall_ceiling` is the recall of all
    that the stage reads: however well it ranks, it can bring no more to the front.
    """
    if not isinstance(retriever, Composite) or not retriever.parts:
        return []
    notes: dict[str, Notes] = {}
    _add(retriever, run_of, task, notes)
    return list(notes.values())


def _add(retriever: Retriever, run_of: Callable[[Retriever], Run], task: Task, notes: dict[str, Notes]) -> Notes:
    if retriever.name in notes:
        return notes[retriever.name]
    parts = retriever.parts if isinstance(retriever, Composite) else ()
    before = [_add(part, run_of, task, notes) for part in parts]
    figures = score(run_of(retriever), task.qrels, tuple(HEADLINES)).means
    told: Notes = {"model": retriever.name, **{metric: figures[metric] for metric in HEADLINES}}
    if isinstance(retriever, Composite) and before:
        best = max(before, key=lambda note: note[MAIN_METRIC])
        reads = retriever.reads
        told["reads"] = reads
        told["recall_ceiling"] = _recall([run_of(part) for part in parts], reads, task)
        told["over"] = best["model"]
        told["gain"] = {metric: told[metric] - best[metric] for metric in HEADLINES}
        if len(before) > 1 and told["gain"][MAIN_METRIC] < 0:
            told["warning"] = f"weaker than {best['model']} alone: the other lists dilute it; weights= would tell"
    notes[retriever.name] = told
    return told


def _recall(runs: list[Run], reads: int | None, task: Task) -> float:
    """The recall of everything in these lists, down to the depth."""
    depth = max([reads or 0, *(run.depth for run in runs)] if reads is None else [reads])
    everything = fuse(runs, depth=max(depth, 1))
    metric = f"recall_at_{max(everything.depth, 1)}"
    return score(everything, task.qrels, (metric,)).means[metric]
