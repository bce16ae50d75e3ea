"""What `show` says of a task: its facts, and the profile of its data with a few examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steelyard.cli._ui.wording import say, short, spread, text_counts
from steelyard.cli.show import samples as show_samples

if TYPE_CHECKING:
    from steelyard.cli._ui.output import Output
    from steelyard.types import TaskInfo


def facts_of(info: TaskInfo) -> dict[str, Any]:
    """What is known of the task, as JSON has it."""
    from steelyard.datasets.formats.sidecar import info_facts

    return info_facts(info)


def say_facts(info: TaskInfo, output: Output) -> None:
    """What is known of the task, a line a fact."""
    for key, value in facts_of(info).items():
        if value is not False and key not in ("reference", "languages"):
            say(output, key.replace("_", " "), str(value))
    if len(info.languages) > 1:
        say(output, "languages", ", ".join(info.languages))


def say_profile(facts: Mapping[str, Any], output: Output) -> None:
    """What the data is like."""
    output.line("")
    (_say_search if "documents" in facts else _say_samples)(facts, output)


def _say_search(facts: Mapping[str, Any], output: Output) -> None:
    for part in ("documents", "queries"):
        say(output, part, text_counts(facts[part]))
    judged = facts["judgements"]
    grades = ", ".join(f"{count:,} of grade {grade}" for grade, count in judged["grades"].items())
    say(output, "judgements", f"{judged['count']:,} ({grades}), {judged['outside_corpus']:,} outside the corpus")
    say(output, "positives a query", spread(facts["positives_per_query"]))
    for name, lists in facts["candidates"].items():
        words = f"length {spread(lists['length'])}, recall@100 {lists['pooled_recall_at_100']}"
        say(output, f"candidates {name}", words)
    say(output, "content hash", facts["content_hash"])
    for example in facts["examples"]:
        output.line(f"\n  {example['query_id']}  {short(example['query'])}")
        output.line(f"    -> {example['document_id']}  {short(example['document'])}")


def _say_samples(facts: Mapping[str, Any], output: Output) -> None:
    for title, words in show_samples.lines(facts):
        say(output, title, words)
    for first, *texts, last in show_samples.examples(facts):
        output.line(f"\n  {short(first)}")
        for text in texts:
            output.line(f"  {short(text)}")
        output.line(f"    -> {short(last)}")
