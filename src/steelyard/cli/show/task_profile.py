"""The facts of a task and the profile of its data, with a few examples, as lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from steelyard.cli._ui.wording import print_fact, short, spread, text_counts

if TYPE_CHECKING:
    from steelyard.cli._ui.output import Output
    from steelyard.types import TaskInfo

MAX_LABELS = 12
"""Labels or scores that are shown with their counts."""


def print_facts(info: TaskInfo, output: Output) -> None:
    """Print the facts of a task, one per line."""
    from steelyard.datasets.formats.sidecar import info_facts

    for key, value in info_facts(info).items():
        if value is not False and key not in ("reference", "references", "languages", "synthetic_data"):
            text = "; ".join(value) if isinstance(value, list) else str(value)
            print_fact(output, key.replace("_", " "), text)
    if len(info.languages) > 1:
        print_fact(output, "languages", ", ".join(info.languages))
    for part, text in info.metadata.synthetic_data.items():
        print_fact(output, "synthetic data", text if part == "guidance" else f"{part.replace('_', ' ')}: {text}")
    for reference in info.metadata.references:
        year = f" ({reference.year})" if reference.year else ""
        print_fact(output, reference.type, f"{reference.title}{year} {reference.url}".rstrip())


def print_profile(facts: Mapping[str, Any], output: Output) -> None:
    """Print the profile of a task's data."""
    output.line("")
    (_print_retrieval if "documents" in facts else _print_samples)(facts, output)


def _print_retrieval(facts: Mapping[str, Any], output: Output) -> None:
    for part in ("documents", "queries"):
        print_fact(output, part, text_counts(facts[part]))
    judged = facts["judgements"]
    grades = ", ".join(f"{count:,} of grade {grade}" for grade, count in judged["grades"].items())
    print_fact(output, "judgements", f"{judged['count']:,} ({grades}), {judged['outside_corpus']:,} outside the corpus")
    print_fact(output, "positives per query", spread(facts["positives_per_query"]))
    for name, lists in facts["candidates"].items():
        text = f"length {spread(lists['length'])}, recall@100 {lists['pooled_recall_at_100']}"
        print_fact(output, f"candidates {name}", text)
    print_fact(output, "content hash", facts["content_hash"])
    for example in facts["examples"]:
        output.line(f"\n  {example['query_id']}  {short(example['query'])}")
        output.line(f"    -> {example['document_id']}  {short(example['document'])}")


def _print_samples(facts: Mapping[str, Any], output: Output) -> None:
    for title, text in _sample_lines(facts):
        print_fact(output, title, text)
    for first, *texts, last in _sample_examples(facts):
        output.line(f"\n  {short(first)}")
        for text in texts:
            output.line(f"  {short(text)}")
        output.line(f"    -> {short(last)}")


def _sample_lines(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield title and text of each line about a task without documents."""
    if "pairs" in facts:
        yield "pairs", f"{facts['pairs']:,} ({facts['distinct_pairs']:,} distinct)"
    if "problems" in facts:
        yield "problems", f"{facts['problems']:,}, texts {spread(facts['texts_per_problem'])}"
    if "summarised" in facts:
        yield "summarised texts", f"{facts['summarised']:,}, machine-made summaries {spread(facts['machine_per_text'])}"
    for part in ("first", "second", "texts", "train", "human", "machine"):
        if part in facts:
            title = {"train": "training texts", "human": "human summaries", "machine": "machine-made"}.get(part, part)
            yield title, text_counts(facts[part])
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
        yield "drawn", f"{facts['samples_per_label']} texts per label, {facts['experiments']} times"
    if facts.get("bootstrap"):
        settings = ", ".join(f"{name} {value}" for name, value in facts["bootstrap"].items() if value is not None)
        yield "bootstrap", settings
    yield "content hash", facts["content_hash"]


def _sample_examples(facts: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yield the first samples: texts, then their score or label."""
    for example in facts["examples"]:
        yield tuple(f"{value:g}" if isinstance(value, float) else str(value) for value in example.values())


def _counts(counts: Mapping[str, int], distinct: int) -> str:
    shown = ", ".join(f"{label} ({count:,})" for label, count in list(counts.items())[:MAX_LABELS])
    return shown + (f" and {distinct - MAX_LABELS:,} more" if distinct > MAX_LABELS else "")
