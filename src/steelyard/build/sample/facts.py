"""How a set was sampled: as facts for its metadata, and as text for its card."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard import __version__
from steelyard.build.sample.journal import SamplingContext
from steelyard.build.sample.queries import ChosenQueries
from steelyard.build.sample.recipe import Recipe
from steelyard.build.sample.selection import Selection
from steelyard.build.source.source import Source
from steelyard.text.pieces import plain

VERSION = 2
"""The version of the method; part of the key, so that a newer version does not continue what an older one began."""


def facts_of(selection: Selection, chosen: ChosenQueries, context: SamplingContext, key: str) -> dict[str, Any]:
    """Return how a task was sampled: source, recipe, what was kept, what was excluded and why; JSON-ready."""
    source, scanned, recipe = context.source, context.scanned, context.recipe
    corpus = selection.corpus
    grades = [grade for judged in selection.judgements.values() for grade in judged.values()]
    return {
        "schema_version": VERSION,
        "steelyard": __version__,
        "key": key,
        "source": {
            "name": source.info.name,
            "from": public(source.info.source),
            "revision": source.info.revision,
            "fingerprint": source.fingerprint,
            "queries": source.queries.num_rows,
            "documents": len(scanned),
            "judgements": len(source.grades),
        },
        "recipe": recipe.settings,
        "queries": {
            "kept": len(selection.judgements),
            "left_out": {name: count for name, count in chosen.tally.items() if count},
            "strata": dict(chosen.strata) if recipe.stratify else None,
        },
        "documents": {
            "kept": len(corpus.documents),
            "roles": dict(corpus.count()),
            "copies": {name: count for name, count in corpus.tally.items() if count},
        },
        "judgements": {
            "positive": sum(grade > 0 for grade in grades),
            "not_relevant": sum(grade <= 0 for grade in grades),
            "not_relevant_written": recipe.zero_grades,
        },
        "notes": {
            name: count
            for name, count in {**selection.tally, "repeated_documents": len(scanned.repeated)}.items()
            if count
        },
        "leakage": _leakage(source, selection),
    }


def _leakage(source: Source, selection: Selection) -> dict[str, int]:
    """Count queries that reveal their answer: the text is a document, or is contained in a positive."""
    texts = source.queries["text"].to_pylist()
    documents = {place: plain(document.text).casefold() for place, document in selection.corpus.documents.items()}
    whole = set(documents.values())
    asked = {row: plain(texts[row]).casefold() for row in selection.judgements}
    return {
        "queries_that_are_a_document": sum(text in whole for text in asked.values()),
        "queries_inside_a_positive": sum(
            any(grade > 0 and text in documents[place] for place, grade in selection.judgements[row].items())
            for row, text in asked.items()
        ),
    }


def public(source: str) -> str:
    """Return where data came from, without the folders of this machine.

    >>> public("/mine/corpus.jsonl,/mine/queries.jsonl"), public("BeIR/scifact")
    ('corpus.jsonl, queries.jsonl', 'BeIR/scifact')
    """
    parts = [Path(part.strip()) for part in source.split(",")]
    return ", ".join(part.name if part.is_absolute() or part.exists() else str(part) for part in parts)


def description(recipe: Recipe) -> str:
    """Return the first paragraph of the card."""
    drawn = f"drawn with seed {recipe.seed}" if recipe.order == "random" else "in the order of the source"
    mined = f" Hard negatives were mined with {' and '.join(recipe.mine)}." if recipe.mine else ""
    size = f"at most {recipe.queries:,} queries and {recipe.documents:,} documents per task"
    return (
        f"A Nano-set sampled by Steelyard {__version__}: {size}, {drawn}.{mined} "
        "Documents are stored in an order that does not depend on relevance."
    )


def card_section(facts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the section of the card: counts by task, then every choice."""
    lines = [
        "| task | queries | of | documents | of | relevant pairs | hard negatives | judged negatives "
        "| queries that are a document | queries inside a positive |",
        "|---" * 10 + "|",
    ]
    for name, own in facts.items():
        roles = own["documents"]["roles"]
        cells = (
            name,
            own["queries"]["kept"],
            own["source"]["queries"],
            own["documents"]["kept"],
            own["source"]["documents"],
            own["judgements"]["positive"],
            roles.get("hard negative", 0),
            roles.get("judged negative", 0),
            *own["leakage"].values(),
        )
        lines.append("| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells) + " |")
    recipe = next(iter(facts.values()))["recipe"]
    lines += ["", "| choice | value |", "|---|---|", *(f"| {name} | `{json.dumps(v)}` |" for name, v in recipe.items())]
    checked = (
        "The finished set was read back and checked; `manifest.json` has the result. The last two columns count "
        "queries that reveal their answer: their text is a document, or is contained in a positive."
    )
    return "\n".join([*lines, "", checked, "", "`metadata/` lists what was excluded and why, for each task."])
