"""The profile of a task without documents, in lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steelyard.cli._ui.wording import spread, text_counts

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN = 12
"""Labels or scores that are shown with their counts."""


def lines(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What to say, as title and words."""
    if "pairs" in facts:
        yield "pairs", f"{facts['pairs']:,} ({facts['distinct_pairs']:,} distinct)"
    if "problems" in facts:
        yield "problems", f"{facts['problems']:,}, texts {spread(facts['texts_per_problem'])}"
    for part in ("first", "second", "texts", "train"):
        if part in facts:
            yield "to learn from" if part == "train" else part, text_counts(facts[part])
    if facts.get("seen_in_training"):
        yield "also in training", f"{facts['seen_in_training']:,} texts"
    if "scores" in facts:
        scores = facts["scores"]
        yield "scores", f"{scores['mean']:g} mean, {scores['median']:g} median, {scores['min']:g} to {scores['max']:g}"
        yield "", _counts(scores["counts"], len(scores["counts"]))
    for part in ("labels", "train_labels"):
        if part in facts:
            title = "labels" if part == "labels" else "labels in training"
            yield title, f"{facts[part]['distinct']:,}: {_counts(facts[part]['counts'], facts[part]['distinct'])}"
    if len(facts.get("levels", ())) > 1:
        for place, level in enumerate(facts["levels"], 1):
            yield f"level {place}", f"{level['labels']:,} labels on {level['labelled']:,} texts"
    if "samples_per_label" in facts:
        yield "drawn", f"{facts['samples_per_label']} texts a label, {facts['experiments']} times"
    if facts.get("bootstrap"):
        drawn = ", ".join(f"{name} {value}" for name, value in facts["bootstrap"].items() if value is not None)
        yield "bootstrapped", drawn
    yield "content hash", facts["content_hash"]


def examples(facts: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The first samples: texts, and their score or label last."""
    for example in facts["examples"]:
        yield tuple(f"{value:g}" if isinstance(value, float) else str(value) for value in example.values())


def _counts(counts: Mapping[str, int], distinct: int) -> str:
    shown = ", ".join(f"{label} ({count:,})" for label, count in list(counts.items())[:SHOWN])
    return shown + (f" and {distinct - SHOWN:,} more" if distinct > SHOWN else "")
