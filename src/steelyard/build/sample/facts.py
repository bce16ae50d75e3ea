"""How a set was cut: as facts for its metadata, and in words for its card."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard import __version__
from steelyard.build.sample.journal import Cutting
from steelyard.build.sample.near_duplicates import plain
from steelyard.build.sample.queries import ChosenQueries
from steelyard.build.sample.recipe import Recipe
from steelyard.build.sample.selection import Selection
from steelyard.build.source.source import Source

VERSION = 2
"""Of the way of cutting; part of the key, so that a newer one does not go on with what an older one began."""


def facts_of(selection: Selection, chosen: ChosenQueries, cutting: Cutting, key: str) -> dict[str, Any]:
    """How a task was cut: source, recipe, what was kept, what was left out and why; JSON-ready."""
    source, scanned, recipe = cutting.source, cutting.scanned, cutting.recipe
    basket = selection.basket
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
            "kept": len(basket.documents),
            "roles": dict(basket.count()),
            "copies": {name: count for name, count in basket.tally.items() if count},
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
    """Queries that give their answer away: the text is a document, or stands word for word in a positive."""
    texts = source.queries["text"].to_pylist()
    documents = {place: plain(document.text).casefold() for place, document in selection.basket.documents.items()}
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
    """Where data came from, without the folders of this machine.

    >>> public("/mine/corpus.jsonl,/mine/queries.jsonl"), public("BeIR/scifact")
    ('corpus.jsonl, queries.jsonl', 'BeIR/scifact')
    """
    parts = [Path(part.strip()) for part in source.split(",")]
    return ", ".join(part.name if part.is_absolute() or part.exists() else str(part) for part in parts)


def description(recipe: Recipe) -> str:
    """The first paragraph of the card."""
    drawn = f"drawn with seed {recipe.seed}" if recipe.order == "random" else "in the order of the source"
    mined = f" Hard negatives were mined with {' and '.join(recipe.mine)}." if recipe.mine else ""
    size = f"at most {recipe.queries:,} queries and {recipe.documents:,} documents a task"
    return (
        f"A Nano-set cut by Steelyard {__version__}: {size}, {drawn}.{mined} "
        "Documents are stored in an order that says nothing of relevance."
    )


def card_section(facts: Mapping[str, Mapping[str, Any]]) -> str:
    """The section of the card: numbers by task, then every choice."""
    lines = [
        "| task | queries | of | documents | of | relevant pairs | hard negatives | judged negatives "
        "| queries that are a document | queries inside a positive |",
        "|---" * 10 + "|",
    ]
    for name, told in facts.items():
        roles = told["documents"]["roles"]
        cells = (
            name,
            told["queries"]["kept"],
            told["source"]["queries"],
            told["documents"]["kept"],
            told["source"]["documents"],
            told["judgements"]["positive"],
            roles.get("hard negative", 0),
            roles.get("judged negative", 0),
            *told["leakage"].values(),
        )
        lines.append("| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells) + " |")
    recipe = next(iter(facts.values()))["recipe"]
    lines += ["", "| choice | value |", "|---|---|", *(f"| {name} | `{json.dumps(v)}` |" for name, v in recipe.items())]
    checked = (
        "When it was finished, the set was read back and checked; `manifest.json` has what was found. The last two "
        "columns count queries that give their answer away: their text is a document, or stands word for word in a "
        "positive."
    )
    return "\n".join([*lines, "", checked, "", "`metadata/` has what was left out and why, for each task."])
